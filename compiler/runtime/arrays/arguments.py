"""Checks arguments and converts them for machine code."""

from __future__ import annotations

import ctypes
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, counted
from compiler.runtime.arrays.dltensor import viewed_array
from compiler.runtime.arrays.ndarray import NDArray, numpy_dtype
from compiler.runtime.modules.signature import Parameter, Signature, Size, evaluate, show_size
from compiler.runtime.numpy_types import ElementType, NumPyArray

CType = type[ctypes.c_void_p] | type["ctypes._SimpleCData[Any]"]
CValue = int | float
"""What machine code takes: an address, a scalar, or a size."""

_C_TYPES: dict[tuple[str, int], CType] = {
    ("bool", 1): ctypes.c_bool,
    ("float", 16): ctypes.c_float,
    ("float", 32): ctypes.c_float,
    ("float", 64): ctypes.c_double,
    **{("int", b): getattr(ctypes, f"c_int{b}") for b in (8, 16, 32, 64)},
    **{("uint", b): getattr(ctypes, f"c_uint{b}") for b in (8, 16, 32, 64)},
}


def c_type(dtype: str) -> CType:
    """Return the C type that a scalar is passed as."""
    d = dt.parse(dtype)
    kind = _C_TYPES.get((d.code, d.bits))
    if kind is None or d.lanes != 1:
        raise DTypeError(f"a scalar of type {dtype} cannot be passed to machine code")
    return kind


STORED = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""The integers that machine code takes for elements whose type it lacks."""


def _is_stored_as(memory: NumPyArray, bits: ElementType) -> bool:
    """Return whether machine code takes an array's elements as integers, for want of their type."""
    return STORED.get(str(memory.dtype)) == str(bits)


class _ArrayParameter:
    """The requirements on an array argument, worked out once for all calls."""

    __slots__ = ("dtype", "fixed_shape", "parameter")

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self.dtype = None if parameter.dtype == "handle" else numpy_dtype(parameter.dtype)
        shape = parameter.shape or []
        fixed = self.dtype is not None and not parameter.strides and all(isinstance(size, int) for size in shape)
        self.fixed_shape: tuple[object, ...] | None = tuple(shape) if fixed else None


