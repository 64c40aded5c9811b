"""Depth-to-space conversions: ``nn.depth_to_space``, ``nn.space_to_depth``."""

from __future__ import annotations

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import POSITIVE_INT, STRING, one_of
from compiler.ir.error import ArgumentError
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import has_any_dim
from compiler.relay.op.nn.spatial import extents
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn import rearrange as topi


class SpaceToDepthAttrs(Attrs):
    block_size: int = attr_field(POSITIVE_INT, "Side of a block of pixels.")
    layout: str = attr_field(STRING, "Layout of the data, such as ``NCHW`` or ``NHWC``.", "NCHW")


class DepthToSpaceAttrs(SpaceToDepthAttrs):
    mode: str = attr_field(
        one_of("DCR", "CDR", "CRD"),
        "Whether a pixel's position in its block is the first (DCR) or last (CDR, CRD) part of its channel's number.",
        "DCR",
    )


def _divided(extent: Dim, by: int, what: str) -> Dim:
    if has_any_dim(extent):
        return AnyDim()
    if isinstance(extent, int) and extent % by:
        raise RelationError(f"{what} must be a multiple of {by}, got {extent}")
    return extent // by


def _grown(extent: Dim, by: int) -> Dim:
    return AnyDim() if has_any_dim(extent) else extent * by


def _depth_relation(types: Types, attrs: DepthToSpaceAttrs) -> Type:
    """The data with fewer channels and larger spatial extents."""
    data, b = tensor(types[0], "data"), attrs.block_size
    x = extents(data, layout(attrs.layout), "data")
    channels = AnyDim() if has_any_dim(x["C"]) else x["C"] // (b * b)  # those after the last multiple are left out
    out = x | {"C": channels, "H": _grown(x["H"], b), "W": _grown(x["W"], b)}
    return TensorType(layout(attrs.layout).shape(out), data.dtype)


def _depth_reference(attrs: DepthToSpaceAttrs, x: Array) -> Array:
    plain, b = layout(attrs.layout).to_plain(x, "NCHW"), attrs.block_size
    n, c, h, w = plain.shape
    c -= c % b**2
    plain = plain[:, :c]
    if attrs.mode == "DCR":
        parts = plain.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = plain.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return layout(attrs.layout).from_plain(parts.reshape(n, c // b**2, h * b, w * b), "NCHW")


def _depth_gradient(call: Call, grad: Expr) -> list[Expr]:
    if DepthToSpaceAttrs.of(call).mode != "DCR":
        raise ArgumentError(
            f"gradient of nn.depth_to_space: mode must be 'DCR', got {DepthToSpaceAttrs.of(call).mode!r}"
        )
    return [
        call_op(
            "nn.space_to_depth",
            grad,
            block_size=DepthToSpaceAttrs.of(call).block_size,
            layout=DepthToSpaceAttrs.of(call).layout,
        )
    ]


depth_to_space = register(
    "nn.depth_to_space",
    doc="Rearrange each pixel's channels as a block of pixels.",
    inputs={"data": "Images in ``layout``."},
    attrs=DepthToSpaceAttrs,
    relation=_depth_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.depth_to_space,
    reference=_depth_reference,
    gradient=_depth_gradient,
)


def _space_relation(types: Types, attrs: SpaceToDepthAttrs) -> Type:
    """The data with more channels and smaller spatial extents."""
    data, b = tensor(types[0], "data"), attrs.block_size
    x = extents(data, layout(attrs.layout), "data")
    out = x | {
        "C": _grown(x["C"], b * b),
        "H": _divided(x["H"], b, "the height"),
        "W": _divided(x["W"], b, "the width"),
    }
    return TensorType(layout(attrs.layout).shape(out), data.dtype)


def _space_reference(attrs: SpaceToDepthAttrs, x: Array) -> Array:
    plain, b = layout(attrs.layout).to_plain(x, "NCHW"), attrs.block_size
    n, c, h, w = plain.shape
    parts = plain.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return layout(attrs.layout).from_plain(parts.reshape(n, c * b**2, h // b, w // b), "NCHW")


space_to_depth = register(
    "nn.space_to_depth",
    doc="Rearrange blocks of pixels as the channels of one.",
    inputs={"data": "Images in ``layout``."},
    attrs=SpaceToDepthAttrs,
    relation=_space_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.space_to_depth,
    reference=_space_reference,
    gradient=lambda call, grad: [
        call_op(
            "nn.depth_to_space",
            grad,
            block_size=SpaceToDepthAttrs.of(call).block_size,
            layout=SpaceToDepthAttrs.of(call).layout,
        )
    ],
)
