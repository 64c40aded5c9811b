"""Operators of graphs have kernels for devices, which compute what their kernels for a CPU do."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.emulate import emulate_graph
from compiler.ir.error import BuildError
from compiler.relay.function import Function
from compiler.relay.operator import OpPattern
from compiler.runtime.graph.graph_module import GraphModule
from compiler.target import Target
from tests.compiler.relay.op.example import Example
from tests.compiler.relay.op.examples import EXAMPLES

KINDS = ("cuda", "opencl", "metal", "webgpu")
GROUPS = 4
DYNAMIC = ("dyn.", "argwhere", "unique", "sparse_fill_empty_rows")
"""Beginnings of the names of operators whose results' shapes only the virtual machine knows."""
HOST = "llvm -opt-level=1"


def _results(built: Any, example: Example) -> list[Any]:
    executor = GraphModule(built["default"](tvm.cpu(0)))
    executor.run(**{f"x{i}": array for i, array in enumerate(example.arrays)})
    return [executor.get_output(i).numpy() for i in range(executor.get_num_outputs())]


def _check(name: str, function: Function, example: Example, kind: str) -> None:
    expected = _results(relay.build(function, HOST), example)
    emulated = emulate_graph(function, Target(kind, host=HOST))
    for result, reference in zip(_results(emulated, example), expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5, err_msg=f"{name} for {kind}")
    if kind in ("metal", "webgpu") and _lacks_a_type(function, kind):
        return
    for module in relay.build(function, kind).get_lib().imported_modules:
        assert module.get_source()


def _lacks_a_type(function: Function, kind: str) -> bool:
    try:
        relay.build(function, kind)
    except BuildError as refused:
        return "has no values of type" in str(refused) or "has no memory of type" in str(refused)
    return False


def _examples() -> dict[str, Example]:
    """The first example of every eighth operator, by ``STRATA_EXAMPLES`` of all; of those whose elements are computed
    one by one a quarter as many."""
    chosen = {}
    every = 1 if "STRATA_EXAMPLES" in os.environ else 8
    for number, (name, examples) in enumerate(EXAMPLES.items()):
        step = every if relay.op.get(name).pattern > OpPattern.INJECTIVE else 4 * every
        if not name.startswith(DYNAMIC) and number % step == 0:
            chosen[name] = examples[0]
    return chosen


@pytest.mark.sample(2)
@pytest.mark.parametrize("group", range(GROUPS))
def test_kernels_of_operators(group: int) -> None:
    for number, (name, example) in enumerate(_examples().items()):
        if number % GROUPS == group:
            variables = example.variables
            function = relay.Function(variables, example.call(variables))
            _check(name, function, example, KINDS[number // GROUPS % len(KINDS)])
