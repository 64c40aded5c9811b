"""Kernels as the virtual machine calls them: values in, a value out, memory allocated for every result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.driver.relay_kernels import KernelModule, NamedKernel
from compiler.ir.error import ArgumentError
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, Constant, Function, Tuple, TupleGetItem
from compiler.relay.ty import TupleType, tensor_types
from compiler.runtime.device import cpu
from compiler.runtime.ndarray import NDArray, aligned_empty, array
from compiler.runtime.vm import Kernel
from compiler.runtime.vm_values import ADT


def static_kernel(lib: KernelModule, named: NamedKernel, function: Function) -> Kernel:
    """Return what calls machine code: all shapes are known."""
    return _StaticKernel(lib, named, function)


def dynamic_kernel(function: Function) -> Kernel:
    """Return what computes a group of operators by their NumPy references, whatever the shapes."""
    return _DynamicKernel(function)


class _StaticKernel:
    def __init__(self, lib: KernelModule, named: NamedKernel, function: Function) -> None:
        self._name = named.name
        self._function = lib.get_function(named.name)
        self._constants = named.kernel.lowered.constants
        self._result = function.body.checked_type
        self._types = [(t.concrete_shape, t.dtype) for t in tensor_types([self._result])]

    def __call__(self, args: Sequence[Any]) -> Any:
        outputs = [NDArray(aligned_empty(shape, dtype), dtype, cpu()) for shape, dtype in self._types]
        inputs = [a for arg in args for a in _arrays(arg)]
        self._function.prepare((*inputs, *self._constants, *outputs))()
        return _arranged(self._result, iter(outputs))

    def __str__(self) -> str:
        return self._name


class _DynamicKernel:
    def __init__(self, function: Function) -> None:
        self._function = function
        self._order = post_order(function.body, lambda e: e.args if isinstance(e, Call) else operands(e))

    def __call__(self, args: Sequence[Any]) -> Any:
        values = {p: _numpy(a) for p, a in zip(self._function.params, args, strict=True)}
        for expr in self._order:
            if expr not in values:
                values[expr] = _reference(expr, values)
        return _machine(values[self._function.body])

    def __str__(self) -> str:
        names = [e.op.name for e in self._order if isinstance(e, Call)]
        return f"NumPy: {', '.join(names)}"


def _reference(expr: Any, values: dict[Any, Any]) -> Any:
    match expr:
        case Call():
            if expr.op.reference is None:
                raise ArgumentError(f"{expr.op.name}: this operator can be neither compiled nor computed by NumPy")
            return expr.op.reference(expr.attrs, *(values[a] for a in expr.args))
        case Constant():
            return expr.value
        case Tuple():
            return tuple(values[f] for f in expr.fields)
        case TupleGetItem():
            return values[expr.tuple_value][expr.index]
        case _:
            raise ArgumentError(f"vm: a kernel is made of operators and tuples, got {type(expr).__name__}")


def _arrays(value: Any) -> list[NDArray]:
    return [a for part in value for a in _arrays(part)] if isinstance(value, ADT) else [value]


def _arranged(t: Any, outputs: Any) -> Any:
    if isinstance(t, TupleType):
        return ADT(0, [_arranged(field, outputs) for field in t.fields])
    return next(outputs)


def _numpy(value: Any) -> Any:
    return tuple(_numpy(part) for part in value) if isinstance(value, ADT) else value.view()


def _machine(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return ADT(0, [_machine(part) for part in value])
    return array(np.asarray(value))
