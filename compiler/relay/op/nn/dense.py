"""Products of matrices: ``nn.dense``, ``nn.contrib_dense_pack``, ``nn.matmul``, ``nn.batch_matmul``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr
from compiler.relay.op.common import agree
from compiler.relay.op.relations import broadcast_dims, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi.layout import layout
from compiler.topi.nn import matmul as topi
from compiler.topi.schedules.x86.matmul import schedule_matmul

_PANEL = 16
"""Columns of a weight that stand together."""


def _at_least(t: TensorType, rank: int, what: str) -> TensorType:
    if len(t.dims) < rank:
        raise RelationError(f"{what} must have at least {rank} dimensions, got {t}")
    return t


def _out_dtype(attrs: Attrs, data: TensorType) -> str:
    return str(attrs.out_dtype or data.dtype)


# dense


def _dense_relation(types: Types, attrs: Attrs) -> Type:
    data, weight = _at_least(tensor(types[0], "data"), 1, "data"), tensor(types[1], "weight", 2)
    units, depth = weight.dims
    agree(data.dims[-1], depth, "the last axis of data and that of the weight (units, in)")
    if attrs.units is not None:
        agree(attrs.units, units, "units and the first axis of the weight")
    return TensorType((*data.dims[:-1], units), _out_dtype(attrs, data))


def _dense_complete(types: tuple[Any, ...], attrs: Attrs) -> Sequence[Type | None]:
    data, weight = types
    if data is None or weight is not None or attrs.units is None:
        return types
    return (data, TensorType((attrs.units, tensor(data, "data").dims[-1]), data.dtype))


def _dense_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.dense(inputs[0], inputs[1], attrs.out_dtype or inputs[0].dtype)]


def _dense_reference(attrs: Attrs, data: Any, weight: Any) -> Any:
    dtype = attrs.out_dtype or data.dtype
    return np.matmul(data.astype(dtype), weight.astype(dtype).T)


def _dense_gradient(call: Call, grad: Expr) -> list[Expr]:
    data, weight = call.args
    units, depth = weight.checked_type.dims
    rows = call_op("reshape", grad, newshape=(-1, units))
    seen = call_op("reshape", data, newshape=(-1, depth))
    return [call_op("nn.matmul", grad, weight), call_op("nn.matmul", rows, seen, transpose_a=True)]


_DENSE = register(
    "nn.dense",
    doc="Rows times the transpose of a weight (units, in).",
    inputs=("data", "weight"),
    attributes={"units": None, "out_dtype": ""},
    spelt_out=("units",),
    relation=_dense_relation,
    complete=_dense_complete,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_dense_compute,
    schedule=schedule_matmul,
    reference=_dense_reference,
    gradient=_dense_gradient,
    layout=lambda call, inputs, types: (["NC", "NK"], ["NC"], call.attrs),
)


# dense, packed


def _pack_relation(types: Types, attrs: Attrs) -> Type:
    data, weight = tensor(types[0], "data", 2), tensor(types[1], "weight")
    try:
        w = layout(attrs.weight_layout).extents(weight.dims)
    except ArgumentError as exc:
        raise RelationError(f"weight: {exc}") from None
    agree(data.dims[-1], w["K"], "the last axis of data and the weight along K")
    if attrs.units is not None:
        agree(attrs.units, w["N"], "units and the weight along N")
    return TensorType((data.dims[0], w["N"]), _out_dtype(attrs, data))


def _pack_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.dense_pack(inputs[0], inputs[1], attrs.out_dtype or inputs[0].dtype)]


def _pack_reference(attrs: Attrs, data: Any, weight: Any) -> Any:
    return _dense_reference(attrs, data, layout(attrs.weight_layout).to_plain(weight, "NK"))


_DENSE_PACK = register(
    "nn.contrib_dense_pack",
    doc="Rows times a weight whose units stand in panels, e.g. of layout NK16n.",
    inputs=("data", "weight"),
    attributes={"weight_layout": "NK16n", "units": None, "out_dtype": ""},
    relation=_pack_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_pack_compute,
    schedule=schedule_matmul,
    reference=_pack_reference,
    layout=lambda call, inputs, types: (["NC", call.attrs.weight_layout], ["NC"], call.attrs),
    waived={"gradient": "made by the layout pass, after differentiation"},
)


def _pack_dense(call: Call, types: Sequence[Any], target: Any) -> Call | None:
    """Return a product whose weight stands in panels, for a weight that is known: it is brought there only once."""
    data, weight = types[:2]
    rows, units = data.dims[0], weight.dims[0]
    if target.kind != "llvm" or len(data.dims) != 2 or not isinstance(call.args[1], Constant):
        return None
    if (isinstance(rows, int) and rows < topi.FEW_ROWS) or units % _PANEL or data.dtype != "float32":
        return None
    return _DENSE_PACK.op(*call.args, **{**call.attrs, "weight_layout": f"NK{_PANEL}n"})


_DENSE.op.alter_layout = _pack_dense


# matrices


def _transposed(dims: Sequence[Any], flag: bool) -> tuple[Any, ...]:
    return (*dims[:-2], dims[-1], dims[-2]) if flag else tuple(dims)


def _matmul_relation(types: Types, attrs: Attrs) -> Type:
    a, b = _at_least(tensor(types[0], "tensor_a"), 2, "tensor_a"), tensor(types[1], "tensor_b", 2)
    x, y = _transposed(a.dims, attrs.transpose_a), _transposed(b.dims, attrs.transpose_b)
    agree(x[-1], y[0], f"the inner extents of {a} and {b}")
    if attrs.units is not None:
        agree(attrs.units, y[1], "units and the columns of tensor_b")
    return TensorType((*x[:-1], y[1]), _out_dtype(attrs, a))


def _matmul_complete(types: tuple[Any, ...], attrs: Attrs) -> Sequence[Type | None]:
    a, b = types
    if a is None or b is not None or attrs.units is None:
        return types
    depth = _transposed(tensor(a, "tensor_a").dims, attrs.transpose_a)[-1]
    return (a, TensorType(_transposed((depth, attrs.units), attrs.transpose_b), a.dtype))


def _matmul_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    a, b = inputs
    return [topi.matmul(a, b, attrs.transpose_a, attrs.transpose_b, attrs.out_dtype or a.dtype)]


def _matmul_reference(attrs: Attrs, a: Any, b: Any) -> Any:
    dtype = attrs.out_dtype or a.dtype
    left = np.swapaxes(a, -1, -2) if attrs.transpose_a else a
    right = np.swapaxes(b, -1, -2) if attrs.transpose_b else b
    return np.matmul(left.astype(dtype), right.astype(dtype))


def product_gradient(call: Call, grad: Expr, name: str) -> list[Expr]:
    """Gradients of both factors of ``op(a) @ op(b)``, for either being transposed."""
    a, b = call.args
    ta, tb = call.attrs.transpose_a, call.attrs.transpose_b

    def product(x: RelayExpr, y: RelayExpr, tx: bool, ty: bool) -> Expr:
        return call_op(name, x, y, transpose_a=tx, transpose_b=ty)

    to_a = product(b, grad, tb, True) if ta else product(grad, b, False, not tb)
    to_b = product(grad, a, True, ta) if tb else product(a, grad, not ta, False)
    return [to_a, to_b]


def _matmul_gradient(call: Call, grad: Expr) -> list[Expr]:
    if len(call.args[0].checked_type.dims) > 2:
        raise ArgumentError("gradient of nn.matmul: tensor_a must be a matrix")
    return product_gradient(call, grad, "nn.matmul")


_MATMUL = register(
    "nn.matmul",
    doc="Product of two matrices, either of them transposed.",
    inputs=("tensor_a", "tensor_b"),
    attributes={"units": None, "out_dtype": "", "transpose_a": False, "transpose_b": False},
    spelt_out=("units",),
    relation=_matmul_relation,
    complete=_matmul_complete,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_matmul_compute,
    schedule=schedule_matmul,
    reference=_matmul_reference,
    gradient=_matmul_gradient,
)


def _batch_relation(types: Types, attrs: Attrs) -> Type:
    a, b = tensor(types[0], "tensor_a", 3), tensor(types[1], "tensor_b", 3)
    x, y = _transposed(a.dims, attrs.transpose_a), _transposed(b.dims, attrs.transpose_b)
    agree(x[2], y[1], f"the inner extents of {a} and {b}")
    (batch,) = broadcast_dims(x[:1], y[:1])
    return TensorType((batch, x[1], y[2]), _out_dtype(attrs, a))


def _batch_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    a, b = inputs
    return [topi.batch_matmul(a, b, attrs.transpose_a, attrs.transpose_b, attrs.out_dtype or a.dtype)]


def _batch_gradient(call: Call, grad: Expr) -> list[Expr]:
    found = product_gradient(call, grad, "nn.batch_matmul")
    return [call_op("collapse_sum_like", g, x) for g, x in zip(found, call.args, strict=True)]


_BATCH_MATMUL = register(
    "nn.batch_matmul",
    doc="Products of matrices, batch by batch; a batch of one is used for all.",
    inputs=("tensor_a", "tensor_b"),
    attributes={"out_dtype": "", "transpose_a": False, "transpose_b": True},
    spelt_out=("transpose_b",),
    relation=_batch_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_batch_compute,
    schedule=schedule_matmul,
    reference=_matmul_reference,
    gradient=_batch_gradient,
)


def dense(data: Expr, weight: Expr, units: int | None = None, out_dtype: str = "") -> Call:
    """Return ``data`` ``(…, in)`` times the transpose of ``weight`` ``(units, in)``."""
    return _DENSE(data, weight, units=units, out_dtype=out_dtype)


def contrib_dense_pack(
    data: Expr, weight: Expr, weight_layout: str = "NK16n", units: int | None = None, out_dtype: str = ""
) -> Call:
    """Return what :func:`dense` does for a weight in panels, such as ``(units / 16, in, 16)`` in ``NK16n``."""
    return _DENSE_PACK(data, weight, weight_layout=weight_layout, units=units, out_dtype=out_dtype)


def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: int | None = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Call:
    """Return ``tensor_a @ tensor_b``, either of them transposed."""
    flags = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
    return _MATMUL(tensor_a, tensor_b, units=units, out_dtype=out_dtype, **flags)


def batch_matmul(
    tensor_a: Expr, tensor_b: Expr, out_dtype: str = "", transpose_a: bool = False, transpose_b: bool = True
) -> Call:
    """Return the products of ``tensor_a`` ``(B, M, K)`` and ``tensor_b`` ``(B, N, K)``, either of them transposed."""
    flags = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
    return _BATCH_MATMUL(tensor_a, tensor_b, out_dtype=out_dtype, **flags)
