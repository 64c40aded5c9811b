"""``tvmc.run``: runs a package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compiler.classic.runtime.debug_executor import GraphModuleDebug
from compiler.classic.tvmc.errors import TVMCException
from compiler.classic.tvmc.model import TVMCPackage, TVMCResult
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array, numpy_dtype
from compiler.runtime.arrays.params import load_param_dict
from compiler.runtime.device import Device
from compiler.runtime.device import device as as_device
from compiler.runtime.graph.aot_executor import AotLibrary, AotModule
from compiler.runtime.graph.graph_module import GraphModule
from compiler.runtime.numpy_types import ElementType, NumPyArray
from compiler.runtime.timing.measurement import BenchmarkResult
from compiler.runtime.vm import VirtualMachine
from compiler.runtime.vm.executable import Executable

Shape = tuple[int, ...]
Fill = Callable[[Shape, ElementType], NumPyArray]


def _random(shape: Shape, dtype: ElementType) -> NumPyArray:
    random = np.random.default_rng()
    if dtype.kind in "iu":
        return random.integers(0, 128, size=shape).astype(dtype)
    return random.random(size=shape).astype(dtype)


FILL_MODES: Mapping[str, Fill] = {
    "random": _random,
    "zeros": lambda shape, dtype: np.zeros(shape, dtype),
    "ones": lambda shape, dtype: np.ones(shape, dtype),
}
"""What inputs are made of that nobody gives, by name."""


def generate_tensor_data(shape: Shape, dtype: str, fill_mode: str) -> NumPyArray:
    """Return an array that is filled."""
    if fill_mode not in FILL_MODES:
        raise TVMCException(f"unknown fill-mode: {fill_mode}; there are {', '.join(FILL_MODES)}")
    return FILL_MODES[fill_mode](tuple(shape), numpy_dtype(dtype))


def get_input_info(
    graph_str: str, params: Mapping[str, object] | bytes | bytearray
) -> tuple[dict[str, Shape], dict[str, str]]:
    """Return the inputs of a graph that are no parameters."""
    known = load_param_dict(params) if isinstance(params, bytes | bytearray) else params
    graph = json.loads(graph_str)
    ranks, dtypes = (graph["attrs"][key][1] for key in ("shape", "dltype"))
    entries = graph["node_row_ptr"]
    inputs = [(graph["nodes"][i]["name"], entries[i]) for i in graph["arg_nodes"]]
    own = [(name, entry) for name, entry in inputs if name not in known]
    return {name: tuple(ranks[entry]) for name, entry in own}, {name: dtypes[entry] for name, entry in own}


def make_inputs_dict(
    shape_dict: Mapping[str, Shape],
    dtype_dict: Mapping[str, str],
    inputs: Mapping[str, ArrayLike] | None = None,
    fill_mode: str = "random",
) -> dict[str, ArrayLike]:
    """Return all inputs of a model: those that are given, and the others filled."""
    given = dict(inputs or {})
    if fill_mode not in FILL_MODES:
        raise TVMCException(f"tvmc.run: unknown fill-mode: {fill_mode}; there are {', '.join(FILL_MODES)}")
    for name in given:
        if name not in shape_dict:
            raise TVMCException(f"the input tensor '{name}' is not in the graph. Expected inputs: '{list(shape_dict)}'")
    return {
        name: given[name] if name in given else generate_tensor_data(shape, dtype_dict[name], fill_mode)
        for name, shape in shape_dict.items()
    }


def run_module(
    tvmc_package: TVMCPackage,
    device: str = "cpu",
    hostname: str | None = None,
    port: int | str = 9090,
    rpc_key: str | None = None,
    inputs: Mapping[str, ArrayLike] | None = None,
    fill_mode: str = "random",
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    options: Mapping[str, object] | None = None,
    *,
    benchmark: bool = True,
) -> TVMCResult:
    """Run a package once, and measure it, with copying inputs in and outputs out if it is ``end_to_end``.

    Raises TVMCException if another machine is asked for, or a single function is to be profiled.
    """
    if hostname is not None or rpc_key is not None or options:
        raise TVMCException("tvmc.run: models run on this machine; tvm.rpc.connect runs them on another one")
    where = as_device(device)
    if tvmc_package.type == "vm":
        return _run_program(tvmc_package.lib, where, dict(inputs or {}), (number, repeat) if benchmark else None)
    ahead = isinstance(tvmc_package.lib, AotLibrary)
    if profile and ahead:
        raise TVMCException(
            "tvmc.run: profile: a model compiled to a single function cannot be profiled kernel by kernel"
        )
    if profile:
        debugged = GraphModuleDebug(tvmc_package.lib["default"](where))
        print(debugged.profile().table())
    executor = tvmc_package.lib["default"](where)
    module = AotModule(executor) if ahead else GraphModule(executor)
    shapes, dtypes = module.get_input_info()
    own = {name: shape for name, shape in shapes.items() if name not in tvmc_package.params}
    module.set_input(None, None, **make_inputs_dict(own, dtypes, inputs, fill_mode))
    module.run()
    outputs = {f"output_{i}": np.array(module.get_output(i)) for i in range(module.get_num_outputs())}
    times = BenchmarkResult(())
    if benchmark:
        times = module.benchmark(where, repeat=repeat, number=number, end_to_end=end_to_end)
    return TVMCResult(outputs, times)


def _run_program(
    program: Executable, device: Device, inputs: dict[str, ArrayLike], measured: tuple[int, int] | None
) -> TVMCResult:
    """Run a program of the virtual machine, whose inputs have no shapes to be filled by."""
    missing = [name for name in program.get_function_params("main") if name not in inputs]
    if missing:
        raise TVMCException(f"tvmc.run: a virtual machine program needs all of its inputs, got none for {missing}")
    machine = VirtualMachine(program, device)
    result = machine.invoke("main", **{name: array(value) for name, value in inputs.items()})
    values = [result] if isinstance(result, NDArray) else list(result)
    outputs = {f"output_{i}": np.array(value) for i, value in enumerate(values)}
    if measured is None:
        return TVMCResult(outputs, BenchmarkResult(()))
    number, repeat = measured
    given: dict[str, Any] = {name: array(value) for name, value in inputs.items()}
    return TVMCResult(outputs, machine.benchmark(device, number=number, repeat=repeat, **given))
