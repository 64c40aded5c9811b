"""The functions of ``topi.image`` and ``topi.vision``, and new tensors, compared with NumPy references."""

import numpy as np
import pytest

from compiler.classic import alias

alias.install()

from tvm import topi  # noqa: E402

import compiler as tvm  # noqa: E402
from compiler import te  # noqa: E402
from compiler.classic.testing import topi as reference  # noqa: E402
from compiler.ir.error import ArgumentError  # noqa: E402
from tests.compiler.topi.test_nn_functions import check, data, run  # noqa: E402

ROIS = np.array([[0, 1, 1, 6, 6], [1, 0, 2, 5, 7]], "float32")


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("method", ["linear", "nearest_neighbor", "cubic"])
def test_resizing(method, mode):
    rounding = "round" if mode == "align_corners" else ""
    for rank, layout in ((1, "NCW"), (2, "NCHW"), (3, "NCDHW")):
        define = getattr(topi.image, f"resize{rank}d")
        expected = getattr(reference, f"resize{rank}d_python")
        x, scale = data(1, 2, *(4, 3, 3)[:rank]), (2, 2, 2)[:rank]
        size = [e * 2 for e in x.shape[2:]]
        if method == "cubic" and rank != 2:
            continue
        check(
            lambda x: define(x, None, size, layout, method, mode, rounding),  # noqa: B023
            lambda x: expected(x, scale, layout, method, mode),  # noqa: B023
            x,
        )


def test_resizing_refuses_another_number_of_extents():
    with pytest.raises(ArgumentError, match="resize2d: size must have 2 numbers, got 1"):
        topi.image.resize2d(te.placeholder((1, 2, 4, 4)), None, (3,))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grids(padding):
    check(
        lambda x, g: topi.image.grid_sample(x, g, "bilinear", "NCHW", padding),
        lambda x, g: reference.grid_sample_python(x, g, "bilinear", "NCHW", padding),
        data(1, 2, 4, 4),
        data(1, 2, 3, 3),
    )


def test_crops():
    boxes, images = np.array([[0.1, 0.1, 0.8, 0.9], [0, 0.2, 1, 0.7]], "float32"), np.array([0, 1], "int32")
    check(
        lambda x, b, i: topi.image.crop_and_resize(x, b, i, (3, 4)),
        lambda x, b, i: reference.crop_and_resize_python(x, b, i, (3, 4), "NCHW"),
        data(2, 3, 6, 5),
        boxes,
        images,
    )


def test_dilations():
    x, w = data(1, 2, 5, 5), data(2, 3, 3)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    parts = [padded[:, :, i : i + 5, j : j + 5] + w[:, i, j][:, None, None] for i in range(3) for j in range(3)]
    expected = np.max(parts, axis=0)
    check(lambda x, w: topi.image.dilation2d_nchw(x, w, 1, 1, 1), lambda x, w: expected, x, w)
    last = run(
        lambda x, w: topi.image.dilation2d_nhwc(x, w, 1, 1, 1),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        np.ascontiguousarray(w.transpose(1, 2, 0)),
    )
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", [b"avg", b"max"])
def test_regions(mode):
    check(
        lambda x, r: topi.vision.rcnn.roi_align_nchw(x, r, 3, 0.5, mode, 2),
        lambda x, r: reference.roi_align_nchw_python(x, r, 3, 0.5, 2, mode),
        data(2, 3, 8, 8),
        ROIS,
    )
    check(
        lambda x, r: topi.vision.roi_align_nhwc(x, r, (2, 3), 1.0, mode),
        lambda x, r: reference.roi_align_nhwc_python(x, r, (2, 3), 1.0, -1, mode),
        data(2, 8, 8, 3),
        ROIS,
    )


def test_pooled_regions_and_reorganised_images():
    check(
        lambda x, r: topi.vision.roi_pool_nchw(x, r, 3, 1.0),
        lambda x, r: reference.roi_pool_nchw_python(x, r, 3, 1.0),
        data(2, 3, 8, 8),
        ROIS,
    )
    check(lambda x: topi.vision.reorg(x, 2), lambda x: reference.reorg_python(x, 2), data(1, 8, 6, 6))


def test_new_tensors():
    x, vector = data(2, 3, 4), data(3)
    check(topi.shape, lambda x: np.array(x.shape), x)
    check(topi.ndarray_size, lambda x: np.array(x.size), x)
    check(lambda x: topi.arange(1, 7, 2.5), lambda x: np.arange(1, 7, 2.5), x)
    check(lambda x: topi.arange(1, -9, -3, "int32"), lambda x: np.arange(1, -9, -3), x)
    check(lambda x: topi.eye(3, 4, 1), lambda x: np.eye(3, 4, 1), x)
    check(lambda a, b: topi.elemwise_sum([a, b, a]), lambda a, b: a + b + a, x, data(2, 3, 4))
    check(lambda a, b: topi.expand_like(a, b, [0, 2]), lambda a, b: a[None, :, None] + 0 * b, vector, x)
    check(lambda a, b: topi.matmul(a, b, True, True), lambda a, b: a.T @ b.T, data(3, 2), data(4, 3))
    check(lambda x: topi.collapse_sum(x, (3, 1)), lambda x: x.sum((0, 2))[:, None], x)
    with pytest.raises(ArgumentError, match="expected a constant"):
        topi.arange(te.var("n"))


def test_the_best_boxes_of_anchors() -> None:
    # two anchors show the same object, a third one nothing
    probability = np.array([[[0.1, 0.2, 0.9], [0.9, 0.8, 0.1]]], "float32")
    anchor = np.array([[[0.1, 0.1, 0.5, 0.5], [0.1, 0.1, 0.5, 0.52], [0.6, 0.6, 0.9, 0.9]]], "float32")
    given = [te.placeholder(shape, name=name) for name, shape in (("p", (1, 2, 3)), ("l", (1, 12)), ("a", (1, 3, 4)))]
    best = topi.vision.multibox_detection(*given, threshold=0.3)
    result = tvm.nd.array(np.zeros((1, 3, 6), "float32"))
    schedule = topi.generic.schedule_multibox_detection(best)
    arrays = [tvm.nd.array(values) for values in (probability, np.zeros((1, 12), "float32"), anchor)]
    tvm.build(schedule, [*given, best], "llvm")(*arrays, result)
    np.testing.assert_allclose(result.numpy()[0, 0], [0, 0.9, 0.1, 0.1, 0.5, 0.5], rtol=1e-5)
    np.testing.assert_array_equal(result.numpy()[0, 1:, 0], [-1, -1])
