"""TVMScript syntax of loops: ``for i in T.parallel(16):``."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.dtype import is_integral
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, const, convert, match_types
from compiler.tir.script.definitions import Loop, extent_between, unwrapped
from compiler.tir.statements.stmt import ForKind

__all__ = ["grid", "parallel", "serial", "thread_binding", "unroll", "vectorized"]


def _loop(
    kind: ForKind, start: ExprLike, stop: ExprLike, annotations: Mapping[str, object] | None, thread: str = ""
) -> Loop:
    if stop is None:
        extent = convert(start)
        low: PrimExpr = const(0, extent.dtype)
    else:
        low, high = match_types(start, stop, "range")
        extent = extent_between(low, high)
    for bound in (extent, low):
        if not is_integral(bound.dtype):
            raise ArgumentError(f"range: a loop runs over integers, got {show(bound)} of {bound.dtype}")
    return Loop(low, extent, kind, thread, unwrapped(annotations or {}))


def serial(start: ExprLike, stop: ExprLike = None, *, annotations: Mapping[str, object] | None = None) -> Loop:
    """Run the iterations one after the other; ``range`` means the same, without annotations."""
    return _loop(ForKind.SERIAL, start, stop, annotations)


def parallel(start: ExprLike, stop: ExprLike = None, *, annotations: Mapping[str, object] | None = None) -> Loop:
    """Run the iterations on several cores."""
    return _loop(ForKind.PARALLEL, start, stop, annotations)


def vectorized(start: ExprLike, stop: ExprLike = None, *, annotations: Mapping[str, object] | None = None) -> Loop:
    """Run the iterations, a constant number, as lanes of vectors."""
    return _loop(ForKind.VECTORIZED, start, stop, annotations)


def unroll(start: ExprLike, stop: ExprLike = None, *, annotations: Mapping[str, object] | None = None) -> Loop:
    """Write the iterations, a constant number, out one after the other."""
    return _loop(ForKind.UNROLLED, start, stop, annotations)


def thread_binding(
    start: ExprLike, stop: ExprLike | str = None, thread: str = "", *, annotations: Mapping[str, object] | None = None
) -> Loop:
    """Run each iteration on a thread of its own, along an axis such as ``"threadIdx.x"``.

    The thread axis may come right after the number of iterations. Raises ArgumentError if the thread axis is missing.
    """
    if isinstance(stop, str):
        return thread_binding(start, thread=stop, annotations=annotations)
    if not thread:
        raise ArgumentError('T.thread_binding: expected thread="threadIdx.x" or another thread axis')
    return _loop(ForKind.THREAD_BINDING, start, stop, annotations, thread)


def grid(*extents: ExprLike) -> list[Loop]:
    """Nest serial loops: ``for i, j in T.grid(4, 8):``."""
    return [serial(extent) for extent in extents]
