"""Runs the NumPy reference of operators that have no machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from compiler.ir.error import ArgumentError
from compiler.ir.op import Op
from compiler.runtime.arrays.ndarray import NDArray, name_to_numpy
from compiler.runtime.numpy_types import NumPyArray

Nest = int | list["Nest"]
"""How arrays are arranged in tuples, as the graph's JSON has it: an array is an int, a tuple a list."""
Arrays = NumPyArray | tuple["Arrays", ...]


def reference_call(
    attrs: Mapping[str, str], inputs: Sequence[NDArray], outputs: Sequence[NDArray]
) -> Callable[[], None]:
    """Return what computes ``outputs`` from ``inputs``."""
    op = Op.get(attrs["operator"])
    reference = op.reference
    if reference is None:
        raise ArgumentError(f"{op.name}: this operator can be neither compiled nor computed by NumPy")
    values = op.complete_attrs(msgspec.json.decode(attrs["operator_attrs"]))
    name_to_numpy(values.values())
    arranged = nested(msgspec.json.decode(attrs["nest"]), [a.view() for a in inputs])

    def run() -> None:
        for target, value in zip(outputs, flat(reference(values, *arranged)), strict=True):
            np.copyto(target.view(), value, casting="unsafe")

    return run


def nested(nest: Sequence[Nest], arrays: Sequence[NumPyArray]) -> list[Arrays]:
    """Return arrays arranged in tuples: an int of ``nest`` is an array, a list a tuple."""
    rest = iter(arrays)

    def take(shape: Nest) -> Arrays:
        return tuple(take(s) for s in shape) if isinstance(shape, list) else next(rest)

    return [take(shape) for shape in nest]


def flat(value: Arrays | Sequence[Arrays]) -> list[NumPyArray]:
    """Return the arrays of a value, those of nested tuples in their order."""
    return [a for part in value for a in flat(part)] if isinstance(value, (tuple, list)) else [np.asarray(value)]
