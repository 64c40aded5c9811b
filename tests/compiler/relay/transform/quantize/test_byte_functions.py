"""Functions of single bytes: what the interpreter computes of all their values, looked up where that is quicker."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.relay.operator import op_name
from compiler.relay.transform.pipeline import optimize

BYTES = ("uint8", "int8")
LONG = (relay.erf, relay.tanh, relay.sigmoid, relay.exp, relay.sin)


def _scalar(value: float, rank: int = 0) -> relay.Constant:
    return relay.const(np.full((1,) * rank, value, "float32"))


def _real(x: Any, draw: random.Random) -> Any:
    point, scale = draw.randint(0, 20), draw.uniform(0.004, 0.02)
    wide = relay.subtract(relay.cast(x, "int32"), relay.const(point, "int32"))
    return relay.multiply(relay.cast(wide, "float32"), _scalar(scale, draw.randint(0, 1)))


def _quantised(x: Any, draw: random.Random, dtype: str) -> Any:
    info, scaled = np.iinfo(dtype), relay.round(relay.multiply(x, _scalar(draw.uniform(20, 60))))
    return relay.cast(relay.clip(scaled, float(info.min), float(info.max)), dtype)


def _function(x: Any, seed: int) -> Any:
    """Return something like GELU in quantised steps."""
    draw = random.Random(seed)
    for _ in range(draw.randint(2, 3)):
        real = _real(x, draw)
        gate = _real(_quantised(draw.choice(LONG)(real), draw, draw.choice(BYTES)), draw)
        x = _quantised(relay.multiply(real, gate) if draw.random() < 0.7 else gate, draw, draw.choice(BYTES))
    return x if seed % 2 else _real(x, draw)


def _operators(mod: tvm.IRModule, cpu: str) -> list[str]:
    with tvm.transform.PassContext(opt_level=3):
        found = optimize(mod, f"llvm -mcpu={cpu}")
    names: list[str] = []
    relay.analysis.post_order_visit(found["main"], lambda e: names.append(op_name(e)))
    return [name for name in names if name]


@pytest.mark.parametrize("seed", range(6))
def test_functions_of_bytes_have_the_values_of_their_steps(seed: int) -> None:
    dtype, shape = BYTES[seed // 2 % 2], random.Random(seed).choice([(256,), (8, 32), (1, 16, 16), (2, 4, 2, 16)])
    x = relay.var("x", shape=shape, dtype=dtype)
    mod = tvm.IRModule.from_expr(relay.Function([x], _function(x, seed)))
    assert {"take"} == set(_operators(mod, "haswell")) - {"reinterpret"}
    values = np.arange(256, dtype="uint8").view(dtype).reshape(shape)
    with tvm.transform.PassContext(opt_level=3):
        run = graph_executor.GraphModule(relay.build(mod, "llvm -mcpu=x86-64-v2")["default"](tvm.cpu(0)))
    run.run(x=values)
    expected = relay.create_executor("debug", mod).evaluate()(values).numpy()
    np.testing.assert_array_equal(run.get_output(0).numpy(), expected)


def test_only_long_functions_of_one_byte_are_looked_up() -> None:
    x, y = (relay.var(name, shape=(4, 64), dtype="uint8") for name in "xy")
    row = relay.var("row", shape=(1, 64), dtype="uint8")
    weights = relay.const(np.linspace(1, 2, 64, dtype="float32"))

    def of_both(a: Any, b: Any) -> Any:
        return relay.tanh(relay.erf(relay.multiply(relay.cast(a, "float32"), relay.cast(b, "float32"))))

    def of_one(a: Any) -> Any:
        return relay.tanh(relay.erf(relay.cast(a, "float32")))

    def looked_up(result: Any) -> int:
        function = relay.Function(relay.analysis.free_vars(result), result)
        return _operators(tvm.IRModule.from_expr(function), "haswell").count("take")

    assert looked_up(of_one(x)) == 1
    assert looked_up(relay.add(of_one(x), of_one(y))) == 2
    assert looked_up(relay.multiply(of_one(x), weights)) == 1
    for other in (of_both(x, y), of_both(x, row), of_both(x, weights), relay.exp(relay.cast(x, "float32"))):
        assert looked_up(other) == 0
