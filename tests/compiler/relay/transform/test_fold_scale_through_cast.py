"""Scales of results that are rounded to half precision, folded into the weights before the rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.analysis import list_op_freqs
from compiler.relay.transform import BackwardFoldScaleAxis, FoldConstant, InferType

RANDOM = np.random.default_rng(4)
WEIGHT = RANDOM.normal(size=(6, 4, 3, 3)).astype("float16").astype("float32")
SCALE = RANDOM.uniform(0.5, 2, size=(1, 6, 1, 1)).astype("float16")
BIAS = RANDOM.normal(size=(1, 6, 1, 1)).astype("float16")


def _module(body: Any) -> Any:
    return InferType()(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))


def _rounded(is_bias_wide: bool) -> Any:
    """Return a convolution in float32, rounded, with a bias and a scale in half precision."""
    sums = relay.nn.conv2d(relay.var("x", shape=(1, 4, 7, 7)), relay.const(WEIGHT), padding=1)
    if is_bias_wide:
        shifted = relay.cast(sums + relay.const(BIAS.astype("float32")), "float16")
    else:
        shifted = relay.cast(sums, "float16") + relay.const(BIAS)
    return relay.nn.relu(shifted) * relay.const(SCALE)


@pytest.mark.parametrize("is_bias_wide", [False, True])
def test_results_are_those_of_halves_multiplied_afterwards(is_bias_wide: bool) -> None:
    before = _module(_rounded(is_bias_wide))
    after = FoldConstant()(BackwardFoldScaleAxis()(before))
    assert "multiply" in list_op_freqs(before)
    assert "multiply" not in list_op_freqs(after)
    x = RANDOM.normal(size=(1, 4, 7, 7)).astype("float32")
    found, wanted = (relay.create_executor("debug", mod).evaluate()(x).numpy() for mod in (after, before))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype("float32"), wanted.astype("float32"), 2e-3, 2e-2)


def test_scaled_weights_have_no_more_digits_than_a_half() -> None:
    after = FoldConstant()(BackwardFoldScaleAxis()(_module(_rounded(False))))
    found: list[Any] = []
    relay.analysis.post_order_visit(after["main"], lambda e: found.append(e) if isinstance(e, relay.Constant) else None)
    (weight,) = (c.data.numpy() for c in found if c.data.numpy().shape == WEIGHT.shape)
    np.testing.assert_array_equal(weight, (WEIGHT * SCALE.reshape(6, 1, 1, 1)).astype("float16").astype("float32"))


def test_a_scale_does_not_go_back_through_other_casts() -> None:
    sums = relay.nn.conv2d(relay.var("x", shape=(1, 4, 7, 7)), relay.const(WEIGHT), padding=1)
    scaled = relay.cast(sums, "float64") * relay.const(SCALE, "float64")
    assert "multiply" in list_op_freqs(BackwardFoldScaleAxis()(_module(scaled)))
