"""A fixed sample of the ONNX backend tests; ``python -m tests.outside.onnx_backend`` runs all of them."""

from __future__ import annotations

import pytest

from tests.outside.onnx_backend.cases import load
from tests.outside.onnx_backend.runs import run

EVERY = 12


@pytest.fixture(scope="module")
def cases():
    return [case for case in load(("node", "simple", "pytorch-converted", "pytorch-operator")) if case.compared]


def test_the_denominators_are_the_published_ones(cases):
    assert sum(c.tier == "A.core" and c.kind == "node" and c.direct for c in cases) == 547
    assert sum(c.tier.startswith("B") for c in cases) == 479
    assert sum(c.kind == "pytorch-converted" for c in cases) == 82
    assert sum(c.kind == "pytorch-operator" for c in cases) == 35


@pytest.mark.parametrize("tier", ["A.core", "A.fused", "A.rnn", "B.dense", "B.dtype", "B.quant"])
def test_a_sample_of_each_tier_passes(cases, tier):
    outcomes = [run(case) for case in [c for c in cases if c.tier == tier][::EVERY]]
    assert outcomes
    assert {o.case.name: o.reason for o in outcomes if not o.passed} == {}
