"""Cumulative sums and products: ``cumsum``, ``cumprod``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLAG, INT, OPTIONAL_DTYPE, optional
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import normalize_axis, num_elements
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, Gradient, Types, call_op
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi import scan as topi


class ScanopAttrs(Attrs):
    """Attributes of ``cumsum`` and ``cumprod``."""

    axis: int | None = attr_field(optional(INT), "Axis to accumulate along; the flattened data if it is None.", None)
    dtype: str = attr_field(OPTIONAL_DTYPE, "Data type of the result; that of the data if it is empty.", None)
    exclusive: bool = attr_field(FLAG, "Whether each element itself is left out.", None)


def _relation(types: Types, attrs: ScanopAttrs) -> Type:
    """The shape of the data, flattened if ``axis`` is None, of ``dtype``."""
    data = tensor(types[0], "data")
    dtype = attrs.dtype or data.dtype
    if attrs.axis is None:
        return TensorType((num_elements(data.dims),), dtype)
    normalize_axis(attrs.axis, len(data.dims))
    return TensorType(data.shape, dtype)


def _reference(run: Callable[..., Array], nothing: int, attrs: ScanopAttrs, x: Array) -> Array:
    dtype = attrs.dtype or x.dtype
    flat, axis = (x.reshape(-1), 0) if attrs.axis is None else (x, attrs.axis)
    result = run(flat.astype(dtype), axis=axis, dtype=dtype)
    if not attrs.exclusive or not result.shape[axis]:
        return result
    first = np.full_like(np.take(result, [0], axis), nothing)
    return np.concatenate([first, np.take(result, np.arange(result.shape[axis] - 1), axis)], axis)


def _backwards(value: RelayExpr, call: Call) -> Call:
    """Return running sums from the end: what each element's gradient is made of."""
    axis = 0 if ScanopAttrs.of(call).axis is None else ScanopAttrs.of(call).axis
    turned = call_op("reverse", value, axis=axis)
    summed = call_op("cumsum", turned, axis=axis, exclusive=ScanopAttrs.of(call).exclusive)
    return call_op("reverse", summed, axis=axis)


def _to_data(value: RelayExpr, call: Call) -> list[RelayExpr]:
    data = call.args[0]
    shaped = call_op("reshape_like", value, data) if ScanopAttrs.of(call).axis is None else value
    return [call_op("cast_like", shaped, data) if ScanopAttrs.of(call).dtype else shaped]


def _sum_gradient(call: Call, grad: Expr) -> list[RelayExpr]:
    return _to_data(_backwards(grad, call), call)


def _prod_gradient(call: Call, grad: Expr) -> list[RelayExpr]:
    """Each element divides out of all products that it is in; none may be zero."""
    parts = call_op("multiply", grad, call)
    data = call.args[0]
    flat = call_op("reshape", data, newshape=(-1,)) if ScanopAttrs.of(call).axis is None else data
    flat = call_op("cast_like", flat, parts) if ScanopAttrs.of(call).dtype else flat
    return _to_data(call_op("divide", _backwards(parts, call), flat), call)


def _scan(
    name: str, compute: Callable[..., Tensor], run: Callable[..., Array], nothing: int, gradient: Gradient, doc: str
) -> OpFunction:
    """Register a running reduction."""
    return register(
        name,
        doc=doc,
        inputs={"data": "The tensor to accumulate."},
        attrs=ScanopAttrs,
        relation=_relation,
        compute=lambda attrs, inputs, out_type: [compute(inputs[0], attrs.axis, attrs.dtype or None, attrs.exclusive)],
        reference=partial(_reference, run, nothing),
        gradient=gradient,
    )


cumsum = _scan("cumsum", topi.cumsum, np.cumsum, 0, _sum_gradient, "Return the sum up to each element along an axis.")
cumprod = _scan(
    "cumprod", topi.cumprod, np.cumprod, 1, _prod_gradient, "Return the product up to each element along an axis."
)
