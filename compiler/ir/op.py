"""The registry of operators that a :class:`~compiler.ir.primexpr.Call` can name.

An operator is registered once, where its builder function stands; whoever needs a fact about it (the printer, the
simplifier, the interpreter, a backend) reads the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from compiler.ir.error import TVMError


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

    def __repr__(self) -> str:
        return f"Op({self.name})"

    @staticmethod
    def get(name: str) -> Op:
        """Return the operator of that name.

        Raises
        ------
        TVMError
            If no such operator is registered.
        """
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
    if name in _REGISTRY:
        raise ValueError(f"operator {name} is registered twice")
    op = _REGISTRY[name] = Op(name, effect, reference, doc, prints_dtype)
    return op


def registered_ops() -> dict[str, Op]:
    """Return all operators by name."""
    return dict(_REGISTRY)
