"""Attributes of calls."""

from __future__ import annotations

import pytest

from compiler import relay

_X = relay.var("x", shape=(1, 3, 8, 8))
_W = relay.var("w", shape=(4, 3, 3, 3))


@pytest.mark.parametrize(
    ("call", "name", "expected"),
    [
        (relay.nn.conv2d(_X, _W, channels=4, padding=1), "channels", 4),
        (relay.nn.conv2d(_X, _W, channels=4, kernel_size=3), "kernel_size", [3, 3]),
        (relay.nn.conv2d(_X, _W, padding=(1, 2)), "padding", [1, 2, 1, 2]),
        (relay.reshape(_X, (1, -1)), "newshape", [1, -1]),
        (relay.strided_slice(_X, [0, 1], [1, 2]), "begin", [0, 1]),
    ],
)
def test_integers_answer_as_constants_too(call: relay.Call, name: str, expected: int | list[int]) -> None:
    value = call.attrs[name]
    numbers = [v.value for v in value] if isinstance(expected, list) else value.value
    assert numbers == expected
    assert {v.dtype for v in (value if isinstance(expected, list) else [value])} == {"int32"}
