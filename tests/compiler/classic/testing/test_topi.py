"""The NumPy references of operators under TVM's names, compared with what kernels compute for the operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te, topi
from compiler.classic.testing import topi as reference
from compiler.ir.error import ArgumentError

Array = np.ndarray
RNG = np.random.default_rng(0)


def data(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype("float32")


def computed(make: Callable[..., relay.Expr], *arrays: Array) -> Array:
    """Return what kernels compute."""
    inputs = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    return relay.create_executor("graph").evaluate(relay.Function(inputs, make(*inputs)))(*arrays).numpy()


X, W = data(2, 4, 9, 8), data(6, 4, 3, 3)
SEQUENCE = data(3, 5, 2)
OFFSETS = data(2, 2 * 9, 9, 8)
REGIONS = np.array([[1, -3, -2, 4, 20], [0, 3, 3, 5, 5]], "float32")
BOXES, IMAGES = np.array([[0.1, 0.2, 0.7, 0.9], [-0.2, 0, 1.3, 0.8]], "float32"), np.array([1, 0], "int32")
DIAGONALS = data(2, 4, 3, 8)
CASES: Sequence[tuple[Array, Callable[..., relay.Expr], Sequence[Array]]] = [
    (
        reference.conv2d_nchw_python(X, W, (2, 1), (1, 2, 0, 1)),
        lambda x, w: relay.nn.conv2d(x, w, strides=(2, 1), padding=(1, 2, 0, 1)),
        [X, W],
    ),
    (
        reference.conv2d_nchw_python(X, W[:, :2], 1, "SAME", groups=2),
        lambda x, w: relay.nn.conv2d(x, w, padding=1, groups=2),
        [X, W[:, :2]],
    ),
    (
        reference.conv2d_nhwc_python(X.transpose(0, 2, 3, 1), W.transpose(2, 3, 1, 0), 2, "VALID"),
        lambda x, w: relay.nn.conv2d(x, w, strides=2, data_layout="NHWC", kernel_layout="HWIO"),
        [X.transpose(0, 2, 3, 1), W.transpose(2, 3, 1, 0)],
    ),
    (
        reference.conv1d_ncw_python(X[:, :, 0], W[..., 0], 1, "VALID", 2),
        lambda x, w: relay.nn.conv1d(x, w, dilation=2),
        [X[:, :, 0], W[..., 0]],
    ),
    (
        reference.conv2d_transpose_nchw_python(X, W.swapaxes(0, 1), (2, 2), (1, 1), (1, 0)),
        lambda x, w: relay.nn.conv2d_transpose(x, w, strides=2, padding=1, output_padding=(1, 0)),
        [X, W.swapaxes(0, 1)],
    ),
    (
        reference.poolnd_python(X, (3, 2), (2, 2), (1, 1), (1, 0), (0, 1), "avg", False, True),
        lambda x: relay.nn.avg_pool2d(x, (3, 2), (2, 2), padding=(1, 0, 0, 1), count_include_pad=False, ceil_mode=True),
        [X],
    ),
    (reference.adaptive_pool(X, (3, 4), "max", "NCHW"), lambda x: relay.nn.adaptive_max_pool2d(x, (3, 4)), [X]),
    (reference.softmax_python(X, 1), lambda x: relay.nn.softmax(x, axis=1), [X]),
    (reference.log_softmax_python(X, -1), lambda x: relay.nn.log_softmax(x), [X]),
    (reference.lrn_python(X, 3, 1, 1.0, 2.0, 0.5), lambda x: relay.nn.lrn(x, 3, 1, 1.0, 2.0, 0.5), [X]),
    (reference.depth_to_space_python(X, 2, "CRD"), lambda x: relay.nn.depth_to_space(x, 2, mode="CRD"), [X]),
    (reference.space_to_depth_python(X[:, :, :8], 2), lambda x: relay.nn.space_to_depth(x, 2), [X[:, :, :8]]),
    (
        reference.strided_slice_python(X, [0, 3, 8], [2, 0, -9], [1, -1, -2]),
        lambda x: relay.strided_slice(x, [0, 3, 8], [2, 0, -9], [1, -1, -2]),
        [X],
    ),
    (
        reference.sequence_mask(SEQUENCE, np.array([1, 3, 2, 1, 0]), -1, 0),
        lambda x: relay.sequence_mask(x, relay.const(np.array([1, 3, 2, 1, 0], "int32")), -1.0, 0),
        [SEQUENCE],
    ),
    (
        reference.resize2d_python(X, (1.5, 2.0), "NCHW", "linear", "half_pixel"),
        lambda x: relay.image.resize2d(x, (14, 16), None, "NCHW", "linear", "half_pixel"),
        [X],
    ),
    (
        reference.depthwise_conv2d_python_nchw(X, W[:4, :2], 1, "SAME"),
        lambda x, w: relay.nn.conv2d(x, relay.reshape(w, (8, 1, 3, 3)), padding=1, groups=4),
        [X, W[:4, :2]],
    ),
    (
        reference.deformable_conv2d_nchw_python(X, OFFSETS, W, (1, 1), (1, 1), (1, 1), 1, 1),
        lambda x, offsets, w: relay.nn.deformable_conv2d(x, offsets, w, padding=1),
        [X, OFFSETS, W],
    ),
    (
        reference.correlation_nchw_python(X, X[::-1], 3, 1, 2, 1, 2, False),
        lambda x, y: relay.nn.correlation(x, y, 3, 1, 2, 1, 2, False),
        [X, X[::-1].copy()],
    ),
    (
        reference.crop_and_resize_python(X, BOXES, IMAGES, (4, 5), "NCHW", "bilinear", 0.25),
        lambda x, boxes, images: relay.image.crop_and_resize(x, boxes, images, (4, 5), "NCHW", "bilinear", 0.25),
        [X, BOXES, IMAGES],
    ),
    (
        reference.roi_align_nchw_python(X, REGIONS, (3, 2), 0.5, 2, b"max"),
        lambda x, regions: relay.vision.roi_align(x, regions, (3, 2), 0.5, 2, mode="max"),
        [X, REGIONS],
    ),
    (
        reference.roi_pool_nchw_python(X, REGIONS, (3, 2), 0.5),
        lambda x, regions: relay.vision.roi_pool(x, regions, (3, 2), 0.5),
        [X, REGIONS],
    ),
    (
        reference.matrix_set_diag(X, DIAGONALS, (-1, 1), "LEFT_RIGHT"),
        lambda x, diagonals: relay.matrix_set_diag(x, diagonals, (-1, 1), "LEFT_RIGHT"),
        [X, DIAGONALS],
    ),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_references_are_what_operators_compute(case: int) -> None:
    expected, make, arrays = CASES[case]
    np.testing.assert_allclose(computed(make, *arrays), expected, rtol=1e-4, atol=1e-4)


def test_moving_blocks_there_and_back_changes_nothing() -> None:
    batches = reference.space_to_batch_nd_python(X, [2, 3], [1, 0], [1, 0])
    np.testing.assert_array_equal(reference.batch_to_space_nd_python(batches, [2, 3], [1, 0], [1, 0]), X)
    depth = reference.space_to_depth_python(X[:, :, :8], 2)
    np.testing.assert_array_equal(reference.depth_to_space_python(depth, 2), X[:, :, :8])


def test_a_gradient_of_a_convolution_is_that_of_differences() -> None:
    x, grad = data(1, 2, 5, 5).astype("float64"), data(1, 3, 3, 3).astype("float64")
    weight = np.zeros((3, 2, 3, 3))
    gradient = reference.conv2d_backward_weight_python(grad, x, (3, 3), 2, 1)
    for index in [(0, 0, 0, 0), (2, 1, 1, 2)]:
        weight[index] = 1
        by_difference = (reference.conv2d_nchw_python(x, weight, 2, 1) * grad).sum()
        np.testing.assert_allclose(gradient[index], by_difference)
        weight[index] = 0


def test_attention_without_sight_of_others_is_the_value() -> None:
    q, v = data(1, 3, 1, 4), data(1, 3, 1, 2)
    seen = reference.attention_python(q, q, v, None, None, "TopLeft", window_size=1)
    np.testing.assert_allclose(seen, v, rtol=1e-6)
    with pytest.raises(ArgumentError, match="causal must be"):
        reference.attention_python(q, q, v, None, None, "none at all")


def test_a_cell_forgets_and_remembers() -> None:
    inputs, weights = data(4, 1, 2), np.zeros((8, 2), "float32")
    open_gates = np.array([-50, -50, 50, 50, 0, 0, 50, 50], "float32")
    states, memories = reference.lstm_python(inputs, weights, weights, open_gates, c_init=np.ones((1, 2), "float32"))
    np.testing.assert_allclose(memories, 1)
    np.testing.assert_allclose(states, np.tanh(1), rtol=1e-6)


def test_usual_schedules_compute() -> None:
    reduce = reference.get_reduce_schedule("llvm")
    assert reference.dispatch("llvm", {"generic": 1, "cpu": 2}) == 2
    x = data(8, 16)
    reference.compare_numpy_tvm([x], x.sum(1), "llvm", tvm.cpu(), lambda a: topi.sum(a, axis=1), reduce)
    for rule in (reference.get_injective_schedule, reference.get_elemwise_schedule, reference.get_broadcast_schedule):
        reference.compare_numpy_tvm([x], np.exp(x), "llvm", tvm.cpu(), topi.exp, rule("llvm"))
    with pytest.raises(AssertionError):
        reference.compare_numpy_tvm([x], x, "llvm", tvm.cpu(), topi.exp, rule("llvm"))


def test_the_convolution_of_a_target_computes() -> None:
    definition, schedule = reference.get_conv2d_nchw_implement("llvm")
    expected = reference.conv2d_nchw_python(X, W, 2, (1, 1))
    reference.compare_numpy_tvm(
        [X, W], expected, "llvm", tvm.cpu(), lambda x, w: definition(x, w, 2, (1, 1), 1), schedule
    )
    with pytest.raises(ArgumentError, match="strides must be a number or 2"):
        topi.nn.conv2d_nhwc(te.placeholder((1, 4, 4, 1)), te.placeholder((3, 3, 1, 1)), (1, 1, 1), 0, 1)
