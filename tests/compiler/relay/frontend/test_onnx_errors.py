"""Models that are wrong, hostile or beyond the importer: what a user is told."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.ir.error import ArgumentError, TVMError, UnavailableError
from compiler.relay import frontend
from compiler.relay.frontend import from_onnx
from compiler.relay.frontend.onnx import ConversionError, ModelError, UnsupportedOperatorError
from compiler.relay.frontend.onnx.registry import converter
from tests.models import build

FLOAT = TensorProto.FLOAT


def _model(nodes, inputs=(("x", [2, 3]),), outputs=("y",), weights=(), opset=17, **more):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        list(weights),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)


def _node(operator, *inputs, output="y", name="n", **attributes):
    return helper.make_node(operator, list(inputs), [output], name=name, **attributes)


def test_all_unknown_operators_are_named_at_once():
    result = helper.make_tensor_value_info("y", FLOAT, None)
    inner = helper.make_graph([_node("Strange", "x", name="deep")], "then", [], [result])
    nodes = [
        _node("StringSplit", "x", "x", output="a", name="first"),
        _node("StringSplit", "x", "x", output="b", name="second"),
        _node("FusedThing", "x", output="c", name="third", domain="com.microsoft"),
        _node("If", "x", then_branch=inner, else_branch=inner, name="branch"),
    ]
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_onnx(_model(nodes))
    assert caught.value.operators["StringSplit"] == ["first", "second"]
    message = str(caught.value)
    assert message.splitlines() == [
        "from_onnx: 3 operators are not supported",
        "  Strange: 'deep', 'deep'",
        "  StringSplit: 'first', 'second'",
        "  com.microsoft::FusedThing: 'third'",
    ]


@pytest.mark.parametrize("cut", [0, 1, 10, 1000, -1, -100])
def test_a_truncated_file(cut):
    data = build("lenet").SerializeToString()
    with pytest.raises(TVMError, match="from_onnx"):
        from_onnx(data[:cut])


def test_bytes_that_are_no_model():
    with pytest.raises(ModelError, match="not an ONNX model"):
        from_onnx(b"\x89PNG\r\n\x1a\n" * 10)
    with pytest.raises(ArgumentError, match=r"must be an onnx\.ModelProto, .* or a path, got int"):
        from_onnx(3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is empty"),
        (b"PK\x03\x04" + b"\xff" * 30, "ZIP archive"),
        (b"<html>" + b"\xff" * 30, "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"\x0a\xff", "its end is missing"),
    ],
)
def test_a_file_that_is_something_else_is_named(tmp_path, data, said):
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=said) as caught:
        from_onnx(path)
    if data:
        assert "net.onnx" in str(caught.value)
        assert f"{len(data)} bytes" in str(caught.value)
    assert "Wire" not in str(caught.value)


def test_the_program_that_torch_exports_is_taken_as_its_model():
    class Program:
        model_proto = build("lenet")

    assert len(from_onnx(Program())[0]["main"].params) == 1


def test_other_importers_say_how_to_come_by_onnx():
    for name in (
        "from_mxnet",
        "from_caffe",
        "from_caffe2",
        "from_coreml",
        "from_darknet",
        "from_oneflow",
        "from_paddle",
    ):
        with pytest.raises(
            UnavailableError, match=rf"relay\.frontend\.{name} is not available: .* relay\.frontend\.from_onnx"
        ):
            getattr(frontend, name)(object())


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        from_onnx(tmp_path / "missing.onnx")


def test_a_path_is_read(tmp_path):
    path = tmp_path / "lenet.onnx"
    path.write_bytes(build("lenet").SerializeToString())
    assert len(from_onnx(path)[0]["main"].params) == 1
    assert len(from_onnx(str(path))[0]["main"].params) == 1


def test_nodes_in_a_circle():
    nodes = [_node("Add", "x", "b", output="a", name="p"), _node("Relu", "a", output="b", name="q"), _node("Relu", "b")]
    with pytest.raises(ModelError, match="the graph has a cycle: 'p', 'q'"):
        from_onnx(_model(nodes))


def test_nodes_may_stand_in_any_order():
    mod, _ = from_onnx(_model([_node("Relu", "a", name="second"), _node("Neg", "x", output="a", name="first")]))
    assert mod["main"].body.op.name == "nn.relu"


def test_functions_in_a_circle():
    function = helper.make_function(
        "own", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="own")], [helper.make_opsetid("own", 1)]
    )
    with pytest.raises(ModelError, match="or recursively"):
        from_onnx(_model([_node("F", "x", domain="own")], functions=[function]))


def test_graphs_in_graphs_without_end():
    result = helper.make_tensor_value_info("y", FLOAT, None)
    leaf = graph = helper.make_graph([_node("Relu", "x")], "leaf", [], [result])
    for _ in range(20):
        graph = helper.make_graph([_node("If", "x", then_branch=graph, else_branch=leaf)], "level", [], [result])
    with pytest.raises(ModelError, match="more than 16 levels"):
        from_onnx(_model([_node("If", "x", then_branch=graph, else_branch=leaf)]))


def test_a_tensor_that_claims_more_than_it_holds():
    lie = TensorProto(name="w", data_type=FLOAT, dims=[1 << 20, 1 << 10], raw_data=b"\0" * 16)
    with pytest.raises(ModelError, match=r"'w' claims to have 1,073,741,824 elements .* holds 4"):
        from_onnx(_model([_node("Add", "x", "w")], weights=[lie]))
    lie = TensorProto(name="w", data_type=FLOAT, dims=[1 << 40])
    with pytest.raises(ModelError, match="allowed"):
        from_onnx(_model([_node("Add", "x", "w")], weights=[lie]))
    lie = TensorProto(name="w", data_type=FLOAT, dims=[-1], float_data=[1.0])
    with pytest.raises(ModelError, match="negative extent -1"):
        from_onnx(_model([_node("Add", "x", "w")], weights=[lie]))


def test_a_small_file_cannot_fill_the_memory():
    shape = numpy_helper.from_array(np.array([1 << 20, 1 << 20]), "shape")
    mod, _ = from_onnx(_model([_node("ConstantOfShape", "shape")], weights=[shape]))
    assert mod["main"].body.op.name == "full"


def _with_external_weight(location: str):
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return _model([_node("Add", "x", "w")], weights=[tensor])


def test_external_data_lies_beside_the_model(tmp_path):
    elements = np.arange(6, dtype="float32")
    (tmp_path / "model.onnx.data").write_bytes(elements.tobytes())
    (tmp_path / "model.onnx").write_bytes(_with_external_weight("model.onnx.data").SerializeToString())
    _, params = from_onnx(tmp_path / "model.onnx")
    np.testing.assert_array_equal(params["w"].numpy(), elements.reshape(2, 3))


def test_external_data_elsewhere_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(b"\0" * 24)
    inner = tmp_path / "models"
    inner.mkdir()
    with pytest.raises(ModelError, match="in another file: pass the path of the model with that file beside it"):
        from_onnx(_with_external_weight("secret"))
    for location in (str(tmp_path / "secret"), "../secret", "none"):
        (inner / "model.onnx").write_bytes(_with_external_weight(location).SerializeToString())
        with pytest.raises(ModelError, match=r"model.onnx' stores elements in another file, which cannot be read"):
            from_onnx(inner / "model.onnx")


def test_an_extent_of_minus_one_is_free():
    model = _model([_node("Relu", "x")])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert "Tensor[(?, 3), float32]" in from_onnx(model)[0].astext()
    assert "Tensor[(4, 3), float32]" in from_onnx(model, shape={"x": (4, 3)})[0].astext()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"z": (1, 2)}, "names 'z', which is not an input of the model; inputs: 'x'"),
        ({"x": (1, 2, 3)}, "has 2 dimensions"),
        ({"x": (2, 4)}, "has extent 3 where shape gives 4"),
        ({"x": (-2, 3)}, "must be non-negative ints"),
        ({"x": "2, 3"}, "must be a tuple of ints"),
    ],
)
def test_wrong_shapes(given, message):
    with pytest.raises(ArgumentError, match=message):
        from_onnx(_model([_node("Relu", "x")]), shape=given)


def test_a_missing_shape():
    with pytest.raises(ModelError, match="'x' has no shape; give it"):
        from_onnx(_model([_node("Relu", "x")], inputs=[("x", None)]))
    mod, _ = from_onnx(_model([_node("Relu", "x")], inputs=[("x", None)]), shape={"x": (4,)}, dtype={"x": "float64"})
    assert str(mod["main"].ret_type) == "Tensor[(4), float64]"


def test_types_that_do_not_fit_name_the_node():
    model = _model([_node("MatMul", "x", "z", name="product")], inputs=[("x", [2, 3]), ("z", [4, 5])])
    with pytest.raises(ConversionError, match=r"node 'product' \(MatMul\).*nn.dense"):
        from_onnx(model)


def test_values_that_must_be_known():
    model = _model([_node("CenterCropPad", "x", "r", name="around")])
    model.graph.input.append(helper.make_tensor_value_info("r", TensorProto.INT64, [2]))
    with pytest.raises(ConversionError, match=r"'around' \(CenterCropPad\): input 1 \(shape\) must be known"):
        from_onnx(model)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (_node("Relu", "x", "x"), "must have 1 inputs, got 2"),
        (_node("Concat", "x", axis="front"), "'axis' must be of kind INT, got STRING"),
        (_node("Concat", "x"), "'axis' must be given"),
        (_node("Relu", "nothing"), "takes 'nothing', which no node, input or initializer defines"),
        (_node("Transpose", "x", perm=[0, 0]), "node 'n' .Transpose."),
        (_node("Transpose", "x", perm=[5, 1]), "node 'n' .Transpose."),
        (_node("Reshape", "x", "s"), "cannot become"),
        (_node("Conv", "x", "x"), "node 'n' .Conv."),
        (_node("Flatten", "x", axis=9), "node 'n' .Flatten."),
        (_node("Softmax", "x", axis=9), "node 'n' .Softmax."),
    ],
)
def test_nodes_that_are_wrong(node, message):
    shape = numpy_helper.from_array(np.array([7, 7]), "s")
    with pytest.raises(TVMError, match=message):
        from_onnx(_model([node], weights=[shape]))


def test_newer_and_wrong_operator_sets():
    with pytest.raises(ModelError, match="operator set 999 is newer"):
        from_onnx(_model([_node("Relu", "x")], opset=999))
    with pytest.raises(ArgumentError, match="must be a positive int"):
        from_onnx(_model([_node("Relu", "x")]), opset=0)
    with pytest.raises(ArgumentError, match="positive int"):
        from_onnx(_model([_node("Relu", "x")]), opset="17")


def test_what_is_no_tensor_is_refused():
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    graph = helper.make_graph([_node("Relu", "x")], "g", [sequence], [helper.make_tensor_value_info("y", FLOAT, None)])
    with pytest.raises(ModelError, match="'x' is a sequence; only tensors are supported"):
        from_onnx(helper.make_model(graph))
    model = _model([_node("Identity", "x")])
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    with pytest.raises(ModelError, match="elements of type string, which are not supported"):
        from_onnx(model)


def test_random_damage_is_always_a_clear_error():
    data = bytearray(build("lenet", small=True).SerializeToString())
    random = np.random.default_rng(0)
    for _ in range(40):
        damaged = bytearray(data)
        for at in random.integers(0, len(data), 3):
            damaged[at] = int(random.integers(0, 256))
        try:
            from_onnx(bytes(damaged))
        except TVMError:
            continue


def test_an_operator_that_a_row_names_takes_no_converter_beside() -> None:
    with pytest.raises(ValueError, match=r"Softsign is converted by the row of nn\.softsign"):
        converter("Softsign")(lambda node: node.inputs)
