"""Deformable convolutions, with an offset per window element: ``nn.deformable_conv2d``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import POSITIVE_INT
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.conv import conv_complete, conv_reference, conv_relation
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs
from compiler.relay.op.nn.spatial import extents
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, PartialTypes, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution.deformable import deformable_conv2d as topi_deformable


class DeformableConv2DAttrs(Conv2DAttrs):
    deformable_groups: int = attr_field(POSITIVE_INT, "Number of groups of channels that are moved together.", 1)


def _relation(types: Types, attrs: DeformableConv2DAttrs) -> Type:
    """The type of the convolution of ``data`` with ``weight``."""
    data, offset = tensor(types[0], "data"), tensor(types[1], "offset")
    made = tensor(conv_relation((data, types[2]), attrs), "the result")
    source = layout(attrs.data_layout)
    moves, out = extents(offset, source, "offset"), extents(made, layout(attrs.result_layout), "the result")
    for letter in "NHW":
        check_same_extent(moves[letter], out[letter], f"the offsets and the result in {letter}")
    weight = extents(tensor(types[2], "weight"), layout(attrs.kernel_layout), "weight")
    window = weight["H"] * weight["W"]
    if isinstance(window, int):
        check_same_extent(
            moves["C"],
            2 * attrs.deformable_groups * window,
            "the channels of offset and a row and a column of each tap",
        )
    channels = extents(data, source, "data")["C"]
    if isinstance(channels, int) and channels % attrs.deformable_groups:
        raise RelationError(
            f"the {channels} channels must be a multiple of deformable_groups={attrs.deformable_groups}"
        )
    return made


def _complete(types: PartialTypes, attrs: DeformableConv2DAttrs) -> Sequence[Type | None]:
    """The weight's type follows from ``channels`` and ``kernel_size``, the offset's from the result's."""
    data, offset, weight = types
    _, weight = conv_complete((data, weight), attrs)
    if data is None or weight is None or offset is not None:
        return data, offset, weight
    made = tensor(conv_relation((data, weight), attrs), "the result")
    kernel = extents(tensor(weight, "weight"), layout(attrs.kernel_layout), "weight")
    moves = extents(made, layout(attrs.result_layout), "the result")
    moves["C"] = 2 * attrs.deformable_groups * kernel["H"] * kernel["W"]
    return data, TensorType(layout(attrs.data_layout).shape(moves), tensor(data, "data").dtype), weight


def _compute(attrs: DeformableConv2DAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, offset, weight = inputs
    return [topi_deformable(data, offset, weight, attrs.spec(data.dtype), attrs.deformable_groups)]


def _reference(attrs: DeformableConv2DAttrs, data: Array, offset: Array, weight: Array) -> Array:
    """Lay the windows out side by side, and convolve them by windows that do not overlap."""
    x, moves = (layout(attrs.data_layout).to_plain(a, "NCHW") for a in (data, offset))
    kernel = layout(attrs.kernel_layout).to_plain(weight, "OIHW")
    window, (batch, channels, *_), out = kernel.shape[2:], x.shape, moves.shape[2:]
    groups = attrs.deformable_groups
    moves = moves.reshape(batch, groups, *window, 2, *out)
    places = [
        moves[:, :, :, :, d].transpose(0, 1, 4, 2, 5, 3)
        + (np.arange(out[d]) * attrs.strides[d] - attrs.padding[d]).reshape(-1, *[1] * (3 - 2 * d))
        + (np.arange(window[d]) * attrs.dilation[d]).reshape(-1, *[1] * (2 - 2 * d))
        for d in range(2)
    ]
    read = [_sampled(x[n, c], [p[n, c * groups // channels] for p in places]) for n, c in np.ndindex(batch, channels)]
    spread = np.stack(read).reshape(batch, channels, out[0] * window[0], out[1] * window[1]).astype(x.dtype)
    given = {"strides": window, "groups": attrs.groups, "out_dtype": attrs.out_dtype}
    plain = Conv2DAttrs.make("nn.conv2d", given)
    made = conv_reference(plain, spread, kernel)
    return layout(attrs.result_layout).from_plain(made, "NCHW")


def _sampled(image: Array, places: Sequence[Array]) -> Array:
    """Return an image between its pixels; zero outside."""
    taps, inside = [], np.ones(places[0].shape, bool)
    for place, extent in zip(places, image.shape, strict=True):
        low = np.floor(place)
        first = np.clip(low, 0, extent - 1).astype(int)
        beyond = np.where(first + 1 < extent, place - low, 0)
        taps.append([(first, 1 - (place - low)), (np.minimum(first + 1, extent - 1), beyond)])
        inside &= (place >= 0) & (place < extent)
    result: Array = inside * sum(image[row, column] * a * b for row, a in taps[0] for column, b in taps[1])
    return result


deformable_conv2d = register(
    "nn.deformable_conv2d",
    doc="Convolve data that is read at places moved by offsets, between its elements.",
    inputs={
        "data": "Images, ``(N, C, H, W)`` in the default layout.",
        "offset": "Row and column by which each element of a window is moved, in the layout of data.",
        "weight": "Kernels, ``(O, C / groups, H, W)`` in the default layout.",
    },
    parameters=(
        *("data", "offset", "weight", "strides", "padding", "dilation", "deformable_groups", "groups", "channels"),
        *("kernel_size", "data_layout", "kernel_layout", "out_layout", "out_dtype"),
    ),
    spelt_out=("padding",),
    attrs=DeformableConv2DAttrs,
    relation=_relation,
    complete=_complete,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_compute,
    reference=_reference,
    references=('J. Dai et al., "Deformable Convolutional Networks", ICCV 2017, section 2.1.',),
    waived={"gradient": "adds up what places were interpolated from, which no operator here does"},
)
