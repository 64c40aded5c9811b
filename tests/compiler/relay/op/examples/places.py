"""Examples of slices, of indices, and of what is put where indices say."""

from __future__ import annotations

import numpy as np

from compiler import relay
from compiler.relay.expr import const
from tests.compiler.relay.op.example import Example, floats, ints

_A = np.arange(12, dtype="float32").reshape(3, 4)
_X = floats(3, 4, 5)


def _whole(*values: object, dtype: str = "int64") -> np.ndarray:
    return np.array(values, dtype)


_WHERE = np.array([[0, 0], [1, -1], [3, 3]], "int64")
_FIVES = np.full((3, 2), 5, "float32")
_SCATTERED = {
    "update": [[5, 1, 2, 3], [4, 5, 6, 5], [8, 9, 10, 5]],
    "add": [[10, 1, 2, 3], [4, 10, 6, 12], [8, 9, 10, 21]],
    "mul": [[0, 1, 2, 3], [4, 25, 6, 35], [8, 9, 10, 275]],
    "min": [[0, 1, 2, 3], [4, 5, 6, 5], [8, 9, 10, 5]],
    "max": [[5, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]],
    "mean": [[10 / 3, 1, 2, 3], [4, 5, 6, 6], [8, 9, 10, 7]],
}

EXAMPLES: dict[str, list[Example]] = {
    "strided_slice": [
        Example(lambda x: relay.strided_slice(x, [0, 1], [3, 4], [2, 2]), [_A], _A[0:3:2, 1:4:2]),
        Example(lambda x: relay.strided_slice(x, [3, 0], [-5, 3], [-1, 2]), [_A], _A[::-1, 0:3:2]),
        Example(lambda x: relay.strided_slice(x, [1, 1], [-1, 2], slice_mode="size"), [_A], _A[1:, 1:3]),
        Example(lambda x: relay.strided_slice(x, [-3], [1 << 40], axes=[2]), [_X], _X[..., -3:]),
        Example(lambda x: relay.strided_slice(x, [-1], [-100], [-2], axes=[1]), [_A], _A[:, ::-2]),
    ],
    "strided_set": [
        Example(
            lambda x, v: relay.strided_set(x, v, [0, 1], [3, 4], [2, 2]),
            [_A, np.zeros((2, 2), "float32")],
            [[0, 0, 2, 0], [4, 5, 6, 7], [8, 0, 10, 0]],
        ),
        Example(
            lambda x, v: relay.strided_set(x, v, [-1, 3], [-100, -100], [-2, -1]),
            [_A, _A[:2] + 100],
            [[107, 106, 105, 104], [4, 5, 6, 7], [103, 102, 101, 100]],
        ),
    ],
    "slice_like": [
        Example(relay.slice_like, [_A, floats(2, 3)], _A[:2, :3]),
        Example(lambda x, y: relay.slice_like(x, y, [-1]), [_A, floats(2, 3)], _A[:, :3]),
    ],
    "take": [
        Example(lambda x, i: relay.take(x, i, 1), [_A, _whole(-1, 0, 5)], _A[:, [0, 0, 3]]),
        Example(lambda x, i: relay.take(x, i, 1, mode="wrap"), [_A, _whole(-1, 0, 5)], _A[:, [3, 0, 1]]),
        Example(lambda x, i: relay.take(x, i, -1, mode="fast"), [_X, ints(2, 3, low=0, high=5)]),
        Example(relay.take, [_A, _whole([5, 11], [0, 99])], [[5, 11], [0, 11]]),
        Example(lambda x, i: relay.take(x, i, 0), [_A, np.array(1, "int32")], _A[1]),
        Example(
            lambda x, i: relay.take(x, i, 1, batch_dims=1),
            [_A, np.array([[1, 2], [0, 3], [2, 2]], "int32")],
            [[1, 2], [4, 7], [10, 10]],
            smooth=False,
        ),
    ],
    "gather": [
        Example(lambda x, i: relay.gather(x, 1, i), [_A, _whole([1, 1], [0, 3], [2, 0])], [[1, 1], [4, 7], [10, 8]]),
        Example(lambda x, i: relay.gather(x, 0, i), [_A, _whole([-1, 0, 1])], [[8, 1, 6]]),
    ],
    "gather_nd": [
        Example(relay.gather_nd, [_A, _whole([0, 1], [3, -2])], [3, 6]),
        Example(relay.gather_nd, [_X, _whole([[0, 2], [1, 1]])], _X[[[0, 2], [1, 1]]]),
        Example(lambda x, i: relay.gather_nd(x, i, batch_dims=1), [_A, _whole([0, 1, 2])], [0, 5, 10], smooth=False),
    ],
    "adv_index": [
        Example(lambda *x: relay.adv_index(x), [_A, _whole(0, 2), _whole(1, 3)], [1, 11]),
        Example(lambda *x: relay.adv_index(x), [_X, _whole([0], [2]), _whole(1, -1, 0)], _X[[[0], [2]], [1, -1, 0]]),
    ],
    "one_hot": [
        Example(
            lambda i: relay.one_hot(i, const(5), const(1), 3, 0, "int32"), [_whole(0, 2)], [[5, 1], [1, 1], [1, 5]]
        ),
        Example(lambda i: relay.one_hot(i, const(1.0), const(0.0), 4, -1, "float32"), [_whole([3, 9])]),
    ],
    "dyn.one_hot": [
        Example(
            lambda i, d: relay.one_hot(i, const(1.0), const(0.0), d, -1, "float32"),
            [_whole(2, 0), np.array(3, "int32")],
            [[0, 0, 1], [1, 0, 0]],
        )
    ],
    "unravel_index": [Example(relay.unravel_index, [_whole(5, 11), _whole(3, 4)], [[1, 2], [1, 3]])],
    "invert_permutation": [Example(relay.invert_permutation, [_whole(2, 0, 3, 1)], [1, 3, 0, 2])],
    "searchsorted": [
        Example(
            lambda s, v: relay.searchsorted(s, v, True),
            [np.array([1, 2, 2, 3], "float32"), np.array([0, 2, 5], "float32")],
            [0, 3, 4],
        ),
        Example(relay.searchsorted, [_A, _A[:, 1:3] + 0.5], [[2, 3]] * 3),
    ],
    "scatter_elements": [
        *[
            Example(
                lambda x, i, u, r=r: relay.scatter_elements(x, i, u, 1, r),
                [_A, _WHERE, _FIVES],
                wanted,
                smooth=r == "add",
            )
            for r, wanted in _SCATTERED.items()
        ],
        Example(
            relay.scatter_elements,
            [_A, _whole([2, 0]), np.array([[50, 60]], "float32")],
            [[0, 60, 2, 3], [4, 5, 6, 7], [50, 9, 10, 11]],
        ),
    ],
    "scatter_nd": [
        Example(
            lambda x, i, u: relay.scatter_nd(x, i, u, "add"),
            [_A, _whole([0, 2, 0], [1, 1, 1]), np.array([100, 200, 300], "float32")],
            [[0, 401, 2, 3], [4, 5, 6, 7], [8, 209, 10, 11]],
        ),
        Example(
            relay.scatter_nd,
            [_A, _whole([2, 0]), floats(2, 4)],
            np.stack([floats(2, 4)[1], _A[1], floats(2, 4)[0]]),
        ),
        *[Example(lambda x, i, u, r=r: relay.scatter_nd(x, i, u, r), [_A, _whole([1, 1]), floats(2, 4)], smooth=False)
          for r in ("mul", "min", "max", "update")],
    ],
    "sparse_to_dense": [
        Example(lambda i, v: relay.sparse_to_dense(i, (5,), v, 9.0), [_whole(3, 1), floats(2)]),
        Example(
            lambda i, v: relay.sparse_to_dense(i, (2, 3), v, const(7)),
            [_whole([0, 1], [1, 2]), np.array([4, 5], "int32")],
            [[7, 4, 7], [7, 7, 5]],
        ),
    ],
    "dyn.sparse_to_dense": [
        Example(
            lambda i, v, s: relay.sparse_to_dense(i, s, v, 0.0),
            [_whole(3, 1), np.array([4, 5], "float32"), _whole(5)],
            [0, 5, 0, 4, 0],
        )
    ],
    "dyn.strided_slice": [
        Example(relay.strided_slice, [_A, _whole(0, -2), _whole(-1, 99), _whole(1, 1)], _A[0:-1, -2:]),
        Example(lambda x, b, e: relay.strided_slice(x, b, e, axes=[1]), [_A, _whole(1), _whole(3)], _A[:, 1:3]),
    ],
}  # fmt: skip
