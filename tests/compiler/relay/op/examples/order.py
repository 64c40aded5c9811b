"""Examples of order, of running sums, of masks, and of Einstein's sums."""

from __future__ import annotations

import numpy as np

from compiler import relay
from compiler.relay.expr import const
from tests.compiler.relay.op.example import Example, floats, ints, truths

_A = np.arange(12, dtype="float32").reshape(3, 4)
_X = floats(3, 4, 5)
_TIES = np.array([3, 1, 3, 2, 1], "int32")
_SEVERAL = np.array([[0, 8, 9], [1, 2, 3], [4, 5, 0]], "float32")


EXAMPLES: dict[str, list[Example]] = {
    "sort": [
        Example(relay.sort, [_X], np.sort(_X)),
        Example(lambda x: relay.sort(x, 1, False), [_X], np.flip(np.sort(_X, 1), 1)),
    ],
    "argsort": [
        Example(relay.argsort, [_TIES], [1, 4, 3, 0, 2]),
        Example(lambda x: relay.argsort(x, is_ascend=False, dtype="int64"), [_TIES], [0, 2, 3, 1, 4]),
        Example(lambda x: relay.argsort(x, 0), [_X], np.argsort(_X, 0)),
    ],
    "topk": [
        Example(lambda x: relay.topk(x, 3), [_TIES], [[3, 3, 2], [0, 2, 3]]),
        Example(lambda x: relay.topk(x, 2, 1, "values", True), [_X], np.sort(_X, 1)[:, :2]),
        Example(lambda x: relay.topk(x, 0, ret_type="indices", dtype="int64"), [_X], np.argsort(-_X)),
        Example(lambda x: relay.topk(x, 2, 0), [np.array([0, 7, 255], "uint8")], [[255, 7], [2, 1]]),
    ],
    "dyn.topk": [Example(relay.topk, [_TIES, np.array([2], "int64")], [[3, 3], [0, 2]])],
    "unique": [
        Example(
            lambda x: relay.unique(x, return_counts=True),
            [_TIES],
            [[1, 2, 3, 0, 0], [1, 3, 0, 0, 0], [2, 0, 2, 1, 0], [3], [2, 1, 2, 0, 0]],
        ),
        Example(lambda x: relay.unique(x, False), [_TIES], [[3, 1, 2, 0, 0], [0, 1, 3, 0, 0], [0, 1, 0, 2, 1], [3]]),
    ],
    "argwhere": [Example(relay.argwhere, [truths(3, 4)], np.argwhere(truths(3, 4)))],
    "cumsum": [
        Example(lambda x: relay.cumsum(x, 1), [_X], np.cumsum(_X, 1)),
        Example(lambda x: relay.cumsum(x, 1, exclusive=True), [_A], [[0, 0, 1, 3], [0, 4, 9, 15], [0, 8, 17, 27]]),
        Example(relay.cumsum, [_A], np.cumsum(_A)),
        Example(lambda x: relay.cumsum(x, 1), [ints(2, 1030, 3)], np.cumsum(ints(2, 1030, 3), 1)),
        Example(lambda x: relay.cumsum(x, 0, exclusive=True), [ints(1024)], np.cumsum(ints(1024)) - ints(1024)),
        Example(lambda x: relay.cumsum(x, 0, "int32"), [ints(9, low=90, high=120, dtype="int8")]),
    ],
    "cumprod": [
        Example(lambda x: relay.cumprod(x, -1), [_X], np.cumprod(_X, -1)),
        Example(lambda x: relay.cumprod(x, 0, exclusive=True), [_X]),
    ],
    "matrix_set_diag": [
        Example(
            lambda x, d: relay.matrix_set_diag(x, d, k=1),
            [_A, np.full(3, 99, "float32")],
            [[0, 99, 2, 3], [4, 5, 99, 7], [8, 9, 10, 99]],
        ),
        Example(
            lambda x, d: relay.matrix_set_diag(x, d, k=(-1, 1)),
            [np.full((3, 3), 7, "float32"), _SEVERAL],
            [[1, 8, 7], [4, 2, 9], [7, 5, 3]],
        ),
        Example(
            lambda x, d: relay.matrix_set_diag(x, d, k=(-1, 0), align="LEFT_RIGHT"), [floats(2, 3, 3), floats(2, 2, 3)]
        ),
    ],
    "trilu": [
        Example(lambda x: relay.trilu(x, const(1, "int64"), False), [_X], np.tril(_X, 1)),
        Example(relay.trilu, [_X, np.array(-1, "int32")], np.triu(_X, -1)),
    ],
    "sequence_mask": [
        Example(
            lambda x, n: relay.sequence_mask(x, n, -1),
            [_A, np.array([1, 2, 3, 0], "int32")],
            [[0, 1, 2, -1], [-1, 5, 6, -1], [-1, -1, 10, -1]],
        ),
        Example(lambda x, n: relay.sequence_mask(x, n, axis=1), [_X, np.array([1, 2, 4], "int64")]),
    ],
    "einsum": [
        Example(lambda *x: relay.einsum(x, "ij,jk->ik"), [_A, floats(4, 2)], _A @ floats(4, 2)),
        Example(lambda *x: relay.einsum(x, "...ij,...jk"), [_X, floats(5, 2)], _X @ floats(5, 2)),
        Example(lambda *x: relay.einsum(x, "bij,bkj->bik"), [_X, floats(3, 2, 5)]),
        Example(lambda x: relay.einsum([x], "ij->ji"), [_A], _A.T),
    ],
}
