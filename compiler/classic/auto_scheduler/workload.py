"""Workloads: registered definitions, and the compute DAG of one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from compiler.classic.auto_scheduler.dag_text import operation_text
from compiler.classic.autotvm.task.workload import deserialize_args, serialize_args
from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, convert
from compiler.te.definition.flops import schedule_flops
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.schedule import Schedule, create_schedule

__all__ = ["ComputeDAG", "make_workload_key", "register_workload", "workload_key_to_tensors"]

Definition = Callable[..., Sequence[Tensor]]

_WORKLOADS: dict[str, Definition] = {}


def register_workload(
    func_name: str | Definition, f: Definition | None = None, override: bool = False
) -> Definition | Callable[[Definition], Definition]:
    """Register a function that defines tensors, by its name or ``func_name``; usable as a decorator.

    The function returns the list of all tensors, inputs and outputs, for its arguments. Raises ArgumentError if there
    is another function of the name, unless it is to be replaced (``override``).
    """
    name = func_name if isinstance(func_name, str) else func_name.__name__
    definition = f if isinstance(func_name, str) else func_name

    def register(function: Definition) -> Definition:
        if name in _WORKLOADS and not override:
            raise ArgumentError(f"register_workload: {name!r} is already registered; pass override=True to replace it")
        _WORKLOADS[name] = function
        return function

    return register if definition is None else register(definition)


def make_workload_key(func: str | Definition, args: Sequence[object]) -> str:
    """Return the key of a registered function, or its name, with its arguments.

    Arguments are numbers, strings, tensors, and tuples of such. Raises ArgumentError if the function is not registered.
    """
    name = func if isinstance(func, str) else func.__name__
    if name not in _WORKLOADS:
        raise _unknown(name)
    return json.dumps([name, *serialize_args(args)])


def workload_key_to_tensors(workload_key: str) -> list[Tensor]:
    """Return the tensors that a key of :func:`make_workload_key` stands for.

    Raises ArgumentError if the text is not a key, or its function is not registered.
    """
    try:
        name, *args = json.loads(workload_key)
    except ValueError:
        raise ArgumentError(f"auto_scheduler: {workload_key!r} is not a key of a workload") from None
    if name not in _WORKLOADS:
        raise _unknown(name)
    made: object = _WORKLOADS[name](*deserialize_args([_tuples(a) for a in args]))
    if not isinstance(made, Sequence):  # a single tensor has elements without end
        expected("auto_scheduler", f"what the workload {name!r} returns", "a list of tensors", made)
    return list(made)


def _unknown(name: str) -> ArgumentError:
    return ArgumentError(f"auto_scheduler: no function {name!r} is registered; there are {', '.join(_WORKLOADS)}")


def _tuples(value: object) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


class ComputeDAG:
    """The operations that tensors are computed by, each after those that it reads, in the order in which it reads them.

    They are given by inputs and outputs, by a schedule that has none of its primitives applied, or by a workload's key;
    ``tensors`` are the parameters of the function: inputs, then outputs.
    """

    def __init__(self, compute_or_sche: Sequence[Tensor] | Schedule | str) -> None:
        if isinstance(compute_or_sche, str):
            compute_or_sche = workload_key_to_tensors(compute_or_sche)
        if isinstance(compute_or_sche, Schedule):
            given = [stage.op for stage in compute_or_sche.stages]
            read = {t.op for op in given for t in op.input_tensors}
            ends = [op for op in given if not isinstance(op, ComputeOp) or op not in read]
            compute_or_sche = [op.output(0) for op in ends]
        whole: object = compute_or_sche
        if not isinstance(whole, Sequence) or not whole or not all(isinstance(t, Tensor) for t in whole):
            expected("ComputeDAG", "compute_or_sche", "a list of tensors, a schedule or the key of a workload", whole)
        self.tensors = list(whole)
        given_ops = _latest_first([t.op for t in self.tensors])
        read = {t.op for op in given_ops for t in op.input_tensors}
        self.outputs = [op for op in given_ops if op not in read]
        last = create_schedule(self.outputs)
        self.ops: list[Operation] = [stage.op for stage in last.stages]
        self.flop_ct = float(schedule_flops(last) or 0)

    def consumers(self, op: Operation) -> list[Operation]:
        """Return the operations that read another one."""
        return [other for other in self.ops if any(t.op is op for t in other.input_tensors)]

    def workload_key(self) -> str:
        """Return a key of what is computed, the same one for the same definitions: a digest and shapes, as JSON."""
        shapes = [[e.value if isinstance(e, IntImm) else str(e) for e in map(convert, t.shape)] for t in self.tensors]
        described = "".join(_definition(op) for op in self.ops)
        return json.dumps([hashlib.md5(described.encode(), usedforsecurity=False).hexdigest(), *shapes])

    def __str__(self) -> str:
        return "".join(operation_text(op) for op in self.ops)


def _latest_first(ends: Sequence[Operation]) -> list[Operation]:
    """Return operations behind those that they read; of several, the one reached last from the end comes first.

    The order of several outputs decides which number a record of classic TVM gives to a stage.
    """
    reached: dict[Operation, int] = {}
    readers: dict[Operation, list[Operation]] = {}
    stack = list(ends)
    while stack:
        op = stack.pop()
        if op in reached:
            continue
        reached[op] = len(reached)
        for t in op.input_tensors:
            readers.setdefault(t.op, []).append(op)
            stack.append(t.op)
    missing = {op: len(op.input_tensors) for op in reached}
    ready = [(-reached[op], op) for op, count in missing.items() if not count]
    ordered = []
    while ready:
        ready.sort(key=lambda item: item[0], reverse=True)
        ordered.append(ready.pop()[1])
        for reader in readers.get(ordered[-1], ()):
            missing[reader] -= 1
            if not missing[reader]:
                ready.append((-reached[reader], reader))
    return ordered


def extent_of(axis: IterVar) -> PrimExpr:
    """Return how many iterations an axis of a definition has."""
    assert axis.dom is not None, "axes of definitions have their range"
    return axis.dom.extent


def _definition(op: Operation) -> str:
    """Return all that an operation is known by, its data types and extents too."""
    if not isinstance(op, ComputeOp):
        shape = ", ".join(map(str, op.output(0).shape))
        return f"{op.name} = {type(op).__name__.removesuffix('Op').upper()} [{shape}], {op.output(0).dtype}\n"
    axes = ", ".join(f"{axis.var.name}:{extent_of(axis)}" for axis in (*op.axis, *op.reduce_axis))
    return "".join(f"{op.name}({axes}) = {body}\n" for body in op.body)
