"""Upsampling: ``nn.upsampling``, ``nn.upsampling3d``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from compiler import tir
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, FLOAT, STRING, one_of
from compiler.ir.types import Type
from compiler.relay.op.common import has_any_dim
from compiler.relay.op.nn.interpolate import resized
from compiler.relay.op.nn.spatial import extents
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, Types
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.resize import MODES, AxisResize
from compiler.topi.nn.resize import resize as topi_resize
from compiler.topi.nn.upsampling import UPSAMPLING_METHODS
from compiler.topi.operands import constant, dims
from compiler.topi.schedules.x86.sampling import schedule_resampling

_METHOD = one_of(*UPSAMPLING_METHODS)


class UpsampleAttrs(Attrs):
    """What both upsamplings have in common."""

    layout: str
    method: str

    def scales(self) -> list[float]:
        """Return the factor of each spatial dimension."""
        return [self[f"scale_{letter.lower()}"] for letter in spatial_letters(self.layout)]

    @property
    @abstractmethod
    def mode(self) -> str:
        """How coordinates of the result become those of the data."""


class UpSamplingAttrs(UpsampleAttrs):
    """Attributes of ``nn.upsampling``."""

    scale_h: float = attr_field(FLOAT, "Factor of the height.", 1)
    scale_w: float = attr_field(FLOAT, "Factor of the width.", 1)
    layout: str = attr_field(STRING, "Layout of the data, such as ``NCHW`` or ``NHWC``.", "NCHW")
    method: str = attr_field(_METHOD, "Interpolation between pixels.", "nearest_neighbor")
    align_corners: bool = attr_field(BOOL, "Whether the corners of both images are the same points.", False)

    @property
    def mode(self) -> str:
        return "align_corners" if self.align_corners else "asymmetric"


class UpSampling3DAttrs(UpsampleAttrs):
    """Attributes of ``nn.upsampling3d``."""

    scale_d: float = attr_field(FLOAT, "Factor of the depth.", 1)
    scale_h: float = attr_field(FLOAT, "Factor of the height.", 1)
    scale_w: float = attr_field(FLOAT, "Factor of the width.", 1)
    layout: str = attr_field(STRING, "Layout of the data, such as ``NCDHW``.", "NCDHW")
    method: str = attr_field(_METHOD, "Interpolation between voxels.", "nearest_neighbor")
    coordinate_transformation_mode: str = attr_field(
        one_of(*MODES), "How coordinates of the result become those of the data.", "half_pixel"
    )

    @property
    def mode(self) -> str:
        return self.coordinate_transformation_mode


def _relation(types: Types, attrs: UpsampleAttrs) -> Type:
    """The data with spatial extents that are multiples of its own."""
    data = tensor(types[0], "data")
    x = extents(data, layout(attrs.layout), "data")
    for letter, scale in zip(spatial_letters(attrs.layout), attrs.scales(), strict=True):
        x[letter] = _scaled(x[letter], scale)
    return TensorType(layout(attrs.layout).shape(x), data.dtype)


def _scaled(extent: Dim, scale: float) -> Dim:
    """Return an extent that has grown: the nearest whole number."""
    if isinstance(extent, int):
        return round(extent * scale)
    if has_any_dim(extent):
        return AnyDim()
    return tir.Cast("int32", tir.round(extent * tir.const(scale, "float64")))


def _axes(attrs: UpsampleAttrs, shape: Sequence[Dim]) -> list[AxisResize]:
    extents = layout(attrs.layout).extents(shape)
    x = {letter: constant(extents[letter], "upsampling") for letter in spatial_letters(attrs.layout)}
    return [
        AxisResize(x[letter], round(x[letter] * scale), UPSAMPLING_METHODS[attrs.method], attrs.mode, cubic_alpha=-0.5)
        for letter, scale in zip(spatial_letters(attrs.layout), attrs.scales(), strict=True)
    ]


def _compute(attrs: UpsampleAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    (data,) = inputs
    letters = spatial_letters(attrs.layout)
    return [topi_resize(data, attrs.layout, _axes(attrs, dims(data)), letters, 0.0, data.dtype)]


def _reference(attrs: UpsampleAttrs, x: Array) -> Array:
    letters = spatial_letters(attrs.layout)
    result = layout(attrs.layout).to_plain(x, "NC" + letters)
    for d, axis in enumerate(_axes(attrs, x.shape)):
        result = np.moveaxis(resized(np.moveaxis(result, 2 + d, -1), axis, 0.0), -1, 2 + d)
    return layout(attrs.layout).from_plain(np.ascontiguousarray(result).astype(x.dtype), "NC" + letters)


def _register(name: str, attrs: type[UpsampleAttrs]) -> OpFunction:
    return register(
        name,
        doc="Enlarge images by a factor for each spatial dimension.",
        inputs={"data": "Images in ``layout``."},
        attrs=attrs,
        relation=_relation,
        pattern=OpPattern.INJECTIVE,
        compute=_compute,
        schedule=schedule_resampling,
        reference=_reference,
        waived={"gradient": "adds up what elements were spread to, which no operator here does"},
    )


upsampling = _register("nn.upsampling", UpSamplingAttrs)
upsampling3d = _register("nn.upsampling3d", UpSampling3DAttrs)
