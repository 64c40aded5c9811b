"""Random ONNX graphs compute what onnxruntime computes; ``tests.properties.onnx_graphs`` runs more of them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.properties.onnx_graphs import MCPUS, difference, random_graph

SEEDS = range(0, 10 * int(os.environ.get("STRATA_EXAMPLES", "40")), 37)
"""About ten; those that were wrong once are tested beside what was mended."""


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_graphs_compute_what_onnxruntime_computes(seed: int) -> None:
    assert difference(random_graph(seed), MCPUS[seed % 2]) == ""


def test_graphs_are_various() -> None:
    graphs = [random_graph(seed) for seed in range(40)]
    operators = {node.op_type for graph in graphs for node in graph.nodes}
    assert len(operators) > 50
    special = [any(v.dtype.kind == "f" and not np.isfinite(v).all() for v in g.feeds.values()) for g in graphs]
    assert 3 < sum(special) < 30
    assert {str(v.dtype) for g in graphs for v in g.wanted.values()} >= {"float32", "bool", "int64"}
