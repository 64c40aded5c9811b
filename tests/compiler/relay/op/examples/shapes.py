"""Examples of changes of shape and data type, of joining and splitting, and of new tensors."""

from __future__ import annotations

import numpy as np

from compiler import relay
from compiler.relay.expr import const
from tests.compiler.relay.op.example import Example, floats, ints, truths

_X = floats(2, 3, 4)
_V = floats(5)


def _dyn(name: str, **attrs: object) -> object:
    return lambda *args: relay.op.get(name)(*args, **attrs)


_SHAPES = {  # of a tensor (2, 3, 4)
    (6, 4): (6, 4),
    (-1, 3): (8, 3),
    (0, -1): (2, 12),
    (-2,): (2, 3, 4),
    (-3, 4): (6, 4),
    (-4, 1, 2, -2): (1, 2, 3, 4),
    (0, -3): (2, 12),
    (2, -4, -1, 3, 4): (2, 1, 3, 4),
    (4, 1, 3, 2): (4, 1, 3, 2),
}

EXAMPLES: dict[str, list[Example]] = {
    "reshape": [
        Example(lambda x, s=new: relay.reshape(x, s), [_X], _X.reshape(wanted)) for new, wanted in _SHAPES.items()
    ],
    "contrib_reverse_reshape": [
        Example(lambda x: relay.reverse_reshape(x, (-1, 0)), [_X], _X.reshape(6, 4)),
        Example(lambda x: relay.reverse_reshape(x, (0, -3)), [_X], _X.reshape(2, 12)),
        Example(lambda x: relay.reverse_reshape(x, (4, 0, -1)), [_X], _X.reshape(4, 3, 2)),
    ],
    "reshape_like": [
        Example(relay.reshape_like, [_X, floats(4, 6)], _X.reshape(4, 6)),
        Example(lambda x, y: relay.reshape_like(x, y, 1, 3, 0, 1), [_X, floats(12, 9)], _X.reshape(2, 12)),
    ],
    "transpose": [
        Example(relay.transpose, [_X], _X.T),
        Example(lambda x: relay.transpose(x, (1, -1, 0)), [_X], _X.transpose(1, 2, 0)),
    ],
    "expand_dims": [
        Example(lambda x: relay.expand_dims(x, 1, 2), [_X], _X[:, None, None]),
        Example(lambda x: relay.expand_dims(x, -1), [_X], _X[..., None]),
    ],
    "squeeze": [
        Example(relay.squeeze, [floats(1, 3, 1)], floats(1, 3, 1).reshape(3)),
        Example(lambda x: relay.squeeze(x, [-1]), [floats(1, 3, 1)], floats(1, 3, 1)[..., 0]),
    ],
    "reverse": [Example(lambda x: relay.reverse(x, 1), [_X], _X[:, ::-1])],
    "reverse_sequence": [
        Example(
            relay.reverse_sequence,
            [np.arange(12, dtype="float32").reshape(3, 4), np.array([1, 2, 4], "int32")],
            [[0, 1, 2, 3], [5, 4, 6, 7], [11, 10, 9, 8]],
        ),
        Example(lambda x, n: relay.reverse_sequence(x, n, 0, 1), [_X, np.array([1, 2, 0], "int64")]),
        Example(
            relay.reverse_sequence,
            [np.arange(12, dtype="int8").reshape(3, 4), np.array([-2, 5, 2**40 + 1], "int64")],
            np.array([[0, 1, 2, 3], [7, 6, 5, 4], [11, 10, 9, 8]], "int8"),
        ),
    ],
    "sliding_window": [
        Example(
            lambda x: relay.sliding_window(x, 1, (2, 3), (1, 1)),
            [_X],
            np.lib.stride_tricks.sliding_window_view(_X, (2, 3), (1, 2)),
        ),
        Example(lambda x: relay.sliding_window(x, 0, (3,), (2,)), [_V], [_V[0:3], _V[2:5]]),
    ],
    "layout_transform": [
        Example(
            lambda x: relay.layout_transform(x, "NCHW", "NHWC"),
            [floats(1, 4, 2, 3)],
            floats(1, 4, 2, 3).transpose(0, 2, 3, 1),
        ),
        Example(
            lambda x: relay.layout_transform(x, "NCHW", "NCHW8c"),
            [floats(1, 16, 2, 3)],
            floats(1, 16, 2, 3).reshape(1, 2, 8, 2, 3).transpose(0, 1, 3, 4, 2),
        ),
        Example(lambda x: relay.layout_transform(x, "NCHW8c", "NCHW4c"), [floats(1, 2, 2, 3, 8)]),
        Example(lambda x: relay.layout_transform(x, "OIHW", "OIHW4i8o"), [floats(16, 4, 3, 3)]),
    ],
    "concatenate": [
        Example(
            lambda *x: relay.concatenate(x, 1),
            [_X, floats(2, 1, 4), floats(2, 2, 4)],
            np.concatenate([_X, floats(2, 1, 4), floats(2, 2, 4)], 1),
        ),
        Example(lambda *x: relay.concatenate(x, -1), [_V, _V], np.tile(_V, 2)),
    ],
    "stack": [Example(lambda *x: relay.stack(x, -1), [_V, floats(5, seed=1)], np.stack([_V, floats(5, seed=1)], 1))],
    "split": [
        Example(lambda x: relay.split(x, 2, -1), [_X], np.split(_X, 2, -1)),
        Example(lambda x: relay.split(x, (1, 3), 2), [_X], np.split(_X, (1, 3), 2)),
    ],
    "tile": [
        Example(lambda x: relay.tile(x, (2, 1, 3)), [_X], np.tile(_X, (2, 1, 3))),
        Example(lambda x: relay.tile(x, (2, 2)), [_V], np.tile(_V, (2, 2))),
        Example(lambda x: relay.tile(x, (2,)), [_X], np.tile(_X, 2)),
    ],
    "repeat": [Example(lambda x: relay.repeat(x, 2, 1), [_X], np.repeat(_X, 2, 1))],
    "meshgrid": [
        Example(lambda *x: relay.meshgrid(x), [_V, floats(3)], np.meshgrid(_V, floats(3), indexing="ij")),
        Example(lambda *x: relay.meshgrid(x, "xy"), [_V, floats(3)], np.meshgrid(_V, floats(3))),
    ],
    "broadcast_to": [Example(lambda x: relay.broadcast_to(x, (3, 5)), [_V], np.broadcast_to(_V, (3, 5)))],
    "broadcast_to_like": [Example(relay.broadcast_to_like, [floats(3, 1), floats(2, 3, 4)])],
    "collapse_sum_like": [
        Example(relay.collapse_sum_like, [_X, floats(3, 1)], _X.sum((0, 2))[:, None]),
        Example(relay.collapse_sum_like, [_X, floats(4)], _X.sum((0, 1))),
    ],
    "collapse_sum_to": [Example(lambda x: relay.collapse_sum_to(x, (1, 4)), [_X], _X.sum((0, 1))[None])],
    "cast": [
        Example(lambda x: relay.cast(x, "int8"), [floats(9, low=-9, high=9)], np.trunc(floats(9, low=-9, high=9))),
        Example(lambda x: relay.cast(x, "bool"), [np.array([0, 0.5, -1], "float32")], [False, True, True]),
        Example(lambda x: relay.cast(x, "float64"), [_V], _V.astype("float64")),
        Example(lambda x: relay.cast(x, "float32"), [truths(9)], truths(9)),
    ],
    "cast_like": [Example(relay.cast_like, [_V, ints(2)], np.trunc(_V))],
    "reinterpret": [Example(lambda x: relay.reinterpret(x, "int32"), [_V], _V.view("int32"))],
    "full": [Example(lambda x: relay.full(x, (2, 3)), [np.array(1.5, "float32")], np.full((2, 3), 1.5))],
    "full_like": [Example(relay.full_like, [_V, np.array(1.5, "float32")], np.full(5, 1.5))],
    "zeros": [Example(lambda: relay.zeros((2, 3), "float32"), [], np.zeros((2, 3)))],
    "ones": [Example(lambda: relay.ones((2,), "int32"), [], np.ones(2))],
    "zeros_like": [Example(relay.zeros_like, [_X], np.zeros((2, 3, 4)))],
    "ones_like": [Example(relay.ones_like, [_X], np.ones((2, 3, 4)))],
    "arange": [
        Example(lambda: relay.arange(2, 11, 3, "int32"), [], [2, 5, 8]),
        Example(lambda: relay.arange(const(1.0), const(2.0), const(0.3)), [], [1, 1.3, 1.6, 1.9]),
        Example(lambda: relay.arange(5, 0, -2, "int64"), [], [5, 3, 1]),
    ],
    "shape_of": [Example(relay.shape_of, [_X], [2, 3, 4])],
    "vm.shape_of": [Example(relay.op.vm.shape_of, [_X], [2, 3, 4])],
    "vm.reshape_tensor": [
        Example(
            lambda x, shape: relay.op.vm.reshape_tensor(x, shape, newshape=(4, 6)),
            [_X, np.array([4, 6], "int64")],
            _X.reshape(4, 6),
        )
    ],
    "ndarray_size": [Example(lambda x: relay.ndarray_size(x, "int64"), [_X], 24)],
    "dyn.reshape": [Example(relay.reshape, [_X, np.array([0, -1], "int64")], _X.reshape(2, 12))],
    "dyn.broadcast_to": [Example(relay.broadcast_to, [_V, np.array([2, 5], "int64")], np.stack([_V, _V]))],
    "dyn.full": [Example(relay.full, [np.array(1.5, "float32"), np.array([2, 2], "int64")], np.full((2, 2), 1.5))],
    "dyn.zeros": [Example(lambda s: relay.zeros(s, "int32"), [np.array([2, 3], "int64")], np.zeros((2, 3)))],
    "dyn.ones": [Example(lambda s: relay.ones(s, "int32"), [np.array([2, 3], "int64")], np.ones((2, 3)))],
    "dyn.tile": [Example(relay.tile, [_V, np.array([2, 1], "int64")], np.stack([_V, _V]))],
    "dyn.expand_dims": [Example(relay.expand_dims, [_V, np.array(-1, "int64")], _V[:, None])],
    "dyn.squeeze": [Example(relay.squeeze, [floats(1, 3), np.array([0], "int64")], floats(1, 3)[0])],
}
