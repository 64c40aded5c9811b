"""Larger images: ``nn.upsampling``, ``nn.upsampling3d``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import unknown
from compiler.relay.op.nn.conv import extents
from compiler.relay.op.nn.interpolate import resized
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types
from compiler.relay.ty import AnyDim, TensorType
from compiler.topi.layout import layout
from compiler.topi.nn import resize as topi
from compiler.topi.nn.conv import spatial_letters
from compiler.topi.schedules.x86.sampling import schedule_resampling
from compiler.topi.util import dims

_METHODS = {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def _scales(attrs: Attrs) -> list[float]:
    return [attrs[f"scale_{letter.lower()}"] for letter in spatial_letters(attrs.layout)]


def _relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    x = extents(data, layout(attrs.layout), "data")
    for letter, scale in zip(spatial_letters(attrs.layout), _scales(attrs), strict=True):
        extent: Any = x[letter]
        if not isinstance(extent, int) and not unknown(extent) and scale != int(scale):
            raise RelationError(f"the symbolic extent {letter} can only grow by whole numbers, got {scale}")
        if not unknown(extent):
            x[letter] = round(extent * scale) if isinstance(extent, int) else extent * int(scale)
        else:
            x[letter] = AnyDim()
    return TensorType(layout(attrs.layout).shape(x), data.dtype)


def _axes(attrs: Attrs, shape: Any) -> list[topi.AxisResize]:
    x = layout(attrs.layout).extents(shape)
    mode = "align_corners" if attrs.get("align_corners") else "asymmetric"
    mode = attrs.get("coordinate_transformation_mode", mode)
    return [
        topi.AxisResize(x[letter], round(x[letter] * scale), _METHODS[attrs.method], mode, cubic_alpha=-0.5)
        for letter, scale in zip(spatial_letters(attrs.layout), _scales(attrs), strict=True)
    ]


def _compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    (data,) = inputs
    letters = spatial_letters(attrs.layout)
    return [topi.resize(data, attrs.layout, _axes(attrs, dims(data)), letters, 0.0, data.dtype)]


def _reference(attrs: Attrs, x: Any) -> Any:
    letters = spatial_letters(attrs.layout)
    result = layout(attrs.layout).to_plain(x, "NC" + letters)
    for d, axis in enumerate(_axes(attrs, x.shape)):
        result = np.moveaxis(resized(np.moveaxis(result, 2 + d, -1), axis, 0.0), -1, 2 + d)
    return layout(attrs.layout).from_plain(np.ascontiguousarray(result).astype(x.dtype), "NC" + letters)


def _register(name: str, letters: str, more: dict[str, Any]) -> Any:
    return register(
        name,
        doc="Images that are larger by a factor for each dimension.",
        inputs=("data",),
        attributes={
            **{f"scale_{letter}": 1 for letter in letters},
            "layout": "NC" + letters.upper(),
            "method": "nearest_neighbor",
            **more,
        },
        relation=_relation,
        pattern=OpPattern.INJECTIVE,
        compute=_compute,
        schedule=schedule_resampling,
        reference=_reference,
        waived={"gradient": "adds up what elements were spread to, which no operator here does"},
    )


_UPSAMPLING = _register("nn.upsampling", "hw", {"align_corners": False})
_UPSAMPLING_3D = _register("nn.upsampling3d", "dhw", {"coordinate_transformation_mode": "half_pixel"})


def _method(name: str) -> str:
    if name not in _METHODS:
        raise ArgumentError(f"nn.upsampling: method must be one of {', '.join(_METHODS)}, got {show(name)}")
    return name


def upsampling(
    data: Expr,
    scale_h: float = 1,
    scale_w: float = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """Return ``data`` larger by ``scale_h`` and ``scale_w``.

    Parameters
    ----------
    method : str
        ``nearest_neighbor``, ``bilinear`` or ``bicubic``.
    align_corners : bool
        Whether the corners of both images are the same.
    """
    scales = {"scale_h": scale_h, "scale_w": scale_w}
    return _UPSAMPLING(data, layout=layout, method=_method(method), align_corners=align_corners, **scales)  # type: ignore[no-any-return]


def upsampling3d(
    data: Expr,
    scale_d: float = 1,
    scale_h: float = 1,
    scale_w: float = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call:
    """Return ``data`` larger by a factor for each dimension; ``method`` is ``nearest_neighbor`` or ``trilinear``."""
    attrs = {"scale_d": scale_d, "scale_h": scale_h, "scale_w": scale_w, "layout": layout}
    attrs["coordinate_transformation_mode"] = coordinate_transformation_mode
    return _UPSAMPLING_3D(data, method=_method(method), **attrs)  # type: ignore[no-any-return]
