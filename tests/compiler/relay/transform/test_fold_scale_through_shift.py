"""Scales that go forward through additions of vectors, against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.analysis import list_op_freqs

SHIFTS = {
    "add": lambda scaled, bias: scaled + bias,
    "subtract": lambda scaled, bias: scaled - bias,
    "subtract from": lambda scaled, bias: bias - scaled,
    "relu, then add": lambda scaled, bias: relay.nn.relu(scaled) + bias,
    "add twice": lambda scaled, bias: (scaled + bias) - bias * relay.const(2.0),
}


def convolution(shift: Any, factors: np.ndarray, dtype: str = "float32") -> tvm.IRModule:
    x = relay.var("x", shape=(2, 4, 6, 6), dtype=dtype)
    weight = relay.var("weight", shape=(3, 4, 3, 3), dtype=dtype)
    bias = relay.var("bias", shape=(4, 1, 1), dtype=dtype)
    scale = relay.const(factors.reshape(4, 1, 1).astype(dtype))
    body = relay.nn.conv2d(shift(x * scale, bias), weight, padding=(1, 1))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, weight, bias], body)))


def folded(mod: tvm.IRModule) -> tvm.IRModule:
    return relay.transform.ForwardFoldScaleAxis()(mod)


def values_of(mod: tvm.IRModule) -> np.ndarray:
    """Return what the interpreter computes."""
    rng = np.random.default_rng(3)
    args = [rng.normal(size=[int(d) for d in p.checked_type.shape]).astype("float32") for p in mod["main"].params]
    return relay.create_executor("debug", mod).evaluate()(*args).numpy()


@pytest.mark.parametrize("name", SHIFTS)
def test_positive_scale_goes_into_the_weights_and_out_of_the_shift(name: str) -> None:
    before = convolution(SHIFTS[name], np.array([0.5, 1.5, 2.0, 0.75]))
    after = folded(before)
    assert list_op_freqs(after)["divide"] >= 1
    assert "multiply(%x" not in str(after)
    np.testing.assert_allclose(values_of(after), values_of(before), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("factors", [[0.5, 0.0, 2.0, 0.75], [0.5, -1.0, 2.0, 0.75]])
def test_shift_is_divided_only_by_what_is_positive(factors: list[float]) -> None:
    before = convolution(SHIFTS["add"], np.array(factors))
    assert folded(before) is before


def test_integers_are_not_divided() -> None:
    before = convolution(SHIFTS["add"], np.array([2, 3, 4, 5]), "int32")
    assert folded(before) is before


def test_shift_of_full_shape_keeps_the_scale() -> None:
    x, other = relay.var("x", shape=(2, 4, 6, 6)), relay.var("other", shape=(2, 4, 6, 6))
    weight = relay.var("weight", shape=(3, 4, 3, 3))
    scale = relay.const(np.full((4, 1, 1), 2.0, "float32"))
    body = relay.nn.conv2d(x * scale + other, weight)
    before = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, other, weight], body)))
    assert folded(before) is before
