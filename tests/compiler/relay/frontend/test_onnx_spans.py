"""The names of a model's nodes on the expressions that are made of them, and the options of the import."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import relay
from compiler.classic.frontend import common
from compiler.classic.testing import disable_span_filling, enable_span_filling
from compiler.ir import origin
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginTable, named_origins, recording
from compiler.ir.structural import assert_structural_equal, structural_equal
from compiler.ir.transform import PassContext
from compiler.relay.frontend import from_onnx
from compiler.relay.transform import AnnotateSpans, FoldConstant, FuseOps, InferType, SimplifyInference


def _value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _model(nodes, weights=(), shape=(2, 3), functions=(), **more):
    graph = helper.make_graph(nodes, "g", [_value("x", shape)], [_value("y", None)], list(weights))
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=domains, functions=list(functions), **more)


def _two_layers():
    return _model(
        [
            helper.make_node("Relu", ["x"], ["a"], name="first"),
            helper.make_node("Exp", ["a"], ["y"], name="block/second"),
        ]
    )


def _names(expr):
    return [origin.name for origin in named_origins(expr.span)]


def test_texts_name_the_layers_before_and_after_passes():
    with recording(OriginTable()):
        mod, _ = from_onnx(_two_layers())
        assert "nn.relu(%x) /* ty=Tensor[(2, 3), float32] span=first:0:0 */" in mod.astext()
        for step in (InferType(), SimplifyInference(), FoldConstant()):
            mod = step(mod)
        assert "exp(%0) /* ty=Tensor[(2, 3), float32] span=block/second:0:0 */" in mod.astext()
        fused = FuseOps(2)(mod)
        assert "span=first:0:0, block/second:0:0" in fused.astext()
        assert structural_equal(relay.fromtext(mod.astext()), relay.fromtext(re.sub(r" span=[^*]*", " ", mod.astext())))


def test_a_layer_that_is_several_operators_is_on_each():
    with recording(OriginTable()):
        mod, _ = from_onnx(_model([helper.make_node("HardSwish", ["x"], ["y"], name="swish")]))
        calls = []
        relay.analysis.post_order_visit(mod["main"], lambda e: calls.append(e) if isinstance(e, relay.Call) else None)
        assert len(calls) >= 1
        assert all(_names(call) == ["swish"] for call in calls)


def test_a_function_of_the_standard_has_the_name_of_its_node():
    weights = [numpy_helper.from_array(np.ones(3, "float32"), n) for n in ("s", "b")]
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], name="mvn", axes=[1])
    with recording(OriginTable()):
        mod, _ = from_onnx(_model([node], weights))
        assert _names(mod["main"].body) == ["mvn"]


def test_a_function_of_the_model_is_a_part_of_the_path():
    function = helper.make_function(
        "own", "Block", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"], name="neg")], [helper.make_opsetid("", 17)]
    )
    node = helper.make_node("Block", ["x"], ["y"], name="layer0", domain="own")
    with recording(OriginTable()):
        mod, _ = from_onnx(_model([node], functions=[function]))
        assert _names(mod["main"].body) == ["layer0/neg"]


def test_names_cannot_break_the_text():
    evil = _model([helper.make_node("Relu", ["x"], ["y"], name="*/ %x } \n")])
    with recording(OriginTable()):
        mod, _ = from_onnx(evil)
        assert structural_equal(relay.fromtext(mod.astext())["main"].body, mod["main"].body, map_free_vars=True)


def test_the_option_turns_names_off():
    with recording(OriginTable()), PassContext(config={"relay.frontend.fill_span": False}):
        mod, _ = from_onnx(_two_layers())
        assert "span=" not in mod.astext()
        assert _names(mod["main"].body) == []


def test_without_a_recording_names_are_asked_for(monkeypatch):
    monkeypatch.setattr(origin.current_ambient(), "table", None)

    def imported():
        return from_onnx(_two_layers())[0].astext()

    plain = imported()
    with enable_span_filling():
        named = imported()
    with disable_span_filling():
        plain_again = imported()
    assert ["span=first:0:0" in text for text in (plain, named, plain_again)] == [False, True, False]


def test_annotate_spans_names_places_in_the_text():
    x = relay.var("x", shape=(3,))
    mod = IRModule.from_expr(relay.Function([x], relay.exp(relay.nn.relu(x))))
    with recording(OriginTable()):
        annotated = AnnotateSpans()(mod)
        lines = annotated.astext().split("\n")
        assert "span=GeneratedSource:2:3" in lines[2]
        assert "span=GeneratedSource:3:3" in lines[3]
        assert structural_equal(annotated, InferType()(mod))


def test_convert_config():
    inputs = [_value("x", [2, 3, 4]), _value("w", [2, 4, 5])]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", inputs, [_value("y", None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    a, b = np.random.rand(2, 3, 4).astype("float32"), np.random.rand(2, 4, 5).astype("float32")
    for nt in (False, True):
        mod, _ = from_onnx(model, convert_config={"use_nt_batch_matmul": nt})
        assert bool(mod["main"].body.attrs.transpose_b) is nt
        result = relay.create_executor("debug", mod=mod).evaluate()(a, b)
        np.testing.assert_allclose(result.numpy(), a @ b, rtol=1e-5)
    with pytest.raises(ArgumentError, match="no option 'use_nt_batch_matmull'; did you mean 'use_nt_batch_matmul'"):
        from_onnx(model, convert_config={"use_nt_batch_matmull": True})
    with pytest.raises(ArgumentError, match="use_nt_batch_matmul must be a bool, got 'yes'"):
        from_onnx(model, convert_config={"use_nt_batch_matmul": "yes"})


def test_the_model_is_saved_with_names(tmp_path):
    model = _model([helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Exp", ["a"], ["y"], name="exp")])
    from_onnx(model, export_node_renamed_model_path=tmp_path / "named.onnx")
    assert [node.name for node in onnx.load(tmp_path / "named.onnx").graph.node] == ["a", "exp"]
    assert model.graph.node[0].name == ""


def _place(name):
    return relay.Span(relay.SourceName(name), 0, 0, 0, 0)


def _spans(function):
    spans = []
    relay.analysis.post_order_visit(function, lambda expr: spans.append(expr.span))
    return spans


@pytest.mark.parametrize("freeze_params", [True, False])
def test_spans_are_those_of_a_graph_that_is_written_by_hand(freeze_params):
    """A parameter is called after the first layer that reads it."""
    weights = np.ones((3, 3), "float32")
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Add", ["a", "w"], ["y"], name="sum"),
    ]
    model = _model(nodes, [numpy_helper.from_array(weights, "w")], shape=(3, 3))
    with enable_span_filling():
        mod, _ = from_onnx(model, freeze_params=freeze_params)
    with disable_span_filling():
        plain, _ = from_onnx(model, freeze_params=freeze_params)
    assert_structural_equal(mod, plain)

    x = relay.var("x", shape=(3, 3), span=_place("product.x"))
    if freeze_params:
        w, params = relay.const(weights, span=_place("product.w")), [x]
    else:
        w = relay.var("w", shape=(3, 3), span=_place("product.w"))
        params = [x, w]
    product = common.set_span(relay.multiply(x, w), "product")
    written = common.infer_type(relay.Function(params, common.set_span(relay.add(product, w), "sum")))
    assert_structural_equal(mod["main"], written)
    spans = _spans(mod["main"])
    assert len(spans) == len(_spans(written))
    assert all(structural_equal(a, b) for a, b in zip(spans, _spans(written), strict=True))
    assert {span.source_name.name for span in spans if isinstance(span, relay.Span)} == {
        "product.x",
        "product.w",
        "product",
        "sum",
    }
    assert not structural_equal(_place("product"), _place("sum"))
    assert not structural_equal(_place("product"), None)
