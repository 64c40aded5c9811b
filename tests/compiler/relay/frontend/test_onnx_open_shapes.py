"""Models whose extents are not given: what the running program computes equals what onnxruntime computes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import relay
from compiler.relay.frontend import from_onnx
from compiler.relay.frontend.onnx import ConversionError

ort = pytest.importorskip("onnxruntime")


def _model(node, inputs, weights, outputs=("y",)):
    infos = [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(node if isinstance(node, list) else [node], "g", infos, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def _compare(model, feeds, executor="debug"):
    wanted = ort.InferenceSession(model.SerializeToString()).run(None, feeds)
    mod, params = from_onnx(model)
    got = relay.create_executor(executor, mod=mod).evaluate()(*feeds.values(), **params)
    for one, want in zip([got] if len(wanted) == 1 else got, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), want, rtol=1e-4, atol=1e-5)
    return mod


_FLOAT, _INT = TensorProto.FLOAT, TensorProto.INT64


def _random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def _recurrent(operator, dims, direction="forward", lengths=False, **attrs):
    gates, directions = _GATES[operator], 2 if direction == "bidirectional" else 1
    weights = {
        "w": _random(directions, gates * 3, 4),
        "r": _random(directions, gates * 3, 3),
        "b": _random(directions, gates * 6),
    }
    inputs = {"x": (TensorProto.FLOAT, dims)} | ({"n": (TensorProto.INT32, dims[1:2])} if lengths else {})
    names = ["x", "w", "r", "b", "n"] if lengths else ["x", "w", "r", "b"]
    outputs = ["y", "h", "c"] if operator == "LSTM" else ["y", "h"]
    node = helper.make_node(operator, names, outputs, hidden_size=3, direction=direction, **attrs)
    return _model(node, inputs, weights, outputs)


@pytest.mark.sample(4)
@pytest.mark.parametrize("dims", [["t", "b", 4], [5, "b", 4], ["t", 2, 4]])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", sorted(_GATES))
def test_recurrent_layers_of_open_shapes(operator, direction, lengths, dims):
    more = {"n": np.array([5, 3], np.int32)} if lengths else {}
    _compare(_recurrent(operator, dims, direction, lengths), {"x": _random(5, 2, 4), **more})


@pytest.mark.sample(3)
@pytest.mark.parametrize("operator", sorted(_GATES))
def test_recurrent_layers_of_open_shapes_in_the_virtual_machine(operator):
    model = _recurrent(operator, ["t", "b", 4], "bidirectional", lengths=True)
    for steps, batch in ((5, 2), (1, 1)):
        _compare(model, {"x": _random(steps, batch, 4), "n": np.full(batch, steps, np.int32)}, "vm")


def test_a_sequence_of_open_length_may_be_empty():
    mod, params = from_onnx(_recurrent("GRU", ["t", "b", 4]))
    outputs, last = relay.create_executor("vm", mod=mod).evaluate()(np.zeros((0, 2, 4), "float32"), **params)
    assert outputs.shape == (0, 1, 2, 3)
    np.testing.assert_array_equal(last.numpy(), np.zeros((1, 2, 3), "float32"))


@pytest.mark.parametrize(("executor", "dims"), [("debug", ["b", "t"]), ("vm", ["b", "t"]), ("graph", [3, 6])])
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "constant"])
@pytest.mark.parametrize("pads", [(0, 2, 0, 3), (1, -1, 1, 2), (0, -2, 0, 0)])
def test_padding_of_open_and_known_shapes(mode, pads, executor, dims):
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)
    model = _model(node, {"x": (TensorProto.FLOAT, dims)}, {"p": np.array(pads)})
    x = _random(3, 6)
    mod, params = from_onnx(model)
    crops = tuple(slice(max(-pads[i], 0), x.shape[i] - max(-pads[i + 2], 0)) for i in range(2))
    wanted = np.pad(x[crops], [(max(pads[i], 0), max(pads[i + 2], 0)) for i in range(2)], mode)
    got = relay.create_executor(executor, mod=mod).evaluate()(x, **params)
    np.testing.assert_array_equal(got.numpy(), wanted)


@pytest.mark.parametrize("axes", [None, [1], [1, 0]])
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "constant"])
@pytest.mark.parametrize("pads", [(0, 2, 0, 2), (1, -1, 1, 1), (0, -2, 0, 0)])
def test_padding_that_an_input_tells(mode, pads, axes):
    """As speech is padded to half a minute: the number of its samples tells by how much."""
    weights = {"f": np.float32(0.5)} | ({} if axes is None else {"a": np.array(axes)})
    node = helper.make_node("Pad", ["x", "p", "f", *(["a"] if axes else [])], ["y"], mode=mode)
    given = pads if axes != [1] else pads[1::2]
    model = _model(node, {"x": (_FLOAT, ["b", "t"]), "p": (_INT, [len(given)])}, weights)
    _compare(model, {"x": _random(3, 6), "p": np.array(given)}, "vm")


@pytest.mark.parametrize("step", [-1, -2, 3])
@pytest.mark.parametrize(("start", "end"), [(-2, -5), (4, -(2**63)), (1, 5), (2**63 - 1, 2), (-1, 1)])
def test_slices_in_steps_of_an_axis_of_open_extent(start, end, step):
    weights = {"s": np.array([start]), "e": np.array([end]), "a": np.array([1]), "t": np.array([step])}
    model = _model(helper.make_node("Slice", ["x", *weights], ["y"]), {"x": (_FLOAT, ["b", "n", 2])}, weights)
    for extent in (7, 3):
        _compare(model, {"x": _random(3, extent, 2)}, "vm")


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("extent", [1, 2, 3, 7])
def test_reflection_wider_than_an_extent_goes_back_and_forth(extent, is_known):
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode="reflect")
    dims = [extent if is_known else "t"]
    mod, params = from_onnx(_model(node, {"x": (TensorProto.FLOAT, dims)}, {"p": np.array([5, 7])}))
    x = _random(extent)
    got = relay.create_executor("vm", mod=mod).evaluate()(x, **params)
    np.testing.assert_array_equal(got.numpy(), np.pad(x, (5, 7), "reflect"))


_RESIZED = {"scales": {"s": np.array([1, 1, 2, 2.5], "float32")}, "sizes": {"z": np.array([1, 3, 7, 9])}}


@pytest.mark.parametrize("executor", ["debug", "vm"])
@pytest.mark.parametrize("by", sorted(_RESIZED))
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("dims", [["b", 3, "y", "x"], ["b", 3, 4, 5], [1, 3, "y", 5]])
def test_resizing_of_open_shapes(dims, mode, by, executor):
    names = ["x", "", "s"] if by == "scales" else ["x", "", "", "z"]
    model = _model(helper.make_node("Resize", names, ["y"], mode=mode), {"x": (TensorProto.FLOAT, dims)}, _RESIZED[by])
    _compare(model, {"x": _random(1, 3, 4, 5)}, executor)


@pytest.mark.parametrize("executor", ["debug", "vm"])
def test_resizing_to_a_size_that_an_input_gives(executor):
    inputs = {"x": (TensorProto.FLOAT, ["b", 3, 4, "x"]), "z": (TensorProto.INT64, [4])}
    model = _model(helper.make_node("Resize", ["x", "", "", "z"], ["y"], mode="linear"), inputs, {})
    _compare(model, {"x": _random(2, 3, 4, 5), "z": np.array([2, 3, 7, 9])}, executor)


def test_resizing_to_extents_of_the_input_keeps_its_axis():
    nodes = [
        helper.make_node("Shape", ["x"], ["n"], end=2),
        helper.make_node("Concat", ["n", "s"], ["z"], axis=0),
        helper.make_node("Resize", ["x", "", "", "z"], ["y"], mode="nearest"),
    ]
    model = _model(nodes, {"x": (TensorProto.FLOAT, ["b", 3, 4, 5])}, {"s": np.array([8, 10])})
    mod = _compare(model, {"x": _random(2, 3, 4, 5)}, "vm")
    assert mod["main"].body.op.name == "image.resize2d"


@pytest.mark.parametrize("executor", ["debug", "vm"])
@pytest.mark.parametrize("more", [{}, {"auto_pad": "SAME_UPPER"}, {"pads": [1, 0, 0, 1], "output_padding": [1, 1]}])
def test_transposed_convolution_of_open_shapes(more, executor):
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 3], **more)
    model = _model(node, {"x": (TensorProto.FLOAT, ["b", 3, "y", "x"])}, {"w": _random(3, 4, 3, 4)})
    _compare(model, {"x": _random(2, 3, 4, 5)}, executor)


_OPEN = {
    "flatten": ("Flatten", {"x": ["b", "c", 3, "x"]}, {}, {"axis": 2}, (2, 4, 3, 5)),
    "depth": ("DepthToSpace", {"x": ["b", 12, "y", "x"]}, {}, {"blocksize": 2, "mode": "CRD"}, (2, 12, 3, 4)),
    "space": ("SpaceToDepth", {"x": ["b", 2, "y", "x"]}, {}, {"blocksize": 2}, (2, 2, 6, 4)),
    "triangle": ("Trilu", {"x": ["b", "t", "t"]}, {"k": np.array(1)}, {"upper": 0}, (2, 4, 4)),
    "diagonal": ("EyeLike", {"x": ["t", "u"]}, {}, {"k": -1}, (4, 3)),
    "largest": ("Hardmax", {"x": ["b", "t", 3]}, {}, {"axis": 1}, (2, 4, 3)),
    "pool": (
        "MaxPool",
        {"x": ["b", 3, "y", "x"]},
        {},
        {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1},
        None,
    ),
    "frames": ("STFT", {"x": ["b", "t", 1]}, {"s": np.array(3), "w": _random(8)}, {}, (2, 20, 1)),
    "spectrum": ("DFT", {"x": ["b", 8, 1]}, {}, {"axis": 1}, (2, 8, 1)),
}


@pytest.mark.parametrize("name", _OPEN)
def test_operators_of_open_shapes(name):
    operator, inputs, weights, attrs, shape = _OPEN[name]
    node = helper.make_node(operator, [*inputs, *weights], ["y"], **attrs)
    model = _model(node, {"x": (_FLOAT, inputs["x"])}, weights)
    _compare(model, {"x": _random(*(shape or (1, 3, 6, 5)))}, "vm")


_SHAPES_OF_KNOWN_PARTS = {
    "rows": (
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"x": (TensorProto.FLOAT, ["b", "s", 4])},
        {"w": _random(4, 3)},
    ),
    "heads": (
        [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["x", "t"], ["y"])],
        {"x": (TensorProto.FLOAT, ["b", 2, "s", 4])},
        {},
    ),
    "reshape": (
        [
            helper.make_node("Shape", ["x"], ["s"], start=2),
            helper.make_node("Concat", ["rest", "s"], ["to"], axis=0),
            helper.make_node("Reshape", ["x", "to"], ["y"]),
        ],
        {"x": (TensorProto.FLOAT, [3, 2, "s", 4])},
        {"rest": np.array([-1], np.int64)},
    ),
}


@pytest.mark.parametrize("name", _SHAPES_OF_KNOWN_PARTS)
def test_shapes_that_follow_from_others_are_not_computed(name):
    nodes, inputs, weights = _SHAPES_OF_KNOWN_PARTS[name]
    (_, dims), *_ = inputs.values()
    text = str(
        _compare(_model(nodes, inputs, weights), {"x": _random(*(5 if isinstance(d, str) else d for d in dims))})
    )
    assert "shape_of" not in text
    assert "dyn." not in text


_WHERE_INPUTS_RECUR = {
    "rows of heads": (
        [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Reshape", ["product", "apart"], ["z"])],
        {"w": _random(3, 6), "apart": np.array([0, -1, 2, 3])},
    ),
    "a range": (
        [
            helper.make_node("Squeeze", ["whole"], ["stop"]),
            helper.make_node("Range", ["zero", "stop", "one"], ["places"]),
            helper.make_node("Cast", ["places"], ["column"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["column", "last"], ["z"]),
        ],
        {"zero": np.array(0), "one": np.array(1), "last": np.array([1, 2])},
    ),
    "a shape that is written": (
        [
            helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
            helper.make_node("Reshape", ["t", "all"], ["flat"]),
            helper.make_node("Concat", ["whole", "rest"], ["rows"], axis=0),
            helper.make_node("Reshape", ["flat", "rows"], ["z"]),
        ],
        {"all": np.array([-1]), "rest": np.array([3, 1])},
    ),
    "what is spread": (
        [
            helper.make_node("Concat", ["whole", "ones"], ["rows"], axis=0),
            helper.make_node("Expand", ["w", "rows"], ["z"]),
        ],
        {"w": _random(1, 1, 3), "ones": np.array([1, 1])},
    ),
}


@pytest.mark.parametrize("name", _WHERE_INPUTS_RECUR)
def test_extents_are_known_to_be_those_of_inputs(name):
    """The second axis of ``x`` is the first or second of ``z``, which is therefore not broadcast along it."""
    nodes, weights = _WHERE_INPUTS_RECUR[name]
    before = helper.make_node("Shape", ["x"], ["whole"], start=1, end=2)
    model = _model([before, *nodes, helper.make_node("Identity", ["z"], ["y"])], _ROWS, weights)
    mod = _compare(model, {"x": _random(2 - (name != "rows of heads"), 5, 3)})
    x = mod["main"].params[0]
    assert any(dim is x.checked_type.shape[1] for dim in mod["main"].body.checked_type.shape)


_ROWS = {"x": (TensorProto.FLOAT, ["b", "s", 3])}


def test_what_is_broadcast_to_a_computed_shape_keeps_known_extents():
    nodes = [
        helper.make_node("Shape", ["x"], ["own"]),
        helper.make_node("Max", ["own", "least"], ["to"]),
        helper.make_node("Expand", ["w", "to"], ["y"]),
    ]
    model = _model(nodes, {"x": (TensorProto.FLOAT, [2, 1, "s"])}, {"w": _random(3, 1), "least": np.array([1, 3, 1])})
    *known, _ = _compare(model, {"x": _random(2, 1, 4)})["main"].body.checked_type.dims
    assert known == [2, 3]


def test_open_extents_that_are_broadcast_to_each_other_are_not_those_of_the_first():
    nodes = [
        helper.make_node("Add", ["x", "z"], ["sum"]),
        helper.make_node("Shape", ["sum"], ["to"]),
        helper.make_node("Expand", ["x", "to"], ["y"]),
    ]
    kinds = {"x": (TensorProto.FLOAT, ["m"]), "z": (TensorProto.FLOAT, ["n"])}
    _compare(_model(nodes, kinds, {}), {"x": _random(1), "z": _random(5)})


def test_sequences_are_reversed_whatever_their_number():
    node = helper.make_node("ReverseSequence", ["x", "n"], ["y"])
    model = _model(node, {"x": (_FLOAT, ["t", "b", 3]), "n": (_INT, ["b"])}, {})
    _compare(model, {"x": _random(5, 3, 3), "n": np.array([5, 1, 3])}, "vm")


@pytest.mark.parametrize("back", [0, 1])
def test_a_scan_of_open_length(back):
    state, item = (helper.make_tensor_value_info(name, _FLOAT, [2, 3]) for name in ("state", "item"))
    nodes = [helper.make_node("Add", ["state", "item"], ["sum"]), helper.make_node("Tanh", ["sum"], ["row"])]
    results = [helper.make_tensor_value_info(name, _FLOAT, [2, 3]) for name in ("sum", "row")]
    body = helper.make_graph(nodes, "body", [state, item], results)
    ways = {"scan_input_directions": [back], "scan_output_directions": [back], "scan_output_axes": [1]}
    node = helper.make_node("Scan", ["s", "x"], ["last", "rows"], body=body, num_scan_inputs=1, **ways)
    model = _model(node, {"s": (_FLOAT, [2, 3]), "x": (_FLOAT, ["t", 2, 3])}, {}, ("last", "rows"))
    _compare(model, {"s": _random(2, 3), "x": _random(4, 2, 3)}, "vm")


def test_a_scan_of_items_of_open_extent():
    state, item = (helper.make_tensor_value_info(name, _FLOAT, ["n", 3]) for name in ("state", "item"))
    results = [helper.make_tensor_value_info(name, _FLOAT, ["n", 3]) for name in ("sum", "row")]
    nodes = [helper.make_node("Add", ["state", "item"], ["sum"]), helper.make_node("Tanh", ["sum"], ["row"])]
    body = helper.make_graph(nodes, "body", [state, item], results)
    node = helper.make_node("Scan", ["s", "x"], ["last", "rows"], body=body, num_scan_inputs=1)
    model = _model(node, {"s": (_FLOAT, ["n", 3]), "x": (_FLOAT, ["t", "n", 3])}, {}, ("last", "rows"))
    for turns, rows in ((4, 2), (1, 5)):
        _compare(model, {"s": _random(rows, 3), "x": _random(turns, rows, 3)}, "vm")


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_a_loop_that_appends_items_of_open_extent(turns):
    """Without a turn nothing tells their extent."""
    going = helper.make_tensor_value_info("going", TensorProto.BOOL, [])
    turn, state = helper.make_tensor_value_info("i", _INT, []), helper.make_tensor_value_info("h", _FLOAT, ["n", 3])
    nodes = [
        helper.make_node("Tanh", ["h"], ["next"]),
        helper.make_node("Mul", ["next", "x"], ["row"]),
        helper.make_node("Identity", ["going"], ["on"]),
    ]
    on = helper.make_tensor_value_info("on", TensorProto.BOOL, [])
    results = [on, *(helper.make_tensor_value_info(name, _FLOAT, ["n", 3]) for name in ("next", "row"))]
    body = helper.make_graph(nodes, "body", [turn, going, state], results)
    node = helper.make_node("Loop", ["count", "", "x"], ["last", "rows"], body=body)
    model = _model(node, {"x": (_FLOAT, ["n", 3]), "count": (_INT, [])}, {}, ("last", "rows"))
    feeds = {"x": _random(2, 3), "count": np.array(turns)}
    mod, params = from_onnx(model)
    last, rows = relay.create_executor("vm", mod=mod).evaluate()(*feeds.values(), **params)
    wanted = ort.InferenceSession(model.SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(last.numpy(), wanted[0], rtol=1e-5)
    assert rows.shape == ((turns, 2, 3) if turns else (0, 0, 3))
    np.testing.assert_allclose(rows.numpy().ravel(), wanted[1].ravel(), rtol=1e-5)


def test_an_error_asks_for_the_dimensions_that_matter_by_name():
    inputs = {"x": (_FLOAT, ["batch", "time"]), "z": (_FLOAT, ["batch", 3])}
    part = helper.make_node("Split", ["x"], ["a", "y"], axis=1)
    with pytest.raises(ConversionError, match=re.escape("give `shape`: {'time': …}")):
        from_onnx(_model(part, inputs, {}))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Concat", ["p", "z"], ["q"], axis=1)]
    cut = [*nodes, helper.make_node("Split", ["q"], ["a", "y"], axis=0)]
    with pytest.raises(ConversionError, match=re.escape("give `shape`: {'batch': …")) as info:
        from_onnx(_model(cut, inputs, {"w": _random(4, 2)}))
    assert "dimension 0 of the input" in str(info.value)
    nameless = _model(helper.make_node("Split", ["x"], ["a", "y"], axis=0), {"x": (_FLOAT, [None, 3])}, {})
    with pytest.raises(ConversionError, match=re.escape("give `shape`: {'x': …}")):
        from_onnx(nameless)


def test_an_error_asks_for_the_dimensions_that_choose_a_branch():
    """As models that PyTorch exports squeeze an axis where its extent is 1."""
    result = [helper.make_tensor_value_info("r", _FLOAT, None)]
    squeezed = helper.make_graph([helper.make_node("Squeeze", ["x", "one"], ["r"])], "then", [], result)
    whole = helper.make_graph([helper.make_node("Identity", ["x"], ["r"])], "else", [], result)
    nodes = [
        helper.make_node("Shape", ["x"], ["extent"], start=1, end=2),
        helper.make_node("Equal", ["extent", "one"], ["is_one"]),
        helper.make_node("If", ["is_one"], ["y"], then_branch=squeezed, else_branch=whole),
    ]
    model = _model(nodes, {"x": (_FLOAT, [2, "t", 3])}, {"one": np.array([1])})
    with pytest.raises(ConversionError, match=re.escape("dimensions must agree; give `shape`: {'t': …}")):
        from_onnx(model)
    assert "?" not in str(from_onnx(model, {"x": (2, 1, 3)})[0]["main"].checked_type)


def test_automatic_padding_needs_only_the_extents_that_it_depends_on():
    weights = {"w": _random(4, 3, 3, 3)}
    inputs = {"x": (TensorProto.FLOAT, ["b", 3, "y", "x"])}
    one = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER")
    _compare(_model(one, inputs, weights), {"x": _random(1, 3, 5, 6)}, "vm")
    two = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[1, 2])
    with pytest.raises(ConversionError, match="dimension 3 of the input must be known while importing"):
        from_onnx(_model(two, inputs, weights))


def test_an_output_shape_needs_the_spatial_extents_alone():
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], output_shape=[9, 9])
    model = _model(node, {"x": (TensorProto.FLOAT, ["b", 3, "y", 5])}, {"w": _random(3, 4, 3, 3)})
    with pytest.raises(ConversionError, match=r"dimension 2 of the input must be known while importing, got \(\?, 3"):
        from_onnx(model)
