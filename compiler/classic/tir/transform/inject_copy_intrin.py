"""Replaces copy loops by a user-defined intrinsic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.arith.linear.detect_linear_equation import detect_clip_bound, detect_linear_equation
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Call, Cast, Max, PrimExpr, Select, binary, const
from compiler.ir.node import rebuild
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, BufferStore, For, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite

Instruction = Callable[[Buffer, Buffer, list[PrimExpr], list[PrimExpr], PrimExpr | None], Stmt]


class InjectCopyIntrin(FunctionRewrite):
    """Replace the loops under a pragma, which copy a box of elements, by what a function makes of it.

    For example ``InjectCopyIntrin("memcpy", f)``::

        # pragma memcpy                        f(src, dst, pad_before, pad_after, pad_value)
        for i in range(8):              →
            B[i] = A[i + 4]

    Raises LoweringError if the loops do anything else than copying with indices that are linear in their variables.

    Parameters
    ----------
    pragma_key : str
        The pragma without its prefix, e.g. ``memcpy`` for ``s[B].pragma(axis, "memcpy")``.
    fintrin : callable
        From the source and the target (buffers with the strides, offsets and shapes of the box), how many elements
        are padded before and after the source along each dimension (empty if none are), and the value that they
        get, to a statement.
    """

    pragma_key: str
    fintrin: Instruction

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        key = f"pragma_{self.pragma_key}"
        if key not in features(func).attrs:
            return func
        return func.with_body(_Inject(key, self.fintrin).visit(func.body))


class _Inject(StmtMutator):
    def __init__(self, key: str, instruction: Instruction) -> None:
        self._key = key
        self._instruction = instruction

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key != self._key:
            return rebuild(n, body=self.visit(n.body))
        return self._instruction(*_copy(n.body))


class _Value(NamedTuple):
    """What is stored: an element where a condition holds, else the value of the padding."""

    load: BufferLoad
    condition: PrimExpr | None
    padding: PrimExpr | None


def _copy(body: Stmt) -> tuple[Buffer, Buffer, list[PrimExpr], list[PrimExpr], PrimExpr | None]:
    """Return the arguments of the instruction that does what the loops do."""
    loops: list[For] = []
    stmt = body
    while isinstance(stmt, For):
        loops.append(stmt)
        stmt = stmt.body
    value = _value(stmt)
    if not isinstance(stmt, BufferStore) or value is None:
        raise LoweringError(f"InjectCopyIntrin: cannot match a copy of elements in {show(body)}")
    target, source = _strides(stmt.indices, loops, body), _strides(value.load.indices, loops, body)
    before, after = _padding(value.condition, loops, body)
    simplify = Analyzer().simplify
    extents = [loop.extent for loop in loops]
    offset = source[-1]
    for padding, stride in zip(before, source, strict=False):
        offset = offset + padding * stride
    inside = [e - b - a for e, b, a in zip(extents, before, after, strict=True)] if before else extents
    dst = _box(stmt.buffer, extents, target[:-1], target[-1])
    src = _box(value.load.buffer, [simplify(e) for e in inside], source[:-1], simplify(offset))
    return src, dst, before, after, value.padding


def _value(stmt: Stmt) -> _Value | None:
    if not isinstance(stmt, BufferStore):
        return None
    stored = stmt.value
    value: PrimExpr = stored
    condition: PrimExpr | None = None
    padding: PrimExpr | None = None
    if isinstance(stored, Select):
        condition, value, padding = stored.condition, stored.true_value, stored.false_value
    elif isinstance(stored, Call) and stored.op is IF_THEN_ELSE:
        condition, value, padding = stored.args
    if isinstance(value, Cast):
        value = value.value
    return _Value(value, condition, padding) if isinstance(value, BufferLoad) else None


def _strides(indices: Sequence[PrimExpr], loops: list[For], body: Stmt) -> list[PrimExpr]:
    """Return how far an access moves with each loop, and where it begins."""
    terms = detect_linear_equation(indices[0], [loop.loop_var for loop in loops]) if len(indices) == 1 else []
    if not terms:
        raise LoweringError(f"InjectCopyIntrin: an index is not linear in the loops of {show(body)}")
    return list(terms)


def _padding(condition: PrimExpr | None, loops: list[For], body: Stmt) -> tuple[list[PrimExpr], list[PrimExpr]]:
    """Return how many elements before and after the source the padding is for, along each loop."""
    if condition is None:
        return [], []
    bounds = detect_clip_bound(condition, [loop.loop_var for loop in loops])
    if not bounds:
        raise LoweringError(f"InjectCopyIntrin: the condition {show(condition)} of {show(body)} does not select a box")
    simplify = Analyzer().simplify
    before, after = [], []
    for loop, low, high in zip(loops, bounds[::2], bounds[1::2], strict=True):
        zero = const(0, loop.loop_var.dtype)
        before.append(zero if low is None else simplify(binary(Max, low - loop.min, zero)))
        after.append(zero if high is None else simplify(binary(Max, loop.min + loop.extent - high - 1, zero)))
    return before, after


def _box(buffer: Buffer, shape: list[PrimExpr], strides: list[PrimExpr], offset: PrimExpr) -> Buffer:
    """Return the view of a buffer that is copied; a single element is a row of one."""
    sizes, steps = (shape, strides) if shape else ([const(1)], [const(1)])
    return rebuild(buffer, shape=tuple(sizes), strides=tuple(steps), elem_offset=offset)
