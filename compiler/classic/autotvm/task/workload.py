"""Workloads: hashable, serialisable keys of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import FloatImm, IntImm, StringImm, Var
from compiler.te.definition.operation import placeholder
from compiler.te.definition.tensor import Tensor

Workload = tuple[Any, ...]

_TENSOR = "TENSOR"


def serialize_args(args: Iterable[object]) -> Workload:
    """Return arguments with a tuple ``("TENSOR", shape, dtype)`` for each tensor.

    The others are numbers, strings, None and sequences of such; anything else is refused.
    """
    return tuple(map(_serialized, args))


def _serialized(x: object) -> object:
    if isinstance(x, Tensor):
        return (_TENSOR, serialize_args(x.shape), x.dtype)
    if isinstance(x, (IntImm, FloatImm, StringImm)):
        return x.value
    if x is None or isinstance(x, (str, int, float, Var)):
        return x
    if isinstance(x, Sequence):
        return serialize_args(x)
    raise ArgumentError(
        f'Do not support type "{type(x).__name__}" in argument. Consider to use primitive types or tvm.tir.Var only'
    )


def deserialize_args(args: Iterable[object]) -> list[Any]:
    """Return what :func:`serialize_args` returned, with a placeholder for each tuple that stands for a tensor."""
    return [
        placeholder(tuple(x[1]), x[2]) if isinstance(x, (tuple, list)) and x and x[0] == _TENSOR else x for x in args
    ]


def args_to_workload(args: Iterable[object], task_name: str | None = None) -> Workload:
    """Return the workload of a call."""
    return (*(() if task_name is None else (task_name,)), *serialize_args(args))
