"""A function of loop IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from compiler.ir.error import DTypeError, show
from compiler.ir.module import BaseFunc
from compiler.ir.node import node, rebuild
from compiler.ir.origin import derived_from
from compiler.ir.primexpr import Var
from compiler.ir.text_format import format_of, text_of
from compiler.tir.buffer import Buffer
from compiler.tir.stmt import Stmt

FROM_SCHEDULE = "from_legacy_te_schedule"
"""The attribute of functions that were lowered from a schedule of tensor expressions."""


@node
class PrimFunc(BaseFunc):
    """A function of loop IR.

    Parameters
    ----------
    params : sequence of Var or Buffer
        Handles stand for buffers, others are scalars; a buffer gets a handle of its own.
    body : Stmt
        What the function does.
    buffer_map : mapping of Var to Buffer
        What each handle parameter points to.
    attrs : mapping of str to object
        ``global_symbol``, ``tir.noalias``, ``from_legacy_te_schedule``, ``target``, …

    Raises
    ------
    DTypeError
        If a parameter is neither a variable nor a buffer.

    Attributes
    ----------
    params : tuple of Var
        Handles stand for buffers, others are scalars.
    buffer_map : mapping of Var to Buffer
        What each handle parameter points to.
    attrs : mapping of str to object
        ``global_symbol``, ``tir.noalias``, ``from_legacy_te_schedule``, ``target``, …
    """

    defines: ClassVar[tuple[str, ...]] = ("params", "buffer_map")

    params: tuple[Var, ...]
    body: Stmt
    buffer_map: Mapping[Var, Buffer] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.buffer_map is None:
            object.__setattr__(self, "buffer_map", {})
        if self.attrs is None:
            object.__setattr__(self, "attrs", {})
        if type(self.params) is not tuple or not all(isinstance(param, Var) for param in self.params):
            self._add_handles()

    def _add_handles(self) -> None:
        """Give each buffer among the parameters a handle."""
        buffers, params = dict(self.buffer_map), []
        for given in self.params:
            param = given.asobject() if hasattr(given, "asobject") else given
            if isinstance(param, Buffer):
                param = Var(param.name, "handle")
                buffers[param] = given
            if not isinstance(param, Var):
                raise DTypeError(f"PrimFunc: params are variables and buffers, got {show(given)}")
            params.append(param)
        object.__setattr__(self, "params", tuple(params))
        object.__setattr__(self, "buffer_map", buffers)

    @property
    def is_from_schedule(self) -> bool:
        """Whether the function was lowered from a schedule of tensor expressions."""
        return bool(self.attrs.get(FROM_SCHEDULE))

    def with_body(self, new_body: Stmt) -> PrimFunc:
        """Return this function with another body.

        Parameters
        ----------
        new_body : Stmt
            What the function does instead.

        Returns
        -------
        PrimFunc
            The function itself if that is its body already.
        """
        return self if new_body is self.body else self._changed("body", new_body)

    def with_attr(self, key: str, value: Any) -> PrimFunc:
        """Return this function with one more attribute.

        Parameters
        ----------
        key : str
            Name of the attribute.
        value : object
            Its value; replaces the one that the function has.

        Returns
        -------
        PrimFunc
        """
        return self._changed("attrs", {**self.attrs, key: value})

    def without_attr(self, key: str) -> PrimFunc:
        """Return this function without an attribute.

        Parameters
        ----------
        key : str
            Name of the attribute; it need not be there.

        Returns
        -------
        PrimFunc
        """
        return self._changed("attrs", {k: v for k, v in self.attrs.items() if k != key})

    def _changed(self, field_name: str, value: Any) -> PrimFunc:
        with derived_from(self.span):
            return rebuild(self, **{field_name: value})

    def script(self, tir_prefix: str = "T", show_meta: bool = False) -> str:
        """Return the function as TVMScript.

        Parameters
        ----------
        tir_prefix : str
            Accepted for compatibility with TVM: the words are called ``T``.
        show_meta : bool
            Accepted for compatibility with TVM: all of the function is in its text.

        Returns
        -------
        str
        """
        return format_of(self).script(self)

    def show(self) -> None:
        """Print the function as TVMScript."""
        print(self.script())

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__
