"""Masking operators: ``matrix_set_diag``, ``trilu``, ``sequence_mask``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, FLOAT, INT
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import check_same_extent, ints_of
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays import masking as topi

# matrix_set_diag


class MatrixSetDiagAttrs(Attrs):
    k1: int = attr_field(INT, "The lowest diagonal; positive ones are above the main one.", 0)
    k2: int = attr_field(INT, "The highest diagonal.", 0)
    super_diag_right_align: bool = attr_field(
        BOOL, "Whether diagonals above the main one are aligned at the end of their rows.", True
    )
    sub_diag_right_align: bool = attr_field(
        BOOL, "Whether diagonals below the main one are aligned at the end of their rows.", False
    )


class TriluAttrs(Attrs):
    upper: bool = attr_field(BOOL, "Whether to keep the upper triangle, else the lower one.", True)


class SequenceMaskAttrs(Attrs):
    mask_value: float = attr_field(FLOAT, "What to write behind the end of each sequence.", 0)
    axis: int = attr_field(INT, "Axis of time, 0 or 1; the other one is the batch.", 0)


def _diagonal_relation(types: Types, attrs: MatrixSetDiagAttrs) -> Type:
    """The output has the type of the data."""
    data, diagonal = tensor(types[0], "data"), tensor(types[1], "diagonal")
    same_dtype(data, diagonal)
    several = attrs.k1 != attrs.k2
    if len(data.dims) < 2 or len(diagonal.dims) != len(data.dims) - (0 if several else 1):
        raise RelationError(f"the diagonals of {data} do not have the shape of {diagonal}")
    rows, columns = data.dims[-2:]
    if several:
        check_same_extent(diagonal.dims[-2], attrs.k2 - attrs.k1 + 1, f"the number of diagonals in {diagonal}")
    if isinstance(rows, int) and isinstance(columns, int):
        longest = min(rows + min(attrs.k2, 0), columns - max(attrs.k1, 0))
        check_same_extent(diagonal.dims[-1], longest, f"the length of the longest diagonal and {diagonal}")
    return data


def _diagonal_reference(attrs: MatrixSetDiagAttrs, x: Array, diagonal: Array) -> Array:
    result = x.copy()
    rows, columns = x.shape[-2:]
    several = attrs.k1 != attrs.k2
    for k in range(attrs.k1, attrs.k2 + 1):
        length = min(rows + min(k, 0), columns - max(k, 0))
        right = attrs.super_diag_right_align if k >= 0 else attrs.sub_diag_right_align
        start = diagonal.shape[-1] - length if several and right else 0
        row = diagonal[..., attrs.k2 - k, :] if several else diagonal
        at = np.arange(length)
        result[..., at + max(-k, 0), at + max(k, 0)] = row[..., start : start + length]
    return result


def _diagonal_compute(attrs: MatrixSetDiagAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    sides = (attrs.super_diag_right_align, attrs.sub_diag_right_align)
    align = "_".join("RIGHT" if right else "LEFT" for right in sides)
    return [topi.matrix_set_diag(inputs[0], inputs[1], (attrs.k1, attrs.k2), align)]


_MATRIX_SET_DIAG = register(
    "matrix_set_diag",
    doc="Return matrices with some diagonals replaced.",
    inputs={
        "data": "Matrices, ``(…, rows, columns)``.",
        "diagonal": "``(…, length)``, or ``(…, count, longest length)`` of several, the highest diagonal first.",
    },
    attrs=MatrixSetDiagAttrs,
    relation=_diagonal_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_diagonal_compute,
    reference=_diagonal_reference,
    waived={"gradient": "not needed by any model that is trained here"},
)


# trilu


def _trilu_relation(types: Types, attrs: TriluAttrs) -> Type:
    """The output has the type of the data."""
    data = tensor(types[0], "data")
    tensor(types[1], "k", 0)
    if len(data.dims) < 2:
        raise RelationError(f"data must have at least two dimensions, got {data}")
    return data


def _trilu_gradient(call: Call, grad: Expr) -> list[Expr]:
    return [call_op("trilu", grad, call.args[1], upper=TriluAttrs.of(call).upper), call_op("zeros_like", call.args[1])]


trilu = register(
    "trilu",
    doc="Return the upper or lower triangle of matrices, zeros elsewhere.",
    inputs={
        "data": "Matrices, ``(…, rows, columns)``.",
        "k": "Scalar integer: the diagonal that the triangle ends at; positive ones are above the main one.",
    },
    attrs=TriluAttrs,
    relation=_trilu_relation,
    pattern=OpPattern.BROADCAST,
    definition=topi.trilu,
    reference=lambda attrs, x, k: (np.triu if attrs.upper else np.tril)(x, int(k)),
    gradient=_trilu_gradient,
)


# sequence_mask


def _mask_relation(types: Types, attrs: SequenceMaskAttrs) -> Type:
    """The output has the type of the data."""
    data, lengths = tensor(types[0], "data"), tensor(types[1], "valid_length", 1)
    if attrs.axis not in (0, 1) or len(data.dims) < 2:
        raise RelationError(f"axis must be 0 or 1 of at least two dimensions, got {attrs.axis} of {data}")
    check_same_extent(data.dims[1 - attrs.axis], lengths.dims[0], f"the batch of {data} and the lengths {lengths}")
    return data


def _mask_reference(attrs: SequenceMaskAttrs, x: Array, lengths: Array) -> Array:
    rows = np.moveaxis(x.copy(), attrs.axis, 1)
    rows[np.arange(rows.shape[1])[None, :] >= lengths[:, None]] = attrs.mask_value
    return np.ascontiguousarray(np.moveaxis(rows, 1, attrs.axis))


sequence_mask = register(
    "sequence_mask",
    doc="Return sequences with one value written behind the end of each.",
    inputs={
        "data": "Sequences, ``(time, batch, …)`` or ``(batch, time, …)``.",
        "valid_length": "Length of each sequence of the batch, a vector of integers.",
    },
    attrs=SequenceMaskAttrs,
    relation=_mask_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.sequence_mask,
    reference=_mask_reference,
    gradient=lambda call, grad: [
        call_op("sequence_mask", grad, call.args[1], mask_value=0.0, axis=SequenceMaskAttrs.of(call).axis),
        call_op("zeros_like", call.args[1]),
    ],
)


@public_function(
    _MATRIX_SET_DIAG,
    k="int or (int, int): Which diagonal, or from which to which; positive ones are above the main one.",
    align="{'RIGHT_LEFT', 'LEFT_RIGHT', 'LEFT_LEFT', 'RIGHT_RIGHT'}: At which end of their rows shorter diagonals "
    "above, and below, the main one are aligned.",
)
def matrix_set_diag(
    data: RelayExpr, diagonal: RelayExpr, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT"
) -> Call:
    """Return matrices with some diagonals replaced."""
    above, _, below = align.partition("_") if isinstance(align, str) else ("", "", "")
    if {above, below} - {"LEFT", "RIGHT"}:
        raise ArgumentError(f"matrix_set_diag: align must be such as 'RIGHT_LEFT', got {show(align)}")
    ks = ints_of(k, "k")
    if not 1 <= len(ks) <= 2:
        raise ArgumentError(f"matrix_set_diag: k must be one int or two, got {show(k)}")
    alignment = {"super_diag_right_align": above == "RIGHT", "sub_diag_right_align": below == "RIGHT"}
    return _MATRIX_SET_DIAG(data, diagonal, k1=ks[0], k2=ks[-1], **alignment)
