"""Convolutions with pre-transformed weights: Winograd, and tiled matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.arith.minimal_filtering import transform_arrays
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import POSITIVE_INT
from compiler.ir.types import Type
from compiler.relay.op.common import FIRST_ORDER, check_same_extent, num_elements
from compiler.relay.op.nn.conv import conv_reference, conv_relation
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs, Conv3DAttrs, ConvAttrs
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution import conv_gemm
from compiler.topi.nn.convolution import winograd as topi
from compiler.topi.operands import constant

_TILE = "Outputs of a tile along each dimension."
_ORDER = (
    "strides", "padding", "dilation", "groups", "channels", "kernel_size", "data_layout", "kernel_layout", "out_layout",
    "out_dtype",
)  # fmt: skip
"""The attributes of convolutions in the order of their public functions."""
_TRANSFORMED = {**FIRST_ORDER, "layout": "the weight is in none, and the images are in the one that it was made for"}
_LAVIN = ('A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.',)


class ConvWinogradWeightTransformAttrs(Attrs):
    """Attributes of the transforms of weights."""

    tile_size: int = attr_field(POSITIVE_INT, _TILE)


class Conv2DWinogradAttrs(Conv2DAttrs):
    """Attributes of ``nn.contrib_conv2d_winograd_without_weight_transform``."""

    tile_size: int = attr_field(POSITIVE_INT, _TILE)


class Conv3DWinogradAttrs(Conv3DAttrs):
    """Attributes of ``nn.contrib_conv3d_winograd_without_weight_transform``."""

    tile_size: int = attr_field(POSITIVE_INT, _TILE)


class ConvGemmWeightTransformAttrs(Attrs):
    tile_N: int = attr_field(POSITIVE_INT, "Output channels of a tile.")
    tile_K: int = attr_field(POSITIVE_INT, "Elements of the window in a tile.")


def _plain(rank: int, spatial: tuple[int, ...]) -> int:
    """Return how many spatial dimensions are not transformed."""
    return 1 if rank == 3 and not topi.transforms_depth(spatial) else 0


def _transformed_shape(weight: TensorType, tile_size: int) -> tuple[Dim, ...]:
    if len(weight.dims) not in (4, 5):
        raise RelationError(f"weight must have 2 or 3 spatial dimensions, got {weight}")
    outputs, inputs, *spatial = weight.dims
    size = tuple(constant(e, "winograd") for e in spatial)
    plain = _plain(len(size), size)
    if len(set(size[plain:])) > 1:
        raise RelationError(f"the window must be square, got {weight}")
    return (*[e + tile_size - 1 for e in size[plain:]], *size[:plain], outputs, inputs)


def _weight_relation(types: Types, attrs: ConvWinogradWeightTransformAttrs) -> Type:
    """``(*points, O, I)``, or ``(*points, depth, O, I)`` of a weight whose depth is not transformed."""
    weight = tensor(types[0], "weight")
    return TensorType(_transformed_shape(weight, attrs.tile_size), weight.dtype)


def _weight_reference(attrs: ConvWinogradWeightTransformAttrs, weight: Array) -> Array:
    """Evaluate each window, as a polynomial, at the points of the transform."""
    plain = _plain(weight.ndim - 2, weight.shape[2:])
    *_, matrix = transform_arrays(attrs.tile_size, weight.shape[-1])
    result = np.moveaxis(weight.astype("float64"), (0, 1), (-2, -1))
    for d in range(plain, weight.ndim - 2):
        result = np.moveaxis(np.tensordot(matrix, result, (1, d)), 0, d)
    return np.moveaxis(result, 0, weight.ndim - 3).astype(weight.dtype) if plain else result.astype(weight.dtype)


def _window(attrs: ConvAttrs) -> tuple[tuple[int, ...], int]:
    """Return the extents of the window and the number of output channels."""
    if attrs.channels is None or attrs.kernel_size is None:
        raise RelationError("channels and kernel_size must be given: the transformed weight does not determine them")
    return attrs.kernel_size, attrs.channels


def _plain_weight(data: Type, attrs: ConvAttrs) -> TensorType:
    """Return the type of the weight before it was transformed."""
    kernel_size, channels = _window(attrs)
    images = tensor(data, "data")
    inputs = layout(attrs.data_layout).extents(images.dims)["C"]
    extents = {"O": channels, "I": inputs // attrs.groups}
    extents |= dict(zip("DHW"[3 - attrs.RANK :], kernel_size, strict=True))
    return TensorType(layout(attrs.kernel_layout).shape(extents), images.dtype)


def _conv_relation(types: Types, attrs: Any) -> Type:
    """The type of the convolution's result."""
    _require_plain(attrs)
    weight, plain = tensor(types[1], "weight"), _plain_weight(types[0], attrs)
    shape = _transformed_shape(plain, attrs.tile_size)
    if len(weight.dims) != len(shape):
        raise RelationError(f"weight must have {len(shape)} dimensions, got {weight}")
    for a, b in zip(weight.dims, shape, strict=True):
        check_same_extent(a, b, f"the transformed weight {weight} and what the attributes say, {shape}")
    return conv_relation((types[0], plain), attrs)


