"""Channels into pixels and back: ``nn.depth_to_space``, ``nn.space_to_depth``."""

from __future__ import annotations

from typing import Any

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import unknown
from compiler.relay.op.nn.conv import extents
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.topi.layout import layout
from compiler.topi.nn import rearrange as topi


def _divided(extent: Dim, by: int, what: str) -> Dim:
    if unknown(extent):
        return AnyDim()
    if isinstance(extent, int) and extent % by:
        raise RelationError(f"{what} must be a multiple of {by}, got {extent}")
    return extent // by


def _grown(extent: Dim, by: int) -> Dim:
    return AnyDim() if unknown(extent) else extent * by


def _depth_relation(types: Types, attrs: Attrs) -> Type:
    data, b = tensor(types[0], "data"), attrs.block_size
    x = extents(data, layout(attrs.layout), "data")
    out = x | {"C": _divided(x["C"], b * b, "channels"), "H": _grown(x["H"], b), "W": _grown(x["W"], b)}
    return TensorType(layout(attrs.layout).shape(out), data.dtype)


def _depth_reference(attrs: Attrs, x: Any) -> Any:
    plain, b = layout(attrs.layout).to_plain(x, "NCHW"), attrs.block_size
    n, c, h, w = plain.shape
    if attrs.mode == "DCR":
        parts = plain.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = plain.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return layout(attrs.layout).from_plain(parts.reshape(n, c // b**2, h * b, w * b), "NCHW")


def _depth_gradient(call: Call, grad: Expr) -> list[Expr]:
    if call.attrs.mode != "DCR":
        raise ArgumentError(f"gradient of nn.depth_to_space: mode must be 'DCR', got {call.attrs.mode!r}")
    return [call_op("nn.space_to_depth", grad, block_size=call.attrs.block_size, layout=call.attrs.layout)]


_DEPTH_TO_SPACE = register(
    "nn.depth_to_space",
    doc="Each pixel's channels as a block of pixels.",
    inputs=("data",),
    attributes={"block_size": REQUIRED, "layout": "NCHW", "mode": "DCR"},
    relation=_depth_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.depth_to_space(inputs[0], attrs.block_size, attrs.layout, attrs.mode)
    ],
    reference=_depth_reference,
    gradient=_depth_gradient,
)


def _space_relation(types: Types, attrs: Attrs) -> Type:
    data, b = tensor(types[0], "data"), attrs.block_size
    x = extents(data, layout(attrs.layout), "data")
    out = x | {
        "C": _grown(x["C"], b * b),
        "H": _divided(x["H"], b, "the height"),
        "W": _divided(x["W"], b, "the width"),
    }
    return TensorType(layout(attrs.layout).shape(out), data.dtype)


def _space_reference(attrs: Attrs, x: Any) -> Any:
    plain, b = layout(attrs.layout).to_plain(x, "NCHW"), attrs.block_size
    n, c, h, w = plain.shape
    parts = plain.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return layout(attrs.layout).from_plain(parts.reshape(n, c * b**2, h // b, w // b), "NCHW")


_SPACE_TO_DEPTH = register(
    "nn.space_to_depth",
    doc="Blocks of pixels as channels of one.",
    inputs=("data",),
    attributes={"block_size": REQUIRED, "layout": "NCHW"},
    relation=_space_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.space_to_depth(inputs[0], attrs.block_size, attrs.layout)],
    reference=_space_reference,
    gradient=lambda call, grad: [
        call_op("nn.depth_to_space", grad, block_size=call.attrs.block_size, layout=call.attrs.layout)
    ],
)


def depth_to_space(data: Expr, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Call:
    """Return ``data`` with each pixel's channels as ``block_size`` times ``block_size`` pixels.

    Parameters
    ----------
    mode : str
        ``DCR``: a pixel's place in its block is the first part of its channel's number; ``CRD``: the last.
    """
    if mode not in ("DCR", "CRD"):
        raise ArgumentError(f"nn.depth_to_space: mode must be DCR or CRD, got {show(mode)}")
    return _DEPTH_TO_SPACE(data, block_size=block_size, layout=layout, mode=mode)


def space_to_depth(data: Expr, block_size: int, layout: str = "NCHW") -> Call:
    """Return ``data`` with blocks of ``block_size`` times ``block_size`` pixels as channels of one."""
    return _SPACE_TO_DEPTH(data, block_size=block_size, layout=layout)
