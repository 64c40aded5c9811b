"""The registry of operators that a :class:`~compiler.ir.primexpr.Call` can name.

An operator is registered once, where its builder function stands; whoever needs a fact about it (the printer, the
simplifier, the interpreter, a backend) reads the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeVar

from compiler.ir.attrs import NO_ATTRS, Attrs, DictAttrs
from compiler.ir.error import TVMError
from compiler.ir.extension import extension_point
from compiler.ir.origin import NO_SPAN, Span
from compiler.ir.types import Type


class CallEffect(Enum):
    """What evaluating a call may do, from nothing to anything."""

    EXPR_ANNOTATION = 0
    PURE = 1
    READ_STATE = 2
    UPDATE_STATE = 3


@dataclass(slots=True, eq=False)
class Op:
    """An operator, compared by identity.

    Attributes
    ----------
    name : str
        Full name, e.g. ``tir.exp``.
    effect : CallEffect
        Only pure calls may be moved, merged or removed.
    reference : callable or None
        NumPy function of the arguments, for constant folding and the interpreter.
    doc : str
        One sentence for users.
    prints_dtype : bool
        Whether a printed call names its data type before its arguments, as one whose type they do not tell.
    """

    name: str
    effect: CallEffect = CallEffect.PURE
    reference: Callable[..., Any] | None = None
    doc: str = ""
    prints_dtype: bool = False

    span: ClassVar[Span] = NO_SPAN
    """An operator comes from nowhere; visitors ask every expression."""
    checked_type_: ClassVar[Type | None] = None
    """Only its calls have a type."""

    def complete_attrs(self, given: Mapping[str, Any]) -> Attrs:
        """Return the attributes of a call of this operator, which declares none: those given.

        Parameters
        ----------
        given : mapping of str to object
            Names and values.

        Returns
        -------
        Attrs
        """
        return DictAttrs(given) if given else NO_ATTRS

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def get(name: str) -> Op:
        """Return the operator of that name.

        Parameters
        ----------
        name : str
            Full name, e.g. ``tir.exp`` or ``nn.conv2d``.

        Returns
        -------
        Op

        Raises
        ------
        TVMError
            If no such operator is registered.
        """
        op = _REGISTRY.get(name)
        if op is None and extension_point("operators").load_rooms():
            op = _REGISTRY.get(name)
        if op is None:
            raise TVMError(f"Op.get: no operator is named {name!r}")
        return op


_REGISTRY: dict[str, Op] = {}


def register_op(
    name: str,
    *,
    effect: CallEffect = CallEffect.PURE,
    reference: Callable[..., Any] | None = None,
    doc: str = "",
    prints_dtype: bool = False,
) -> Op:
    """Register an operator under a name that is still free and return it."""
    return add_op(Op(name, effect, reference, doc, prints_dtype))


AnyOp = TypeVar("AnyOp", bound=Op)


def add_op(op: AnyOp) -> AnyOp:
    """Enter an operator into the registry under its name, which must still be free, and return it."""
    if op.name in _REGISTRY:
        raise ValueError(f"operator {op.name} is registered twice")
    _REGISTRY[op.name] = op
    return op


def registered_ops() -> dict[str, Op]:
    """Return all operators by name."""
    return dict(_REGISTRY)
