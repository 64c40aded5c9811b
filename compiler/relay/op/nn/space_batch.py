"""Space-to-batch conversions: ``nn.space_to_batch_nd``, ``nn.batch_to_space_nd``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler import te, tir
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT, INTS, PAIRS
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import has_any_dim
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import dims, flat_index, unflatten
from compiler.topi.tag import Tag

Pairs = Sequence[tuple[int, int]]


class SpaceToBatchNDAttrs(Attrs):
    block_shape: tuple[int, ...] = attr_field(INTS, "Extents of a block, one for each spatial dimension.")
    paddings: tuple[tuple[int, int], ...] = attr_field(PAIRS, "Elements added before and after each of them.")
    pad_value: float = attr_field(FLOAT, "What the added elements are.", 0.0)


class BatchToSpaceNDAttrs(Attrs):
    block_shape: tuple[int, ...] = attr_field(INTS, "Extents of a block, one for each spatial dimension.")
    crops: tuple[tuple[int, int], ...] = attr_field(PAIRS, "Elements cut off before and after each of them.")


def _check(data: TensorType, blocks: Sequence[int], pairs: Pairs, what: str) -> None:
    if len(blocks) != len(pairs) or len(blocks) >= len(data.dims):
        raise RelationError(
            f"block_shape {tuple(blocks)} and {what} {tuple(pairs)} must have an entry for each spatial dimension of "
            f"{data}"
        )
    if any(b < 1 for b in blocks) or any(v < 0 for pair in pairs for v in pair):
        raise RelationError(f"blocks must be positive and {what} not negative, got {tuple(blocks)} and {tuple(pairs)}")


def _to_batch_relation(types: Types, attrs: SpaceToBatchNDAttrs) -> Type:
    """``(batch * product of block_shape, spatial / block_shape…, remaining…)``."""
    data = tensor(types[0], "data")
    _check(data, attrs.block_shape, attrs.paddings, "paddings")
    out = list(data.dims)
    out[0] = _times(out[0], math.prod(attrs.block_shape))
    for d, (block, (before, after)) in enumerate(zip(attrs.block_shape, attrs.paddings, strict=True), 1):
        out[d] = _divided(out[d], before + after, block)
    return TensorType(tuple(out), data.dtype)


def _times(extent: Dim, by: int) -> Dim:
    return extent if has_any_dim(extent) else extent * by


def _divided(extent: Dim, around: int, block: int) -> Dim:
    if has_any_dim(extent):
        return AnyDim()
    padded = extent + around
    if isinstance(padded, int) and padded % block:
        raise RelationError(f"an extent of {extent} padded by {around} is not a multiple of the block's {block}")
    return padded // block


def _to_space_relation(types: Types, attrs: BatchToSpaceNDAttrs) -> Type:
    """``(batch / product of block_shape, spatial * block_shape - crops…, remaining…)``."""
    data = tensor(types[0], "data")
    _check(data, attrs.block_shape, attrs.crops, "crops")
    out = list(data.dims)
    out[0] = _divided(out[0], 0, math.prod(attrs.block_shape))
    for d, (block, (before, after)) in enumerate(zip(attrs.block_shape, attrs.crops, strict=True), 1):
        out[d] = out[d] if has_any_dim(out[d]) else out[d] * block - before - after
        if isinstance(out[d], int) and out[d] < 0:
            raise RelationError(
                f"crops {(before, after)} are more than the {data.dims[d]} * {block} elements there are"
            )
    return TensorType(tuple(out), data.dtype)


def space_to_batch_nd(data: Tensor, block_shape: Sequence[int], pad_before: Sequence[int], pad_after: Sequence[int],
                      pad_value: float = 0.0) -> Tensor:  # fmt: skip
    """Divide the spatial dimensions of ``(batch, spatial…, remaining…)`` into blocks of ``block_shape``.

    The place in its block becomes the first part of the batch: ``(batch * product of block_shape, spatial /
    block_shape…, remaining…)``.  Elements ``pad_value`` are added before and after each spatial dimension first.
    """
    shape, count = dims(data), len(block_shape)
    spatial = [
        (e + low + high) // b for e, b, low, high in zip(shape[1:], block_shape, pad_before, pad_after, strict=False)
    ]

    def element(*at: Var) -> PrimExpr:
        inside = unflatten(at[0] // shape[0], block_shape)
        places = [i * b + k - low for i, b, k, low in zip(at[1:], block_shape, inside, pad_before, strict=False)]
        value = data(at[0] % shape[0], *places, *at[count + 1 :])
        valid = [
            c
            for p, e, low, high in zip(places, shape[1:], pad_before, pad_after, strict=False)
            for c in ([p >= 0] if low else []) + ([p < e] if high else [])
        ]
        return te.if_then_else(te.all(*valid), value, tir.const(pad_value, data.dtype)) if valid else value

    out = (shape[0] * math.prod(block_shape), *spatial, *shape[count + 1 :])
    return compute(out, element, name="space_to_batch_nd", tag=Tag.INJECTIVE)


def batch_to_space_nd(data: Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int],
                      crop_end_list: Sequence[int]) -> Tensor:  # fmt: skip
    """Put batches together as the blocks that :func:`space_to_batch_nd` made them of.

    ``(batch, spatial…, remaining…)`` becomes ``(batch / product of block_shape, spatial * block_shape - crops…,
    remaining…)``: elements are cut off before and after each spatial dimension.
    """
    shape, count = dims(data), len(block_shape)
    batch = shape[0] // math.prod(block_shape)
    spatial = [
        e * b - low - high
        for e, b, low, high in zip(shape[1:], block_shape, crop_begin_list, crop_end_list, strict=False)
    ]

    def element(*at: Var) -> PrimExpr:
        places = [i + low for i, low in zip(at[1:], crop_begin_list, strict=False)]
        part = flat_index([p % b for p, b in zip(places, block_shape, strict=True)], block_shape)
        inside = [p // b for p, b in zip(places, block_shape, strict=True)]
        return data(part * batch + at[0], *inside, *at[count + 1 :])

    out = (batch, *spatial, *shape[count + 1 :])
    return compute(out, element, name="batch_to_space_nd", tag=Tag.INJECTIVE)


def _to_batch_reference(attrs: SpaceToBatchNDAttrs, x: Array) -> Array:
    blocks, count = attrs.block_shape, len(attrs.block_shape)
    widths = [(0, 0), *attrs.paddings, *[(0, 0)] * (x.ndim - 1 - count)]
    padded = np.pad(x, widths, constant_values=np.asarray(attrs.pad_value).astype(x.dtype))
    split = [s for e, b in zip(padded.shape[1:], blocks, strict=False) for s in (e // b, b)]
    parts = padded.reshape(padded.shape[0], *split, *padded.shape[count + 1 :])
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, parts.ndim)]
    moved = parts.transpose(order)
    return moved.reshape(-1, *moved.shape[count + 1 :])


def _to_space_reference(attrs: BatchToSpaceNDAttrs, x: Array) -> Array:
    blocks, count = attrs.block_shape, len(attrs.block_shape)
    parts = x.reshape(*blocks, x.shape[0] // math.prod(blocks), *x.shape[1:])
    pairs = [a for d in range(count) for a in (count + 1 + d, d)]
    moved = parts.transpose(count, *pairs, *range(2 * count + 1, parts.ndim))
    joined = moved.reshape(
        moved.shape[0], *[e * b for e, b in zip(x.shape[1:], blocks, strict=False)], *x.shape[count + 1 :]
    )
    cut = [slice(low, e - high) for (low, high), e in zip(attrs.crops, joined.shape[1:], strict=False)]
    return joined[(slice(None), *cut)]


def _to_batch_gradient(call: Call, grad: Expr) -> list[Expr]:
    attrs = SpaceToBatchNDAttrs.of(call)
    return [call_op("nn.batch_to_space_nd", grad, block_shape=attrs.block_shape, crops=attrs.paddings)]


def _to_space_gradient(call: Call, grad: Expr) -> list[Expr]:
    attrs = BatchToSpaceNDAttrs.of(call)
    return [call_op("nn.space_to_batch_nd", grad, block_shape=attrs.block_shape, paddings=attrs.crops)]


_DATA = {"data": "``(batch, spatial…, remaining…)``."}

_TO_BATCH = register(
    "nn.space_to_batch_nd",
    doc="Divide the spatial dimensions into blocks whose elements become batches.",
    inputs=_DATA,
    attrs=SpaceToBatchNDAttrs,
    relation=_to_batch_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        space_to_batch_nd(inputs[0], attrs.block_shape, *_columns(attrs.paddings), attrs.pad_value)
    ],
    topi=space_to_batch_nd,
    reference=_to_batch_reference,
    gradient=_to_batch_gradient,
)

_TO_SPACE = register(
    "nn.batch_to_space_nd",
    doc="Put batches together as blocks of the spatial dimensions, and cut off their borders.",
    inputs=_DATA,
    attrs=BatchToSpaceNDAttrs,
    relation=_to_space_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [batch_to_space_nd(inputs[0], attrs.block_shape, *_columns(attrs.crops))],
    topi=batch_to_space_nd,
    reference=_to_space_reference,
    gradient=_to_space_gradient,
)


def _columns(pairs: Pairs) -> tuple[list[int], list[int]]:
    """Return the first and the second numbers of pairs."""
    return [low for low, _ in pairs], [high for _, high in pairs]
