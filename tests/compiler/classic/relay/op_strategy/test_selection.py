"""Programs that say how operators are computed: strategies, definitions, schedules and gradients of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te, topi
from compiler.classic.relay import op_strategy as strategy
from compiler.classic.relay.backend import te_compiler
from compiler.classic.relay.op_strategy.selection import program_strategy
from compiler.classic.testing.relay.temp_op_attr import TempOpAttr
from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError, BuildError
from compiler.ir.types import Type
from compiler.relay.inference import infer_expr
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor

_op = relay.op
DATA = np.array([[1, 2, 4], [8, 16, 32]], "float32")


def run(expr: Any, *arrays: np.ndarray) -> np.ndarray:
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expr), expr))
    return relay.create_executor("graph", mod=mod, target="llvm").evaluate()(*arrays).numpy()


def plus(number: float) -> Any:
    """Return a definition that is told apart by what it adds."""
    return strategy.wrap_topi_compute(lambda x: te.compute(x.shape, lambda *i: x(*i) + number, name="plus"))


def several(attrs: Attrs, inputs: list[Tensor], out_type: Type, target: Target) -> relay.op.OpStrategy:
    """List an implementation for all shapes, a better one, and the best for long rows only."""
    listed = relay.op.OpStrategy()
    listed.add_implementation(plus(1), strategy.naive_schedule, name="first")
    listed.add_implementation(plus(2), strategy.wrap_topi_schedule(topi.generic.schedule_injective), "better", 15)
    with te.SpecializedCondition(inputs[0].shape[1] >= 16):
        listed.add_implementation(plus(3), strategy.naive_schedule, name="long", plevel=20)
    return listed


def of_shape(*shape: int) -> tuple[Any, ...]:
    call = relay.exp(relay.var("x", shape=shape))
    infer_expr(call)
    return call.op, call.attrs, [te.placeholder(shape)], call.checked_type, Target("llvm")


@pytest.mark.parametrize(("columns", "names"), [(3, ["first", "better"]), (16, ["first", "better", "long"])])
def test_the_valid_implementation_with_the_highest_level_is_taken(columns: int, names: list[str]) -> None:
    x = relay.var("x", shape=(2, columns))
    with TempOpAttr("exp", "FTVMStrategy", several):
        assert [i.name for i in te_compiler.get_valid_implementations(*of_shape(2, columns))] == names
        chosen, outputs = te_compiler.select_implementation(*of_shape(2, columns))
        assert chosen.name == names[-1]
        assert [o.op.name for o in outputs] == ["plus"]
        zeros = np.zeros((2, columns), "float32")
        np.testing.assert_array_equal(run(relay.negative(relay.exp(x)), zeros), zeros - len(names))
    np.testing.assert_array_equal(run(relay.negative(relay.exp(x)), zeros), zeros - 1)


def test_rows_are_strategies_of_their_own() -> None:
    [implementation] = te_compiler.get_valid_implementations(*of_shape(2, 3))
    assert implementation.name == "exp.generic"
    assert program_strategy(relay.op.get("exp")) is None
    assert strategy.conv2d_strategy is relay.op.get("nn.conv2d").get_attr("FTVMStrategy")
    assert strategy.generic.dense_strategy is strategy.dense_strategy


def test_variants_for_targets_count_until_then_the_row() -> None:
    x = relay.var("x", shape=(2, 3))
    np.testing.assert_array_equal(run(relay.floor(x), DATA), DATA)
    generic = strategy.floor_strategy
    generic.register(several, "cpu")
    try:
        np.testing.assert_array_equal(run(relay.floor(x), DATA), DATA + 2)
    finally:
        generic._variants.clear()
    np.testing.assert_array_equal(run(relay.floor(x), DATA), DATA)


@pytest.fixture
def logarithm() -> Iterator[Any]:
    """Declare an operator of a program."""
    name = "test_op_strategy.log1"
    if name not in relay.op.op.registered_ops():
        relay.op.op.register(name, "log(x) + 1")
        op = relay.op.op.get(name)
        op.set_num_inputs(1)
        op.add_argument("data", "Tensor", "The numbers.")
        op.add_type_rel("Identity")
        relay.op.op.register_pattern(name, relay.op.op.OpPattern.ELEMWISE)
    yield relay.op.op.get(name)
    for attribute in ("FTVMCompute", "FTVMStrategy", "FPrimalGradient"):
        relay.op.op.get(name).reset_attr(attribute)


def test_an_operator_of_a_program_is_built_and_fused(logarithm: Any) -> None:
    @relay.op.op.register_compute(logarithm.name)
    def compute(attrs: Attrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
        return [te.compute(inputs[0].shape, lambda *i: te.log(inputs[0](*i)) + 1)]

    relay.op.op.register_injective_schedule(logarithm.name)
    x = relay.var("x", shape=(2, 3))
    expr = relay.negative(relay.Call(logarithm, [x]))
    np.testing.assert_allclose(run(expr, DATA), -np.log(DATA) - 1, rtol=1e-5)
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], expr)), "llvm")
    assert len(lib.get_lib().kernels) == 1


def test_a_schedule_without_a_definition_is_refused(logarithm: Any) -> None:
    relay.op.op.register_reduce_schedule(logarithm.name)
    with pytest.raises(ArgumentError, match="has a schedule but no definition; register one with register_compute"):
        run(relay.Call(logarithm, [relay.var("x", shape=(2, 3))]), DATA)
    logarithm.reset_attr("FTVMStrategy")
    with pytest.raises(BuildError, match="has no strategy"):
        te_compiler.get_valid_implementations(logarithm, Attrs(), [], None, Target("llvm"))


def test_gradients_of_programs_are_used(logarithm: Any) -> None:
    relay.op.op.register_gradient(logarithm.name, lambda call, grad: [relay.divide(grad, call.args[0])])
    x = relay.var("x", shape=(2, 3))
    call = relay.Call(logarithm, [x])
    func = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))["main"]
    backward = relay.transform.gradient(func, mode="first_order")
    assert "divide" in str(backward)


def test_wrappers_pass_what_definitions_take() -> None:
    call = relay.nn.conv2d(relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(6, 2, 3, 3)), (2, 1), groups=2)
    infer_expr(call)
    data = [te.placeholder((1, 4, 8, 8)), te.placeholder((6, 2, 3, 3))]
    taken: list[Any] = []

    def definition(*args: Any) -> Tensor:
        taken.extend(args)
        return data[0]

    compute = strategy.wrap_compute_conv2d(definition, need_data_layout=True, need_out_layout=True, has_groups=True)
    assert compute(call.attrs, data, call.checked_type) == data[:1]
    assert taken == [*data, (2, 1), (0, 0, 0, 0), (1, 1), 2, "NCHW", "", "float32"]
