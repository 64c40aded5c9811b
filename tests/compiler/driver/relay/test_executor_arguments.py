"""Arguments belong to variables, whatever the variables are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.backend import Executor
from compiler.classic.relay.backend.executor_factory import ExecutorFactoryModule
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.runtime.container import ADT
from compiler.runtime.graph.graph_module import GraphModule, create
from tests.compiler.custom_types import MYFLOAT, custom_types, register_myfloat

KINDS = ("graph", "vm", "debug")
A, B = np.array([1, 2], "float32"), np.array([3, 4], "float32")


def stacked(*names: str) -> Any:
    params = [relay.var(name, shape=(2,)) for name in names]
    return relay.Function(params, relay.stack(params, axis=0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [("x", "x"), ("x", "x_1", "x"), ("p0", "p1")])
def test_arguments_by_position_keep_to_their_variables(kind: str, names: tuple[str, ...]) -> None:
    arrays = [np.array([i, 10 * i], "float32") for i in range(len(names))]
    mod = tvm.IRModule.from_expr(stacked(*names))
    assert relay.create_executor(kind, mod).evaluate()(*arrays).numpy().tolist() == np.stack(arrays).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_stands_for_two_variables_names_both(kind: str) -> None:
    call = relay.create_executor(kind, tvm.IRModule.from_expr(stacked("x", "x"))).evaluate()
    assert call(x=A).numpy().tolist() == [A.tolist(), A.tolist()]
    with pytest.raises(ArgumentError, match=r"\(x, x\), got 1 arguments and x"):
        call(A, x=B)
    with pytest.raises(ArgumentError, match="2 parameters of the function are named 'x'"):
        relay.build(tvm.IRModule.from_expr(stacked("x", "x")), params={"x": A})


def test_inputs_and_constants_of_a_graph_have_names_of_their_own() -> None:
    x, y, p = (relay.var(name, shape=(2,)) for name in ("x", "x", "p0"))
    weight = relay.const(np.array([5, 7], "float32"))
    func = relay.Function([x, y, p], (x - y) * weight + p)
    lib = relay.build(tvm.IRModule.from_expr(func), target="llvm")
    executor = GraphModule(lib["default"](tvm.cpu()))
    for name, value in (("x", A), ("x_1", B), ("p0", 10 * A)):
        executor.set_input(name, value)
    executor.run()
    assert executor.get_output(0).numpy().tolist() == ((A - B) * [5, 7] + 10 * A).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_tuple_are_given_together(kind: str) -> None:
    t = relay.var("t", relay.TupleType([relay.TensorType((2,)), relay.TensorType((2,))]))
    x = relay.var("t_0", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([t, x], relay.TupleGetItem(t, 0) * x - relay.TupleGetItem(t, 1)))
    assert relay.create_executor(kind, mod).evaluate()((A, B), 2 * B).numpy().tolist() == (A * 2 * B - B).tolist()


@pytest.mark.parametrize(("kind", "container"), [("graph", list), ("aot", list), ("vm", ADT), ("debug", ADT)])
def test_a_tuple_that_is_returned_is_a_list_of_models_and_an_object_of_the_others(kind: str, container: type) -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([x + x, relay.Tuple([x])])))
    result = relay.create_executor(kind, mod).evaluate()(A)
    assert type(result) is type(result[1]) is container
    assert [result[0].numpy().tolist(), result[1][0].numpy().tolist()] == [(A + A).tolist(), A.tolist()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_constant", [False, True])
def test_an_expression_is_evaluated_with_values_of_its_variables(kind: str, as_constant: bool) -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    binds = {x: relay.const(A), y: relay.const(B)} if as_constant else {x: A, y: B}
    assert relay.create_executor(kind).evaluate(x - y * y, binds).numpy().tolist() == (A - B * B).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_no_parameter_takes_are_left_out(kind: str) -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    run = relay.create_executor(kind, tvm.IRModule.from_expr(relay.Function([x, y], x - y))).evaluate()
    weights = {"y": B, "unused": A}
    assert run(A, **weights).numpy().tolist() == (A - B).tolist()
    for args, names in (([A], {"unused": A}), ([A, B], {"y": A}), ([A, B, A], {})):
        with pytest.raises(ArgumentError, match=r"takes \(x, y\), got"):
            run(*args, **names)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("graph", "GraphExecutor"), ("aot", "AotExecutor"), ("vm", "VMExecutor"), ("debug", "InterpreterExecutor")],
)
def test_each_kind_of_executor_has_a_class(kind: str, expected: str) -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], x - y))
    executor = relay.create_executor(kind, mod, params={"y": B})
    assert type(executor).__name__ == expected
    assert executor.evaluate()(A).numpy().tolist() == (A - B).tolist()


@pytest.mark.parametrize("executor", ["graph", "aot"])
def test_built_models_have_a_class_in_common(executor: str) -> None:
    x = relay.var("x", shape=(2,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)), executor=Executor(executor))
    assert isinstance(lib, ExecutorFactoryModule)
    assert not isinstance(lib.get_lib() if executor == "graph" else lib.lib, ExecutorFactoryModule)


def test_a_graph_takes_the_first_of_several_devices() -> None:
    x = relay.var("x", shape=(2,))
    graph, lib, _ = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)))
    executor = create(graph, lib, [tvm.cpu()])
    executor.run(x=A)
    assert executor.get_output(0).numpy().tolist() == (A + A).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_operands_of_different_types_are_refused(kind: str) -> None:
    x, y = relay.var("x", shape=(3,), dtype="int8"), relay.var("y", shape=(3,), dtype="float32")
    with pytest.raises(TVMError, match="int8"):
        relay.create_executor(kind, IRModule.from_expr(relay.Function([x, y], x + y))).evaluate()


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_take_the_types_of_their_parameters(kind: str) -> None:
    x = relay.var("x", shape=(3,))
    run = relay.create_executor(kind, IRModule.from_expr(relay.Function([x], x + x))).evaluate()
    assert run(np.ones(3, "float64")).numpy().dtype == "float32"


def test_the_debug_executor_computes_with_registered_data_types() -> None:
    with custom_types():
        register_myfloat()
        x, y = (relay.var(name, shape=(3,)) for name in "xy")
        total = relay.cast(x, MYFLOAT) + relay.cast(y, MYFLOAT)
        mod = IRModule.from_expr(relay.Function([x, y], relay.cast(total, "float32")))
        a, b = np.array([0.5, 1.25, -3], "float32"), np.array([2, 0.125, 7], "float32")
        with PassContext(config={"tir.disable_vectorize": True}):
            found = relay.create_executor("debug", mod).evaluate()(a, b)
    np.testing.assert_array_equal(found.numpy(), a + b)
