"""Examples of functions of elements, arithmetic, comparisons, and reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import relay
from tests.compiler.relay.op.example import Example, floats, ints, truths

EXAMPLES: dict[str, list[Example]] = {}

_POSITIVE = {"low": 0.1, "high": 4.0}
_INSIDE = {"low": -0.9, "high": 0.9}
_RANGES: dict[str, dict[str, float]] = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), _POSITIVE),
    **dict.fromkeys(("asin", "acos", "atanh"), _INSIDE),
    "acosh": {"low": 1.1, "high": 4.0},
    "tan": {"low": -1.2, "high": 1.2},
}
_FUNCTIONS = {
    "abs": np.abs, "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "sign": np.sign,
    "negative": np.negative, "copy": np.copy,
    "rsqrt": lambda x: x**-0.5, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip

for name, function in _FUNCTIONS.items():
    x = floats(3, 37, **_RANGES.get(name, {}))
    EXAMPLES[name] = [Example(getattr(relay, name), [x], function(x))]
for name in ("abs", "sign", "negative"):
    x = ints(40)
    EXAMPLES[name].append(Example(getattr(relay, name), [x], _FUNCTIONS[name](x)))

EXAMPLES["round"] = [
    Example(relay.round, [np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.4], "float32")], [-3.0, -2, -1, 1, 2, 2])
]
EXAMPLES["nearbyint"] = [
    Example(relay.nearbyint, [np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.4], "float32")], [-2.0, -2, 0, 0, 2, 2])
]
EXAMPLES["erf"] = [
    Example(relay.erf, [np.array([-3, -0.5, 0, 1], "float32")], [-0.99997791, -0.52049988, 0, 0.84270079])
]
for name, function in (("fast_exp", np.exp), ("fast_tanh", np.tanh)):
    x = floats(100, low=-20, high=20)
    EXAMPLES[name] = [Example(relay.op.get(name), [x], function(x.astype("float64")), 2e-6)]
EXAMPLES["fast_erf"] = [Example(relay.op.get("fast_erf"), [floats(100)], tolerance=2e-6)]

_ODD = np.array([1, np.inf, -np.inf, np.nan, 0], "float32")
EXAMPLES["isnan"] = [Example(relay.isnan, [_ODD], [False, False, False, True, False])]
EXAMPLES["isinf"] = [Example(relay.isinf, [_ODD], [False, True, True, False, False])]
EXAMPLES["isfinite"] = [Example(relay.isfinite, [_ODD], [True, False, False, False, True])]
EXAMPLES["logical_not"] = [Example(relay.logical_not, [truths(9)])]
EXAMPLES["bitwise_not"] = [Example(relay.bitwise_not, [ints(9)], ~ints(9)), Example(relay.bitwise_not, [truths(9)])]
EXAMPLES["clip"] = [
    Example(lambda x: relay.clip(x, -0.5, 1), [floats(4, 9)], np.clip(floats(4, 9), -0.5, 1)),
    Example(lambda x: relay.clip(x, -2, np.inf), [ints(30)], np.maximum(ints(30), -2), smooth=False),
]
EXAMPLES["fixed_point_multiply"] = [
    Example(lambda x: relay.fixed_point_multiply(x, 1 << 30, 0), [np.array([-7, 7, -7, 7], "int32")], [-3, 4, -3, 4]),
    Example(lambda x: relay.fixed_point_multiply(x, 1 << 30, 3), [ints(9)], ints(9) * 4),
    Example(lambda x: relay.fixed_point_multiply(x, 1 << 30, -2), [np.array([16, -16], "int32")], [2, -2]),
]

# two tensors

_A, _B = floats(2, 3, 17), floats(3, 1, low=0.3, high=2.0)
_I, _J = ints(4, 5), ints(5, low=1, high=5)
_WHOLE = np.array([-7, 7, -7, 7], "int32"), np.array([3, 3, -3, -3], "int32")
_PAIRS: dict[str, Any] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum,
    "minimum": np.minimum, "floor_divide": np.floor_divide, "floor_mod": np.mod, "mod": np.fmod,
    "trunc_mod": np.fmod, "trunc_divide": lambda a, b: np.trunc(a / b),
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip
for name, function in _PAIRS.items():
    op = getattr(relay, name)
    EXAMPLES[name] = [Example(op, [_A, _B], function(_A, _B))]
    if name != "divide":
        EXAMPLES[name].append(Example(op, [_I, _J], function(_I, _J)))
EXAMPLES["divide"].append(Example(relay.divide, list(_WHOLE), [-2, 2, 2, -2]))
EXAMPLES["trunc_mod"].append(Example(relay.trunc_mod, list(_WHOLE), [-1, 1, -1, 1]))
EXAMPLES["floor_mod"].append(Example(relay.floor_mod, list(_WHOLE), [2, 1, -1, -2]))
EXAMPLES["equal"].append(Example(relay.equal, [_I, _I[:, :1].copy()], _I[:, :1] == _I))
EXAMPLES["power"] = [
    Example(relay.power, [floats(2, 3, 17, low=0.2, high=2), _B]),
    Example(relay.power, [ints(9), np.array(3, "int32")], ints(9) ** 3, smooth=False),
]
for name in ("left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor"):
    EXAMPLES[name] = [Example(getattr(relay, name), [_I, _J], getattr(np, name)(_I, _J))]
for name in ("logical_and", "logical_or", "logical_xor"):
    wanted = getattr(np, name)(truths(4, 5), truths(5))
    EXAMPLES[name] = [Example(getattr(relay, name), [truths(4, 5), truths(5)], wanted)]
EXAMPLES["where"] = [
    Example(relay.where, [truths(4, 1), floats(5), floats(4, 5)], np.where(truths(4, 1), floats(5), floats(4, 5))),
    Example(relay.where, [ints(4, low=0, high=2), ints(4), ints(4, seed=1)]),
]

# reductions

_X = floats(3, 4, 5)
for name in ("sum", "mean", "prod", "max", "min"):
    op, function = getattr(relay, name), getattr(np, name)
    EXAMPLES[name] = [
        Example(op, [_X], function(_X)),
        Example(lambda x, op=op: op(x, axis=-1), [_X], function(_X, axis=-1)),
        Example(lambda x, op=op: op(x, axis=[0, 2], keepdims=True), [_X], function(_X, axis=(0, 2), keepdims=True)),
        Example(lambda x, op=op: op(x, axis=1, exclude=True), [_X], function(_X, axis=(0, 2))),
    ]
EXAMPLES["sum"].append(Example(lambda x: relay.sum(x, 0), [ints(3, 4, dtype="int8")], ints(3, 4).sum(0)))
EXAMPLES["sum"].append(Example(relay.sum, [truths(6)], truths(6).any()))
EXAMPLES["sum"].append(Example(relay.sum, [np.float32(3)], 3))
EXAMPLES["mean"].append(Example(relay.mean, [np.array([-7, 4, 1], "int32")], 0))
for name in ("all", "any"):
    op, function = getattr(relay, name), getattr(np, name)
    EXAMPLES[name] = [Example(lambda x, op=op: op(x, 1), [truths(8, 2)], function(truths(8, 2), axis=1))]
_TIES = np.array([[3, 3, -3, -3], [1, 2, 2, 1]], "int32")
for name in ("argmax", "argmin"):
    op, function = getattr(relay, name), getattr(np, name)
    EXAMPLES[name] = [
        Example(op, [_X], function(_X)),
        Example(lambda x, op=op: op(x, 1), [_X], function(_X, 1)),
        Example(lambda x, op=op: op(x, -1), [_TIES], function(_TIES, -1)),
        Example(
            lambda x, op=op: op(x, -1, True, select_last_index=True), [_TIES], 3 - function(_TIES[:, ::-1], -1)[:, None]
        ),
        Example(lambda x, op=op: op(x, [0, 2]), [_X], function(_X.transpose(1, 0, 2).reshape(4, 15), 1)),
    ]
EXAMPLES["variance"] = [
    Example(lambda x, m: relay.variance(x, 1, with_mean=m), [_X, _X.mean(1, keepdims=True)], _X.var(1)),
    Example(
        lambda x, m: relay.variance(x, [0, 1], True, unbiased=True, with_mean=m),
        [_X, _X.mean((0, 1), keepdims=True)],
        _X.var((0, 1), ddof=1, keepdims=True),
    ),
]
