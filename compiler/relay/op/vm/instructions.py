"""Shapes and kernel calls of the virtual machine: ``vm.shape_of``, ``vm.reshape_tensor``, ``vm.invoke_tvm_op``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import AttrKind, Attrs, attr_field
from compiler.ir.attrs.kinds import SHAPE, Items
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.types import FuncType, Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.creation import ShapeOfAttrs, shape_compute, shape_relation
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import RelationError, Types
from compiler.relay.ty import TensorType, TupleType
from compiler.topi.arrays import transform as topi

_NO_VALUE = "the results are written to memory that the virtual machine has, which is not a value of a graph"
_NO_GRADIENT = {"gradient": "instructions are made of graphs that have been differentiated"}

_SHAPE_OF = register(
    "vm.shape_of",
    doc="Return the extents of a tensor as a vector, on the host.",
    inputs={"expr": "The tensor whose shape to return."},
    attrs=ShapeOfAttrs,
    spelt_out=("dtype",),
    relation=shape_relation,
    compute=shape_compute,
    reference=lambda attrs, x: np.array(x.shape, attrs.dtype),
    waived=_NO_GRADIENT,
)


@public_function(_SHAPE_OF)
def shape_of(expr: Expr) -> Call:
    """Return the extents of a tensor as a vector of int64, on the host."""
    return _SHAPE_OF(expr, dtype="int64")


class ReshapeTensorAttrs(Attrs):
    newshape: tuple[int | PrimExpr, ...] = attr_field(SHAPE, "The extents that the type of the result has.")


def _reshape_relation(types: Types, attrs: ReshapeTensorAttrs) -> Type:
    """The data in the shape ``newshape``."""
    tensor(types[1], "shape")
    return TensorType(attrs.newshape, tensor(types[0], "data").dtype)


reshape_tensor = register(
    "vm.reshape_tensor",
    doc="Return the elements in their order in another shape; nothing is copied.",
    inputs={"data": "The tensor.", "shape": "The extents of the result, a vector on the host."},
    attrs=ReshapeTensorAttrs,
    relation=_reshape_relation,
    definition=topi.reshape,
    reference=lambda attrs, data, shape: data.reshape(tuple(map(int, shape))),
    waived=_NO_GRADIENT,
)


def _calls_kernel(types: Types, attrs: Attrs) -> Type:
    """Nothing: the results are in the memory of ``outputs``."""
    function, inputs, outputs = types
    if not isinstance(function, FuncType):
        raise RelationError(f"func must be a function, got {function}")
    for t, name in ((inputs, "inputs"), (outputs, "outputs")):
        if not isinstance(t, TupleType):
            raise RelationError(f"{name} must be a tuple of tensors, got {t}")
    return TupleType(())


_INPUTS = {
    "func": "A function of operators, which becomes a kernel.",
    "inputs": "A tuple of what it reads.",
    "outputs": "A tuple of the memory that it writes.",
}

invoke_tvm_op = register(
    "vm.invoke_tvm_op",
    doc="Call a kernel, which writes its results to memory that is given.",
    inputs=_INPUTS,
    relation=_calls_kernel,
    stateful=True,
    waived={"compute": _NO_VALUE, "reference": _NO_VALUE, **_NO_GRADIENT},
)


class _Flags(AttrKind[tuple[bool, ...]]):
    def convert(self, value: object, owner: type[Attrs]) -> tuple[bool, ...]:
        flags = [int(each) for each in value] if isinstance(value, Sequence) else [-1]
        if not set(flags) <= {0, 1}:
            raise ValueError(self.type_name)
        return Items(map(bool, flags))


class ShapeFuncAttrs(Attrs):
    is_input: tuple[bool, ...] = attr_field(
        _Flags("sequence of bool"),
        "For each input whether it is the tensor itself, as its values decide the shape, not its extents.",
    )


_SHAPE_FUNC = register(
    "vm.shape_func",
    doc="Compute the extents of what a kernel returns.",
    inputs=_INPUTS,
    attrs=ShapeFuncAttrs,
    relation=_calls_kernel,
    stateful=True,
    waived={"compute": _NO_VALUE, "reference": _NO_VALUE, **_NO_GRADIENT},
)


@public_function(_SHAPE_FUNC, is_inputs="sequence of bool: Which inputs are tensors, not their extents.")
def shape_func(func: Expr, inputs: Expr, outputs: Expr, is_inputs: Sequence[bool]) -> Call:
    """Compute the extents of what a kernel returns."""
    return _SHAPE_FUNC(func, inputs, outputs, is_input=is_inputs)
