"""FakeQuantizationToInteger: integers give what real numbers between dequantizing and quantizing give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.transform.quantization import fake_quantization_to_integer as rules
from compiler.classic.relay.transform.quantization.fake_quantization import (
    TensorAffineType,
    register_fake_quantization_to_integer,
)
from compiler.ir.error import ArgumentError
from compiler.relay.analysis import post_order
from compiler.relay.operator import get, op_name
from tests.compiler.relay.op.example import evaluate
from tests.compiler.relay.op.examples.quantized import point, scale

qnn, nn = relay.qnn.op, relay.nn
_SHAPE = (2, 4, 6, 6)
_CHANNELS = np.array([0.11, 0.2, 0.05, 0.3], "float32")


def real(name: str, shape: tuple[int, ...] = _SHAPE, s: float = 0.25, z: int = 3, dtype: str = "int8") -> Any:
    """Return the real numbers that a parameter of integers stands for."""
    return qnn.dequantize(relay.var(name, shape=shape, dtype=dtype), scale(s), point(z))


def by_channel(name: str, shape: tuple[int, ...], axis: int, zeros: bool = True, dtype: str = "int8") -> Any:
    points = [0] * len(_CHANNELS) if zeros else [1, -2, 3, 4]
    values = scale(*_CHANNELS)
    return qnn.dequantize(relay.var(name, shape=shape, dtype=dtype), values, point(*points), axis=axis)


def _dense() -> Any:
    return nn.dense(real("x", (3, 8)), by_channel("w", (4, 8), 0), units=4)


def _conv() -> Any:
    conv = nn.conv2d(real("x"), by_channel("w", (4, 4, 3, 3), 0), kernel_size=(3, 3), channels=4, padding=1)
    bias = qnn.dequantize(
        relay.var("b", shape=(4,), dtype="int32"), scale(*(_CHANNELS * 0.25)), point(0, 0, 0, 0), axis=0
    )
    return nn.bias_add(conv, bias)


GRAPHS: dict[str, Callable[[], Any]] = {
    "reshape": lambda: relay.reshape(relay.transpose(real("x"), (1, 0, 2, 3)), (4, -1)),
    "split": lambda: relay.split(real("x"), 2, axis=1)[1],
    "topk": lambda: relay.topk(real("x"), 2, axis=1, ret_type="values"),
    "broadcast": lambda: relay.broadcast_to(real("x", (3, 9)), (2, 3, 9)),
    "pool": lambda: nn.max_pool2d(real("x"), (2, 2)),
    "mean": lambda: nn.avg_pool2d(real("x", s=0.5, z=7), (2, 2)),
    "whole": lambda: nn.global_avg_pool2d(real("x")),
    "pad": lambda: nn.pad(real("x"), ((0, 0), (0, 0), (1, 1), (0, 2)), 1.5),
    "clip": lambda: relay.clip(real("x"), 0, 6),
    "clip-channels": lambda: relay.clip(by_channel("x", _SHAPE, 1, False), 0, 6),
    "relu-channels": lambda: nn.relu(by_channel("x", _SHAPE, 1, False)),
    "concatenate": lambda: relay.concatenate((real("x"), real("y", s=0.1, z=-8)), axis=1),
    "add": lambda: relay.add(real("x"), real("y", s=0.1, z=-8)),
    "subtract": lambda: relay.subtract(real("x"), relay.const(1.0)),
    "multiply": lambda: relay.multiply(real("x", s=0.02), real("y", s=0.03)),
    "maximum": lambda: relay.maximum(real("x"), real("y", s=0.1)),
    "leaky": lambda: nn.leaky_relu(real("x", s=0.05), 0.2),
    "sigmoid": lambda: relay.sigmoid(real("x", s=0.05)),
    "tanh": lambda: relay.tanh(real("x", s=0.05)),
    "dense": _dense,
    "conv": _conv,
    "two": lambda: nn.max_pool2d(
        qnn.dequantize(qnn.quantize(nn.relu(real("x")), scale(0.3), point(1)), scale(0.3), point(1))
    ),
    "matmul": lambda: nn.batch_matmul(real("x", (2, 3, 8)), real("y", (2, 5, 8), 0.5, 0)),
}


def module(body: Any) -> Any:
    func = relay.Function(relay.analysis.free_vars(body), body)
    return relay.transform.InferType()(tvm.IRModule.from_expr(func))


def names(mod: Any) -> set[str]:
    return {op_name(part) for part in post_order(mod["main"])}


OF_ONE_DTYPE = ("concatenate", "add", "subtract", "multiply", "tanh", "sigmoid", "leaky")
"""Graphs whose result has the data type of their inputs."""


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in GRAPHS for dtype in ("int8", "uint8") if dtype == "int8" or name not in OF_ONE_DTYPE],
)
def test_integers_give_what_real_numbers_give(name: str, dtype: str) -> None:
    made = GRAPHS[name]()
    func = module(made)["main"]
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-100, 100, p.checked_type.concrete_shape).astype(p.checked_type.dtype) for p in func.params]
    reals = evaluate(func.body, dict(zip(func.params, arrays, strict=True)))
    step = float(np.abs(reals).max()) / 100
    mod = module(qnn.quantize(made, scale(step), point(9 if dtype == "int8" else 128), out_dtype=dtype))
    rewritten = relay.transform.FakeQuantizationToInteger(hard_fail=True)(mod)
    assert "qnn.dequantize" not in names(rewritten)
    results = []
    for each in (mod, rewritten):
        func = each["main"]
        results.append(evaluate(func.body, dict(zip(func.params, arrays, strict=True))).astype("int32"))
    roundings = (
        2 if name in ("add", "subtract", "two", "leaky") else 1
    )  # on integers, each of which may move a number by one
    assert np.abs(results[0] - results[1]).max() <= roundings
    assert len(np.unique(results[0])) > 5, "the example says something"


def test_what_has_no_rule_stays_or_is_refused() -> None:
    mod = module(qnn.quantize(relay.cumsum(real("x"), axis=1), scale(0.5), point(0)))
    assert tvm.ir.structural_equal(relay.transform.FakeQuantizationToInteger()(mod), mod)
    with pytest.raises(ArgumentError, match="there is no rule for cumsum"):
        relay.transform.FakeQuantizationToInteger(hard_fail=True)(mod)


def test_regions_that_begin_with_real_numbers_stay() -> None:
    mod = module(qnn.quantize(relay.add(real("x"), relay.var("y", shape=_SHAPE)), scale(0.5), point(0)))
    assert tvm.ir.structural_equal(relay.transform.FakeQuantizationToInteger()(mod), mod)


def test_integers_that_stand_for_different_numbers_stay() -> None:
    x = relay.var("x", shape=(4,), dtype="int8")
    both = relay.maximum(qnn.dequantize(x, scale(0.5), point(0)), qnn.dequantize(x, scale(-0.25), point(1)))
    mod = module(qnn.quantize(both, scale(0.5), point(0)))
    assert tvm.ir.structural_equal(relay.transform.FakeQuantizationToInteger()(mod), mod)


def test_rules_of_programs() -> None:
    def rule(expr: Any, types: Any) -> Any:
        t = types[expr.args[0]]
        return [relay.negative(expr.args[0]), TensorAffineType(t.scale, relay.negative(t.zero_point), t.dtype, t.axis)]

    register_fake_quantization_to_integer("negative", rule)
    try:
        mod = module(qnn.quantize(relay.negative(real("x")), scale(0.25), point(0)))
        rewritten = relay.transform.FakeQuantizationToInteger()(mod)
    finally:
        get("negative").reset_attr("FTVMFakeQuantizationToInteger")
    assert names(rewritten) - {""} == {"negative", "qnn.requantize"}


def test_softmax_only_where_asked() -> None:
    mod = tvm.IRModule.from_expr(
        qnn.quantize(nn.softmax(real("x", (3, 8))), scale(1 / 128), point(0), out_dtype="int8")
    )
    mod = relay.transform.InferType()(mod)
    assert tvm.ir.structural_equal(relay.transform.FakeQuantizationToInteger()(mod), mod)
    after = relay.transform.FakeQuantizationToInteger(optional_qnn_ops=["nn.softmax"])(mod)
    assert op_name(after["main"].body) == "qnn.softmax"


def test_without_an_end_only_where_asked() -> None:
    mod = module(nn.relu(_dense()))
    assert tvm.ir.structural_equal(relay.transform.FakeQuantizationToInteger()(mod), mod)
    rewritten = relay.transform.FakeQuantizationToInteger(use_qat=True)(mod)
    assert names(rewritten) - {""} == {"qnn.dense", "maximum", "qnn.dequantize"}


def test_programs_say_which_operators_on_integers_stand_for_others() -> None:
    def body(made: Any) -> Any:
        mod = tvm.IRModule.from_expr(qnn.quantize(made, scale(0.5), point(0), out_dtype="int8"))
        return relay.transform.FakeQuantizationToInteger()(relay.transform.InferType()(mod))["main"].body

    x, y = real("x"), real("y", s=0.5)
    for name, made, register, found in (
        ("reverse", relay.reverse(x, 1), rules.register_unary_identity, "qnn.requantize"),
        ("cos", relay.cos(x), partial(rules.register_unary_qnn, op=qnn.tanh), "qnn.tanh"),
        ("power", relay.power(x, y), partial(rules.register_binary_identity, op=relay.bitwise_or), "bitwise_or"),
        ("mod", relay.mod(x, y), partial(rules.register_binary_qnn, op=qnn.subtract), "qnn.subtract"),
    ):
        assert op_name(body(made)) == "qnn.quantize"
        register(name)
        assert op_name(body(made)) == found
        get(name).reset_attr("FTVMFakeQuantizationToInteger")


def _meaning(mod: Any, x: Any) -> Any:
    return relay.create_executor("debug", mod=mod).evaluate()(x).numpy().astype("int32")


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    "op",
    [
        lambda y: relay.transpose(y, (2, 0, 1)),
        lambda y: relay.reshape(y, (16, 4)),
        lambda y: relay.expand_dims(y, 0),
        lambda y: relay.max(y, axis=1),
        lambda y: relay.strided_slice(y, [3, 0, 0], [-5, 4, 4], [-1, 1, 1]),
        lambda y: relay.split(y, 4, axis=1)[1],
        lambda y: relay.mean(y, axis=1),
        lambda y: relay.take(y, relay.const([3, 2, 1, 0]), axis=0),
        lambda y: relay.concatenate([y, y], axis=0),
        lambda y: nn.bias_add(y, relay.const([1.0, 2.0, 3.0, 4.0]), axis=1),
        lambda y: relay.maximum(y, relay.const(1.5)),
        lambda y: relay.sigmoid(y),
    ],
    ids="transpose reshape expand max slice split mean take concatenate bias maximum sigmoid".split(),  # noqa: SIM905
)
def test_scales_stay_with_their_axis(axis: int, op: Callable[[Any], Any]) -> None:
    mod = module(qnn.quantize(op(by_channel("x", (4, 4, 4), axis, zeros=False)), scale(0.25), point(3)))
    x = np.random.default_rng(0).integers(-60, 60, (4, 4, 4)).astype("int8")
    rewritten = relay.transform.FakeQuantizationToInteger()(mod)
    assert np.abs(_meaning(rewritten, x) - _meaning(mod, x)).max() <= 1


def test_a_bias_of_data_with_a_zero_point() -> None:
    mod = module(qnn.quantize(nn.bias_add(real("x", z=40), relay.const([30.0, -2.0, 0.5, 9.0])), scale(0.5), point(7)))
    x = np.random.default_rng(0).integers(-128, 128, _SHAPE).astype("int8")
    rewritten = relay.transform.FakeQuantizationToInteger(hard_fail=True)(mod)
    assert np.abs(_meaning(rewritten, x) - _meaning(mod, x)).max() <= 1
