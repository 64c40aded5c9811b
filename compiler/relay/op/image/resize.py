"""Image resizing: ``image.resize1d``, ``image.resize2d``, ``image.resize3d``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import AttrKind, Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, FLOAT, FLOATS, INT, OPTIONAL_DTYPE, STRING, one_of, optional
from compiler.ir.deprecation import deprecated
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.nn.interpolate import resized
from compiler.relay.op.nn.spatial import EXTENTS, SpatialAttrs, extents
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, composite, register
from compiler.relay.operator import Array, OpPattern, Types
from compiler.relay.ty import Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.resize import METHODS, MODES, ROUNDING, AxisResize
from compiler.topi.nn.resize import resize as topi_resize
from compiler.topi.operands import constant, dims
from compiler.topi.schedules.x86.sampling import schedule_resampling


class _Region(AttrKind[tuple[float, ...] | None]):
    """The part of the data to resize: all beginnings, then all ends, as shares of the extents."""

    __slots__ = ()

    def convert(self, value: object, owner: type[Attrs]) -> tuple[float, ...] | None:
        values = () if value is None else FLOATS.convert(value, owner)
        rank = owner.RANK if issubclass(owner, SpatialAttrs) else 0
        if len(values) not in (0, 2 * rank):
            raise ValueError(f"{2 * rank} numbers, all beginnings and then all ends")
        return values or None


_LAYOUT_DOC = "Layout of the data, such as ``NCHW`` or ``NHWC``."


class ResizeAttrs(SpatialAttrs):
    """Attributes of resizing."""

    UNWRITTEN = {"rounding_method": "round"}

    size: tuple[Dim, ...] = attr_field(EXTENTS, "Spatial extents of the result.")
    roi: tuple[float, ...] | None = attr_field(
        _Region("sequence of float, optional"),
        "Part of the data to resize in mode ``tf_crop_and_resize``: all beginnings, then all ends, from 0 to 1.",
        None,
    )
    layout: str = attr_field(STRING, _LAYOUT_DOC, "")
    method: str = attr_field(one_of(*METHODS), "Interpolation between pixels.", "linear")
    coordinate_transformation_mode: str = attr_field(
        one_of(*MODES), "How coordinates of the result become those of the data, as ONNX names it.", "half_pixel"
    )
    rounding_method: str = attr_field(one_of(*ROUNDING), "How ``nearest_neighbor`` rounds.", "")
    cubic_alpha: float = attr_field(FLOAT, "Coefficient of the cubic spline.", -0.5)
    cubic_exclude: int = attr_field(INT, "Whether weights of elements outside of the data are left out.", 0)
    extrapolation_value: float = attr_field(FLOAT, "What is outside of the data in mode ``tf_crop_and_resize``.", 0.0)
    out_dtype: str = attr_field(OPTIONAL_DTYPE, "Data type of the result; that of the data if it is empty.", None)
    scales: tuple[float, ...] | None = attr_field(
        optional(FLOATS), "New elements for an old one, where that is not the quotient of the extents.", None
    )
    antialias: bool = attr_field(BOOL, "Whether weights reach further where the result is smaller.", False)


class Resize1DAttrs(ResizeAttrs):
    """Attributes of ``image.resize1d``."""

    RANK = 1
    layout: str = attr_field(STRING, _LAYOUT_DOC, "NCW")


class Resize2DAttrs(ResizeAttrs):
    """Attributes of ``image.resize2d``."""

    RANK = 2
    layout: str = attr_field(STRING, _LAYOUT_DOC, "NCHW")


class Resize3DAttrs(ResizeAttrs):
    """Attributes of ``image.resize3d``."""

    RANK = 3
    layout: str = attr_field(STRING, _LAYOUT_DOC, "NCDHW")


def _relation(types: Types, attrs: ResizeAttrs) -> Type:
    """The data with spatial extents ``size``."""
    data = tensor(types[0], "data")
    x = extents(data, layout(attrs.layout), "data")
    letters = spatial_letters(attrs.layout)
    shape = layout(attrs.layout).shape(x | dict(zip(letters, attrs.size, strict=True)))
    return TensorType(shape, attrs.out_dtype or data.dtype)


def _axes(attrs: ResizeAttrs, shape: Sequence[Dim]) -> list[AxisResize]:
    x = layout(attrs.layout).extents(shape)
    rank = len(attrs.size)
    roi = attrs.roi or (0.0,) * rank + (1.0,) * rank
    return [
        AxisResize(
            source=constant(x[letter], "resize"),
            target=constant(attrs.size[d], "resize"),
            method=attrs.method,
            mode=attrs.coordinate_transformation_mode,
            rounding=attrs.rounding_method,
            cubic_alpha=attrs.cubic_alpha,
            exclude_outside=bool(attrs.cubic_exclude),
            scale=attrs.scales[d] if attrs.scales else None,
            region=(roi[d], roi[d + rank]),
            antialias=bool(attrs.antialias),
        )
        for d, letter in enumerate(spatial_letters(attrs.layout))
    ]


def _compute(attrs: ResizeAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    (data,) = inputs
    letters = spatial_letters(attrs.layout)
    axes = _axes(attrs, dims(data))
    dtype = attrs.out_dtype or data.dtype
    return [topi_resize(data, attrs.layout, axes, letters, attrs.extrapolation_value, dtype)]


def _reference(attrs: ResizeAttrs, x: Array) -> Array:
    letters = spatial_letters(attrs.layout)
    result = layout(attrs.layout).to_plain(x, "NC" + letters)
    blend = attrs.method != "nearest_neighbor" and x.dtype.kind in "iub"
    result = result.astype("float32") if blend else result
    for d, axis in enumerate(_axes(attrs, x.shape)):
        if not axis.keeps:
            result = np.moveaxis(resized(np.moveaxis(result, 2 + d, -1), axis, attrs.extrapolation_value), -1, 2 + d)
    dtype = attrs.out_dtype or x.dtype
    return layout(attrs.layout).from_plain(np.ascontiguousarray(result).astype(dtype), "NC" + letters)


def _with_region(args: tuple[object, ...]) -> tuple[object, ...]:
    """Return positional arguments with a region behind the size: until 0.8 the layout came there."""
    return (*args[:2], None, *args[2:]) if len(args) > 2 and isinstance(args[2], str) else args


def _register(attrs: type[ResizeAttrs]) -> OpFunction:
    rank = attrs.RANK
    return register(
        f"image.resize{rank}d",
        doc=f"Resize images in {rank} dimension{'s' * (rank > 1)}, by the nearest element or by interpolation.",
        inputs={"data": "Images in ``layout``."},
        attrs=attrs,
        older_order=_with_region,
        relation=_relation,
        pattern=OpPattern.INJECTIVE,
        compute=_compute,
        schedule=schedule_resampling,
        reference=_reference,
        waived={"gradient": "adds up what elements were spread to, which no operator here does"},
    )


resize1d, resize2d, resize3d = (_register(attrs) for attrs in (Resize1DAttrs, Resize2DAttrs, Resize3DAttrs))

_OLDER_METHODS = {"bilinear": "linear", "bicubic": "cubic"}


@composite
def resize(
    data: Expr,
    size: Sequence[int] | Expr,
    layout: str = "NCHW",
    method: str = "bilinear",
    coordinate_transformation_mode: str = "half_pixel",
    out_dtype: str | None = None,
) -> Call:
    """Resize images in two dimensions: what ``resize2d`` was called before 0.8.

    ``method`` is ``nearest_neighbor``, ``bilinear`` or ``bicubic``, and ``coordinate_transformation_mode`` is
    ``half_pixel``, ``align_corners`` or ``asymmetric``.
    """
    deprecated("tvm.relay.image.resize", "tvm.relay.image.resize2d")
    chosen = _OLDER_METHODS.get(method, method) if isinstance(method, str) else method
    return resize2d(data, size, None, layout, chosen, coordinate_transformation_mode, out_dtype=out_dtype)
