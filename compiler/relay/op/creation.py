"""Tensor creation: ``full``, ``zeros``, ``ones``, ``zeros_like``, ``arange``, ``shape_of``, …"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler import te, tir
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import DTYPE, NUMBER, OPTIONAL_DTYPE, SHAPE, optional
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, const
from compiler.relay.op.common import is_symbolic
from compiler.relay.op.layout_rules import same_layout
from compiler.relay.op.type_relations import identity, same_dtype, tensor
from compiler.relay.op_registry import OpFunction, public_function, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, TensorType
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.te.definition.tensor import Tensor
from compiler.topi import elementwise as topi
from compiler.topi.operands import dims, product
from compiler.topi.tag import Tag

_NOTHING_TO_DIFFERENTIATE = {"gradient": "it has no inputs"}


class InitOpAttrs(Attrs):
    """Attributes of ``zeros`` and ``ones``."""

    shape: tuple[int | PrimExpr, ...] = attr_field(SHAPE, "Shape of the result.")
    dtype: str = attr_field(DTYPE, "Data type of the result.")


class FullAttrs(Attrs):
    shape: tuple[int | PrimExpr, ...] = attr_field(SHAPE, "Shape of the result.", ())
    dtype: str = attr_field(OPTIONAL_DTYPE, "Data type of the result; that of the value if it is empty.", "")


class ArangeAttrs(Attrs):
    """Attributes of ``arange``: what is known of its inputs while compiling."""

    start: int | float | None = attr_field(optional(NUMBER), "First number, if it is a constant.", None)
    stop: int | float | None = attr_field(optional(NUMBER), "Number to stop before, if it is a constant.", None)
    step: int | float | None = attr_field(optional(NUMBER), "Distance of two numbers, if it is a constant.", None)
    dtype: str = attr_field(DTYPE, "Data type of the result.", "float32")


class ShapeOfAttrs(Attrs):
    dtype: str = attr_field(DTYPE, "Data type of the extents.", "int32")


class NdarraySizeAttrs(Attrs):
    dtype: str = attr_field(DTYPE, "Data type of the number.", "int32")


def _full_relation(types: Types, attrs: FullAttrs) -> Type:
    """A tensor of shape ``shape`` and data type ``dtype``."""
    value = tensor(types[0], "fill_value", 0)
    return TensorType(attrs.shape, attrs.dtype or value.dtype)


def _full_compute(attrs: FullAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [topi.full(attrs.shape, attrs.dtype or inputs[0].dtype, inputs[0])]


full = register(
    "full",
    doc="Return a tensor with one value everywhere.",
    inputs={"fill_value": "Scalar to fill the tensor with."},
    attrs=FullAttrs,
    relation=_full_relation,
    pattern=OpPattern.ELEMWISE,
    compute=_full_compute,
    reference=lambda attrs, value: np.full(
        attrs.shape, value, numpy_dtype(attrs.dtype) if attrs.dtype else value.dtype
    ),
    gradient=lambda call, grad: [call_op("sum", grad, axis=None)],
)


def _full_like_relation(types: Types, attrs: Attrs) -> Type:
    """The type of ``data``."""
    tensor(types[1], "fill_value", 0)
    return identity(types, attrs)


full_like = register(
    "full_like",
    doc="Return a tensor with one value everywhere, in the shape and data type of another tensor.",
    inputs={"data": "The tensor whose shape and data type to take.", "fill_value": "Scalar to fill the tensor with."},
    relation=_full_like_relation,
    pattern=OpPattern.ELEMWISE,
    definition=topi.full_like,
    reference=lambda attrs, x, value: np.full_like(x, value),
    gradient=lambda call, grad: [call_op("zeros_like", call.args[0]), call_op("sum", grad, axis=None)],
)


def _register_filled(name: str, value: int) -> OpFunction:
    return register(
        name,
        doc=f"Return a tensor of {name}.",
        inputs={},
        attrs=InitOpAttrs,
        relation=lambda types, attrs: TensorType(attrs.shape, attrs.dtype),
        returns=f"{name.capitalize()} of shape ``shape`` and data type ``dtype``.",
        pattern=OpPattern.ELEMWISE,
        compute=lambda attrs, inputs, out_type: [topi.full(attrs.shape, attrs.dtype, value)],
        reference=lambda attrs: np.full(attrs.shape, value, numpy_dtype(attrs.dtype)),
        waived=_NOTHING_TO_DIFFERENTIATE,
    )


def _register_filled_like(name: str, value: int) -> OpFunction:
    return register(
        f"{name}_like",
        doc=f"Return {name} in the shape and data type of another tensor.",
        inputs={"data": "The tensor whose shape and data type to take."},
        relation=identity,
        pattern=OpPattern.ELEMWISE,
        layout=same_layout,
        compute=lambda attrs, inputs, out_type: [topi.full_like(inputs[0], value)],
        reference=lambda attrs, x: np.full_like(x, value),
        gradient=lambda call, grad: [call_op("zeros_like", call.args[0])],
    )


zeros, ones = _register_filled("zeros", 0), _register_filled("ones", 1)
zeros_like, ones_like = _register_filled_like("zeros", 0), _register_filled_like("ones", 1)


# arange


def _count(attrs: ArangeAttrs) -> int | None:
    """Return how many numbers there are; None if an end is not known while compiling."""
    if attrs.start is None or attrs.stop is None or attrs.step is None:
        return None
    return max(0, math.ceil((float(attrs.stop) - float(attrs.start)) / float(attrs.step)))


def _arange_relation(types: Types, attrs: ArangeAttrs) -> Type:
    """A vector of data type ``dtype``."""
    start, stop, step = (tensor(t, n, 0) for t, n in zip(types, ("start", "stop", "step"), strict=True))
    if same_dtype(start, stop) != attrs.dtype or same_dtype(start, step) != attrs.dtype:
        raise RelationError(
            f"start, stop and step must be of the data type {attrs.dtype}, got {', '.join(map(str, types))}"
        )
    if attrs.step == 0:
        raise RelationError("step must not be 0")
    count = _count(attrs)
    return TensorType((AnyDim() if count is None else count,), attrs.dtype)


def _arange_compute(attrs: ArangeAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    start, _, step = inputs
    shape = tuple(tensor(out_type, "the result").shape)
    return [te.compute(shape, lambda i: start() + step() * i.astype(attrs.dtype), name="arange", tag=Tag.INJECTIVE)]


def _arange_reference(attrs: ArangeAttrs, start: Array, stop: Array, step: Array) -> Array:
    count = max(0, math.ceil((float(stop) - float(start)) / float(step)))
    made: Array = (start + step * np.arange(count).astype(attrs.dtype)).astype(attrs.dtype)
    return made


def _arange_gradient(call: Call, grad: Expr) -> list[Call]:
    """``start + step * i``: the gradient of ``step`` is weighted by ``i``; that of ``stop`` is zero."""
    start, stop, step = call.args
    place = call_op("divide", call_op("subtract", call, start), step)
    weighted = call_op("multiply", grad, place)
    return [call_op("sum", grad, axis=None), call_op("zeros_like", stop), call_op("sum", weighted, axis=None)]


_ARANGE = register(
    "arange",
    doc="Return evenly spaced numbers from a start up to, and without, a stop.",
    inputs={
        "start": "First number; if it is the only argument the number to stop before, and numbers start at 0.",
        "stop": "Number to stop before.",
        "step": "Distance of two numbers; 1 if it is left out.",
    },
    attrs=ArangeAttrs,
    relation=_arange_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_arange_compute,
    reference=_arange_reference,
    gradient=_arange_gradient,
)


# shapes as values


def shape_relation(types: Types, attrs: ShapeOfAttrs) -> Type:
    """A vector with an entry for each dimension, of data type ``dtype``."""
    return TensorType((len(tensor(types[0], "data").shape),), attrs.dtype)


def shape_compute(attrs: ShapeOfAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    extents = dims(inputs[0])

    def element(i: Any) -> Any:
        value: Any = tir.const(0, attrs.dtype)
        for d in range(len(extents) - 1, -1, -1):
            value = tir.Select(i.equal(d), _extent(extents[d], attrs.dtype), value)
        return value

    return [te.compute((len(extents),), element, name="shape_of", tag=Tag.INJECTIVE)]


def _extent(extent: Any, dtype: str) -> Any:
    return extent.astype(dtype) if is_symbolic(extent) else tir.const(extent, dtype)


shape_of = register(
    "shape_of",
    doc="Return the extents of a tensor as a vector.",
    inputs={"data": "The tensor whose shape to return."},
    attrs=ShapeOfAttrs,
    spelt_out=("dtype",),
    relation=shape_relation,
    compute=shape_compute,
    reference=lambda attrs, x: np.array(x.shape, attrs.dtype),
    gradient=lambda call, grad: [call_op("zeros_like", call.args[0])],
)


def _size_relation(types: Types, attrs: NdarraySizeAttrs) -> Type:
    """A scalar of data type ``dtype``."""
    tensor(types[0], "data")
    return TensorType((), attrs.dtype)


ndarray_size = register(
    "ndarray_size",
    doc="Return the number of elements of a tensor as a scalar.",
    inputs={"data": "The tensor whose elements to count."},
    attrs=NdarraySizeAttrs,
    relation=_size_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        te.compute((), lambda: _extent(product(dims(inputs[0])), attrs.dtype), name="ndarray_size", tag=Tag.INJECTIVE)
    ],
    reference=lambda attrs, x: np.array(x.size, attrs.dtype),
    gradient=lambda call, grad: [call_op("zeros_like", call.args[0])],
)


Number = RelayExpr | int | float


@public_function(_ARANGE)
def arange(start: Number, stop: Number | None = None, step: Number | None = None, dtype: str = "float32") -> Call:
    """Return evenly spaced numbers from a start up to, and without, a stop."""
    if stop is None:
        start, stop = 0, start
    exprs = [v if isinstance(v, RelayExpr) else const(v, dtype) for v in (start, stop, 1 if step is None else step)]
    for e in exprs:
        if isinstance(e, Constant) and e.value.size != 1:
            raise ArgumentError(f"arange: start, stop and step must be scalars, got {show(e)}")
    constants = [e.value.item() if isinstance(e, Constant) else None for e in exprs]
    return _ARANGE.op(*exprs, start=constants[0], stop=constants[1], step=constants[2], dtype=dtype)
