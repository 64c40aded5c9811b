"""The functions of hybrid script when a script is parsed into an operation."""

from __future__ import annotations

from functools import partial, reduce

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import BinaryOp, ExprLike, IntImm, Max, Min, PrimExpr, binary, const, convert
from compiler.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.tir.expressions import op
from compiler.tir.statements.stmt import ForKind

LOOPS: dict[str, ForKind] = {
    "range": ForKind.SERIAL,
    "unroll": ForKind.UNROLLED,
    "vectorize": ForKind.VECTORIZED,
    "parallel": ForKind.PARALLEL,
}
"""The words that a loop is carried out by."""


def constant_int(value: object, what: str) -> int:
    """Return an integer that is known while the script is read."""
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, int):
        return value
    raise ArgumentError(f"{what} must be a constant int, got {show(value)}")


def _length(value: object) -> PrimExpr:
    if isinstance(value, Tensor):
        return value.shape[0]
    if isinstance(value, (tuple, list)):
        return const(len(value), "int32")
    raise ArgumentError(f"len: expected a tensor or a list, got {show(value)}")


def _cast(dtype: str, value: ExprLike) -> PrimExpr:
    return convert(value).astype(dtype)


def _extreme(kind: type[BinaryOp], *values: ExprLike) -> PrimExpr:
    if len(values) < 2:
        raise ArgumentError(f"min and max compare two values or more, got {len(values)}")
    extreme: PrimExpr = reduce(partial(binary, kind), values)
    return extreme


def max_num_threads(allow_none: bool = True) -> int:
    """Return how many threads a block of the current target can have, by default without one that of a CPU."""
    target = Target.current(bool(allow_none))
    return 1 if target is None else target.max_num_threads


def _ceil_div(a: ExprLike, b: ExprLike) -> PrimExpr:
    return op.ceildiv(convert(a), convert(b))


_TYPES = [f"{kind}{bits}" for kind in ("uint", "int") for bits in (8, 16, 32, 64)]
_TYPES += [f"float{bits}" for bits in (16, 32, 64)]

WORDS: dict[str, object] = {
    **{name: getattr(op, name) for name in ("sqrt", "rsqrt", "log", "tanh", "power", "exp", "sigmoid", "popcount")},
    "round": op.round,
    "likely": op.likely,
    **{dtype: partial(_cast, dtype) for dtype in _TYPES},
    "ceil_div": _ceil_div,
    "max_num_threads": max_num_threads,
    "len": _length,
    "min": partial(_extreme, Min),
    "max": partial(_extreme, Max),
    "inf": const(float("inf"), "float32"),
    "ninf": const(float("-inf"), "float32"),
}
"""The functions and constants of expressions."""
