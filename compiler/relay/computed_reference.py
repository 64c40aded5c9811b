"""Evaluates an operator on arrays through its tensor expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError
from compiler.ir.types import Type
from compiler.relay.operator import RelayOp
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.te.definition.operation import placeholder
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.tir.interpreter import interpret
from compiler.topi.utils import get_const_tuple


def computed(op: RelayOp, attrs: Attrs, args: Sequence[npt.NDArray[Any]]) -> Any:
    """Return what an operator without a NumPy reference computes, as a program that declares one defines it."""
    compute = op.get_attr("FTVMCompute") or op.compute
    if compute is None or op.relation is None:
        raise ArgumentError("the operator has neither a NumPy reference nor a definition")
    if not all(isinstance(arg, np.ndarray) for arg in args):
        raise ArgumentError("the operator has no NumPy reference, and its inputs are not all tensors")
    types: tuple[Type, ...] = tuple(TensorType(arg.shape, str(arg.dtype)) for arg in args)
    inputs = [placeholder(arg.shape, str(arg.dtype), f"p{i}") for i, arg in enumerate(args)]
    outputs = compute(attrs, inputs, op.relation(types, attrs))
    shapes: list[Any] = [get_const_tuple(out.shape) for out in outputs]
    results = [np.empty(shape, numpy_dtype(out.dtype)) for shape, out in zip(shapes, outputs, strict=True)]
    interpret(create_prim_func([*inputs, *outputs]), [*args, *results])
    return results[0] if len(results) == 1 else tuple(results)
