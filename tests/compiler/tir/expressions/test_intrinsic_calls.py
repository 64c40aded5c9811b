"""Calls of operators that lowering writes and that devices have; rules for intrinsics are read by builds."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
import pytest

from compiler import build, ir, nd, te, tir
from compiler.ir.expr.primexpr import Call, StringImm, Var, const
from compiler.ir.op import Op, register_intrin_lowering
from compiler.tir.expressions import intrinsic_calls
from compiler.tir.interpreter import interpret
from compiler.tir.script import from_source
from compiler.tir.script import tir as T


@pytest.mark.parametrize("name", intrinsic_calls.__all__)
def test_a_builder_calls_its_operator_with_its_operands(name: str) -> None:
    build_call = getattr(tir, name)
    parameters = inspect.signature(build_call).parameters
    given = {p: "float16" if p == "dtype" else Var(p, "int32") for p in parameters}
    stars = [p.kind is p.VAR_POSITIONAL for p in parameters.values()]
    call = build_call(*given.values())
    assert call.op.name in (f"tir.{name}", f"tir.tvm_{name}")
    assert [a.name for a in call.args] == [p for p in parameters if p != "dtype"]
    assert (call.dtype == "float16") == ("dtype" in parameters)
    assert stars.count(True) <= 1
    for parameter in parameters:
        assert parameter in build_call.__doc__


def test_what_is_left_out_has_its_default_or_is_no_operand() -> None:
    x, y = Var("x", "int32"), Var("y", "int32")
    assert tir.dp4a(x, y).args[2].value == 0
    operands = ("m8n8k4", "row", "col", "fp16", "fp16", "fp32", x, 0, y, 0, x, 0, False)
    assert len(tir.ptx_mma("float32", *operands).args) == 13
    with_operator = tir.ptx_mma("int32", *operands, "xor")
    assert isinstance(with_operator.args[13], StringImm)
    with pytest.raises(TypeError, match="barrier_id"):
        tir.ptx_wait_barrier()


@pytest.mark.parametrize("shift", [3, 0, -2])
@pytest.mark.parametrize("vectorized", [False, True])
def test_products_of_fixed_point_numbers_are_rounded_half_up(shift: int, vectorized: bool) -> None:
    factor, bits = 1395864371, 31
    A = te.placeholder((8,), "int32", name="A")
    numbers = [const(v, "int32") for v in (factor, bits, shift)]
    B = te.compute((8,), lambda i: tir.q_multiply_shift(A[i], *numbers), name="B")
    s = te.create_schedule(B.op)
    if vectorized:
        s[B].vectorize(B.op.axis[0])
    a = np.array([1, -1, 100, -100, 12345, -12345, 7, -3], "int32")
    expected = [int(np.floor(int(v) * 2 ** max(shift, 0) * factor / 2 ** (bits + max(-shift, 0)) + 0.5)) for v in a]
    out = nd.array(np.zeros(8, "int32"))
    build(s, [A, B], "llvm")(nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_the_shift_of_a_product_may_be_a_value() -> None:
    @T.prim_func
    def scale(x: T.Buffer((4,), "int32"), shift: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
        for i in range(4):
            y[i] = T.q_multiply_shift(x[i], 1395864371, 31, shift[i])

    x, shift = np.array([5, -5, 1000, -77], "int32"), np.array([0, -1, 2, -3], "int32")
    out = nd.array(np.zeros(4, "int32"))
    build(scale, target="llvm")(nd.array(x), nd.array(shift), out)
    np.testing.assert_array_equal(out.numpy(), np.floor(x * 2.0**shift * 1395864371 / 2.0**31 + 0.5))


def test_products_per_axis_take_their_shifts_as_values() -> None:
    @T.prim_func
    def scale(x: T.Buffer((4,), "int32"), left: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
        for i in range(4):
            y[i] = T.q_multiply_shift_per_axis(x[i], 1395864371, left[i], 2, 31, T.bool(True), T.bool(True))

    x, left = np.array([5, -5, 1000, -77], "int32"), np.array([0, 1, 2, 3], "int32")
    expected = np.floor(x.astype("float64") * 2.0**left * 1395864371 / 2.0**33 + 0.5)
    by_machine, by_interpreter = nd.array(np.zeros(4, "int32")), np.zeros(4, "int32")
    build(scale, target="llvm")(nd.array(x), nd.array(left), by_machine)
    interpret(scale, [x, left, by_interpreter])
    np.testing.assert_array_equal(by_machine.numpy(), expected)
    np.testing.assert_array_equal(by_interpreter, expected)


@pytest.fixture
def lowered_exp() -> Iterator[Op]:
    op = Op.get("tir.exp")
    register_intrin_lowering("tir.exp", "llvm", f=lambda call: tir.call_pure_extern(call.dtype, "expf", *call.args))
    yield op
    op.reset_attr("llvm.FLowerIntrinsic")


def test_a_build_reads_the_rules_of_programs(lowered_exp: Op) -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: te.exp(A[i]), name="B")
    module = build(te.create_schedule(B.op), [A, B], "llvm")
    assert "@expf" in module.get_source()
    a, b = np.linspace(-1, 1, 8, dtype="float32"), nd.array(np.zeros(8, "float32"))
    module(nd.array(a), b)
    np.testing.assert_allclose(b.numpy(), np.exp(a), rtol=1e-6)
    lowered_exp.reset_attr("llvm.FLowerIntrinsic")
    assert "@expf" not in build(te.create_schedule(B.op), [A, B], "llvm").get_source()


def test_texts_of_calls_are_read_back() -> None:
    @T.prim_func
    def f(x: T.handle):
        T.evaluate(T.tvm_struct_set(x, 0, 12, 1))
        T.evaluate(T.dp4a("int32", 1, 2, 3))
        T.evaluate(T.start_profile_intrinsic(3))
        T.evaluate(T.tvm_struct_get(x, 0, 4, "int32"))

    calls = [s.value for s in f.body.seq]
    assert all(isinstance(c, Call) for c in calls)
    ir.assert_structural_equal(from_source(f.script()), f, map_free_vars=True)
