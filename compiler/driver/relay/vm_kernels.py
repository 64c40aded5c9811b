"""Kernels of the virtual machine: values in, a value out, memory allocated per result.

Where shapes are dynamic, operators run through their NumPy references at first; shapes that
come again and again, or take NumPy as long as a compilation takes, get machine code of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from compiler.driver.relay.groups import can_lower, evaluation_order, group_calls, hash_of
from compiler.driver.relay.kernels import KernelCompiler, KernelModule
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.instrument import uninstrumented
from compiler.ir.lazy_attribute import lazy_attribute
from compiler.ir.module import IRModule
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.ir.types import Type
from compiler.relay.analysis.aliases import RESHAPES
from compiler.relay.argument_shapes import Shapes, check_shapes
from compiler.relay.binding import bind
from compiler.relay.expr import Call, Constant, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.operator import operator_of
from compiler.relay.ty import TensorType, TupleType, tensor_types
from compiler.runtime.arrays.ndarray import ArrayType, NDArray, copied, name_to_numpy
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import register_func
from compiler.runtime.modules.reference_call import Arrays
from compiler.runtime.vm import Kernel
from compiler.runtime.vm.instructions import RESHAPE_TENSOR
from compiler.runtime.vm.plans import MachineCode
from compiler.runtime.vm.values import ADT, Value
from compiler.target.target import Target

MAX_COMPILED = 32
"""Shapes that one group of operators gets machine code for."""
MAX_SEEN = 1024
"""Shapes that are remembered as having come."""
_OFTEN, _SECONDS = 3, 0.05
"""Calls through NumPy, or processor time that they took together, after which machine code is worth its compilation:
the shapes of what a detector finds are others for each image."""
_Forms: TypeAlias = tuple[object, ...]
"""Shapes and data types of values, nested as these are."""


def static_kernel(lib: KernelModule, name: str, constants: list[NDArray], function: Function) -> Kernel:
    """Return what calls machine code of the name with arguments and constants: all shapes are static."""
    return _StaticKernel(lib, name, constants, function)


def load_kernel(lib: Module | None, name: str, constants: list[NDArray], function: str) -> Kernel:
    """Return a kernel of a program that was saved; one that runs whatever the shapes has no name in it."""
    group = load_json(function)
    if not isinstance(group, Function):
        raise ArgumentError(f"Executable.load_exec: expected a function of a graph, got {type(group).__name__}")
    if not name:
        return dynamic_kernel(group, Target.target_or_current(None))
    if lib is None:
        raise ArgumentError(f"Executable.load_exec: the machine code of {name} is needed")
    return _StaticKernel(lib, name, constants, group)


register_func("relay.vm.load_kernel", load_kernel)


def dynamic_kernel(function: Function, target: Target) -> Kernel:
    """Return what computes a group of operators whatever the shapes: by NumPy, and what comes again by machine code."""
    return _DynamicKernel(function, target)


def reshaped_to(function: Function) -> tuple[int, ...] | None:
    """Return the shape that a group of operators gives its argument, where it does nothing else and it is known."""
    result = function.body.checked_type
    if len(function.params) != 1 or not _only_reshapes(function) or not tensor_types([result])[0].is_static:
        return None
    return tuple(tensor_types([result])[0].concrete_shape)


def _only_reshapes(function: Function) -> bool:
    if isinstance(function.body.checked_type, TupleType):
        return False
    calls = group_calls(function)
    return bool(calls) and all(operator_of(call).name.removeprefix("dyn.") in RESHAPES for call in calls)


class _StaticKernel:
    def __init__(self, lib: Module, name: str, constants: list[NDArray], function: Function) -> None:
        self._name = name
        self._function = lib.get_function(name)
        self._constants = constants
        self._group = function
        self._result = function.body.checked_type
        self._types = [ArrayType(t.concrete_shape, t.dtype) for t in tensor_types([self._result])]
        self._is_single = not isinstance(self._result, TupleType)

    def __call__(self, args: Sequence[Value]) -> Value:
        outputs = [array_type.empty() for array_type in self._types]
        self._function.run_on([*_inputs(args), *self._constants, *outputs])
        return outputs[0] if self._is_single else arranged(self._result, iter(outputs))

    def machine_code(self, args: Sequence[Value]) -> MachineCode | None:
        """Return what is called; None if arguments do not fit, or more is to be done."""
        outputs = [array_type.empty() for array_type in self._types]
        fits = self._function.takes_directly([*_inputs(args), *self._constants, *outputs])
        return MachineCode(self._function, self._constants) if fits else None

    @property
    def hash(self) -> str:
        """What tells the group of operators from others."""
        return hash_of(self._group)

    @property
    def result_text(self) -> str:
        """The shapes and data types of the tensors that the kernel allocates."""
        return ", ".join(f"{list(t.concrete_shape)} {t.dtype}" for t in tensor_types([self._result]))

    def saved(self) -> tuple[str, list[NDArray], str]:
        """Return what :func:`load_kernel` makes the kernel of."""
        return self._name, self._constants, save_json(self._group)

    def __str__(self) -> str:
        return self._name


class _DynamicKernel:
    def __init__(self, function: Function, target: Target) -> None:
        self._function = function
        self._target = target
        self._order = evaluation_order(function)
        self._compiled: dict[_Forms, Kernel] = {}
        self._seen: dict[_Forms, tuple[int, float]] = {}

    def __call__(self, args: Sequence[Value]) -> Value:
        forms = tuple([_form(a) for a in args])
        kernel = self._compiled.get(forms)
        if kernel is not None:
            return kernel(args)
        calls, seconds = self._seen.get(forms, (0, 0.0))
        if (calls >= _OFTEN or seconds >= _SECONDS) and len(self._compiled) < MAX_COMPILED:
            kernel = self._compiled[forms] = self._specialised([_type_of(a) for a in args])
            return kernel(args)
        for param, arg in zip(self._function.params, args, strict=True):
            check_shapes("vm", param, _shapes(arg))
        began = time.thread_time()
        result = self._by_numpy(args)
        if calls or len(self._seen) < MAX_SEEN:
            self._seen[forms] = calls + 1, seconds + time.thread_time() - began
        return result

    def machine_code(self, args: Sequence[Value]) -> MachineCode | None:
        """Return what is called; None if these shapes have no machine code, or none yet."""
        kernel = self._compiled.get(tuple([_form(a) for a in args]))
        return kernel.machine_code(args) if isinstance(kernel, _StaticKernel) else None

    def _specialised(self, types: Sequence[Any]) -> Kernel:
        """Return machine code for arguments of these types; NumPy where even they do not tell the result's shape."""
        with uninstrumented():
            function = _for_types(self._function, types)
            if not can_lower(function):
                return self._by_numpy
            with KernelCompiler(self._target, module="vm_mod") as compiler:
                named = compiler.kernel(function)
            lib = KernelModule([named], self._target)
            return static_kernel(lib, named.name, named.kernel.lowered.constants, function)

    @lazy_attribute
    def _by_numpy(self) -> Kernel:
        params, body = self._function.params, self._function.body
        if isinstance(body, Call) and body.args == params:
            only = _reference_call(body)
            return lambda args: _machine(only(*map(_numpy, args)))
        references = [(expr, _reference(expr)) for expr in self._order if expr not in params]

        def run(args: Sequence[Value]) -> Value:
            values: dict[RelayExpr, object] = dict(zip(params, map(_numpy, args), strict=True))
            for expr, compute in references:
                values[expr] = compute(values)
            return _machine(values[body])

        return run

    @property
    def result_text(self) -> str:
        """Empty, as only the arguments tell the shapes."""
        return ""

    def saved(self) -> tuple[str, list[NDArray], str]:
        """Return what :func:`load_kernel` makes the kernel of."""
        return "", [], save_json(self._function)

    def __str__(self) -> str:
        if _only_reshapes(self._function):
            return RESHAPE_TENSOR
        names = [operator_of(e).name for e in self._order if isinstance(e, Call)]
        return f"NumPy: {', '.join(names)}"


