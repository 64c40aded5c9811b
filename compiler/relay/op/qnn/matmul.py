"""Quantized matrix products: ``qnn.dense``, ``qnn.batch_matmul``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import DTYPE, INT, optional
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.qnn.arithmetic import centred, rank_of
from compiler.relay.op.qnn.legalize import factor_dtype, legalize_layer
from compiler.relay.op.qnn.parameters import REWRITTEN, check_parameter, spread_parameter
from compiler.relay.op.type_relations import broadcast_dims, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, PartialTypes, Types, call_op
from compiler.relay.ty import TensorType

_SUMS_DOC = "Data type of the sums and of the result."
_SCALE_DOC = "Scale of the {}; the result does not depend on it."


class QnnDenseAttrs(Attrs):
    units: int | None = attr_field(optional(INT), "Number of output columns, where the weight has no type.", None)
    out_dtype: str = attr_field(DTYPE, _SUMS_DOC, "int32")


class QnnBatchMatmulAttrs(Attrs):
    out_dtype: str = attr_field(DTYPE, _SUMS_DOC, "int32")


def _dense_relation(types: Types, attrs: QnnDenseAttrs) -> Type:
    """``(…, units)`` of ``out_dtype``."""
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight", 2)
    for name, t in zip(("input_zero_point", "input_scale"), types[2::2], strict=True):
        check_parameter(t, name, data, len(data.dims) - 1)
    for name, t in zip(("kernel_zero_point", "kernel_scale"), types[3::2], strict=True):
        check_parameter(t, name, weight, 0)
    check_same_extent(data.dims[-1], weight.dims[1], "the last axis of data and that of the weight (units, in)")
    if attrs.units is not None:
        check_same_extent(attrs.units, weight.dims[0], "units and the first axis of the weight")
    return TensorType((*data.dims[:-1], weight.dims[0]), attrs.out_dtype)


def _dense_complete(types: PartialTypes, attrs: QnnDenseAttrs) -> Sequence[Type | None]:
    """The weight's type follows from ``units``."""
    data, weight, *parameters = types
    if data is None or weight is not None or attrs.units is None:
        return types
    rows = tensor(data, "data")
    return (rows, TensorType((attrs.units, rows.dims[-1]), rows.dtype), *parameters)


def _canonical_dense(attrs: QnnDenseAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    data, weight, zero, weight_zero = args[:4]
    rank, dtype = rank_of(types[0]), factor_dtype(types[:2], (zero, weight_zero), attrs.out_dtype)
    factors = (centred(data, zero, rank - 1, rank, dtype), centred(weight, weight_zero, 0, 2, dtype))
    return call_op("nn.dense", *factors, **attrs)


def _dense_reference(
    attrs: QnnDenseAttrs, x: Array, w: Array, zero: Array, kernel_zero: Array, *scales: Array
) -> Array:
    data = x.astype("int32") - spread_parameter(zero, x.ndim - 1, x.ndim).astype("int32")
    weight = w.astype("int32") - spread_parameter(kernel_zero, 0, 2).astype("int32")
    result: Array = np.matmul(data, weight.T).astype(attrs.out_dtype)
    return result


dense = register(
    "qnn.dense",
    doc="Multiply rows of integers by the transpose of a weight, both less their zero points.",
    inputs={
        "data": "Rows of integers, ``(…, in)``.",
        "weight": "Integers, ``(units, in)``.",
        "input_zero_point": "Zero point of the data.",
        "kernel_zero_point": "Zero point of the weight, a scalar or a vector with one for each unit.",
        "input_scale": _SCALE_DOC.format("data"),
        "kernel_scale": _SCALE_DOC.format("weight"),
    },
    spelt_out=("out_dtype",),
    attrs=QnnDenseAttrs,
    relation=_dense_relation,
    complete=_dense_complete,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    reference=_dense_reference,
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical_dense, "FTVMQnnLegalize": legalize_layer("nn.dense", lambda _: (-1, 0))},
)


def _batch_relation(types: Types, attrs: QnnBatchMatmulAttrs) -> Type:
    """``(batch, M, N)`` of ``out_dtype``."""
    x, y = tensor(types[0], "x", 3), tensor(types[1], "y", 3)
    for name, t in zip(("x_zero_point", "y_zero_point", "x_scale", "y_scale"), types[2:], strict=True):
        tensor(t, name, 0)
    check_same_extent(x.dims[2], y.dims[2], "the last axes of x and y")
    return TensorType((*broadcast_dims(x.dims[:1], y.dims[:1]), x.dims[1], y.dims[1]), attrs.out_dtype)


def _canonical_batch(attrs: QnnBatchMatmulAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    pairs, dtype = zip(args[:2], args[2:4], strict=True), factor_dtype(types[:2], args[2:4], attrs.out_dtype)
    return call_op("nn.batch_matmul", *(centred(x, zero, 0, 3, dtype) for x, zero in pairs), out_dtype=attrs.out_dtype)


def _batch_reference(
    attrs: QnnBatchMatmulAttrs, x: Array, y: Array, zero: Array, y_zero: Array, *scales: Array
) -> Array:
    a, b = x.astype("int32") - zero.astype("int32"), y.astype("int32") - y_zero.astype("int32")
    result: Array = np.matmul(a, b.transpose(0, 2, 1)).astype(attrs.out_dtype)
    return result


batch_matmul = register(
    "qnn.batch_matmul",
    doc="Multiply matrices of integers by the transposes of others, all less their zero points.",
    inputs={
        "x": "Integers, ``(batch, M, K)``.",
        "y": "Integers, ``(batch, N, K)``.",
        "x_zero_point": "Zero point of ``x``.",
        "y_zero_point": "Zero point of ``y``.",
        "x_scale": _SCALE_DOC.format("first matrices"),
        "y_scale": _SCALE_DOC.format("second matrices"),
    },
    spelt_out=("out_dtype",),
    attrs=QnnBatchMatmulAttrs,
    relation=_batch_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    reference=_batch_reference,
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _canonical_batch},
)
