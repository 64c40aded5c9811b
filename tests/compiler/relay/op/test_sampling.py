"""Images at any places, beside onnxruntime."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

import compiler as tvm
from compiler import relay
from compiler.relay.inference import infer_expr
from tests.compiler.relay.op.nn.harness import Array, check, random, variables


def in_onnxruntime(operator: str, arrays: dict[str, Array], output: int = TensorProto.FLOAT, **attrs: Any) -> Array:
    """Return what one ONNX operator computes."""
    from onnx import helper

    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays.items()
    ]
    node = helper.make_node(operator, list(arrays), ["y"], **attrs)
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y", output, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    result: Array = onnxruntime.InferenceSession(model.SerializeToString()).run(None, arrays)[0]
    return result


METHODS = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}


EDGES = ("zeros", "border", "reflection")


@pytest.mark.parametrize(
    ("method", "mode"),
    [
        pytest.param(method, mode, marks=[pytest.mark.long] * ((m + n) % 3 != 2))
        for (m, method), (n, mode) in product(enumerate(METHODS), enumerate(EDGES))
    ],
)
def test_places_of_a_grid(method: str, mode: str) -> None:
    x, grid = random(2, 3, 5, 6), random(2, 4, 3, 2) * 0.9
    for align in (True, False) if mode == "reflection" else (mode == "border",):
        attrs = {"mode": METHODS[method], "padding_mode": mode, "align_corners": int(align)}
        wanted = in_onnxruntime("GridSample", {"x": x, "grid": grid}, **attrs)
        options = {"method": method, "padding_mode": mode, "align_corners": align}
        moved = np.ascontiguousarray(grid.transpose(0, 3, 1, 2))
        check(lambda d, g, o=options: relay.image.grid_sample(d, g, **o), [x, moved], wanted, 1e-4)


def test_places_in_space() -> None:
    x, grid = random(1, 2, 3, 4, 5), random(1, 2, 3, 2, 3) * 0.6
    wanted = in_onnxruntime("GridSample", {"x": x, "grid": grid}, mode="linear", align_corners=1)
    moved = np.ascontiguousarray(np.moveaxis(grid, -1, 1))
    check(lambda d, g: relay.image.grid_sample(d, g, layout="NCDHW"), [x, moved], wanted, 1e-4)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("mode", "aligned", "ratio"), list(product(("avg", "max"), (False, True), (2, 0))))
def test_regions(mode: str, aligned: bool, ratio: int) -> None:
    x = random(2, 3, 10, 12)
    corners = np.array([[1, 2, 17, 15], [0, 0, 5, 19], [8, 8, 9, 8.5]], "float32")
    image = np.array([0, 1, 1])
    attrs = {"mode": mode, "output_height": 3, "output_width": 2, "sampling_ratio": ratio, "spatial_scale": 0.5}
    attrs["coordinate_transformation_mode"] = "half_pixel" if aligned else "output_half_pixel"
    wanted = in_onnxruntime("RoiAlign", {"x": x, "rois": corners, "image": image}, **attrs)
    rois = np.concatenate([image[:, None].astype("float32"), corners], axis=1)
    # The largest of the weighted elements, as onnxruntime has it; Relay's own "max" is that of interpolated values.
    options = {"sample_ratio": ratio, "mode": {"max": "max_weighted"}.get(mode, mode), "aligned": aligned}
    check(lambda d, r: relay.vision.roi_align(d, r, (3, 2), 0.5, **options), [x, rois], wanted, 1e-4)


def test_the_best_of_boxes_that_overlap() -> None:
    corners = [
        [0, 0, 1, 1],
        [0, 0.1, 1, 1.1],
        [1.1, 0.9, 0.1, -0.1],
        [0, 10, 1, 11],
        [0, 10.1, 1, 11.1],
        [0, 100, 1, 101],
    ]
    boxes = np.array([corners, corners[::-1]], "float32")
    scores = np.array([[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]], "float32")
    scores = np.stack([scores, scores[::-1]])
    arrays = {"boxes": boxes, "scores": scores, "limit": np.array([3])}
    arrays |= {"overlap": np.array([0.5], "float32"), "least": np.array([0.25], "float32")}
    wanted = in_onnxruntime("NonMaxSuppression", arrays, output=TensorProto.INT64)
    call = relay.vision.all_class_non_max_suppression(*variables(list(arrays.values()))).astuple()
    rows, count = infer_expr(call).fields
    assert (rows.concrete_shape, count.concrete_shape) == ((24, 3), (1,))
    found, chosen = call.op.reference(call.attrs, *arrays.values())
    np.testing.assert_array_equal(found[: chosen[0]], wanted)


def test_the_best_boxes_of_machine_code_are_those_of_onnxruntime() -> None:
    rng = np.random.default_rng(3)
    middles, sizes = rng.uniform(0, 1, (2, 40, 2)), rng.uniform(0.1, 0.5, (2, 40, 2))
    boxes = np.concatenate([middles - sizes / 2, middles + sizes / 2], -1).astype("float32")
    scores = rng.integers(0, 20, (2, 3, 40)).astype("float32") / 20  # some are equal
    arrays = {"boxes": boxes, "scores": scores, "limit": np.array([6])}
    arrays |= {"overlap": np.array([0.3], "float32"), "least": np.array([0.25], "float32")}
    expected = in_onnxruntime("NonMaxSuppression", arrays, output=TensorProto.INT64)
    params = variables(list(arrays.values()))
    function = relay.Function(params, relay.vision.all_class_non_max_suppression(*params).astuple())
    for kind in ("debug", "graph"):
        rows, count = relay.create_executor(kind, mod=tvm.IRModule.from_expr(function)).evaluate()(*arrays.values())
        np.testing.assert_array_equal(rows.numpy()[: count.numpy()[0]], expected)
        assert not rows.numpy()[count.numpy()[0] :].any()
