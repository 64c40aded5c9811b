"""The dataflow graph: topological orders of operations, and replacing the tensors that operations read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from compiler.ir.functor import operands_first
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.stage_state import StageState

S = TypeVar("S", bound=StageState)


def post_dfs_order(outputs: Iterable[Operation]) -> list[Operation]:
    """Return all operations that ``outputs`` depend on and themselves, each after what it reads."""
    return operands_first(list(outputs), lambda op: [t.op for t in op.input_tensors])


def depends_on(consumer: Operation, producer: Operation) -> bool:
    """Return whether ``consumer`` reads ``producer``, directly or through others."""
    reached, todo = {consumer}, [consumer]
    while todo:
        read = [t.op for t in todo.pop().input_tensors]
        if any(op is producer for op in read):
            return True
        todo += [op for op in read if op not in reached]
        reached.update(read)
    return False


def replace_inputs(op: Operation, mapping: Mapping[Tensor, Tensor]) -> Operation:
    """Return the operation with some tensors read instead of others."""
    return op.with_inputs(mapping) if any(t in mapping for t in op.input_tensors) else op


def rewrite_dataflow(
    stages: Iterable[S], rewrite: Callable[[S], Operation], mapping: dict[Tensor, Tensor] | None = None
) -> None:
    """Give every stage what ``rewrite(stage)`` returns as its operation, and let all others read that one."""
    replaced = mapping or {}
    for stage in stages:
        old = stage.op
        new = replace_inputs(rewrite(stage), replaced)
        if new is not old:
            replaced.update(zip(old.outputs, new.outputs, strict=True))
            stage.op = new


def replace_dataflow(stages: Iterable[StageState], mapping: dict[Tensor, Tensor]) -> None:
    """Let every stage read the new tensors instead of the old ones."""
    rewrite_dataflow(stages, lambda stage: stage.op, mapping)
