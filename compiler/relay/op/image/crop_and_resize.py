"""Crops of boxes, resized to one size: ``image.crop_and_resize``."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from compiler import te, tir
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT, OPTIONAL_DTYPE, SHAPE, one_of
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.spatial import extents
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import compute
from compiler.topi.operands import Index, constant, dims, number
from compiler.topi.tag import Tag


class CropAndResizeAttrs(Attrs):
    UNWRITTEN = {"layout": "NCHW"}

    crop_size: tuple[Any, ...] = attr_field(SHAPE, "Height and width of the results.")
    layout: str = attr_field(one_of("NCHW", "NHWC"), "Layout of the images.", "NHWC")
    method: str = attr_field(one_of("bilinear", "nearest_neighbor"), "Interpolation between pixels.", "bilinear")
    extrapolation_value: float = attr_field(FLOAT, "What stands outside of the image.", 0.0)
    out_dtype: str = attr_field(OPTIONAL_DTYPE, "Data type of the result; that of the images if it is empty.", "")


def _relation(types: Types, attrs: CropAndResizeAttrs) -> Type:
    """A result for each box, in ``layout``."""
    data, boxes = tensor(types[0], "data", 4), tensor(types[1], "boxes", 2)
    indices = tensor(types[2], "box_indices", 1)
    check_same_extent(boxes.dims[1], 4, "the coordinates of a box")
    check_same_extent(boxes.dims[0], indices.dims[0], "the numbers of boxes and of box_indices")
    if len(attrs.crop_size) != 2:
        raise RelationError(f"crop_size must have a height and a width, got {attrs.crop_size}")
    axes = layout(attrs.layout)
    out = extents(data, axes, "data") | {"N": boxes.dims[0], "H": attrs.crop_size[0], "W": attrs.crop_size[1]}
    return TensorType(axes.shape(out), attrs.out_dtype or data.dtype)


def crop_and_resize(data: Tensor, boxes: Tensor, indices: Tensor, attrs: CropAndResizeAttrs, out: TensorType) -> Tensor:
    """Return boxes of images, each sampled at equally many places.

    Parameters
    ----------
    data : Tensor
        Images in ``attrs.layout``.
    boxes : Tensor
        ``(K, 4)``: y1, x1, y2, x2, where 0 is the centre of the first and 1 that of the last pixel.
    indices : Tensor
        ``(K,)``: the image of each box.
    """
    axes = layout(attrs.layout)
    image = axes.extents(dims(data))
    crop = axes.extents(tuple(out.dims))

    def place(k: Index, i: Index, d: int) -> tuple[PrimExpr, PrimExpr]:
        """Return a coordinate of the image and the last one that there is."""
        last = (tir.const(1, "int32") * image["HW"[d]] - 1).astype("float32")
        low, high = (boxes(k, d + e).astype("float32") for e in (0, 2))
        count = constant(crop["HW"[d]], "crop_and_resize")
        if count == 1:
            return (low + high) * 0.5 * last, last
        return low * last + number(i, "float32") * ((high - low) * last / float(count - 1)), last

    def element(*at: Var) -> PrimExpr:
        here = axes.point(at)
        spots = [place(here["N"], here["HW"[d]], d) for d in range(2)]
        taps = []
        for spot, last in spots:
            kept = te.max(te.min(spot, last), 0.0)
            base = te.floor(kept)
            if attrs.method == "bilinear":
                taps.append([(base, 1.0 - (kept - base)), (te.min(base + 1.0, last), kept - base)])
            else:
                taps.append([(te.floor(kept + 0.5), tir.const(1.0, "float32"))])
        source = {"N": indices(here["N"]).astype("int32"), "C": here["C"]}
        value: PrimExpr = tir.const(0.0, "float32")
        for (i, a), (j, b) in product(*taps):
            pixel = source | {"H": i.astype("int32"), "W": j.astype("int32")}
            value = value + data(*axes.indices(pixel)).astype("float32") * (a * b)
        inside = te.all(*[c for spot, last in spots for c in (spot >= 0.0, spot <= last)])
        return te.if_then_else(inside, value, tir.const(attrs.extrapolation_value, "float32")).astype(out.dtype)

    return compute(tuple(out.dims), element, name="crop_and_resize", tag=Tag.INJECTIVE)


def _reference(attrs: CropAndResizeAttrs, data: Array, boxes: Array, indices: Array) -> Array:
    axes = layout(attrs.layout)
    plain = axes.to_plain(data, "NCHW")
    size = [int(e) for e in attrs.crop_size]
    result = np.full((len(boxes), plain.shape[1], *size), attrs.extrapolation_value)
    for k, (box, image) in enumerate(zip(boxes.astype("float64"), indices, strict=True)):
        places, inside = [], []
        for d in range(2):
            last = plain.shape[2 + d] - 1
            spots = np.linspace(box[d], box[d + 2], size[d]) if size[d] > 1 else np.array([(box[d] + box[d + 2]) / 2])
            places.append(np.clip(spots * last, 0, last))
            inside.append((spots * last >= 0) & (spots * last <= last))
        sampled = _sampled(plain[int(image)], places[0], places[1], attrs.method)
        result[k] = np.where(inside[0][:, None] & inside[1], sampled, attrs.extrapolation_value)
    return axes.from_plain(result.astype(attrs.out_dtype or data.dtype), "NCHW")


def _sampled(image: Array, rows: Array, columns: Array, method: str) -> Array:
    """Return what lies at places of an image; only the pixels around them are converted."""
    bilinear = method == "bilinear"
    result: Array = np.zeros(())
    for (i, a), (j, b) in product(_taps(rows, image.shape[1], bilinear), _taps(columns, image.shape[2], bilinear)):
        result = result + image[:, i[:, None], j].astype("float64") * (a[:, None] * b)
    return result


def _taps(places: Array, extent: int, bilinear: bool) -> list[tuple[Any, Any]]:
    """Return the indices around places of an axis, with their weights."""
    if not bilinear:
        return [(np.floor(places + 0.5).astype(int), np.ones(places.shape))]
    low = np.floor(places).astype(int)
    return [(low, 1 - (places - low)), (np.minimum(low + 1, extent - 1), places - low)]


_CROP = register(
    "image.crop_and_resize",
    doc="Cut boxes out of images and bring them to one size.",
    inputs={
        "data": "Images in ``layout``.",
        "boxes": "``(K, 4)``: y1, x1, y2, x2 of each box, from 0 to 1.",
        "box_indices": "``(K,)``: the image of each box.",
    },
    attrs=CropAndResizeAttrs,
    relation=_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        crop_and_resize(inputs[0], inputs[1], inputs[2], attrs, tensor(out_type, "result"))
    ],
    reference=_reference,
    waived={"gradient": "adds up what places were interpolated from, which no operator here does"},
)
