"""``AttrCvt`` and ``Renamer`` of ``tvm.relay.frontend.common``: converters that rename operators and attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from compiler.classic.frontend.common import get_relay_op
from compiler.ir.error import OpAttributeInvalid, OpAttributeRequired, OpAttributeUnImplemented
from compiler.ir.expr import RelayExpr

__all__ = ["AttrCvt", "Renamer", "RequiredAttr"]

Attributes = Mapping[str, Any]
Transform = str | tuple[Any, ...]
"""The new name of an attribute, optionally with its default value and a conversion function."""


class RequiredAttr:
    """A marker for attributes without a default."""


class Renamer:
    """A converter to a Relay operator with the same inputs, which drops all attributes.

    Parameters
    ----------
    new_name : str
        E.g. ``nn.relu``.
    """

    def __init__(self, new_name: str) -> None:
        self._new_name = new_name

    def __call__(self, inputs: Sequence[RelayExpr], attrs: Attributes, *args: object) -> RelayExpr:
        """Return the call."""
        return get_relay_op(self._new_name)(*inputs)


class AttrCvt:
    """A converter to a Relay operator with the same inputs and renamed attributes.

    Parameters
    ----------
    op_name : str or callable
        The operator, e.g. ``nn.leaky_relu``, or a function of the attributes that returns it.
    transforms : mapping of str to str or tuple, optional
        The new name of each attribute, optionally with its default value and a conversion function.
    disables : collection of str, optional
        Attributes that are dropped with a warning.
    custom_check : tuple of callable and str, optional
        A condition on the attributes, and the error message if it is false.
    """

    def __init__(
        self,
        op_name: str | Callable[[Attributes], str],
        transforms: Mapping[str, Transform] | None = None,
        excludes: Collection[str] | None = None,
        disables: Collection[str] | None = None,
        ignores: Collection[str] | None = None,
        extras: Mapping[str, Any] | None = None,
        custom_check: tuple[Callable[[Attributes], bool], str] | None = None,
    ) -> None:
        self._op_name = op_name
        self._transforms = dict(transforms or {})
        self._excludes = excludes or ()
        self._disables = disables or ()
        self._ignores = ignores or ()
        self._extras = dict(extras or {})
        self._custom_check = custom_check

    def __call__(self, inputs: Sequence[RelayExpr], attrs: Attributes, *args: object) -> RelayExpr:
        """Return the call."""
        if self._custom_check is not None and not self._custom_check[0](attrs):
            raise OpAttributeInvalid(f"Check failed: {self._custom_check[1]}")
        op_name = self._op_name if isinstance(self._op_name, str) else self._op_name(attrs)
        new: dict[str, Any] = {}
        for name, value in attrs.items():
            if name in self._excludes:
                raise OpAttributeUnImplemented(f"Attribute {name} in operator {op_name} is not supported.")
            if name in self._disables:
                warnings.warn(f"Attribute {name} is disabled in {op_name}", stacklevel=2)
            elif name in self._transforms:
                new.update([self._transformed(name, value)])
            elif name not in self._ignores:
                new[name] = value
        return get_relay_op(op_name)(*inputs, **{**new, **self._extras})

    def _transformed(self, name: str, value: object) -> tuple[str, object]:
        transform = self._transforms[name]
        new_name, *more = (transform,) if isinstance(transform, str) else transform
        default = more[0] if more else None
        if value is None and default is None:
            raise OpAttributeRequired(f"Required attribute {name} not found.")
        if value is None:
            return new_name, default
        return new_name, more[1](value) if len(more) > 1 else value
