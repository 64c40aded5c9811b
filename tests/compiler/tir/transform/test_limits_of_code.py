"""Vectors and unrolled loops too large for any machine end in an error that names the limit, not in a crash."""

from __future__ import annotations

import pytest

from compiler import te, tir
from compiler.driver.build import build
from compiler.ir.dtype import MAX_LANES
from compiler.ir.error import BuildError, LoweringError, ScheduleError
from compiler.ir.module import IRModule
from compiler.tir.transform.loops.unroll_loop import MAX_STEPS


def added(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    return te.create_schedule(b.op), [a, b]


@pytest.mark.parametrize("lanes", [MAX_LANES + 1, 1 << 20, 1 << 40])
def test_a_vector_that_is_too_long_is_refused_by_the_primitive(lanes: int) -> None:
    s, [_, b] = added(lanes)
    with pytest.raises(ScheduleError, match=r"vectorize: a vector has at most 32,768 lanes, and 'i' of stage 'B'"):
        s[b].vectorize(b.op.axis[0])


def test_one_made_by_a_split_is_refused_when_it_is_lowered() -> None:
    s, [a, b] = added(1 << 22)
    s[b].vectorize(s[b].split(b.op.axis[0], factor=1 << 21)[1])
    with pytest.raises(LoweringError, match=r"VectorizeLoop: .* 32,768 lanes, and loop 'i.inner' has 2,097,152"):
        build(s, [a, b], target="llvm")


def test_one_written_by_hand_is_refused_by_the_code_generator() -> None:
    n = 1 << 20
    buffer = tir.decl_buffer((n,), "float32", name="B")
    store = tir.BufferStore(buffer, tir.Broadcast(tir.const(1.0, "float32"), n), [tir.Ramp(0, 1, n)])
    function = tir.PrimFunc([buffer.data], store).with_attr("global_symbol", "main")
    with pytest.raises((BuildError, LoweringError), match="at most 32,768 lanes"):
        build(IRModule({"main": function}), target="llvm")


def test_loops_that_would_become_too_many_statements_are_refused() -> None:
    s, [a, b] = added(1 << 20)
    outer, inner = s[b].split(b.op.axis[0], factor=1 << 10)
    s[b].unroll(outer)
    s[b].unroll(inner)
    message = f"UnrollLoop: loop 'i.outer' would be written out as 1,048,576 statements, at most {MAX_STEPS:,}"
    with pytest.raises(LoweringError, match=message):
        build(s, [a, b], target="llvm")
