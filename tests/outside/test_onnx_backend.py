"""A fixed sample of the ONNX backend tests; ``python -m tests.outside.onnx_backend`` runs all of them."""

from __future__ import annotations

import pytest

from tests.outside.onnx_backend.cases import load
from tests.outside.onnx_backend.runs import run

STORED = ("simple", "pytorch-converted", "pytorch-operator")
ROUNDED = "DFT"
"""What is expected of its inverse are sums that nearly cancel, in float32: as rounded as ours, on some processors."""


@pytest.fixture(scope="module")
def cases():
    return [
        case for case in [*load(("node",), every=5), *load(STORED)[::12]] if case.compared and case.operator != ROUNDED
    ]


@pytest.mark.long
def test_the_denominators_are_the_published_ones():
    cases = [case for case in load(("node", *STORED)) if case.compared]
    assert sum(c.tier == "A.core" and c.kind == "node" and c.direct for c in cases) == 547
    assert sum(c.tier.startswith("B") for c in cases) == 479
    assert sum(c.kind == "pytorch-converted" for c in cases) == 82
    assert sum(c.kind == "pytorch-operator" for c in cases) == 35


@pytest.mark.parametrize("tier", ["A.core", "A.fused", "A.rnn", "B.dense", "B.dtype", "B.quant"])
def test_a_sample_of_each_tier_passes(cases, tier):
    outcomes = [run(case) for case in cases if case.tier == tier]
    assert outcomes
    assert {o.case.name: o.reason for o in outcomes if not o.passed} == {}
