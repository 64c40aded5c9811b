"""Convolutions in groups, and with several kernels for each channel, are those that NumPy computes group by group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler.relay
from compiler import cpu
from compiler.classic.contrib import graph_executor
from compiler.ir import IRModule
from compiler.ir.transform import PassContext

relay: Any = compiler.relay


def _expected(x: Any, w: Any, groups: int) -> Any:
    """Return the windows' products, added up: ``w`` is ``(O, C / groups, …)``."""
    rank = x.ndim - 2
    seen = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], tuple(range(2, 2 + rank)))
    letters = "xyz"[:rank], "uvw"[:rank]
    rule = f"nc{letters[0]}{letters[1]},oc{letters[1]}->no{letters[0]}"
    parts = zip(np.split(seen, groups, 1), np.split(w, groups, 0), strict=True)
    return np.concatenate([np.einsum(rule, data, kernels) for data, kernels in parts], 1)


@pytest.mark.sample(3)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(("outputs", "inputs", "groups"), [(4, 2, 4), (4, 3, 4), (8, 2, 2), (4, 1, 4), (8, 1, 4)])
@pytest.mark.parametrize("level", [0, 3])
def test_groups_and_several_kernels_for_each_channel(
    rank: int, outputs: int, inputs: int, groups: int, level: int
) -> None:
    rng = np.random.default_rng(rank)
    several = outputs == groups and inputs > 1
    channels = outputs * inputs if several else outputs
    kernel = (1, 2, 3)[-rank:]
    x = rng.standard_normal((2, 4, *(5, 6, 7)[-rank:])).astype("float32")
    w = rng.standard_normal((outputs, inputs, *kernel)).astype("float32")
    data, weight = (relay.var(n, shape=a.shape) for n, a in (("x", x), ("w", w)))
    convolve = getattr(relay.nn, f"conv{rank}d")
    out = convolve(data, weight, groups=groups, channels=channels, kernel_size=kernel)
    mod = relay.transform.InferType()(IRModule.from_expr(relay.Function([data, weight], out)))
    expected = _expected(x, w.reshape(channels, -1, *kernel) if several else w, groups)
    assert mod["main"].ret_type.concrete_shape == expected.shape
    with PassContext(opt_level=level):
        built = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](cpu(0)))
    built.run(x=x, w=w)
    np.testing.assert_allclose(built.get_output(0).numpy(), expected, rtol=1e-4, atol=1e-4)
    reference = relay.create_executor("debug", mod=mod).evaluate()(x, w).numpy()
    np.testing.assert_allclose(reference, expected, rtol=1e-4, atol=1e-4)