class Binder:
    """Checks the arguments of one function and turns them into C values."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._name = signature.name
        self._parameters = [_ArrayParameter(p) if p.shape is not None else p for p in signature.parameters]
        self._written = [i for i, p in enumerate(signature.parameters) if p.written]
        self.c_types = [ctypes.c_void_p if p.shape is not None else c_type(p.dtype) for p in signature.parameters]
        self.c_types += [c_type(t) for t in signature.sizes.values()]

    def bind(self, args: tuple[object, ...]) -> list[CValue]:
        """Return the C values for ``args``: addresses, scalars, then sizes."""
        if len(args) != len(self._parameters):
            names = ", ".join(p.name for p in self._signature.parameters)
            raise ArgumentError(
                f"{self._name}: expected {counted(len(self._parameters), 'argument')} ({names}), got {len(args)}"
            )
        values: list[CValue] = []
        sizes: dict[str, int] = {}
        arrays: list[NumPyArray | None] = []
        open_shapes: list[tuple[Parameter, NumPyArray]] = []
        for parameter, arg in zip(self._parameters, args, strict=True):
            if isinstance(parameter, Parameter):
                scalar = self._scalar(parameter, arg)
                if isinstance(scalar, int):
                    sizes[parameter.name] = scalar
                values.append(scalar)
                arrays.append(None)
                continue
            memory, address = self._array(parameter, arg)
            arrays.append(memory)
            values.append(address)
            if memory.shape != parameter.fixed_shape and parameter.dtype is not None:
                open_shapes.append((parameter.parameter, memory))
        if open_shapes:
            self._check_shapes(open_shapes, sizes)
        if self._signature.noalias and self._written:
            self._check_aliasing(arrays)
        # What no shape contains is the offset of a first element, which callers never have.
        return values + [sizes.get(name, 0) for name in self._signature.sizes]

    def static_arrays(self) -> list[tuple[tuple[object, ...], str, int]] | None:
        """Return shape and data type of each argument, and the bits that its address must not have.

        None unless all arguments are arrays of shapes that are known.
        """
        expected = []
        for parameter in self._parameters:
            if isinstance(parameter, Parameter) or parameter.fixed_shape is None:
                return None
            expected.append((parameter.fixed_shape, parameter.parameter.dtype, parameter.parameter.alignment - 1))
        return None if self._signature.sizes else expected

    def _fail(self, parameter: Parameter, what: str) -> ArgumentError:
        return ArgumentError(f"{self._name}: argument {parameter.name!r} {what}")

    def _scalar(self, parameter: Parameter, arg: object) -> CValue:
        if isinstance(arg, np.generic):
            arg = arg.item()
        if dt.is_float(parameter.dtype):
            if not isinstance(arg, numbers.Real):
                raise self._fail(parameter, f"must be a number, got {type(arg).__name__}")
            return float(arg)
        if not isinstance(arg, int):
            raise self._fail(parameter, f"must be an int, got {type(arg).__name__}")
        if dt.is_bool(parameter.dtype):
            return arg != 0
        low, high = dt.int_range(parameter.dtype)
        if not low <= arg <= high:
            raise self._fail(parameter, f"must fit {parameter.dtype}, got {arg}")
        return arg

    def _array(self, expected: _ArrayParameter, arg: object) -> tuple[NumPyArray, int]:
        parameter = expected.parameter
        if not isinstance(arg, (NDArray, np.ndarray)):
            arg = viewed_array(arg) or arg
        if isinstance(arg, NDArray):
            memory, address = arg.view(), arg.address
        elif isinstance(arg, np.ndarray):
            memory, address = arg, arg.__array_interface__["data"][0]
        else:
            raise self._fail(parameter, f"must be an array (tvm.nd.array or NumPy), got {type(arg).__name__}")
        if memory.dtype != expected.dtype and expected.dtype is not None and not _is_stored_as(memory, expected.dtype):
            raise self._fail(parameter, f"must have dtype {parameter.dtype}, got {memory.dtype}")
        flags = memory.flags
        if not flags.c_contiguous and not parameter.strides:
            raise self._fail(parameter, "must be C-contiguous; use numpy.ascontiguousarray")
        if parameter.written and not flags.writeable:
            raise self._fail(parameter, "is written by the function, but the array is read-only")
        if address % parameter.alignment and memory.size:
            raise self._fail(parameter, f"must be aligned to {parameter.alignment} bytes; use tvm.nd.array")
        return memory, address

    def _check_shapes(self, arrays: list[tuple[Parameter, NumPyArray]], sizes: dict[str, int]) -> None:
        """Bind the sizes that stand alone in a shape or stride, then compare all of them."""
        comparisons: list[tuple[Parameter, str, int, Size, int]] = []
        for parameter, memory in arrays:
            expected = parameter.shape or []
            if memory.ndim != len(expected):
                text = ", ".join(show_size(s) for s in expected)
                raise self._fail(parameter, f"must have {len(expected)} dimensions ({text}), got shape {memory.shape}")
            steps = self._steps(parameter, memory) if parameter.strides else []
            extents: list[tuple[str, Sequence[Size], Sequence[int]]] = [
                ("dimension", expected, memory.shape),
                ("stride", parameter.strides, steps),
            ]
            for what, sizes_of, actuals in extents:
                comparisons += [
                    (parameter, what, i, s, n) for i, (s, n) in enumerate(zip(sizes_of, actuals, strict=True))
                ]
        for _, _, _, size, actual in comparisons:
            if isinstance(size, str):
                sizes.setdefault(size, actual)
        for parameter, what, axis, size, actual in comparisons:
            value = evaluate(size, sizes)
            if value is None:
                raise self._fail(parameter, f"has {what} {axis} of {show_size(size)}, which no argument determines")
            if value != actual:
                meaning = "" if isinstance(size, int) else f" ({show_size(size)})"
                raise self._fail(parameter, f"must have {what} {axis} equal to {value}{meaning}, got {actual}")

    def _steps(self, parameter: Parameter, memory: NumPyArray) -> list[int]:
        """Return the strides of an array in elements."""
        if any(stride % memory.itemsize for stride in memory.strides):
            raise self._fail(parameter, f"must have strides of whole elements, got {memory.strides} bytes")
        steps = [stride // memory.itemsize for stride in memory.strides]
        if parameter.broadcast:
            return [0 if extent == 1 else step for extent, step in zip(memory.shape, steps, strict=True)]
        return steps

    def _check_aliasing(self, arrays: list[NumPyArray | None]) -> None:
        parameters = self._signature.parameters
        for i in self._written:
            if arrays[i] is None:
                continue
            for j, other in enumerate(arrays):
                if j != i and other is not None and np.may_share_memory(arrays[i], other):
                    other_name = parameters[j].name
                    raise self._fail(parameters[i], f"is written and shares memory with argument {other_name!r}")
