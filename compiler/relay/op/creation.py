"""New tensors: ``full``, ``zeros``, ``ones``, those in the shape of another one, ``arange``, and shapes as values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler import te, tir
from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, const
from compiler.relay.op.common import NOT_SMOOTH, shape_of_attr, symbolic
from compiler.relay.op.relations import identity, same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, TensorType
from compiler.topi import elementwise as topi
from compiler.topi.tag import Tag
from compiler.topi.util import dims, product

_NOTHING_TO_DIFFERENTIATE = {"gradient": "it has no inputs"}


def _full_relation(types: Types, attrs: Attrs) -> Type:
    value = tensor(types[0], "fill_value", 0)
    return TensorType(attrs.shape, attrs.dtype or value.dtype)


def _full_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.full(attrs.shape, out_type.dtype, inputs[0])]


_FULL = register(
    "full",
    doc="One value everywhere.",
    inputs=("fill_value",),
    attributes={"shape": REQUIRED, "dtype": ""},
    relation=_full_relation,
    pattern=OpPattern.ELEMWISE,
    compute=_full_compute,
    reference=lambda attrs, value: np.full(attrs.shape, value, attrs.dtype or value.dtype),
    gradient=lambda call, grad: [call_op("sum", grad, axis=None)],
)


def full(fill_value: Expr, shape: Any = (), dtype: str = "") -> Call:
    """Return a tensor of a ``shape`` with one value, a scalar expression, everywhere."""
    if isinstance(shape, Constant):
        shape = shape.value.reshape(-1).tolist()
    if isinstance(shape, Expr):
        return call_op("dyn.full", fill_value, shape, dtype=dtype)
    return _FULL(fill_value, shape=shape_of_attr(shape, "shape"), dtype=dtype)


_FULL_LIKE = register(
    "full_like",
    doc="One value everywhere, in the shape and data type of another tensor.",
    inputs=("data", "fill_value"),
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    compute=lambda attrs, inputs, out_type: [topi.full_like(*inputs)],
    reference=lambda attrs, x, value: np.full_like(x, value),
    gradient=lambda call, grad: [call_op("zeros_like", call.args[0]), call_op("sum", grad, axis=None)],
)


def full_like(data: Expr, fill_value: Expr) -> Call:
    """Return one value everywhere, in the shape and data type of ``data``."""
    return _FULL_LIKE(data, fill_value)


def _filled(name: str, value: int) -> tuple[Any, Any]:
    """Register ``zeros`` or ``ones``, and the same in the shape of another tensor."""
    plain = register(
        name,
        doc=f"{name.capitalize()} in a shape.",
        inputs=(),
        attributes={"shape": REQUIRED, "dtype": REQUIRED},
        relation=lambda types, attrs: TensorType(attrs.shape, attrs.dtype),
        pattern=OpPattern.ELEMWISE,
        compute=lambda attrs, inputs, out_type: [topi.full(attrs.shape, attrs.dtype, value)],
        reference=lambda attrs: np.full(attrs.shape, value, attrs.dtype),
        waived=_NOTHING_TO_DIFFERENTIATE,
    )
    like = register(
        f"{name}_like",
        doc=f"{name.capitalize()} in the shape and data type of another tensor.",
        inputs=("data",),
        relation=identity,
        pattern=OpPattern.ELEMWISE,
        compute=lambda attrs, inputs, out_type: [topi.full_like(inputs[0], value)],
        reference=lambda attrs, x: np.full_like(x, value),
        gradient=lambda call, grad: [call_op("zeros_like", call.args[0])],
    )
    return plain, like


_ZEROS, _ZEROS_LIKE = _filled("zeros", 0)
_ONES, _ONES_LIKE = _filled("ones", 1)


def _of_shape(op: Any, value: int, shape: Any, dtype: str) -> Call:
    if isinstance(shape, Constant):
        shape = shape.value.reshape(-1).tolist()
    if isinstance(shape, Expr):
        return call_op("dyn.full", const(value, dtype), shape, dtype=dtype)
    found: Call = op(shape=shape_of_attr(shape, "shape"), dtype=dtype)
    return found


def zeros(shape: Any, dtype: str) -> Call:
    """Return zeros in a shape."""
    return _of_shape(_ZEROS, 0, shape, dtype)


def ones(shape: Any, dtype: str) -> Call:
    """Return ones in a shape."""
    return _of_shape(_ONES, 1, shape, dtype)


def zeros_like(data: Expr) -> Call:
    """Return zeros in the shape and data type of ``data``."""
    return _ZEROS_LIKE(data)  # type: ignore[no-any-return]


def ones_like(data: Expr) -> Call:
    """Return ones in the shape and data type of ``data``."""
    return _ONES_LIKE(data)  # type: ignore[no-any-return]


# arange


def _count(attrs: Attrs) -> int | None:
    """Return how many numbers there are; None if an end is not known while compiling."""
    if None in (attrs.start, attrs.stop, attrs.step):
        return None
    return max(0, math.ceil((float(attrs.stop) - float(attrs.start)) / float(attrs.step)))


def _arange_relation(types: Types, attrs: Attrs) -> Type:
    start, stop, step = (tensor(t, n, 0) for t, n in zip(types, ("start", "stop", "step"), strict=True))
    if same_dtype(start, stop) != attrs.dtype or same_dtype(start, step) != attrs.dtype:
        raise RelationError(
            f"start, stop and step must be of the data type {attrs.dtype}, got {', '.join(map(str, types))}"
        )
    count = _count(attrs)
    return TensorType((AnyDim() if count is None else count,), attrs.dtype)


def _arange_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    start, _, step = inputs
    shape = tuple(out_type.shape)
    return [te.compute(shape, lambda i: start() + step() * i.astype(attrs.dtype), name="arange", tag=Tag.INJECTIVE)]


def _arange_reference(attrs: Attrs, start: Any, stop: Any, step: Any) -> Any:
    count = max(0, math.ceil((float(stop) - float(start)) / float(step)))
    return (start + step * np.arange(count).astype(attrs.dtype)).astype(attrs.dtype)


_ARANGE = register(
    "arange",
    doc="Numbers from start up to, and without, stop in steps.",
    inputs=("start", "stop", "step"),
    attributes={"start": None, "stop": None, "step": None, "dtype": "float32"},
    relation=_arange_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_arange_compute,
    reference=_arange_reference,
    waived=NOT_SMOOTH,
)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> Call:
    """Return ``start, start + step, …`` up to, and without, ``stop``.

    Parameters
    ----------
    start : Expr or number
        The only argument is where to stop; then it starts from 0.
    step : Expr or number, optional
        1 when left out.
    """
    if stop is None:
        start, stop = 0, start
    values = [start, stop, 1 if step is None else step]
    exprs = [v if isinstance(v, Expr) else const(v, dtype) for v in values]
    known = [e.value.item() if isinstance(e, Constant) else None for e in exprs]
    return _ARANGE.op(*exprs, start=known[0], stop=known[1], step=known[2], dtype=dtype)


# shapes as values


def _shape_relation(types: Types, attrs: Attrs) -> Type:
    return TensorType((len(tensor(types[0], "data").shape),), attrs.dtype)


def _shape_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    extents = dims(inputs[0])

    def element(i: Any) -> Any:
        value: Any = tir.const(0, attrs.dtype)
        for d in range(len(extents) - 1, -1, -1):
            value = tir.Select(i.equal(d), _extent(extents[d], attrs.dtype), value)
        return value

    return [te.compute((len(extents),), element, name="shape_of", tag=Tag.INJECTIVE)]


def _extent(extent: Any, dtype: str) -> Any:
    return extent.astype(dtype) if symbolic(extent) else tir.const(extent, dtype)


_SHAPE_OF = register(
    "shape_of",
    doc="The extents of a tensor as a vector.",
    inputs=("data",),
    attributes={"dtype": "int32"},
    spelt_out=("dtype",),
    relation=_shape_relation,
    pattern=OpPattern.OPAQUE,
    compute=_shape_compute,
    reference=lambda attrs, x: np.array(x.shape, attrs.dtype),
    gradient=lambda call, grad: [call_op("zeros_like", call.args[0])],
)


def shape_of(data: Expr, dtype: str = "int32") -> Call:
    """Return the extents of ``data`` as a vector."""
    return _SHAPE_OF(data, dtype=dtype)


def _size_relation(types: Types, attrs: Attrs) -> Type:
    tensor(types[0], "data")
    return TensorType((), attrs.dtype)


_NDARRAY_SIZE = register(
    "ndarray_size",
    doc="The number of elements.",
    inputs=("data",),
    attributes={"dtype": "int32"},
    relation=_size_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        te.compute((), lambda: _extent(product(dims(inputs[0])), attrs.dtype), name="ndarray_size", tag=Tag.INJECTIVE)
    ],
    reference=lambda attrs, x: np.array(x.size, attrs.dtype),
    gradient=lambda call, grad: [call_op("zeros_like", call.args[0])],
)


def ndarray_size(data: Expr, dtype: str = "int32") -> Call:
    """Return the number of elements of ``data`` as a scalar."""
    return _NDARRAY_SIZE(data, dtype=dtype)
