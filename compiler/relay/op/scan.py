"""Running sums and products along an axis: ``cumsum``, ``cumprod``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import OpFunction, axis_of, total
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi import scan as topi


def _relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    dtype = attrs.dtype or data.dtype
    if attrs.axis is None:
        return TensorType((total(data.dims),), dtype)
    axis_of(attrs.axis, len(data.dims))
    return TensorType(data.shape, dtype)


def _reference(run: Callable[..., Any], nothing: int) -> Callable[..., Any]:
    def reference(attrs: Attrs, x: Any) -> Any:
        dtype = attrs.dtype or x.dtype
        flat, axis = (x.reshape(-1), 0) if attrs.axis is None else (x, attrs.axis)
        found = run(flat.astype(dtype), axis=axis, dtype=dtype)
        if not attrs.exclusive or not found.shape[axis]:
            return found
        first = np.full_like(np.take(found, [0], axis), nothing)
        return np.concatenate([first, np.take(found, np.arange(found.shape[axis] - 1), axis)], axis)

    return reference


def _backwards(value: Any, call: Call) -> Any:
    """Return running sums from the end: what each element's gradient is made of."""
    axis = 0 if call.attrs.axis is None else call.attrs.axis
    turned = call_op("reverse", value, axis=axis)
    summed = call_op("cumsum", turned, axis=axis, exclusive=call.attrs.exclusive)
    return call_op("reverse", summed, axis=axis)


def _to_data(value: Any, call: Call) -> list[Expr]:
    data = call.args[0]
    found = call_op("reshape_like", value, data) if call.attrs.axis is None else value
    return [call_op("cast_like", found, data) if call.attrs.dtype else found]


def _sum_gradient(call: Call, grad: Expr) -> list[Expr]:
    return _to_data(_backwards(grad, call), call)


def _prod_gradient(call: Call, grad: Expr) -> list[Expr]:
    """Each element divides out of all products that it is in; none may be zero."""
    parts = call_op("multiply", grad, call)
    data = call.args[0]
    flat = call_op("reshape", data, newshape=(-1,)) if call.attrs.axis is None else data
    flat = call_op("cast_like", flat, parts) if call.attrs.dtype else flat
    return _to_data(call_op("divide", _backwards(parts, call), flat), call)


def _scan(name: str, compute: Callable[..., Any], run: Any, nothing: int, gradient: Any, doc: str) -> OpFunction:
    """Register a running reduction and return what calls it."""
    op = register(
        name,
        doc=doc,
        inputs=("data",),
        attributes={"axis": None, "dtype": "", "exclusive": False},
        relation=_relation,
        pattern=OpPattern.OPAQUE,
        compute=lambda attrs, inputs, out_type: [compute(inputs[0], attrs.axis, attrs.dtype or None, attrs.exclusive)],
        reference=_reference(run, nothing),
        gradient=gradient,
    )

    def build(data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Call:
        return op(data, axis=axis, dtype=dtype or "", exclusive=bool(exclusive))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"{doc}  ``axis`` None means all axes as one; with ``exclusive`` each one itself does not count."
    return build


cumsum = _scan("cumsum", topi.cumsum, np.cumsum, 0, _sum_gradient, "The sum up to each element along an axis.")
cumprod = _scan("cumprod", topi.cumprod, np.cumprod, 1, _prod_gradient, "The product up to each element along an axis.")
