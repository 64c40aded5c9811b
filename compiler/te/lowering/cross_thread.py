"""Cross-thread reductions: each thread reduces its part, then the threads combine their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr.primexpr import Call, CommReducer, IntImm, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.tir.expressions.builtin import THREAD_ALLREDUCE, if_then_else, reinterpret
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import AttrStmt, BufferStore, Evaluate, IfThenElse, Stmt, seq, stored_at_once


def reduce_across_threads(
    combiner: CommReducer,
    source: Sequence[PrimExpr],
    condition: PrimExpr,
    threads: Sequence[Var],
    serial_loops: Callable[[Stmt], Stmt] | None,
    finish: Callable[[Sequence[PrimExpr]], Stmt],
) -> Stmt:
    """Return the statement that reduces ``source`` over threads; ``serial_loops`` are those that each runs by itself.

    ::

        for i in threads of a block:                  normal_reduce_temp0[0] = 0.0
            for k in range(16):       →               for k in range(16):
                B[0] = B[0] + A[k, i]                     normal_reduce_temp0[0] = normal_reduce_temp0[0] + A[k, i]
                                                      reduce_temp0[0] = all-reduce of normal_reduce_temp0[0]
                                                      if threadIdx_x == 0:
                                                          B[0] = reduce_temp0[0]
    """
    steps: list[Stmt] = []
    buffers: list[Buffer] = []
    if serial_loops is None:
        values = [_where(condition, e, start) for e, start in zip(source, combiner.identity_element, strict=True)]
    else:
        partial = _temporaries("normal_reduce_temp", source)
        values = [_only(b) for b in partial]
        starts = zip(partial, combiner.identity_element, strict=True)
        steps += [BufferStore(b, start, (const(0),)) for b, start in starts]
        steps.append(serial_loops(_where_stmt(condition, _combine(combiner, partial, source))))
        buffers += partial
    results = _temporaries("reduce_temp", source)
    buffers += results
    arguments = (const(len(values), "uint32"), *values, const(True), *map(_only, results), *threads)
    together = Evaluate(Call("handle", THREAD_ALLREDUCE, arguments))
    steps.append(AttrStmt(combiner, "reduce_scope", reinterpret("handle", const(0, "uint64")), together))
    last = finish([_only(b) for b in results])
    for thread in reversed(threads):
        last = IfThenElse(thread.equal(0), last)
    body = seq([*steps, last])
    for buffer in reversed(buffers):
        body = BufferRealize(buffer, (Range(0, 1),), const(True), body)
    return body


def _temporaries(name: str, values: Sequence[PrimExpr]) -> list[Buffer]:
    return [decl_buffer((1,), e.dtype, f"{name}{i}", scope="local") for i, e in enumerate(values)]


def _only(buffer: Buffer) -> BufferLoad:
    return BufferLoad(buffer, (const(0),))


def _combine(combiner: CommReducer, partial: Sequence[Buffer], source: Sequence[PrimExpr]) -> Stmt:
    """Combine partial results with new values, all at once."""
    into = [_only(buffer) for buffer in partial]
    operands: dict[Var, PrimExpr] = dict(zip((*combiner.lhs, *combiner.rhs), (*into, *source), strict=True))
    return stored_at_once(into, [substitute(e, operands) for e in combiner.result], "{}.next")


def _always(condition: PrimExpr) -> bool:
    return isinstance(condition, IntImm) and bool(condition.value)


def _where(condition: PrimExpr, value: PrimExpr, other: PrimExpr) -> PrimExpr:
    return value if _always(condition) else if_then_else(condition, value, other)


def _where_stmt(condition: PrimExpr, stmt: Stmt) -> Stmt:
    return stmt if _always(condition) else IfThenElse(condition, stmt)
