"""Grey-scale dilation of images: ``image.dilation2d``."""

from __future__ import annotations

import numpy as np

from compiler import te, tir
from compiler.ir.attrs import AttrKind, Attrs, attr_field
from compiler.ir.attrs.kinds import OPTIONAL_DTYPE, one_of
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.spatial import PADDING, POSITIVE_SPATIAL, SpatialAttrs, extents, window_dim
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import compute
from compiler.topi.extrema import LARGEST
from compiler.topi.operands import dims
from compiler.topi.tag import Tag


class _Steps(AttrKind[tuple[int, ...]]):
    """Steps along the height and the width; further ones, which TVM's programs give, do not count."""

    __slots__ = ()

    def convert(self, value: object, owner: type[Attrs]) -> tuple[int, ...]:
        return POSITIVE_SPATIAL.convert(value[:2] if isinstance(value, (list, tuple)) else value, owner)


_STEPS = _Steps("int or sequence of int")


class Dilation2DAttrs(SpatialAttrs):
    RANK = 2
    strides: tuple[int, ...] = attr_field(_STEPS, "Steps of the window: one number, or one a dimension.", 1)
    padding: tuple[int, ...] = attr_field(PADDING, "Zeros around the image.", 0)
    dilations: tuple[int, ...] = attr_field(_STEPS, "Steps within the window, likewise.", 1)
    data_layout: str = attr_field(one_of("NCHW", "NHWC"), "Layout of the image.", "NCHW")
    kernel_layout: str = attr_field(one_of("IHW", "HWI"), "Layout of the weight.", "IHW")
    out_dtype: str = attr_field(OPTIONAL_DTYPE, "Data type of the result; that of the image if it is empty.", "")


_KERNEL = {"IHW": (0, 1, 2), "HWI": (2, 0, 1)}
"""Where the channel, the height and the width stand in a weight."""


def _relation(types: Types, attrs: Dilation2DAttrs) -> Type:
    """The image with the extents that the window's places have."""
    data, weight = tensor(types[0], "data", 4), tensor(types[1], "weight", 3)
    axes = layout(attrs.data_layout)
    x = extents(data, axes, "data")
    channels, *window = (weight.dims[d] for d in _KERNEL[attrs.kernel_layout])
    check_same_extent(x["C"], channels, "the channels of data and of weight")
    sizes = [
        window_dim(x[letter], attrs.padding[d] + attrs.padding[d + 2], window[d], attrs.strides[d], attrs.dilations[d])
        for d, letter in enumerate("HW")
    ]
    out = x | {"H": sizes[0], "W": sizes[1]}
    return TensorType(axes.shape(out), attrs.out_dtype or data.dtype)


def dilation2d(data: Tensor, weight: Tensor, attrs: Dilation2DAttrs, out: TensorType) -> Tensor:
    """Return the largest sums of window and weight."""
    axes = layout(attrs.data_layout)
    extent = axes.extents(dims(data))
    _, height, width = (dims(weight)[d] for d in _KERNEL[attrs.kernel_layout])
    window = (te.reduce_axis((0, height), name="ry"), te.reduce_axis((0, width), name="rx"))

    def element(*at: Var) -> PrimExpr:
        here = axes.point(at)
        places = {
            letter: here[letter] * attrs.strides[d] + window[d].var * attrs.dilations[d] - attrs.padding[d]
            for d, letter in enumerate("HW")
        }
        tap = (here["C"], window[0].var, window[1].var)
        order = sorted(range(3), key=lambda i: _KERNEL[attrs.kernel_layout][i])
        value = data(*axes.indices(here | places))
        if any(attrs.padding):
            inside = te.all(*[c for n, p in places.items() for c in (p >= 0, p < extent[n])])
            value = te.if_then_else(inside, value, tir.const(0, data.dtype))
        return LARGEST.reduce((value + weight(*[tap[i] for i in order])).astype(out.dtype), axis=window)

    return compute(tuple(out.dims), element, name="dilation2d", tag=Tag.COMM_REDUCE)


def _reference(attrs: Dilation2DAttrs, x: Array, w: Array) -> Array:
    axes = layout(attrs.data_layout)
    plain, weight = axes.to_plain(x, "NCHW"), w.transpose(_KERNEL[attrs.kernel_layout])
    top, left, bottom, right = attrs.padding
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    padded = np.pad(plain, ((0, 0), (0, 0), (top, bottom), (left, right)))
    spans = [(w_ - 1) * d + 1 for w_, d in zip(weight.shape[1:], attrs.dilations, strict=True)]
    rows, columns = ((e - s) // t + 1 for e, s, t in zip(padded.shape[2:], spans, attrs.strides, strict=True))
    result = np.full((*plain.shape[:2], rows, columns), lowest, x.dtype)
    with np.errstate(over="ignore"):
        for i, j in np.ndindex(*weight.shape[1:]):
            y, z = i * attrs.dilations[0], j * attrs.dilations[1]
            part = padded[:, :, y : y + (rows - 1) * attrs.strides[0] + 1 : attrs.strides[0]]
            part = part[..., z : z + (columns - 1) * attrs.strides[1] + 1 : attrs.strides[1]]
            result = np.maximum(result, part + weight[:, i, j][:, None, None])
    return axes.from_plain(result.astype(attrs.out_dtype or x.dtype), "NCHW")


_DILATION = register(
    "image.dilation2d",
    doc="Take the largest sum of a window of the image and the weight, at each place: grey-scale dilation.",
    inputs={"data": "Images in ``data_layout``.", "weight": "One for each channel, in ``kernel_layout``."},
    attrs=Dilation2DAttrs,
    relation=_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [dilation2d(inputs[0], inputs[1], attrs, tensor(out_type, "result"))],
    reference=_reference,
    waived={"gradient": "it belongs to the element that is the largest, which no operator here finds in a window"},
)
