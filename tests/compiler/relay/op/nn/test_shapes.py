"""Operators that change the shape of images: transposed convolution, padding, blocks of pixels, resizing."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

from compiler import relay
from compiler.ir.error import ArgumentError
from compiler.relay.inference import TypeInferenceError, infer_expr
from tests.compiler.relay.op.nn.harness import Array, check, random

nn = relay.nn


def in_onnxruntime(operator: str, arrays: dict[str, Array], inputs: list[str], **attrs: Any) -> Array:
    """Return what one ONNX operator computes."""
    from onnx import helper, numpy_helper

    values = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(arrays["x"].dtype), arrays["x"].shape)]
    constants = [numpy_helper.from_array(a, name) for name, a in arrays.items() if name != "x"]
    node = helper.make_node(operator, inputs, ["y"], **attrs)
    output = helper.make_tensor_value_info("y", values[0].type.tensor_type.elem_type, None)
    graph = helper.make_graph([node], "g", values, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8)
    result: Array = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": arrays["x"]})[0]
    return result


@pytest.mark.parametrize(
    ("data", "weight", "given"),
    [
        ((2, 6, 5), (6, 4, 3), {"strides": 2, "padding": (1, 0)}),
        ((1, 3, 5, 6), (3, 4, 3, 3), {"strides": (2, 3), "padding": (1, 2, 0, 1), "output_padding": 1}),
        ((1, 6, 5, 4), (6, 2, 3, 2), {"strides": 2, "dilation": 2, "padding": (2, 1, 2, 1), "groups": 3}),
        ((1, 2, 3, 4, 3), (2, 2, 2, 2, 3), {"strides": 2, "padding": (0,) * 6}),
    ],
)
def test_transposed_convolution(data: Any, weight: Any, given: Any) -> None:
    x, w, rank = random(*data), random(*weight), len(data) - 2
    each = {k: [v] * rank if isinstance(v, int) else list(v) for k, v in given.items() if k != "groups"}
    names = {"strides": "strides", "dilation": "dilations", "padding": "pads", "output_padding": "output_padding"}
    attrs = {names[k]: v for k, v in each.items()} | {"group": given.get("groups", 1)}
    wanted = in_onnxruntime("ConvTranspose", {"x": x, "w": w}, ["x", "w"], **attrs)
    function = {1: nn.conv1d_transpose, 2: nn.conv2d_transpose, 3: nn.conv3d_transpose}[rank]
    check(lambda d, k: function(d, k, **given), [x, w], wanted, 1e-4)


def test_padding() -> None:
    x, value = random(3, 4), np.asarray(3.5, "float32")
    width = ((1, 2), (0, 3))
    check(lambda d, v: nn.pad(d, width, v), [x, value], np.pad(x, width, constant_values=3.5))
    check(lambda d, v: nn.pad(d, width, v, "edge"), [x, value], np.pad(x, width, "edge"))
    check(lambda d, v: nn.pad(d, width, v, "reflect"), [x, value], np.pad(x, width, "reflect"))
    check(lambda d, v: nn.pad(d, width, v, "wrap"), [x, value], np.pad(x, width, "wrap"))
    check(lambda d: nn.mirror_pad(d, width), [x], np.pad(x, width, "symmetric"))
    check(lambda d: nn.mirror_pad(d, width, "REFLECT"), [x], np.pad(x, width, "reflect"))
    taken = check(lambda d, v: nn.pad(d, ((0, -1), (-2, 1)), v), [x, value])[0]
    np.testing.assert_array_equal(taken, np.pad(x[:-1, 2:], ((0, 0), (0, 1)), constant_values=3.5))


def test_padding_that_is_wrong() -> None:
    x = relay.var("x", shape=(3, 4))
    with pytest.raises(ArgumentError, match=r"pad_mode must be one of 'constant', 'edge', .*, got 'mirror'"):
        nn.pad(x, ((1, 1), (1, 1)), pad_mode="mirror")
    with pytest.raises(ArgumentError, match="pad_width must be a pair of ints for each axis"):
        nn.pad(x, (1, 1))
    with pytest.raises(TypeInferenceError, match="3 elements cannot be mirrored from an extent of 3"):
        infer_expr(nn.mirror_pad(x, ((3, 0), (0, 0)), "REFLECT"))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_channels_into_pixels(mode: str) -> None:
    x = random(2, 8, 3, 4)
    wanted = in_onnxruntime("DepthToSpace", {"x": x}, ["x"], blocksize=2, mode=mode)
    check(lambda d: nn.depth_to_space(d, 2, mode=mode), [x], wanted)
    back = nn.space_to_depth(relay.var("x", shape=wanted.shape), 2)
    assert infer_expr(back).concrete_shape == x.shape
    if mode == "DCR":
        check(lambda d: nn.space_to_depth(d, 2), [wanted], x)


@pytest.mark.parametrize(
    ("method", "mode", "rounding", "size"),
    [
        ("nearest", "asymmetric", "floor", (10, 14)),
        ("nearest", "half_pixel", "round_prefer_ceil", (10, 14)),
        ("nearest", "half_pixel", "round_prefer_floor", (3, 9)),
        ("nearest", "align_corners", "ceil", (8, 4)),
        ("linear", "half_pixel", "", (8, 9)),
        ("linear", "align_corners", "", (3, 9)),
        ("linear", "pytorch_half_pixel", "", (1, 9)),
        ("linear", "tf_crop_and_resize", "", (4, 9)),
        ("cubic", "half_pixel_symmetric", "", (8, 4)),
        ("cubic", "asymmetric", "", (8, 9)),
    ],
)
def test_resizing(method: str, mode: str, rounding: str, size: tuple[int, int]) -> None:
    x = random(1, 2, 5, 7)
    region = (0.2, 0.1, 0.9, 1.2)
    arrays = {"x": x, "roi": np.array([0, 0, *region[:2], 1, 1, *region[2:]], "float32")}
    arrays["sizes"] = np.array([1, 2, *size])
    given = {"mode": method, "coordinate_transformation_mode": mode} | ({"nearest_mode": rounding} if rounding else {})
    wanted = in_onnxruntime("Resize", arrays, ["x", "roi", "", "sizes"], **given)
    name = "nearest_neighbor" if method == "nearest" else method
    options = {"roi": region, "method": name, "rounding_method": rounding, "cubic_alpha": -0.75}
    options["coordinate_transformation_mode"] = mode
    check(lambda d: relay.image.resize2d(d, size, **options), [x], wanted, 1e-4)


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_resizing_with_weights_that_reach_further(method: str) -> None:
    x, size = random(1, 1, 9, 12), (4, 5)
    arrays = {"x": x, "sizes": np.array([1, 1, *size])}
    wanted = in_onnxruntime("Resize", arrays, ["x", "", "", "sizes"], mode=method, antialias=1, exclude_outside=1)
    options = {"method": method, "antialias": True, "cubic_exclude": 1, "cubic_alpha": -0.75}
    check(lambda d: relay.image.resize2d(d, size, **options), [x], wanted, 1e-3)


def test_resizing_by_a_factor_that_is_not_the_quotient() -> None:
    x = np.arange(1, 9, dtype="float32").reshape(1, 1, 2, 4)
    options = {"coordinate_transformation_mode": "align_corners", "scales": (0.6, 0.6)}
    check(lambda d: relay.image.resize2d(d, (1, 2), **options), [x], [[[[1.0, 1 + 3 / 1.4]]]])
    three = check(lambda d: relay.image.resize3d(d, (2, 3, 2), method="linear"), [random(1, 2, 4, 3, 4)])[0]
    np.testing.assert_allclose(three, random(1, 2, 4, 3, 4).reshape(1, 2, 2, 2, 3, 2, 2).mean((3, 6)), rtol=1e-5)
    check(lambda d: relay.image.resize1d(d, 4, method="linear"), [random(1, 2, 8, dtype="uint8")], tolerance=1)


def test_upsampling() -> None:
    x = random(1, 2, 3, 4)
    check(lambda d: nn.upsampling(d, 2, 3), [x], x.repeat(2, 2).repeat(3, 3))
    check(lambda d: nn.upsampling(d, 2, 2, method="bilinear", align_corners=True), [x])
    check(lambda d: nn.upsampling3d(d, 2, 2, 2), [random(1, 2, 3, 4, 2)])
    blocked = np.ascontiguousarray(random(1, 8, 3, 4).reshape(1, 2, 4, 3, 4).transpose(0, 1, 3, 4, 2))
    check(lambda d: nn.upsampling(d, 2, 1, layout="NCHW4c"), [blocked], blocked.repeat(2, 2))


def test_losses() -> None:
    p, t = random(3, 4) ** 2 + 0.1, random(3, 4)
    check(nn.cross_entropy, [p, t], -(np.log(p) * t).sum() / 3)
    check(nn.cross_entropy_with_logits, [p, t], -(p * t).sum() / 3)
