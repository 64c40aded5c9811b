"""Equality of expressions: the same operations on the same variables, without the bookkeeping that binders need."""

from __future__ import annotations

from typing import Any

from compiler.ir.node import structure
from compiler.ir.primexpr import BinaryOp, Call, IntImm, PrimExpr, Var


def deep_equal(a: PrimExpr, b: PrimExpr) -> bool:
    """Return whether two expressions are written the same; variables, buffers and tensors match by identity."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is IntImm:
        return a.value == b.value and a.dtype == b.dtype  # type: ignore[attr-defined]
    if isinstance(a, BinaryOp):
        return deep_equal(a.b, b.b) and deep_equal(a.a, b.a)  # type: ignore[attr-defined]
    if isinstance(a, Var):
        return False
    if isinstance(a, Call):
        return a.op is b.op and a.dtype == b.dtype and _all_equal(a.args, b.args)  # type: ignore[attr-defined]
    return all(_field_equal(getattr(a, name), getattr(b, name)) for name in structure(kind)[0])


def _all_equal(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(_field_equal(x, y) for x, y in zip(a, b, strict=True))


def _field_equal(a: Any, b: Any) -> bool:
    if isinstance(a, PrimExpr):
        return isinstance(b, PrimExpr) and deep_equal(a, b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and _all_equal(a, b)
    if isinstance(a, float):
        return repr(a) == repr(b)  # zero keeps its sign, and not-a-number is itself
    return a is b or (isinstance(a, (int, str)) and type(a) is type(b) and a == b)