def _for_types(function: Function, types: Sequence[Type]) -> Function:
    """Return a group of operators for arguments of certain types."""
    params = [Var(p.name_hint, t) for p, t in zip(function.params, types, strict=True)]
    body = bind(function.body, dict(zip(function.params, params, strict=True)))
    made = Function(tuple(params), body, None, (), function.attrs)
    typed = infer_module(IRModule({"main": made}))["main"]
    assert isinstance(typed, Function)
    return typed


def _form(value: Value) -> _Forms:
    """Return what tells the types of values apart, at every call: a type itself takes longer to make."""
    if isinstance(value, ADT):
        return tuple([_form(part) for part in value.fields])
    array = _array(value)
    return array.shape, array.dtype


def _shapes(value: Value) -> Shapes:
    return tuple(_shapes(part) for part in value) if isinstance(value, ADT) else _array(value).shape


def _type_of(value: Value) -> Type:
    if isinstance(value, ADT):
        return TupleType(tuple(_type_of(part) for part in value))
    array = _array(value)
    return TensorType(array.shape, array.dtype)


def _reference(expr: RelayExpr) -> Callable[[Mapping[RelayExpr, Any]], object]:
    """Return what computes an expression from the values of its operands."""
    match expr:
        case Call():
            compute, args = _reference_call(expr), expr.args
            return lambda values: compute(*[values[a] for a in args])
        case Constant():
            return lambda values: expr.value
        case Tuple():
            return lambda values: tuple([values[f] for f in expr.fields])
        case TupleGetItem():
            return lambda values: values[expr.tuple_value][expr.index]
        case _:
            raise ArgumentError(f"vm: a kernel is made of operators and tuples, got {type(expr).__name__}")


def _reference_call(call: Call) -> Callable[..., object]:
    """Return what computes a call from its operands."""
    op, attrs = operator_of(call), call.attrs

    def compute(*operands: Any) -> object:
        if op.reference is None:
            raise ArgumentError(f"{op.name}: this operator can be neither compiled nor computed by NumPy")
        try:
            return op.reference(attrs, *operands)
        except ValueError as exc:  # shapes that only the values know do not fit each other
            raise ArgumentError(f"vm: {op.name}: {exc}") from exc

    name_to_numpy(attrs.values())
    return compute


def _array(value: Value) -> NDArray:
    assert isinstance(value, NDArray), "kernels compute with arrays and tuples of arrays"
    return value


def _inputs(args: Sequence[Value]) -> list[NDArray]:
    inputs: list[NDArray] = []
    for arg in args:
        if isinstance(arg, NDArray):
            inputs.append(arg)
        else:
            inputs += _arrays(arg)
    return inputs


def _arrays(value: Value) -> list[NDArray]:
    return [a for part in value for a in _arrays(part)] if isinstance(value, ADT) else [_array(value)]


def arranged(t: Type, outputs: Iterator[NDArray]) -> NDArray | ADT:
    """Return the outputs of a kernel or a model as a value of its type: tuples as :class:`ADT`."""
    if isinstance(t, TupleType):
        return ADT(0, [arranged(field, outputs) for field in t.fields])
    return next(outputs)


def _numpy(value: Value) -> Arrays:
    return tuple(_numpy(part) for part in value) if isinstance(value, ADT) else _array(value).view()


def _machine(value: object) -> Value:
    if isinstance(value, (tuple, list)):
        return ADT(0, [_machine(part) for part in value])
    return copied(np.asarray(value))
