"""Passes over statements, as releases before 0.7 had them, carry out those that took their places."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.classic import older_ir_pass as ir_pass
from compiler.classic.alias import install
from compiler.classic.older_build_config import build_config
from compiler.ir.deprecation import deprecated

install()
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def nothing_said_yet() -> None:
    deprecated.cache_clear()


def doubled() -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="b")
    return te.create_schedule(b.op), [a, b]


def in_vectors(stmt: tir.Stmt) -> tir.Stmt:
    """Return a statement whose loops over sixteen are vectors of eight, by the names of 0.6."""

    def split(loop: tir.For) -> tir.For | None:
        if loop.for_type != tir.For.Serial or not ir_pass.Equal(loop.extent, tir.const(16)):
            return None
        outer, inner = te.var("outer"), te.var("inner")
        body = ir_pass.Substitute(loop.body, {loop.loop_var: outer * 8 + inner})
        body = tir.For(inner, 0, 8, tir.For.Vectorized, 0, body)
        return tir.For(outer, 0, 2, tir.For.Serial, 0, body)

    return ir_pass.IRTransform(stmt, None, split, ["For"])


def test_a_pass_over_statements_is_carried_out_while_lowering() -> None:
    schedule, args = doubled()
    with build_config(add_lower_pass=[(1, in_vectors)]):
        text = str(tvm.lower(schedule, args, simple_mode=True))
        function = tvm.build(schedule, args)
    assert "ramp(outer*8, 1, 8)" in text
    result = tvm.nd.array(np.zeros(16, "float32"))
    function(tvm.nd.array(np.arange(16, dtype="float32")), result)
    assert result.numpy().tolist() == [2.0 * i for i in range(16)]


def test_a_lowered_module_stands_for_its_statement() -> None:
    seen = []
    ir_pass.PostOrderVisit(tvm.lower(*doubled(), simple_mode=True), seen.append)
    assert any(isinstance(node, tir.For) for node in seen)


def test_expressions_are_simplified_within_ranges() -> None:
    x = te.var("x")
    assert ir_pass.Equal(ir_pass.Simplify(x + 1 - x), tir.const(1))
    assert ir_pass.Equal(ir_pass.CanonicalSimplify(x // 8, {x: tvm.ir.Range(0, 8)}), tir.const(0))
    assert ir_pass.ExprUseVar(x + 1, x)
    assert not ir_pass.ExprUseVar(te.var("x") + 1, x)


def loop(extent: int, kind: tir.ForKind, bound: int = 16) -> tir.Stmt:
    i, b = te.var("i"), tir.decl_buffer((16,), name="b")
    body = tir.BufferStore(b, tir.const(1.0, "float32"), [i])
    return tir.For(i, 0, extent, kind, tir.IfThenElse(tir.likely(i < bound), body))


def test_passes_over_statements() -> None:
    assert "for" not in str(ir_pass.UnrollLoop(loop(4, tir.ForKind.UNROLLED)))
    assert "T.vectorized" not in str(ir_pass.VectorizeLoop(loop(4, tir.ForKind.VECTORIZED)))
    assert "if" not in str(ir_pass.LoopPartition(loop(8, tir.ForKind.SERIAL, 3), True))
    assert "for" not in str(ir_pass.RemoveNoOp(loop(0, tir.ForKind.SERIAL)))


def test_each_says_once_what_took_its_place() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"tvm\.ir_pass\.RemoveNoOp is deprecated: use tvm\.tir\.transform\.Rem"
    ):
        ir_pass.RemoveNoOp(loop(0, tir.ForKind.SERIAL))
