"""Whatever a pass does to a graph, it computes what it computed before, and has the type that it had.

``STRATA_EXAMPLES=5000 python -m pytest tests/properties --timeout 0`` looks at that many random graphs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from compiler.ir import IRModule
from compiler.ir.structural import structural_equal
from compiler.ir.transform import PassContext
from compiler.relay import transform
from compiler.target.target import Target
from tests.properties.graphs import evaluate, flat, random_inputs, random_module

EXAMPLES = os.environ.get("STRATA_EXAMPLES")
relaxed = settings(
    max_examples=int(EXAMPLES or "12"),
    derandomize=EXAMPLES is None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

STABLE: dict[str, Callable[[], Any]] = {
    "SimplifyInference": transform.SimplifyInference,
    "FoldConstant": transform.FoldConstant,
    "BackwardFoldScaleAxis": transform.BackwardFoldScaleAxis,
    "ForwardFoldScaleAxis": transform.ForwardFoldScaleAxis,
    "CanonicalizeOps": transform.CanonicalizeOps,
    "CanonicalizeCast": transform.CanonicalizeCast,
    "EliminateCommonSubexpr": transform.EliminateCommonSubexpr,
    "SimplifyExpr": transform.SimplifyExpr,
    "FuseOps": lambda: transform.FuseOps(2),
    "FuseOps(0)": lambda: transform.FuseOps(0),
    "DefuseOps": transform.DefuseOps,
    "CombineParallelConv2D": transform.CombineParallelConv2D,
    "CombineParallelDense": transform.CombineParallelDense,
    "CombineParallelDense(to_batch=False)": lambda: transform.CombineParallelDense(to_batch=False),
    "ConvertLayout": lambda: transform.ConvertLayout(
        {"nn.conv2d": ["NHWC", "default"], "nn.avg_pool2d": ["NHWC"], "nn.global_avg_pool2d": ["NHWC"]}
    ),
}
"""Passes that change nothing in what they made themselves."""

NARROW: dict[str, Callable[[], Any]] = {
    f"AlterOpLayout({cpu})": lambda cpu=cpu: transform.AlterOpLayout(Target(f"llvm -mcpu={cpu}"))
    for cpu in ("skylake-avx512", "haswell", "nehalem")
}

PIPELINES: dict[str, list[Callable[[], Any]]] = {
    "all": [lambda p=p: p for p in transform.build_passes(Target("llvm -mcpu=haswell"))],
    "folding": [transform.SimplifyInference, transform.FoldConstant, transform.FoldScaleAxis],
    "fusing and back": [transform.SimplifyInference, transform.FuseOps, transform.DefuseOps],
}

_drawn = st.tuples(st.randoms(use_true_random=False), st.integers(1, 25))
graphs = _drawn.map(lambda drawn: random_module(*drawn))
narrow_graphs = _drawn.map(lambda drawn: random_module(*drawn, dtype="float32"))
"""For passes that know ``float32`` only."""


def _check(before: IRModule, passes: list[Any]) -> IRModule:
    """Run passes and compare what comes out with what went in."""
    inputs = random_inputs(before)
    wanted = flat(evaluate(before["main"], inputs))
    after = before
    with PassContext(opt_level=4):
        for each in passes:
            after = each(after)
            note(f"{each.info.name}:\n{after}")
    typed = transform.InferType()(after)
    assert typed["main"].checked_type == before["main"].checked_type
    for got, want in zip(flat(evaluate(after["main"], inputs)), wanted, strict=True):
        assert got.dtype == want.dtype
        near = 1e-6 if before["main"].params[0].type_annotation.dtype == "float64" else 1e-3
        np.testing.assert_allclose(got, want, rtol=near, atol=near * max(1.0, float(np.abs(want).max(initial=0))))
    return after


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", STABLE)
def test_a_pass_changes_no_result(name: str) -> None:
    @relaxed
    @given(mod=graphs)
    def check(mod: IRModule) -> None:
        once = _check(mod, [STABLE[name]()])
        with PassContext(opt_level=4):
            assert structural_equal(STABLE[name]()(once), once)

    check()


@pytest.mark.parametrize("name", NARROW)
def test_layouts_change_no_result(name: str) -> None:
    @relaxed
    @given(mod=narrow_graphs)
    def check(mod: IRModule) -> None:
        once = _check(mod, [transform.CanonicalizeOps(), NARROW[name]()])
        with PassContext(opt_level=4):
            assert structural_equal(NARROW[name]()(once), once)

    check()


@pytest.mark.parametrize("name", PIPELINES)
def test_passes_in_a_row_change_no_result(name: str) -> None:
    @relaxed
    @given(mod=graphs)
    def check(mod: IRModule) -> None:
        _check(mod, [make() for make in PIPELINES[name]])

    check()


def test_graphs_have_what_passes_look_for() -> None:
    names: set[str] = set()
    for seed in range(40):
        text = str(random_module(Random(seed), 20)["main"])
        names |= {n for n in ("nn.conv2d", "nn.batch_norm", "nn.dense", "split", "nn.bias_add") if n in text}
    assert len(names) == 5
