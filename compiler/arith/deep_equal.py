"""Deep equality of expressions, without the bookkeeping of structural equality."""

from __future__ import annotations

from typing import Any

from compiler.ir.expr.primexpr import BinaryOp, Call, Cast, IntImm, PrimExpr, Var
from compiler.ir.node import structure


def deep_equal(a: PrimExpr, b: PrimExpr) -> bool:
    """Return whether two expressions are written the same; variables, buffers and tensors match by identity."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value and a.dtype == b.dtype
    if isinstance(a, Var):
        return False
    todo: list[tuple[Any, Any]] = []
    while True:
        if isinstance(a, BinaryOp) and type(a) is type(b):  # the operand on the left may be a long sum
            todo.append((a.a, b.a))
            a, b = a.b, b.b
            continue
        if a is not b and not _alike(a, b, todo):
            return False
        if not todo:
            return True
        a, b = todo.pop()


def _alike(a: Any, b: Any, todo: list[tuple[Any, Any]]) -> bool:
    """Return False if two different values differ; what they are made of is added to ``todo``."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is IntImm:
        return bool(a.value == b.value and a.dtype == b.dtype)
    if isinstance(a, Var):
        return False
    if isinstance(a, Call):
        todo.append((a.args, b.args))
        return a.op is b.op and a.dtype == b.dtype
    if isinstance(a, PrimExpr):
        todo.extend([(getattr(a, name), getattr(b, name)) for name in structure(kind)[0]])
        return True
    if kind is tuple:
        todo.extend(zip(a, b, strict=False))
        return len(a) == len(b)
    if kind is float:
        return repr(a) == repr(b)  # zero keeps its sign, and not-a-number is itself
    return isinstance(a, (int, str)) and a == b


def fingerprint(e: object, depth: int = 3) -> int:
    """Return a number that is the same for expressions that :func:`deep_equal` calls equal."""
    if isinstance(e, Var) or not isinstance(e, (PrimExpr, tuple, int, str, float)):
        return id(e)
    if isinstance(e, float):
        return hash(repr(e))
    if isinstance(e, (int, str)):
        return hash(e)
    if depth == 0:
        return hash(type(e))
    parts = e if isinstance(e, tuple) else [getattr(e, name) for name in structure(type(e))[0]]
    return hash((type(e), *[fingerprint(part, depth - 1) for part in parts]))


def tokens(e: PrimExpr) -> tuple[object, ...]:
    """Return what two expressions have in common if they are deeply equal, to remember results by."""
    result: list[object] = []
    todo: list[PrimExpr] = [e]
    while todo:
        n = todo.pop()
        if isinstance(n, BinaryOp):
            result.append(type(n))
            todo += (n.b, n.a)
        elif isinstance(n, IntImm):
            result += (n.dtype, n.value)
        elif isinstance(n, Cast):
            result += (Cast, n.dtype)
            todo.append(n.value)
        else:
            result.append(n)
    return tuple(result)
