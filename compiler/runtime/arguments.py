"""Arguments are checked and turned into what machine code takes, before it runs."""

from __future__ import annotations

import ctypes
import numbers
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError
from compiler.runtime.ndarray import NDArray
from compiler.runtime.signature import Parameter, Signature, evaluate, show_size

_C_TYPES: dict[tuple[str, int], Any] = {
    ("bool", 1): ctypes.c_bool,
    ("float", 16): ctypes.c_float,
    ("float", 32): ctypes.c_float,
    ("float", 64): ctypes.c_double,
    **{("int", b): getattr(ctypes, f"c_int{b}") for b in (8, 16, 32, 64)},
    **{("uint", b): getattr(ctypes, f"c_uint{b}") for b in (8, 16, 32, 64)},
}


def c_type(dtype: str) -> Any:
    """Return the C type that a scalar is passed as.

    Raises
    ------
    DTypeError
        If it cannot be passed by value.
    """
    d = dt.parse(dtype)
    found = _C_TYPES.get((d.code, d.bits))
    if found is None or d.lanes != 1:
        raise DTypeError(f"a scalar of type {dtype} cannot be passed to machine code")
    return found


class Binder:
    """Checks the arguments of one function and turns them into C values."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._name = signature.name
        self._written = [i for i, p in enumerate(signature.parameters) if p.written]
        self.c_types = [ctypes.c_void_p if p.shape is not None else c_type(p.dtype) for p in signature.parameters]
        self.c_types += [c_type(t) for t in signature.sizes.values()]

    def bind(self, args: tuple[Any, ...]) -> list[Any]:
        """Return the C values for ``args``: addresses, scalars, then sizes.

        Raises
        ------
        ArgumentError
            If they do not fit; the message names the argument.
        """
        parameters = self._signature.parameters
        if len(args) != len(parameters):
            names = ", ".join(p.name for p in parameters)
            raise ArgumentError(f"{self._name}: expected {len(parameters)} arguments ({names}), got {len(args)}")
        values: list[Any] = []
        sizes: dict[str, int] = {}
        arrays: list[np.ndarray[Any, Any] | None] = []
        for parameter, arg in zip(parameters, args, strict=True):
            if parameter.shape is None:
                scalar = self._scalar(parameter, arg)
                sizes[parameter.name] = scalar
                values.append(scalar)
                arrays.append(None)
            else:
                memory = self._array(parameter, arg)
                arrays.append(memory)
                values.append(memory.__array_interface__["data"][0])
        self._check_shapes(arrays, sizes)
        if self._signature.noalias and self._written:
            self._check_aliasing(arrays)
        return values + [sizes[name] for name in self._signature.sizes]

    def _fail(self, parameter: Parameter, what: str) -> ArgumentError:
        return ArgumentError(f"{self._name}: argument {parameter.name!r} {what}")

    def _scalar(self, parameter: Parameter, arg: Any) -> Any:
        if isinstance(arg, np.generic):
            arg = arg.item()
        if dt.is_float(parameter.dtype):
            if not isinstance(arg, numbers.Real):
                raise self._fail(parameter, f"must be a number, got {type(arg).__name__}")
            return float(arg)
        if not isinstance(arg, int):
            raise self._fail(parameter, f"must be an int, got {type(arg).__name__}")
        low, high = dt.int_range(parameter.dtype)
        if not low <= arg <= high:
            raise self._fail(parameter, f"must fit {parameter.dtype}, got {arg}")
        return arg

    def _array(self, parameter: Parameter, arg: Any) -> np.ndarray[Any, Any]:
        if isinstance(arg, NDArray):
            memory = arg.view()
        elif isinstance(arg, np.ndarray):
            memory = arg
        else:
            raise self._fail(parameter, f"must be an array (tvm.nd.array or NumPy), got {type(arg).__name__}")
        if parameter.dtype != "handle" and str(memory.dtype) != dt.element(parameter.dtype):
            raise self._fail(parameter, f"must have dtype {parameter.dtype}, got {memory.dtype}")
        if not parameter.strides and not memory.flags.c_contiguous:
            raise self._fail(parameter, "must be C-contiguous; numpy.ascontiguousarray makes it so")
        if parameter.written and not memory.flags.writeable:
            raise self._fail(parameter, "is written by the function, but the array is read-only")
        if memory.size and memory.__array_interface__["data"][0] % parameter.alignment:
            raise self._fail(parameter, f"must start at a multiple of {parameter.alignment} bytes; tvm.nd.array does")
        return memory

    def _check_shapes(self, arrays: list[Any], sizes: dict[str, int]) -> None:
        """Bind the sizes that stand alone in a shape or stride, then compare all of them."""
        wanted: list[tuple[Parameter, str, int, Any, int]] = []
        for parameter, memory in zip(self._signature.parameters, arrays, strict=True):
            if memory is None or parameter.dtype == "handle":
                continue
            expected = parameter.shape or []
            if memory.ndim != len(expected):
                text = ", ".join(show_size(s) for s in expected)
                raise self._fail(parameter, f"must have {len(expected)} dimensions ({text}), got shape {memory.shape}")
            steps = [s // memory.itemsize for s in memory.strides] if parameter.strides else []
            for what, sizes_of, actual in (("dimension", expected, memory.shape), ("stride", parameter.strides, steps)):
                wanted += [(parameter, what, i, s, n) for i, (s, n) in enumerate(zip(sizes_of, actual, strict=True))]
        for _, _, _, size, actual in wanted:
            if isinstance(size, str):
                sizes.setdefault(size, actual)
        for parameter, what, axis, size, actual in wanted:
            value = size if isinstance(size, int) else evaluate(size, sizes)
            if value != actual:
                meaning = "" if isinstance(size, int) else f" ({show_size(size)})"
                raise self._fail(parameter, f"must have {what} {axis} equal to {value}{meaning}, got {actual}")
        for name in self._signature.sizes:
            # What no shape tells is the offset of a first element, which callers never have.
            sizes.setdefault(name, 0)

    def _check_aliasing(self, arrays: list[Any]) -> None:
        parameters = self._signature.parameters
        for i in self._written:
            if arrays[i] is None:
                continue
            for j, other in enumerate(arrays):
                if j != i and other is not None and np.may_share_memory(arrays[i], other):
                    other_name = parameters[j].name
                    raise self._fail(parameters[i], f"is written, and shares memory with argument {other_name!r}")
