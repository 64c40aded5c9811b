"""Values that tests are made of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.driver.relay.build import as_module, build_graph, build_target
from compiler.ir.error import expected
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import ArrayLike
from compiler.runtime.device import cpu
from compiler.runtime.graph.graph_module import GraphModule
from compiler.target.target import Target


def get_dtype_range(dtype: str) -> tuple[float, float]:
    """Return the least and the greatest value of an integer or floating-point type of NumPy.

    Raises ArgumentError if the type has no order.
    """
    kind = np.dtype(dtype).kind
    if kind in "iu":
        integer = np.iinfo(dtype)
        return (integer.min, integer.max)
    if kind != "f":
        expected("get_dtype_range", "dtype", "an integer or floating-point type", dtype)
    floating = np.finfo(dtype)
    return (float(floating.min), float(floating.max))


def generate_ref_data(
    mod: IRModule,
    input_data: Mapping[str, ArrayLike],
    params: Mapping[str, ArrayLike] | None = None,
    target: str | Target = "llvm",
) -> dict[str, np.ndarray]:
    """Build a graph, run it once and return its outputs by name.

    The attribute ``output_tensor_names`` of ``main`` names them; ``output``, or ``output0``, ``output1``, … are the
    names where it has none.
    """
    executor = GraphModule(
        build_graph(as_module("generate_ref_data", mod), build_target(target), params)["default"](cpu(0))
    )
    executor.run(**input_data)
    count = executor.get_num_outputs()
    names = dict(mod["main"].attrs).get("output_tensor_names")
    if names is None:
        names = ["output"] if count == 1 else [f"output{i}" for i in range(count)]
    return {str(name): np.array(executor.get_output(i)) for i, name in enumerate(names)}
