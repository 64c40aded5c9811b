"""Matrix products: ``nn.dense``, packed or by fewer products, ``nn.matmul``, ``nn.batch_matmul``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.arith.strassen import PRODUCTS, factors
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, INT, OPTIONAL_DTYPE, STRING, optional
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.accumulation import HALF_TYPES
from compiler.relay.expr import Call, Constant, Expr, const
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.dense_alter_op import PANEL, pack_dense
from compiler.relay.op.type_relations import broadcast_dims, tensor
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import (
    Array,
    InferCorrectLayoutOutput,
    InLayouts,
    OpPattern,
    PartialTypes,
    RelationError,
    Types,
    call_op,
)
from compiler.relay.ty import Dim, TensorType
from compiler.target.target import Target
from compiler.tir.layout.data_layout import Layout, layout
from compiler.topi.nn.matmul import batch_matmul as topi_batch_matmul
from compiler.topi.nn.matmul import dense as topi_dense
from compiler.topi.nn.matmul import dense_pack as topi_dense_pack
from compiler.topi.nn.matmul import matmul as topi_matmul
from compiler.topi.nn.product_sums import has_pair_products, products_per_step
from compiler.topi.nn.strassen import dense_strassen
from compiler.topi.schedules.kit import tile_lanes
from compiler.topi.schedules.x86.matmul import schedule_matmul
from compiler.topi.schedules.x86.strassen import schedule_strassen

_FLOATS = ("float32", *HALF_TYPES)
_FILLED_UP = 12
"""Units from which on the last panel of a weight may be filled up with zeros."""
_OUTER_AXES = "ABDEFGHIJKLM"
_UNITS = optional(INT)
_UNITS_DOC = "Number of output columns, where the weight has no type."
_DTYPE_DOC = "Data type of the sums and of the result; that of the data if it is empty."


class DenseAttrs(Attrs):
    units: int | None = attr_field(_UNITS, _UNITS_DOC, None)
    out_dtype: str = attr_field(OPTIONAL_DTYPE, _DTYPE_DOC, "")


class DensePackAttrs(Attrs):
    weight_layout: str = attr_field(STRING, "Layout of the weight, such as ``NC16n``.", "NC16n")
    units: int | None = attr_field(_UNITS, _UNITS_DOC, None)
    out_dtype: str = attr_field(OPTIONAL_DTYPE, _DTYPE_DOC, "")


class MatmulAttrs(Attrs):
    units: int | None = attr_field(_UNITS, _UNITS_DOC, None)
    out_dtype: str = attr_field(OPTIONAL_DTYPE, _DTYPE_DOC, "")
    transpose_a: bool = attr_field(BOOL, "Whether the first matrix is transposed.", False)
    transpose_b: bool = attr_field(BOOL, "Whether the second matrix is transposed.", False)


class BatchMatmulAttrs(Attrs):
    UNWRITTEN = {"transpose_b": False}

    out_dtype: str = attr_field(OPTIONAL_DTYPE, _DTYPE_DOC, "")
    transpose_a: bool = attr_field(BOOL, "Whether the first matrices are transposed.", False)
    transpose_b: bool = attr_field(BOOL, "Whether the second matrices are transposed.", True)


def _at_least(t: TensorType, rank: int, what: str) -> TensorType:
    if len(t.dims) < rank:
        raise RelationError(f"{what} must have at least {rank} dimensions, got {t}")
    return t


def _out_dtype(attrs: DenseAttrs | DensePackAttrs | MatmulAttrs | BatchMatmulAttrs, data: TensorType) -> str:
    return str(attrs.out_dtype or data.dtype)


# dense


def _dense_relation(types: Types, attrs: DenseAttrs) -> Type:
    """``(…, units)``, of data type ``out_dtype``."""
    data, weight = _at_least(tensor(types[0], "data"), 1, "data"), tensor(types[1], "weight", 2)
    units, depth = weight.dims
    check_same_extent(data.dims[-1], depth, "the last axis of data and that of the weight (units, in)")
    if attrs.units is not None:
        check_same_extent(attrs.units, units, "units and the first axis of the weight")
    return TensorType((*data.dims[:-1], units), _out_dtype(attrs, data))


def _dense_complete(types: PartialTypes, attrs: DenseAttrs) -> Sequence[Type | None]:
    data, weight = types
    if data is None or weight is not None or attrs.units is None:
        return types
    rows = tensor(data, "data")
    return (rows, TensorType((attrs.units, rows.dims[-1]), rows.dtype))


def _dense_reference(attrs: DenseAttrs | DensePackAttrs, data: Array, weight: Array) -> Array:
    dtype = attrs.out_dtype or data.dtype
    result: Array = np.matmul(data.astype(dtype), weight.astype(dtype).T).astype(dtype)
    return result


def _dense_gradient(call: Call, grad: Expr) -> list[Expr]:
    data, weight = call.args
    units, depth = weight.checked_type.dims
    rows = call_op("reshape", grad, newshape=(-1, units))
    seen = call_op("reshape", data, newshape=(-1, depth))
    columns = call_op("nn.dense", grad, call_op("transpose", weight), units=depth)
    return [columns, call_op("nn.dense", call_op("transpose", rows), call_op("transpose", seen), units=depth)]


def _pack_dense(call: Call, types: Sequence[TensorType], target: Target) -> Call | None:
    """Return a product whose weight stands in panels, for a weight that is known: it is brought there only once.

    A single row reads each element of the weight once, in whatever order.
    """
    data, weight = types[:2]
    if target.kind != "llvm" or not isinstance(call.args[1], Constant):
        return None
    out_dtype, units = call.attrs.get_str("out_dtype"), weight.concrete_shape[0]
    group = products_per_step(data.dims[-1], (data.dtype, weight.dtype), out_dtype)
    if units % PANEL and (group > 1 or units < _FILLED_UP):
        return None
    if group == 1 and (data.dtype not in _FLOATS or all(d == 1 for d in data.dims[:-1])):
        return None
    lanes = tile_lanes(target, "float16")
    is_wide = data.dtype == (out_dtype or data.dtype) == "float16" and units % lanes == 0
    width = max(lanes, PANEL) if is_wide else PANEL
    attrs, (rows, known) = call.attrs, call.args
    if units % PANEL:
        attrs = attrs.with_values(units=units)
        known = call_op("nn.pad", known, const(0, weight.dtype), pad_width=((0, -units % PANEL), (0, 0)))
    return pack_dense(attrs, (rows, known), out_dtype, group if group != 2 or has_pair_products(target) else 1, width)


def _dense_layout(
    attrs: DenseAttrs, new_in: InLayouts | None, old_in: InLayouts, types: Types
) -> InferCorrectLayoutOutput:
    return InferCorrectLayoutOutput([_of_rows(types), layout("NC")], [_of_rows(types)], attrs)


def _of_rows(types: Types) -> Layout:
    """Return the layout of data, ``NC`` after a letter for each further axis."""
    return layout(_OUTER_AXES[: max(len(tensor(types[0], "data").dims) - 2, 0)] + "NC")


dense = register(
    "nn.dense",
    doc="Multiply rows by the transpose of a weight.",
    inputs={"data": "Rows, ``(…, in)``.", "weight": "``(units, in)``."},
    attrs=DenseAttrs,
    spelt_out=("units",),
    relation=_dense_relation,
    complete=_dense_complete,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    definition=topi_dense,
    schedule=schedule_matmul,
    reference=_dense_reference,
    gradient=_dense_gradient,
    alter_layout=_pack_dense,
    layout=_dense_layout,
)


# dense, packed


def _pack_relation(types: Types, attrs: DensePackAttrs) -> Type:
    """``(…, units)``, of data type ``out_dtype``."""
    data, weight = _at_least(tensor(types[0], "data"), 2, "data"), tensor(types[1], "weight")
    try:
        w = layout(attrs.weight_layout).extents(weight.dims)
    except ArgumentError as exc:
        raise RelationError(f"weight: {exc}") from None
    depth = "K" if "K" in w else "C"
    check_same_extent(data.dims[-1], w[depth], f"the last axis of data and the weight along {depth}")
    units = w["N"] if attrs.units is None else attrs.units
    if attrs.units is not None and not _ends_in_last_panel(attrs, w["N"]):
        check_same_extent(units, w["N"], "units and the weight along N")
    return TensorType((*data.dims[:-1], units), _out_dtype(attrs, data))


def _ends_in_last_panel(attrs: DensePackAttrs, padded: Dim) -> bool:
    """Return whether ``units`` are as many as a weight has whose last panel is filled up."""
    block = layout(attrs.weight_layout).block("N")
    return isinstance(padded, int) and attrs.units is not None and -(-attrs.units // block) * block == padded


def _pack_reference(attrs: DensePackAttrs, data: Array, weight: Array) -> Array:
    plain = layout(attrs.weight_layout).to_plain(weight, "NK" if "K" in attrs.weight_layout else "NC")
    return _dense_reference(attrs, data, plain[: attrs.units])


def _pack_layout(
    attrs: DensePackAttrs, new_in: InLayouts | None, old_in: InLayouts, types: Types
) -> InferCorrectLayoutOutput:
    """The weight stands in the panels that the attributes name."""
    return InferCorrectLayoutOutput([_of_rows(types), layout(attrs.weight_layout)], [_of_rows(types)], attrs)


contrib_dense_pack = register(
    "nn.contrib_dense_pack",
    doc="Multiply rows by a weight whose units are in panels.",
    inputs={"data": "Rows, ``(…, in)``.", "weight": "The weight in panels, such as ``(units / 16, in, 16)``."},
    attrs=DensePackAttrs,
    relation=_pack_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    definition=topi_dense_pack,
    schedule=schedule_matmul,
    reference=_pack_reference,
    layout=_pack_layout,
    waived={"gradient": "made by the layout pass, after differentiation"},
)


# dense, by fewer products


def _strassen_relation(types: Types, attrs: Attrs) -> Type:
    """``(1, …, M, N)``."""
    data, weight = _at_least(tensor(types[0], "data"), 2, "data"), tensor(types[1], "weight", 4)
    times = next((n for n in (1, 2) if weight.dims[0] == PRODUCTS**n), None)
    if times is None or any(d != 1 for d in data.dims[:-2]):
        raise RelationError(f"there must be one matrix, and {PRODUCTS} or {PRODUCTS**2} sums, got {data} and {weight}")
    _, panels, depth, width = weight.concrete_shape
    check_same_extent(data.dims[-1], depth << times, "the last axis of data and the weight's sums")
    if data.concrete_shape[-2] % 2**times:
        raise RelationError(f"the rows of data must be a multiple of {2**times}, got {data}")
    return TensorType((*data.dims[:-1], panels * width << times), data.dtype)


def _strassen_reference(attrs: Attrs, data: Array, weight: Array) -> Array:
    """Multiply by the weight whose sums they are: there are more of them than quarters."""
    _, right, _ = factors(len(weight))
    back = np.linalg.pinv(right.reshape(len(weight), -1)).reshape(*right.shape[1:], len(weight))
    panels = np.einsum("kjp,pcdl->kdcjl", back, weight.astype("float64"))
    plain = panels.reshape(data.shape[-1], -1).astype(data.dtype)
    result: Array = np.matmul(data, plain)
    return result


contrib_dense_strassen = register(
    "nn.contrib_dense_strassen",
    doc="Multiply the rows of a matrix by a weight, by Strassen's fewer products.",
    inputs={
        "data": "A matrix ``(1, …, M, K)``.",
        "weight": "Sums of quarters, ``(7, N / 2 / n, K / 2, n)``, or of sixteenths, as the pass Strassen makes them.",
    },
    relation=_strassen_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [dense_strassen(*inputs)],
    schedule=schedule_strassen,
    reference=_strassen_reference,
    references=('V. Strassen, "Gaussian elimination is not optimal", Numerische Mathematik 13, 1969.',),
    waived={"gradient": "made by a pass that runs after differentiation"},
)


# matrices


def _transposed(dims: Sequence[Dim], flag: bool) -> tuple[Dim, ...]:
    return (*dims[:-2], dims[-1], dims[-2]) if flag else tuple(dims)


def _matmul_relation(types: Types, attrs: MatmulAttrs) -> Type:
    """``(…, M, N)``, of data type ``out_dtype``."""
    a, b = _at_least(tensor(types[0], "tensor_a"), 2, "tensor_a"), tensor(types[1], "tensor_b", 2)
    x, y = _transposed(a.dims, attrs.transpose_a), _transposed(b.dims, attrs.transpose_b)
    check_same_extent(x[-1], y[0], f"the inner extents of {a} and {b}")
    if attrs.units is not None:
        check_same_extent(attrs.units, y[1], "units and the columns of tensor_b")
    return TensorType((*x[:-1], y[1]), _out_dtype(attrs, a))


def _matmul_complete(types: PartialTypes, attrs: MatmulAttrs) -> Sequence[Type | None]:
    a, b = types
    if a is None or b is not None or attrs.units is None:
        return types
    left = tensor(a, "tensor_a")
    depth = _transposed(left.dims, attrs.transpose_a)[-1]
    return (left, TensorType(_transposed((depth, attrs.units), attrs.transpose_b), left.dtype))


def _matmul_reference(attrs: MatmulAttrs | BatchMatmulAttrs, a: Array, b: Array) -> Array:
    dtype = attrs.out_dtype or a.dtype
    left = np.swapaxes(a, -1, -2) if attrs.transpose_a else a
    right = np.swapaxes(b, -1, -2) if attrs.transpose_b else b
    result: Array = np.matmul(left.astype(dtype), right.astype(dtype)).astype(dtype)
    return result


def product_gradient(call: Call, grad: Expr, name: str) -> list[Expr]:
    """Gradients of both factors of ``op(a) @ op(b)``, for either being transposed."""
    a, b = call.args
    ta, tb = call.attrs["transpose_a"], call.attrs["transpose_b"]

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
    doc="Multiply two matrices, either of them transposed.",
    inputs={"tensor_a": "``(…, M, K)``, or transposed.", "tensor_b": "``(K, N)``, or transposed."},
    attrs=MatmulAttrs,
    spelt_out=("units",),
    relation=_matmul_relation,
    complete=_matmul_complete,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    definition=topi_matmul,
    schedule=schedule_matmul,
    reference=_matmul_reference,
    gradient=_matmul_gradient,
)


@public_function(_MATMUL)
def matmul(
    tensor_a: RelayExpr,
    tensor_b: RelayExpr,
    units: int | None = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Call:
    """Multiply two matrices, either of them transposed.

    Where the second alone is transposed, the call is one of ``nn.dense``.
    """
    if transpose_b and not transpose_a:
        return dense(tensor_a, tensor_b, units, out_dtype)
    return _MATMUL(tensor_a, tensor_b, units, out_dtype, transpose_a, transpose_b)


def _batch_relation(types: Types, attrs: BatchMatmulAttrs) -> Type:
    """``(B, M, N)``, of data type ``out_dtype``."""
    a, b = tensor(types[0], "tensor_a", 3), tensor(types[1], "tensor_b", 3)
    x, y = _transposed(a.dims, attrs.transpose_a), _transposed(b.dims, attrs.transpose_b)
    check_same_extent(x[2], y[1], f"the inner extents of {a} and {b}")
    (batch,) = broadcast_dims(x[:1], y[:1])
    return TensorType((batch, x[1], y[2]), _out_dtype(attrs, a))


def _batch_gradient(call: Call, grad: Expr) -> list[Expr]:
    gradients = product_gradient(call, grad, "nn.batch_matmul")
    return [call_op("collapse_sum_like", g, x) for g, x in zip(gradients, call.args, strict=True)]


batch_matmul = register(
    "nn.batch_matmul",
    doc="Multiply matrices batch by batch; a batch of one is broadcast.",
    inputs={"tensor_a": "``(B, M, K)``, or transposed.", "tensor_b": "``(B, N, K)``, or not transposed."},
    attrs=BatchMatmulAttrs,
    relation=_batch_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    definition=topi_batch_matmul,
    schedule=schedule_matmul,
    reference=_matmul_reference,
    gradient=_batch_gradient,
)