def _require_plain(attrs: ConvAttrs) -> None:
    usual = {2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}[attrs.RANK]
    steps = {*attrs.strides, *attrs.dilation, attrs.groups}
    if steps != {1} or (attrs.data_layout, attrs.kernel_layout) != usual:
        raise RelationError(f"strides, dilation and groups must be 1, and the layouts {usual[0]} and {usual[1]}")


def _conv_compute(attrs: Any, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, weight = inputs
    plain = _plain(attrs.RANK, attrs.kernel_size)
    return [topi.winograd_conv(data, weight, attrs.spec(data.dtype), attrs.tile_size, plain)]


def _conv_reference(attrs: Any, data: Array, weight: Array) -> Array:
    """Convolve with the weight whose transform it is: the points are more than the window has elements."""
    plain = _plain(attrs.RANK, attrs.kernel_size)
    *_, matrix = transform_arrays(attrs.tile_size, attrs.kernel_size[-1])
    back, result = np.linalg.pinv(matrix), weight.astype("float64")
    for d in range(attrs.RANK - plain):
        result = np.moveaxis(np.tensordot(back, result, (1, d)), 0, d)
    if plain:
        result = np.moveaxis(result, attrs.RANK - plain, 0)
    return conv_reference(attrs, data, np.moveaxis(result, (-2, -1), (0, 1)).astype(data.dtype))


def _winograd(rank: int, attrs: type[ConvAttrs], transform: Any) -> tuple[OpFunction, OpFunction]:
    """Register the transform of a weight, and the convolution with the result."""
    weights = register(
        f"nn.contrib_conv{rank}d_winograd_weight_transform",
        doc="Transform the weight of a convolution for Winograd's minimal filtering.",
        inputs={"weight": "Kernels, the output channels first."},
        attrs=ConvWinogradWeightTransformAttrs,
        relation=_weight_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=lambda attrs, inputs, out_type: [transform(inputs[0], attrs.tile_size)],
        reference=_weight_reference,
        references=_LAVIN,
        waived=FIRST_ORDER,
    )
    conv = register(
        f"nn.contrib_conv{rank}d_winograd_without_weight_transform",
        doc="Convolve with a weight that was transformed for Winograd's minimal filtering.",
        inputs={"data": "Images, the channels before the spatial dimensions.", "weight": "The transformed kernels."},
        attrs=attrs,
        parameters=("data", "weight", "tile_size", *_ORDER),
        spelt_out=("padding",),
        relation=_conv_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_conv_compute,
        reference=_conv_reference,
        references=_LAVIN,
        waived=_TRANSFORMED,
    )
    return weights, conv


conv2d_weight, conv2d_winograd = _winograd(2, Conv2DWinogradAttrs, topi.conv2d_winograd_weight_transform)
conv3d_weight, conv3d_winograd = _winograd(3, Conv3DWinogradAttrs, topi.conv3d_winograd_weight_transform)


def _gemm_weight_relation(types: Types, attrs: ConvGemmWeightTransformAttrs) -> Type:
    """``(tiles of columns, tiles of rows, tile_K, tile_N)``, the last two exchanged for integers of 8 bits."""
    weight = tensor(types[0], "weights", 4)
    *window, outputs = weight.dims
    tiles = conv_gemm.gemm_tiles(num_elements(window), outputs, attrs.tile_N, attrs.tile_K)
    tile = (attrs.tile_K, attrs.tile_N)
    return TensorType((*tiles, *(tile[::-1] if conv_gemm.has_rows_inside(weight.dtype) else tile)), weight.dtype)


def _gemm_weight_reference(attrs: ConvGemmWeightTransformAttrs, weight: Array) -> Array:
    matrix = weight.reshape(-1, weight.shape[-1])
    counts = conv_gemm.gemm_tiles(*matrix.shape, attrs.tile_N, attrs.tile_K)
    across, down = (constant(n, "conv2d_gemm") for n in counts)
    full = np.zeros((down * attrs.tile_K, across * attrs.tile_N), weight.dtype)
    full[: matrix.shape[0], : matrix.shape[1]] = matrix
    tiles = full.reshape(down, attrs.tile_K, across, attrs.tile_N).transpose(2, 0, 1, 3)
    return tiles.swapaxes(2, 3) if conv_gemm.has_rows_inside(str(weight.dtype)) else tiles


contrib_conv2d_gemm_weight_transform = register(
    "nn.contrib_conv2d_gemm_weight_transform",
    doc="Return the weight of a convolution as a matrix in tiles.",
    inputs={"weights": "Kernels of the layout HWIO."},
    attrs=ConvGemmWeightTransformAttrs,
    relation=_gemm_weight_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    definition=conv_gemm.conv2d_gemm_weight_transform,
    reference=_gemm_weight_reference,
    waived=FIRST_ORDER,
)


def _gemm_relation(types: Types, attrs: Conv2DAttrs) -> Type:
    """The type of the convolution's result."""
    tensor(types[1], "weight", 4)
    return conv_relation((types[0], _plain_weight(types[0], attrs)), attrs)


def _gemm_compute(attrs: Conv2DAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, weight = inputs
    kernel_size, channels = _window(attrs)
    spec = attrs.spec(data.dtype)
    return [conv_gemm.conv2d_gemm_without_weight_transform(data, weight, spec, kernel_size, channels)]


def _gemm_reference(attrs: Conv2DAttrs, data: Array, weight: Array) -> Array:
    kernel_size, channels = _window(attrs)
    tiles = weight.swapaxes(2, 3) if conv_gemm.has_rows_inside(str(weight.dtype)) else weight
    across, down, tile_k, tile_n = tiles.shape
    matrix = tiles.transpose(1, 2, 0, 3).reshape(down * tile_k, across * tile_n)
    inputs = data.shape[-1]
    rows = matrix[: int(np.prod(kernel_size)) * inputs, :channels]
    return conv_reference(attrs, data, rows.reshape(*kernel_size, inputs, channels))


contrib_conv2d_gemm_without_weight_transform = register(
    "nn.contrib_conv2d_gemm_without_weight_transform",
    doc="Convolve with a weight that is a matrix in tiles.",
    inputs={"data": "Images of the layout NHWC.", "weight": "The weight in tiles."},
    attrs=Conv2DAttrs,
    spelt_out=("padding",),
    relation=_gemm_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_gemm_compute,
    reference=_gemm_reference,
    waived=_TRANSFORMED,
)
