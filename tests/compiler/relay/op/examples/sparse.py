"""Examples of sparse tensors, of numbers of a few bits, and of what is written between elements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from compiler import relay, topi
from tests.compiler.relay.op.example import Example, floats, ints

nn = relay.nn


def _csr(dense: np.ndarray) -> list[np.ndarray]:
    """Return the elements of a matrix that are not zero, their columns, and where rows begin."""
    rows, columns = np.nonzero(dense)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    return [dense[rows, columns], columns.astype("int32"), ends.astype("int32")]


def _sparse(*shape: int, seed: int = 0) -> np.ndarray:
    return floats(*shape, seed=seed) * (np.random.default_rng(seed).random(shape) > 0.6).astype("float32")


_W, _SQUARE = _sparse(5, 6), _sparse(7, 7, seed=1)
_BLOCKS = [floats(3, 2, 3), np.array([1, 0, 1], "int32"), np.array([0, 1, 3], "int32")]
_X, _Y = floats(4, 6), floats(5, 6, seed=2)
_AS_DENSE = np.zeros((4, 6), "float32")
_AS_DENSE[0:2, 3:6], _AS_DENSE[2:4, 0:3], _AS_DENSE[2:4, 3:6] = _BLOCKS[0]


def _convolutions() -> Iterator[tuple[str, int, np.ndarray, list[np.ndarray], np.ndarray]]:
    """Yield layouts, windows, images, weights of four rows in blocks of two, and what comes out."""
    for layout, size in (("NCHW", 1), ("NHWC", 1), ("NCHW", 3), ("NHWC", 3)):
        weight = floats(4, 2, size, size, seed=size)
        images, (o, *_) = floats(1, 2, 4, 5), weight.shape
        result = topi.testing.conv2d_nchw_python(images, weight, 1, size // 2)
        matrix = (weight if layout == "NCHW" else weight.transpose(0, 2, 3, 1)).reshape(o, -1)
        columns = matrix.shape[1]
        blocks = matrix.reshape(2, 2, columns).transpose(0, 2, 1).reshape(-1, 2)
        data = blocks if size == 1 else blocks[..., None]
        places = [np.tile(np.arange(columns), 2).astype("int32"), np.array([0, columns, 2 * columns], "int32")]
        if layout == "NHWC":
            images, result = images.transpose(0, 2, 3, 1), result.transpose(0, 2, 3, 1)
        yield layout, size, images, [data, *places], result


EXAMPLES: dict[str, list[Example]] = {
    "nn.sparse_dense": [
        Example(lambda x, *w: nn.sparse_dense(x, w), [_X, *_csr(_W)], _X @ _W.T),
        Example(lambda x, *w: nn.sparse_dense(x, w, True), [_X, *_csr(_W)], _W @ _X.T),
        Example(lambda x, *w: nn.sparse_dense(x, w), [_X, *_BLOCKS], _X @ _AS_DENSE.T),
    ],
    "nn.sparse_conv2d": [
        Example(partial(nn.sparse_conv2d, layout=layout, kernel_size=size), [data, *weight], expected)
        for layout, size, data, weight, expected in _convolutions()
    ],
    "nn.sparse_add": [
        Example(lambda x, *w: nn.sparse_add(x, w), [floats(5, 6, seed=2), *_csr(_W)], floats(5, 6, seed=2) + _W)
    ],
    "nn.sparse_transpose": [Example(lambda *w: nn.sparse_transpose(w), _csr(_SQUARE), _csr(_SQUARE.T))],
    "sparse_reshape": [
        Example(
            relay.sparse_reshape,
            [np.array(points, dtype), np.array(old, dtype), np.array(new, dtype)],
            [np.array(np.unravel_index(np.ravel_multi_index(np.array(points).T, old), shape)).T, shape],
        )
        for points, old, new, shape, dtype in (
            ([[0, 0, 0], [0, 1, 5], [1, 2, 3]], (2, 3, 6), (9, -1), (9, 4), "int32"),
            ([[0, 3], [7, 1]], (8, 4), (2, 4, 4), (2, 4, 4), "int64"),
        )
    ],
    "sparse_fill_empty_rows": [
        Example(
            lambda *inputs: relay.sparse_fill_empty_rows(*inputs)[0].tuple_value,
            [
                np.array([[0, 1], [0, 3], [2, 0], [3, 1]], "int64"),
                np.array([1, 2, 3, 4], "int64"),
                np.array([5, 6], "int64"),
                np.array(default, "int64"),
            ],
            [[[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]], [1, 2, 10, 3, 4, 10], [False, True, False, False, True]],
        )
        for default in ([10], 10)
    ],
    "nn.dilate": [
        Example(lambda x: nn.dilate(x, (2, 3)), [floats(2, 3)]),
        Example(lambda x: nn.dilate(x, (1, 2, 1), 1.5), [floats(2, 3, 2)]),
    ],
    "nn.bitpack": [
        Example(
            partial(nn.bitpack, bits=3, pack_axis=1, bit_axis=bit_axis, pack_type="uint8"),
            [ints(2, 16, 3, low=0, high=8)],
        )
        for bit_axis in (0, 3)
    ],
    "nn.bitserial_dense": [
        Example(
            partial(
                nn.bitserial_dense,
                data_bits=2,
                weight_bits=bits,
                pack_dtype="uint8",
                out_dtype="int32",
                unipolar=unipolar,
            ),
            [ints(3, 16, low=0, high=4), ints(5, 16, low=0, high=1 << bits)],
        )
        for bits, unipolar in ((1, True), (2, False))
    ],
    "nn.bitserial_conv2d": [
        Example(
            lambda x, w: nn.bitserial_conv2d(
                x, w, padding=1, strides=(1, 2), activation_bits=2, pack_dtype="uint8", unipolar=True
            ),
            [ints(1, 8, 5, 6, low=0, high=4, dtype="int16"), ints(4, 8, 3, 3, low=0, high=2, dtype="int16")],
        ),
        Example(
            lambda x, w: nn.bitserial_conv2d(
                *(x, w),
                kernel_size=(2, 2),
                weight_bits=2,
                data_layout="NHWC",
                kernel_layout="HWIO",
                pack_dtype="uint16",
                unipolar=False,
            ),
            [ints(1, 4, 5, 16, low=0, high=2, dtype="uint8"), ints(2, 2, 16, 3, low=0, high=4, dtype="uint8")],
        ),
    ],
    "nn.nll_loss": [
        Example(
            partial(nn.nll_loss, reduction=reduction, ignore_index=ignore),
            [floats(*shape), ints(shape[0], *shape[2:], low=0, high=shape[1]), floats(shape[1], low=0.1, high=1)],
        )
        for shape, reduction, ignore in (
            ((6, 4), "mean", -100),
            ((6, 4), "mean", 2),
            ((3, 4, 2, 3), "sum", 1),
            ((3, 4, 2), "none", -100),
        )
    ],
}
