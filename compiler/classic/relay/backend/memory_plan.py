"""``tvm.relay.backend._backend``: the memory plan of a graph, by expression."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.driver.relay.graph import graph_values
from compiler.driver.relay.memory import plan_memory, type_bytes
from compiler.ir.expr import RelayExpr
from compiler.relay.function import Function
from compiler.runtime.device import cpu


@dataclass(frozen=True, slots=True)
class StorageInfo:
    """Where the tensors of an expression lie: their buffers, the kinds of devices as DLPack counts them, and sizes.

    A size is the bytes of the tensor that the buffer was taken for first.
    """

    storage_ids: list[int]
    device_types: list[int]
    storage_sizes: list[int]


@dataclass(frozen=True, slots=True)
class StaticMemoryPlan:
    """Where the values of a graph lie."""

    expr_to_storage_info: dict[RelayExpr, StorageInfo]


def GraphPlanMemory(func: Function) -> StaticMemoryPlan:
    """Return which values of a graph share memory."""
    program, values = graph_values(func)
    storage = plan_memory(program).storage
    sizes: dict[int, int] = {}
    for buffer, t in zip(storage, program.types, strict=True):
        sizes.setdefault(buffer, type_bytes(t))

    def info(numbers: list[int]) -> StorageInfo:
        device_type = cpu().device_type
        return StorageInfo(
            [storage[v] for v in numbers], [device_type for _ in numbers], [sizes[storage[v]] for v in numbers]
        )

    return StaticMemoryPlan({expr: info(numbers) for expr, numbers in values.items()})
