"""Names and forms that few programs use, but which stop the whole program where they are missing."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, tir
from compiler.classic import alias
from compiler.classic.contrib import graph_executor
from compiler.classic.relay import quantize
from compiler.classic.relay.backend import graph_executor_codegen
from compiler.classic.relay.quantize import _annotate as annotation_rules
from compiler.ir.error import ArgumentError
from compiler.relay.function_devices import devices_of
from compiler.tir.script import tir as T
from compiler.tir.script.source import ScriptError

x, y = tir.Var("x", "int32"), tir.Var("y", "int32")


@pytest.mark.parametrize("condition", [x.equal(y), x == y, x != y, x < y], ids=str)
def test_a_comparison_becomes_an_expression_when_it_is_asked_to(condition):
    assert condition.asobject() is condition
    with tvm.arith.Analyzer().constraint_scope(condition.asobject()):
        pass


def test_a_condition_of_python_constrains_nothing_or_everything():
    analyzer = tvm.arith.Analyzer()
    with analyzer.constraint_scope(True):
        assert analyzer.simplify(x) is x
    with analyzer.constraint_scope((x < 3).asobject()):
        assert tvm.ir.structural_equal(analyzer.simplify(x < 5), tir.const(True))


def test_range_takes_annotations():
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    for i in range(2, 8, annotations={"pragma_note": 1}):
        A[i] = T.float32(1.0)
"""
    function = tvm.script.from_source(text)
    assert 'for i in T.serial(2, 8, annotations={"pragma_note": 1}):' in function.script()
    with pytest.raises(ScriptError, match="the step of a loop must be 1"):
        tvm.script.from_source(text.replace("annotations={", "step={"))


@pytest.mark.parametrize("name", ["exp", "max", "min", "floordiv", "if_then_else", "ceil", "address_of", "call_extern"])
def test_operators_of_scripts_have_their_names(name):
    assert getattr(T, name).__name__ == name


def test_lanes_have_a_data_type_and_a_value():
    for vector in (tir.Ramp(x, 1, 4), tir.Broadcast(x, 4)):
        assert (vector.lanes.dtype, vector.lanes.value, vector.lanes) == ("int32", 4, 4)
        assert str(vector.lanes) == "4"


def test_axes_of_a_layout_are_variables():
    axes = tir.layout("NCHW4c").axes
    assert [axis.var.name for axis in axes] == ["N", "C", "H", "W", "c"]
    assert [str(axis.dom.extent) for axis in axes] == ["N_shape", "C_shape", "H_shape", "W_shape", "4"]
    assert axes[0].var is tir.layout("NC").axes[0].var


def test_the_device_of_an_expression_can_be_set():
    v, device = relay.var("v", shape=(3,)), tvm.target.VirtualDevice(tvm.cpu())
    assert v.virtual_device_ == tvm.target.VirtualDevice()
    v.virtual_device_ = device
    assert v.virtual_device_ == device
    function = relay.Function([v], v + v)
    assert devices_of(function) == ([device], tvm.target.VirtualDevice())
    function.virtual_device_ = device
    assert function.virtual_device_ == device
    assert devices_of(function) == ([device], device)


def test_uses_of_an_object_are_those_of_nodes_and_the_program():
    v = tir.Var("v", "int32")
    assert tvm.testing.object_use_count(v) == 1
    once = v + 1
    twice = once + v
    assert tvm.testing.object_use_count(v) == 3  # as in TVM
    assert tvm.testing.object_use_count(once) == 2
    called = tir.call_extern("int32", "f", twice)
    assert tvm.testing.object_use_count(twice) == 2
    assert tvm.testing.object_use_count(called) == 1


def test_a_graph_is_lowered_by_hand_and_run():
    data, weight = relay.var("data", shape=(4, 8)), relay.var("weight", shape=(5, 8))
    ones = relay.const(np.ones(5, "float32"))
    model = tvm.IRModule.from_expr(relay.Function([data, weight], relay.nn.relu(relay.nn.dense(data, weight) + ones)))
    a, b = (np.random.default_rng(i).normal(size=(n, 8)).astype("float32") for i, n in enumerate((4, 5)))
    target = tvm.target.Target("llvm")
    optimized, params = relay.optimize(model, target, {"weight": b})
    codegen = graph_executor_codegen.GraphExecutorCodegen(None, target)
    graph, kernels, constants = codegen.codegen(optimized, optimized["main"])
    assert list(kernels) == [target]
    executor = graph_executor.create(graph, tvm.build(kernels, target), tvm.cpu())
    executor.set_input(**params, **constants)
    executor.run(data=a)
    np.testing.assert_allclose(executor.get_output(0).numpy(), np.maximum(a @ b.T + 1, 0), rtol=1e-5, atol=1e-6)


def test_programs_say_how_an_operator_is_annotated(monkeypatch):
    monkeypatch.setattr("compiler.classic.relay.transform.quantization.quantize_annotate._REGISTERED", {})
    calls = []

    @annotation_rules.register_annotate_function("nn.dense")
    def rule(ref_call, new_args, ctx):
        calls.append(ref_call)
        data, kind = annotation_rules._get_expr_kind(new_args[0])
        assert kind is None
        data = annotation_rules.attach_simulated_quantize(data, annotation_rules.QAnnotateKind.INPUT)
        made = relay.nn.dense(data, new_args[1])
        return annotation_rules.QAnnotateExpr(made, annotation_rules.QAnnotateKind.ACTIVATION)

    data, weight = relay.var("data", shape=(4, 8)), relay.var("weight", shape=(5, 8))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.nn.dense(data, weight)))
    annotated = quantize.annotate()(mod).astext()
    assert len(calls) == 1
    assert annotated.count("simulated_quantize") == 1  # the weight stays as it is
    annotation_rules.register_annotate_function("nn.dense", lambda call, args, ctx: None, level=5)
    assert "simulated_quantize" in quantize.annotate()(mod).astext()
    with pytest.raises(ArgumentError, match="only a rule"):
        annotation_rules.attach_simulated_quantize(data, annotation_rules.QAnnotateKind.INPUT)


@pytest.mark.parametrize(
    "line",
    [
        "from tvm.relay.quantize import _annotate; _annotate.register_annotate_function",
        "import tvm.relay.quantize._annotate; tvm.relay.quantize._annotate.QAnnotateExpr",
        "from tvm.relay.backend import graph_executor_codegen; graph_executor_codegen.GraphExecutorCodegen",
        "import tvm; tvm.testing.object_use_count",
    ],
)
def test_a_line_that_names_it_runs(line):
    alias.install()
    exec(line, {})
