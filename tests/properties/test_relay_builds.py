"""Random graphs, optimised, fused, lowered and run as machine code, compute what NumPy says."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import numpy as np
import pytest

from compiler import cpu
from compiler.classic.contrib import graph_executor
from compiler.ir.transform import PassContext
from compiler.relay import build
from tests.properties.graphs import evaluate, flat, random_inputs, random_module

SEEDS = int(os.environ.get("STRATA_EXAMPLES", "8"))


@pytest.mark.parametrize("level", [1, 3])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_built_graph_computes_what_its_operators_do(seed: int, level: int) -> None:
    random = Random(seed)
    mod = random_module(random, random.randrange(1, 12), "float32")
    inputs = random_inputs(mod)
    with PassContext(opt_level=level):
        lib: Any = build(mod, "llvm -mcpu=native")
    module = graph_executor.GraphModule(lib["default"](cpu(0)))
    module.run(**{p.name_hint: a for p, a in zip(mod["main"].params, inputs, strict=True)})
    for at, want in enumerate(flat(evaluate(mod["main"], inputs))):
        near = 1e-3 * max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(module.get_output(at).numpy(), want, rtol=1e-3, atol=near)
