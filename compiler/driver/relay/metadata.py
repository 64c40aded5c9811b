"""Metadata of built models: ``function_metadata`` and ``executor_codegen_metadata``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.driver.relay.lower import LoweredKernel, tensor_bytes
from compiler.driver.relay.memory import type_bytes
from compiler.ir.expr.primexpr import Var
from compiler.relay.function import Function
from compiler.relay.ty import TensorType
from compiler.runtime.modules.module import ENTRY
from compiler.target.target import Target
from compiler.tir.analysis.memory import calculate_workspace_bytes
from compiler.tir.statements.function import PrimFunc


@dataclass(frozen=True, slots=True, eq=False)
class FunctionInfo:
    """The bytes that a function needs, by the target that it is for.

    ``io_sizes`` are those of its results, and of the main function's inputs as well; ``constant_sizes`` those of the
    constants that it is given.
    """

    workspace_sizes: dict[Target, int]
    io_sizes: dict[Target, int]
    constant_sizes: dict[Target, int]
    tir_primfuncs: dict[Target, PrimFunc] = field(default_factory=dict)
    relay_primfuncs: dict[Target, Function] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ExecutorCodegenMetadata:
    """How the code of a model is called.

    Attributes
    ----------
    mod_name : str
        The name that it was built under.
    inputs : list of str
        The names of the main function's parameters.
    pools : list of Var
        Parameters for memory that is given from outside.
    pool_inputs, io_pool_allocations : dict
        Where inputs and outputs are in it: nowhere, as each has a parameter of its own.
    """

    mod_name: str
    executor: str
    interface_api: str
    unpacked_api: bool
    inputs: Sequence[str]
    outputs: Sequence[str]
    input_tensor_types: Sequence[TensorType]
    output_tensor_types: Sequence[TensorType]
    workspace_alignment: int
    constant_alignment: int
    devices: Sequence[str] = ()
    pools: Sequence[Var] = ()
    pool_inputs: Mapping[Var, object] = field(default_factory=dict)
    io_pool_allocations: Mapping[str, object] = field(default_factory=dict)


def function_metadata(
    main: FunctionInfo, kernels: Mapping[str, LoweredKernel], target: Target
) -> dict[str, FunctionInfo]:
    """Return what is known of the main function of a model and of its kernels."""
    return {ENTRY: main, **{name: _kernel_info(kernel, target) for name, kernel in kernels.items()}}


def _kernel_info(kernel: LoweredKernel, target: Target) -> FunctionInfo:
    return FunctionInfo(
        workspace_sizes={target: calculate_workspace_bytes(kernel.prim_func)},
        io_sizes={target: sum(tensor_bytes(tensor) for tensor in kernel.outputs)},
        constant_sizes={target: sum(int(value.view().nbytes) for value in kernel.constants)},
        tir_primfuncs={target: kernel.prim_func},
        relay_primfuncs={target: kernel.function},
    )


def main_info(
    workspace: Mapping[Any, int],
    inputs_and_outputs: Sequence[TensorType],
    constants: int,
    main: tuple[Target, Function, PrimFunc | None],
) -> FunctionInfo:
    """Return what is known of a model's main function, a graph, and loops where it is one function."""
    target, graph, loops = main
    return FunctionInfo(
        workspace_sizes={target: sum(workspace.values())},
        io_sizes={target: sum(map(type_bytes, inputs_and_outputs))},
        constant_sizes={target: constants},
        tir_primfuncs={} if loops is None else {target: loops},
        relay_primfuncs={target: graph},
    )
