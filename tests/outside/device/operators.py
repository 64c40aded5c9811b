"""Every operator of graphs that has a kernel of a fixed shape, against the build for the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import compiler as tvm
from compiler import relay
from compiler.runtime.graph.graph_module import GraphModule
from tests.compiler.relay.op.examples import EXAMPLES
from tests.compiler.topi.gpu.test_operators import DYNAMIC, HOST
from tests.outside.device import gpu
from tests.outside.device.cases import SHARDS, Case, Record


def cases(shard: int) -> Iterator[Case]:
    """Yield every so many operator, with its first example."""
    for name, examples in list(EXAMPLES.items())[shard::SHARDS]:
        if not name.startswith(DYNAMIC):
            yield name, partial(_case, examples[0])


def _case(example: Any) -> Record:
    variables = example.variables
    function = relay.Function(variables, example.call(variables))
    results = [_results(each, example) for each in (gpu.graph(function, None), relay.build(function, HOST))]
    for result, expected in zip(*results, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    return {}


def _results(built: Any, example: Any) -> list[Any]:
    executor = GraphModule(built["default"](tvm.cpu(0)))
    executor.run(**{f"x{i}": array for i, array in enumerate(example.arrays)})
    return [executor.get_output(i).numpy() for i in range(executor.get_num_outputs())]
