"""Low-bit products: ``nn.bitpack``, ``nn.bitserial_dense``, ``nn.bitserial_conv2d``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, DTYPE, INT, POSITIVE_INT, STRING, optional
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent, has_any_dim, normalize_axis
from compiler.relay.op.nn.conv import conv_complete, conv_reference, conv_relation
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs
from compiler.relay.op.nn.spatial import PADDING, POSITIVE_SPATIAL, SPATIAL, SpatialAttrs
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, PartialTypes, RelationError, Types
from compiler.relay.ty import AnyDim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn import bitserial as topi

_NOT_SMOOTH = {"gradient": "it computes with integers"}


class BitPackAttrs(Attrs):
    bits: int = attr_field(POSITIVE_INT, "How many bits of each number count, from the lowest one on.", 1)
    pack_axis: int = attr_field(INT, "Axis of the data whose neighbours share a word.", 1)
    bit_axis: int = attr_field(INT, "Axis of the result that counts the bits of a number.", 2)
    pack_type: str = attr_field(DTYPE, "Data type of the words.", "uint32")
    name: str = attr_field(STRING, "Of the operation in the tensor expression.", "BitPack")


class BitSerialDenseAttrs(Attrs):
    units: int | None = attr_field(optional(INT), "Number of output units, where the weight has no type.", None)
    data_bits: int = attr_field(POSITIVE_INT, "Bits of the data that count.", 1)
    weight_bits: int = attr_field(POSITIVE_INT, "Bits of the weight that count.", 1)
    pack_dtype: str = attr_field(DTYPE, "Data type of the words that bits are packed into.", "uint32")
    out_dtype: str = attr_field(DTYPE, "Data type of the result.", "int16")
    unipolar: bool = attr_field(BOOL, "Whether a bit of the weight means 1 or -1, else 1 or 0.", True)

    @property
    def spec(self) -> topi.BitSpec:
        """How numbers are taken apart."""
        return topi.BitSpec(self.data_bits, self.weight_bits, self.pack_dtype, self.out_dtype, self.unipolar)


class BitSerialConv2DAttrs(SpatialAttrs):
    RANK = 2
    strides: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Step of the window along each spatial dimension.", 1)
    padding: tuple[int, ...] = attr_field(
        PADDING, "Zeros around the data: one number, one a dimension, or all beginnings and then all ends.", 0
    )
    channels: int | None = attr_field(optional(INT), "Number of output channels, where the weight has no type.", None)
    kernel_size: tuple[int, ...] | None = attr_field(
        optional(SPATIAL), "Spatial extents of the weight, where it has no type.", (3, 3)
    )
    activation_bits: int = attr_field(POSITIVE_INT, "Bits of the data that count.", 1)
    weight_bits: int = attr_field(POSITIVE_INT, "Bits of the weight that count.", 1)
    data_layout: str = attr_field(STRING, "Layout of the data, ``NCHW`` or ``NHWC``.", "NCHW")
    kernel_layout: str = attr_field(STRING, "Layout of the weight, such as ``OIHW`` or ``HWIO``.", "OIHW")
    pack_dtype: str = attr_field(DTYPE, "Data type of the words that bits are packed into.", "uint32")
    out_dtype: str = attr_field(DTYPE, "Data type of the result.", "int16")
    unipolar: bool = attr_field(BOOL, "Whether a bit of the weight means 1 or -1, else 1 or 0.", True)

    @property
    def spec(self) -> topi.BitSpec:
        """How numbers are taken apart."""
        return topi.BitSpec(self.activation_bits, self.weight_bits, self.pack_dtype, self.out_dtype, self.unipolar)

    @property
    def plain(self) -> Conv2DAttrs:
        """The attributes of the convolution of whole numbers."""
        names = ("strides", "padding", "channels", "kernel_size", "data_layout", "kernel_layout", "out_dtype")
        return Conv2DAttrs.make("nn.bitserial_conv2d", {name: self[name] for name in names})


# packing


def _pack_relation(types: Types, attrs: BitPackAttrs) -> Type:
    """With an axis of ``bits`` elements more, and one element along ``pack_axis`` for each word."""
    data = tensor(types[0], "data")
    rank, width = len(data.dims), dt.parse(attrs.pack_type).bits
    pack, bit = normalize_axis(attrs.pack_axis, rank, "pack_axis"), normalize_axis(attrs.bit_axis, rank + 1, "bit_axis")
    extent = data.dims[pack]
    if isinstance(extent, int) and extent % width:
        raise RelationError(f"axis {pack} must have a multiple of {width} elements, got {extent}")
    shape = [*data.dims[:pack], AnyDim() if has_any_dim(extent) else extent // width, *data.dims[pack + 1 :]]
    return TensorType((*shape[:bit], attrs.bits, *shape[bit:]), attrs.pack_type)


def _pack_compute(attrs: BitPackAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    rank = inputs[0].ndim
    pack, bit = normalize_axis(attrs.pack_axis, rank), normalize_axis(attrs.bit_axis, rank + 1)
    return [topi.bitpack(inputs[0], attrs.bits, pack, bit, attrs.pack_type, attrs.name)]


def _pack_reference(attrs: BitPackAttrs, x: Array) -> Array:
    width = dt.parse(attrs.pack_type).bits
    words = np.moveaxis(x, attrs.pack_axis, -1)
    words = words.reshape(*words.shape[:-1], -1, width)
    weights = np.array([1 << (width - 1 - k) for k in range(width)], attrs.pack_type)
    planes = []
    for bit in range(attrs.bits):
        packed = (((words >> bit) & 1).astype(attrs.pack_type) * weights).sum(-1, dtype=attrs.pack_type)
        planes.append(np.moveaxis(packed, -1, attrs.pack_axis))
    return np.stack(planes, attrs.bit_axis)


bitpack = register(
    "nn.bitpack",
    doc="Pack the bits of numbers into words: as many neighbours along an axis share one as it has bits.",
    inputs={"data": "Integers."},
    attrs=BitPackAttrs,
    relation=_pack_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_pack_compute,
    reference=_pack_reference,
    waived=_NOT_SMOOTH,
)


# products


def _whole(weight: Array, bits: int, unipolar: bool, dtype: str) -> Array:
    """Return the numbers that the bits of a weight stand for."""
    numbers = (weight & ((1 << bits) - 1)).astype(dtype)
    return np.asarray(2 * numbers - ((1 << bits) - 1) if unipolar else numbers, dtype)


def _dense_relation(types: Types, attrs: BitSerialDenseAttrs) -> Type:
    """``(…, units)`` of data type ``out_dtype``."""
    data, weight = tensor(types[0], "data", 2), tensor(types[1], "weight", 2)
    units = weight.dims[0] if attrs.units is None else attrs.units
    check_same_extent(weight.dims[0], units, "units and the rows of the weight")
    check_same_extent(data.dims[1], weight.dims[1], "the columns of data and those of the weight")
    return TensorType((data.dims[0], units), attrs.out_dtype)


def _dense_reference(attrs: BitSerialDenseAttrs, data: Array, weight: Array) -> Array:
    numbers = (data & ((1 << attrs.data_bits) - 1)).astype(attrs.out_dtype)
    return numbers @ _whole(weight, attrs.weight_bits, attrs.unipolar, attrs.out_dtype).T


bitserial_dense = register(
    "nn.bitserial_dense",
    doc="Multiply matrices of numbers of a few bits, bit by bit.",
    inputs={"data": "Integers, ``(rows, K)``.", "weight": "Integers, ``(units, K)``."},
    attrs=BitSerialDenseAttrs,
    relation=_dense_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [topi.bitserial_dense(inputs[0], inputs[1], attrs.spec)],
    reference=_dense_reference,
    waived=_NOT_SMOOTH,
)


def _conv_relation(types: Types, attrs: BitSerialConv2DAttrs) -> Type:
    """The type of the convolution, of data type ``out_dtype``."""
    return conv_relation(types, attrs.plain)


def _conv_complete(types: PartialTypes, attrs: BitSerialConv2DAttrs) -> Sequence[Type | None]:
    return conv_complete(types, attrs.plain)


def _conv_compute(attrs: BitSerialConv2DAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    layouts = (attrs.data_layout, attrs.kernel_layout)
    return [topi.bitserial_conv2d(inputs[0], inputs[1], attrs.strides, attrs.padding, layouts, attrs.spec)]


def _conv_reference(attrs: BitSerialConv2DAttrs, data: Array, weight: Array) -> Array:
    numbers = data & ((1 << attrs.activation_bits) - 1)
    return conv_reference(attrs.plain, numbers, _whole(weight, attrs.weight_bits, attrs.unipolar, attrs.out_dtype))


bitserial_conv2d = register(
    "nn.bitserial_conv2d",
    doc="Convolve images and kernels of numbers of a few bits, bit by bit.",
    inputs={
        "data": "Integers, ``(N, C, H, W)`` in the default layout.",
        "weight": "Integers, ``(O, C, H, W)`` in the default layout.",
    },
    attrs=BitSerialConv2DAttrs,
    relation=_conv_relation,
    complete=_conv_complete,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_conv_compute,
    reference=_conv_reference,
    waived=_NOT_SMOOTH,
)
