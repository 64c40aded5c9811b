"""``tvm.relay.backend.aot``: the main function of ahead-of-time models and what is known of it."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.relay.aot_lower_main import AOTLowerMain, CallType
from compiler.driver.relay.memory import type_bytes
from compiler.driver.relay.metadata import ExecutorCodegenMetadata, FunctionInfo
from compiler.driver.relay.options import Executor
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Var
from compiler.ir.module import IRModule
from compiler.relay.ty import TensorType
from compiler.runtime.modules.module import ENTRY
from compiler.tir.analysis.memory import calculate_constant_bytes, calculate_workspace_bytes
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

__all__ = ["AOTLowerMain", "CallType", "CreateExecutorMetadata", "CreateFunctionMetadata"]


def CreateFunctionMetadata(
    mod: IRModule, workspace_byte_alignment: int, constant_byte_alignment: int
) -> dict[str, FunctionInfo]:
    """Return how much memory each function of a module needs, padded to multiples of the given bytes.

    Raises ArgumentError if a function does not say its target.
    """
    infos = {}
    for var, func in mod.items():
        if not isinstance(func, PrimFunc):
            continue
        target = func.attrs.get("target")
        if target is None:
            raise ArgumentError(f"CreateFunctionMetadata: {var.name_hint} has no target")
        infos[var.name_hint] = FunctionInfo(
            workspace_sizes={target: calculate_workspace_bytes(func, workspace_byte_alignment)},
            io_sizes={target: sum(type_bytes(_type(buffer)) for buffer in func.buffer_map.values())},
            constant_sizes={target: calculate_constant_bytes(func, constant_byte_alignment)},
            tir_primfuncs={target: func},
        )
    return infos


def CreateExecutorMetadata(
    mod: IRModule, mod_name: str, executor: Executor, workspace_byte_alignment: int, constant_byte_alignment: int
) -> ExecutorCodegenMetadata:
    """Return how the function ``__tvm_main__``, which says what its inputs and outputs are, is called.

    Alignments are in bytes.
    """
    main = mod[ENTRY]
    inputs: Sequence[Var] = list(main.attrs["input_vars"])
    outputs: Sequence[Var] = list(main.attrs["output_vars"])
    options = executor.options
    return ExecutorCodegenMetadata(
        mod_name=mod_name,
        executor=executor.name,
        interface_api=str(options.get("interface-api", "packed")),
        unpacked_api=bool(options.get("unpacked-api", False)),
        inputs=inputs,
        outputs=[var.name for var in outputs],
        input_tensor_types=[_type(main.buffer_map[var]) for var in inputs],
        output_tensor_types=[_type(main.buffer_map[var]) for var in outputs],
        workspace_alignment=workspace_byte_alignment,
        constant_alignment=constant_byte_alignment,
        devices=list(main.attrs.get("devices", ())),
        pools=[var for var in main.params if var not in main.buffer_map],
    )


def _type(buffer: Buffer) -> TensorType:
    return TensorType(buffer.shape, buffer.dtype)
