"""What is read off programs: features, calls between functions, operators, multiplications, layers, parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
import compiler.relay
from compiler.ir.error import ArgumentError

relay: Any = compiler.relay
analysis = relay.analysis
Feature = analysis.Feature


def _inferred(expr: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(expr))["main"]


def _scalar(name: str) -> Any:
    return relay.var(name, shape=())


def test_features_are_those_of_the_expressions() -> None:
    x = _scalar("x")
    assert analysis.detect_feature(relay.Function([x], x)) == {Feature.fVar, Feature.fFunction}
    shared = relay.exp(x)
    plain = {Feature.fVar, Feature.fOp, Feature.fCall}
    assert analysis.detect_feature(shared) == plain
    assert analysis.detect_feature(relay.add(shared, shared)) == plain | {Feature.fGraph}
    assert Feature.fGraph not in analysis.detect_feature(relay.add(x, x))


def test_a_function_that_calls_itself_is_a_recursive_let() -> None:
    f, x = relay.var("f"), _scalar("x")
    recursive = relay.Let(f, relay.Function([x], f(x)), f)
    plain = relay.Let(f, relay.Function([x], x), f)
    assert analysis.detect_feature(recursive) - analysis.detect_feature(plain) == {Feature.fLetRec, Feature.fCall}


def test_features_of_a_module_are_those_of_all_functions() -> None:
    x = _scalar("x")
    functions = {"a": relay.Function([x], relay.Tuple([x])), "b": relay.Function([], relay.RefCreate(relay.const(1)))}
    features = analysis.detect_feature(tvm.IRModule(functions))
    assert {Feature.fTuple, Feature.fRefCreate, Feature.fConstant} <= features


def _call_graph() -> tuple[Any, Any]:
    a, b, c = (relay.GlobalVar(name) for name in "abc")
    x, y, z = (_scalar(name) for name in "xyz")
    scalar = relay.TensorType(())
    functions = {
        a: relay.Function([x], b(b(x)), scalar),
        b: relay.Function([y], a(y), scalar),
        c: relay.Function([z], c(a(z)), scalar),
    }
    module = tvm.IRModule(functions)
    return module, analysis.CallGraph(module)


def test_the_call_graph_counts_users_and_used_functions() -> None:
    module, graph = _call_graph()
    assert graph.module is module
    assert [graph.ref_count(name) for name in "abc"] == [2, 1, 1]
    assert [graph.global_call_count(name) for name in "abc"] == [1, 1, 2]
    assert [graph.is_recursive(name) for name in "abc"] == [False, False, True]
    assert graph.print_var("c").splitlines()[1:3] == ["  call site: <c> calls c", "  call site: <c> calls a"]
    assert sorted(str(graph).split("node: ")[i][0] for i in (1, 2, 3)) == ["a", "b", "c"]


def test_a_call_of_a_function_that_is_missing_is_an_error() -> None:
    x = _scalar("x")
    with pytest.raises(ArgumentError, match="uses @gone"):
        analysis.CallGraph(tvm.IRModule({"main": relay.Function([x], relay.GlobalVar("gone")(x))}))


def test_operators_are_counted_in_kernels_too() -> None:
    x = relay.var("x", shape=(4,))
    module = tvm.IRModule.from_expr(relay.exp(relay.exp(relay.add(x, x))))
    assert analysis.list_op_freqs(module) == {"exp": 2, "add": 1}
    assert analysis.list_op_freqs(relay.transform.FuseOps(3)(module)) == {"exp": 2, "add": 1}


def test_only_what_lies_between_dequantize_and_quantize_is_fake_quantized() -> None:
    one, zero = relay.const(1.0), relay.const(0)
    real = relay.qnn.op.dequantize(relay.var("q", shape=(2,), dtype="int8"), one, zero)
    quantized = relay.qnn.op.quantize(relay.nn.relu(relay.exp(real)), one, zero)
    module = tvm.IRModule.from_expr(relay.tanh(relay.qnn.op.dequantize(quantized, one, zero)))
    assert analysis.list_fake_quantized_op_freqs(module) == {"exp": 1, "nn.relu": 1}
    real_only = tvm.IRModule.from_expr(relay.qnn.op.quantize(relay.exp(relay.var("x", shape=(2,))), one, zero))
    assert analysis.list_fake_quantized_op_freqs(real_only) == {}


def _conv(data: tuple[int, ...], weight: tuple[int, ...], **attrs: Any) -> Any:
    return relay.nn.conv2d(relay.var("x", shape=data), relay.var("w", shape=weight), **attrs)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (_conv((1, 4, 8, 8), (6, 4, 3, 3)), 6 * 6 * 6 * 4 * 9),
        (_conv((1, 8, 8, 4), (3, 3, 4, 6), data_layout="NHWC", kernel_layout="HWIO"), 6 * 6 * 6 * 4 * 9),
        (_conv((1, 4, 8, 8), (4, 1, 3, 3), groups=4), 4 * 6 * 6 * 9),
        (
            relay.nn.conv2d_transpose(
                relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 6, 3, 3)), strides=(2, 2)
            ),
            6 * 17 * 17 * 4 * 9,
        ),
        (relay.nn.dense(relay.var("x", shape=(2, 3)), relay.var("w", shape=(5, 3))), 30),
        (relay.nn.batch_matmul(relay.var("x", shape=(2, 3, 4)), relay.var("y", shape=(2, 5, 4))), 120),
        (relay.exp(relay.var("x", shape=(9,))), 0),
    ],
)
def test_multiplications_are_the_loops_of_the_definition(expr: Any, expected: int) -> None:
    assert analysis.get_total_mac_number(_inferred(expr)) == expected


def test_blocked_layouts_multiply_as_often() -> None:
    before = relay.transform.InferType()(tvm.IRModule.from_expr(_conv((1, 16, 8, 8), (16, 16, 3, 3))))
    after = relay.transform.AlterOpLayout("llvm -mcpu=haswell")(before)
    assert "NCHW8c" in str(after)
    assert analysis.get_total_mac_number(after["main"]) == analysis.get_total_mac_number(before["main"]) > 0


def test_multiplications_need_types() -> None:
    with pytest.raises(ArgumentError, match="run InferType first"):
        analysis.get_total_mac_number(_conv((1, 4, 8, 8), (6, 4, 3, 3)))


def test_layers_are_counted_along_the_longest_path() -> None:
    x = relay.var("x", shape=(4,))
    deep, flat = relay.exp(relay.exp(relay.log(x))), relay.exp(x)
    assert analysis.count_layers(relay.add(deep, flat), ["exp", "log"]) == 3
    counter = analysis.LayerCounter(["exp"])
    for part in (flat, deep):
        counter.visit(part)
    assert counter.count() == 2
    assert analysis.count_layers(tvm.IRModule.from_expr(relay.add(deep, flat)), ["exp"]) == 2


def test_weights_of_transposed_layers_are_found() -> None:
    x, w, v = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3, 4)), relay.var("v", shape=(5, 4))
    layers = relay.nn.dense(relay.nn.dense(x, relay.transpose(w, axes=[1, 0])), v)
    assert analysis.search_fc_transpose(layers) == ["w"]


def test_an_intermediate_call_becomes_a_module() -> None:
    x = relay.var("x", shape=(3,))
    module = tvm.IRModule.from_expr(relay.Function([x], relay.add(relay.exp(relay.log(x)), x)))
    data = np.array([1, 2, 3], "float32")
    part = analysis.extract_intermdeiate_expr(module, 1)
    np.testing.assert_allclose(relay.create_executor(mod=part).evaluate()(data).numpy(), data, rtol=1e-6)
    with pytest.raises(ArgumentError, match="from 0 to 2, got 3"):
        analysis.extract_intermdeiate_expr(module, 3)


def test_data_types_and_constants_of_expressions() -> None:
    x = relay.var("x", shape=(3,))
    assert analysis.all_dtypes(_inferred(relay.Function([x], relay.cast(x, "int8")))) == {"float32", "int8"}
    assert analysis.check_constant(relay.Tuple([relay.const(1), relay.const(2)]))
    assert not analysis.check_constant(relay.Tuple([relay.const(1), x]))


def test_kernels_of_one_structure_are_one_fused_function() -> None:
    x = relay.var("x", shape=(2, 8))
    v, w = (relay.var(name, shape=(8, 8)) for name in "vw")
    module = tvm.IRModule.from_expr(relay.nn.relu(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, v)), w)))
    kernels = analysis.extract_fused_functions(module)
    assert [analysis.list_op_freqs(tvm.IRModule({"main": k})) for k in kernels.values()] == [
        {"nn.dense": 1, "nn.relu": 1}
    ]


def _kind(body: Any) -> str:
    return str(body.op.name) if isinstance(body, relay.Call) else type(body).__name__


@pytest.mark.parametrize(
    ("make", "kinds"),
    [
        (lambda x, parts: relay.add(parts[0], x), "nn.relu split TupleGetItem add"),
        (lambda x, parts: relay.add(parts[0], parts[1]), "nn.relu split TupleGetItem TupleGetItem add"),
        (lambda x, parts: relay.Tuple([relay.exp(x), x]), "exp Tuple"),
        (lambda x, parts: relay.concatenate([relay.exp(x), relay.tanh(x)], 0), "exp tanh Tuple concatenate"),
    ],
)
def test_tuples_and_their_elements_are_values_as_calls_are(make: Any, kinds: str) -> None:
    """As TVM 0.19 counts them."""
    x = relay.var("x", shape=(2, 4))
    parts = relay.split(relay.nn.relu(relay.var("y", shape=(4, 4))), 2)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(make(x, parts)))
    count = len(kinds.split())
    found = [_kind(analysis.extract_intermdeiate_expr(module, at)["main"].body) for at in range(count)]
    assert " ".join(found) == kinds
    with pytest.raises(ArgumentError, match=f"must be from 0 to {count - 1}"):
        analysis.extract_intermdeiate_expr(module, count)
