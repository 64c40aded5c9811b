"""Scales of channels that a layout splits, folded into blocked weights: the interpreter computes the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.analysis import list_op_freqs
from compiler.relay.transform import BackwardFoldScaleAxis, ForwardFoldScaleAxis, InferType

FACTORS = np.random.default_rng(5).uniform(0.5, 2, size=(2, 4)).astype("float32")
"""For eight channels in blocks of four."""


def values_of(mod: tvm.IRModule) -> np.ndarray:
    """Return what the interpreter computes."""
    rng = np.random.default_rng(3)
    args = [rng.normal(size=[int(d) for d in p.checked_type.shape]).astype("float32") for p in mod["main"].params]
    return relay.create_executor("debug", mod).evaluate()(*args).numpy()


def module(body: Any) -> tvm.IRModule:
    return InferType()(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))


def convolution(data: Any, kernel: str, weight_shape: tuple[int, ...], groups: int = 1) -> Any:
    return relay.nn.conv2d(
        data,
        relay.var("weight", shape=weight_shape),
        kernel_size=(3, 3),
        channels=8,
        groups=groups,
        padding=(1, 1),
        data_layout="NCHW4c",
        kernel_layout=kernel,
        out_layout="NCHW4c",
    )


CONVOLUTIONS: dict[str, tuple[str, tuple[int, ...], int]] = {
    "same blocks": ("OIHW4i4o", (2, 2, 3, 3, 4, 4), 1),
    "other blocks of inputs": ("OIHW2i4o", (2, 4, 3, 3, 2, 4), 1),
    "depthwise": ("OIHW1i4o", (2, 1, 3, 3, 1, 4), 8),
}


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_scale_of_data(name: str, shift: bool) -> None:
    kernel, shape, groups = CONVOLUTIONS[name]
    x = relay.nn.relu(relay.var("x", shape=(1, 2, 5, 5, 4)) * relay.const(FACTORS.reshape(1, 2, 1, 1, 4)))
    if shift:
        x = x + relay.var("bias", shape=(1, 2, 1, 1, 4))
    before = module(convolution(x, kernel, shape, groups))
    after = ForwardFoldScaleAxis()(before)
    freqs = list_op_freqs(after)
    assert (freqs["multiply"], freqs.get("divide", 0)) == (1, int(shift))
    assert "multiply(%weight" in str(after)
    np.testing.assert_allclose(values_of(after), values_of(before), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("reshaped", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_scale_of_result(name: str, reshaped: bool) -> None:
    kernel, shape, groups = CONVOLUTIONS[name]
    result = convolution(relay.var("x", shape=(1, 2, 5, 5, 4)), kernel, shape, groups)
    scale = relay.const(FACTORS.reshape(-1 if reshaped else (1, 2, 1, 1, 4)))
    if reshaped:
        scale = relay.reshape(scale, (1, 2, 1, 1, 4))
    before = module(relay.nn.relu(result + relay.var("bias", shape=(1, 2, 1, 1, 4))) * scale)
    after = BackwardFoldScaleAxis()(before)
    assert list_op_freqs(after)["multiply"] == 2
    assert "multiply(%weight" in str(after)
    np.testing.assert_allclose(values_of(after), values_of(before), rtol=1e-4, atol=1e-4)


def test_factors_that_repeat_in_every_block_stay() -> None:
    """They are not a vector of channels."""
    x = relay.var("x", shape=(1, 2, 5, 5, 4)) * relay.const(FACTORS[0])
    before = module(convolution(x, *CONVOLUTIONS["same blocks"][:2]))
    assert ForwardFoldScaleAxis()(before) is before
