"""YOLO reorganisation: ``vision.yolo_reorg``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import POSITIVE_INT
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.types import Type
from compiler.relay.op.common import has_any_dim
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import AnyDim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import dims, flat_index, unflatten
from compiler.topi.tag import Tag


class YoloReorgAttrs(Attrs):
    stride: int = attr_field(POSITIVE_INT, "How often the height and the width shrink.", 1)


def _relation(types: Types, attrs: YoloReorgAttrs) -> Type:
    """``(N, C * stride * stride, H / stride, W / stride)``."""
    data, s = tensor(types[0], "data", 4), attrs.stride
    n, c, h, w = data.dims
    if isinstance(c, int) and c == 0:
        raise RelationError(f"data must have channels, got {data}")
    for extent, by in ((c, s * s), (h, s), (w, s)):
        if isinstance(extent, int) and extent % by:
            raise RelationError(f"channels must be a multiple of {s * s}, height and width of {s}, got {data}")
    shrunk = [AnyDim() if has_any_dim(e) else e // s for e in (h, w)]
    return TensorType((n, AnyDim() if has_any_dim(c) else c * s * s, *shrunk), data.dtype)


def reorg(data: Tensor, stride: int) -> Tensor:
    """Return an image as Darknet's ``reorg`` layer orders it.

    The layer reads the image ``(N, C, H, W)`` as one of ``C / stride²`` channels that is ``stride`` times as high and
    as wide, and takes each of its pixels to the channel of the pixel's place in its block: ``(N, C * stride * stride, H
    / stride, W / stride)``.  See J. Redmon and A. Farhadi, "YOLO9000: Better, Faster, Stronger", CVPR 2017, section 2
    (the passthrough layer).
    """
    n, c, h, w = dims(data)
    shape, channels = (n, c, h, w), c // (stride * stride)
    out = (n, c * stride * stride, h // stride, w // stride)

    def element(*at: Var) -> PrimExpr:
        b, k, j, i = unflatten(flat_index(at, out), shape)
        block = k // channels
        row, column = j * stride + block // stride, i * stride + block % stride
        large = (n, channels, h * stride, w * stride)
        return data(*unflatten(flat_index((b, k % channels, row, column), large), shape))

    return compute(out, element, name="reorg", tag=Tag.INJECTIVE)


def _reference(attrs: YoloReorgAttrs, x: Array) -> Array:
    s = attrs.stride
    n, c, h, w = x.shape
    large = x.reshape(n, c // s**2, h, s, w, s)
    parts = np.ascontiguousarray(large.transpose(0, 3, 5, 1, 2, 4))
    return parts.reshape(n, c * s * s, h // s, w // s)


_REORG = register(
    "vision.yolo_reorg",
    doc="Move blocks of pixels into channels, in the order of Darknet's reorg layer.",
    inputs={"data": "``(N, C, H, W)``."},
    attrs=YoloReorgAttrs,
    relation=_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [reorg(inputs[0], attrs.stride)],
    reference=_reference,
    waived={"gradient": "the layer is used by trained detectors alone, and TVM has none"},
)
