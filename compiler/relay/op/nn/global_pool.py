"""Global pooling (``nn.global_avg_pool2d``, …) and adaptive pooling (``nn.adaptive_avg_pool2d``, …)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from compiler.ir.attrs import AttrKind, Attrs, attr_field
from compiler.ir.attrs.kinds import STRING
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.nn.spatial import POSITIVE_SPATIAL, SpatialAttrs, extents
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.extrema import LARGEST
from compiler.topi.nn import pool as topi
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.operands import constant, dims

_LAYOUT_DOC = "Layout of the data, such as ``NCHW`` or ``NHWC``."


class _OptionalSize(AttrKind[tuple[int, ...] | None]):
    """An int for each spatial dimension; nothing, or an empty sequence, keeps the extents of the data."""

    __slots__ = ()

    def convert(self, value: object, owner: type[Attrs]) -> tuple[int, ...] | None:
        return None if value is None or value == () else POSITIVE_SPATIAL.convert(value, owner)


class GlobalPoolAttrs(SpatialAttrs):
    """Attributes of pooling over all spatial dimensions."""

    layout: str = attr_field(STRING, _LAYOUT_DOC, "")
    out_layout: str = attr_field(STRING, "Layout of the result; only that of the data, or empty.", "")


class GlobalPool1DAttrs(GlobalPoolAttrs, RANK=1, layout="NCW"):
    """Attributes of ``nn.global_max_pool1d`` and ``nn.global_avg_pool1d``."""


class GlobalPool2DAttrs(GlobalPoolAttrs, RANK=2, layout="NCHW"):
    """Attributes of ``nn.global_max_pool2d`` and ``nn.global_avg_pool2d``."""


class GlobalPool3DAttrs(GlobalPoolAttrs, RANK=3, layout="NCDHW"):
    """Attributes of ``nn.global_max_pool3d`` and ``nn.global_avg_pool3d``."""


class AdaptivePoolAttrs(SpatialAttrs):
    """Attributes of pooling into a given shape."""

    output_size: tuple[int, ...] | None = attr_field(
        _OptionalSize("int or sequence of int, optional"), "Spatial extents of the result; by default the data's.", None
    )
    layout: str = attr_field(STRING, _LAYOUT_DOC, "")
    out_layout: str = attr_field(STRING, "Layout of the result; only that of the data, or empty.", "")


class AdaptivePool1DAttrs(AdaptivePoolAttrs, RANK=1, layout="NCW"):
    """Attributes of ``nn.adaptive_max_pool1d`` and ``nn.adaptive_avg_pool1d``."""


class AdaptivePool2DAttrs(AdaptivePoolAttrs, RANK=2, layout="NCHW"):
    """Attributes of ``nn.adaptive_max_pool2d`` and ``nn.adaptive_avg_pool2d``."""


class AdaptivePool3DAttrs(AdaptivePoolAttrs, RANK=3, layout="NCDHW"):
    """Attributes of ``nn.adaptive_max_pool3d`` and ``nn.adaptive_avg_pool3d``."""


def _plain(attrs: GlobalPoolAttrs | AdaptivePoolAttrs, x: Array) -> Array:
    return layout(attrs.layout).to_plain(x, "NC" + spatial_letters(attrs.layout))


def _laid_out(attrs: GlobalPoolAttrs | AdaptivePoolAttrs, result: Array, dtype: np.dtype[Any]) -> Array:
    return layout(attrs.layout).from_plain(result.astype(dtype), "NC" + spatial_letters(attrs.layout))


# whole images


def _global_relation(types: Types, attrs: GlobalPoolAttrs) -> Type:
    """The data with spatial extents of 1."""
    data = tensor(types[0], "data")
    x = extents(data, layout(attrs.layout), "data")
    ones = dict.fromkeys(spatial_letters(attrs.layout), 1)
    return TensorType(layout(attrs.layout).shape(x | ones), data.dtype)


def _global_reference(kind: str, attrs: GlobalPoolAttrs, x: Array) -> Array:
    plain = _plain(attrs, x)
    axes = tuple(range(2, plain.ndim))
    result = plain.max(axes, keepdims=True) if kind == "max" else plain.mean(axes, keepdims=True)
    return _laid_out(attrs, result, x.dtype)


def _global_gradient(kind: str, call: Call, grad: Expr) -> list[Expr]:
    data = call.args[0]
    spread = call_op("broadcast_to_like", grad, data)
    if kind == "avg":
        shape, pooled = data.checked_type.concrete_shape, call.checked_type.concrete_shape
        count = int(np.prod(shape)) // int(np.prod(pooled))
        return [call_op("multiply", spread, const(1 / count, call.checked_type.dtype))]
    largest = call_op("equal", data, call_op("broadcast_to_like", call, data))
    return [call_op("where", largest, spread, call_op("zeros_like", data))]


def _register_global(kind: str, attrs: type[GlobalPoolAttrs]) -> OpFunction:
    return register(
        f"nn.global_{kind}_pool{attrs.RANK}d",
        doc=f"Return the {'mean' if kind == 'avg' else 'largest element'} of each channel of each image.",
        inputs={"data": "Images in ``layout``."},
        attrs=attrs,
        relation=_global_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=lambda attrs, inputs, out_type: [topi.global_pool(inputs[0], attrs.layout, kind, LARGEST)],
        reference=partial(_global_reference, kind),
        gradient=partial(_global_gradient, kind),
    )


_RANKS = (GlobalPool1DAttrs, GlobalPool2DAttrs, GlobalPool3DAttrs)
global_max_pool1d, global_max_pool2d, global_max_pool3d = (_register_global("max", attrs) for attrs in _RANKS)
global_avg_pool1d, global_avg_pool2d, global_avg_pool3d = (_register_global("avg", attrs) for attrs in _RANKS)


# into a given shape


def _adaptive_relation(types: Types, attrs: AdaptivePoolAttrs) -> Type:
    """The data with spatial extents of ``output_size``."""
    data = tensor(types[0], "data")
    x = extents(data, layout(attrs.layout), "data")
    letters = spatial_letters(attrs.layout)
    if any(isinstance(x[letter], int) and x[letter] == 0 for letter in letters):
        raise RelationError(f"there is nothing to pool in the spatial dimensions of {data}")
    if attrs.output_size is None:
        return data
    return TensorType(layout(attrs.layout).shape(x | dict(zip(letters, attrs.output_size, strict=True))), data.dtype)


def _adaptive_compute(kind: str, attrs: AdaptivePoolAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    x = layout(attrs.layout).extents(dims(inputs[0]))
    out = attrs.output_size or [constant(x[letter], "adaptive_pool") for letter in spatial_letters(attrs.layout)]
    return [topi.adaptive_pool(inputs[0], out, attrs.layout, kind, LARGEST)]


def _adaptive_reference(kind: str, attrs: AdaptivePoolAttrs, x: Array) -> Array:
    result = _plain(attrs, x)
    for d, n in enumerate(attrs.output_size or ()):
        extent = result.shape[2 + d]
        parts = [np.take(result, range(i * extent // n, -(-(i + 1) * extent // n)), axis=2 + d) for i in range(n)]
        pooled = [p.max(2 + d) if kind == "max" else p.mean(2 + d) for p in parts]
        result = np.stack(pooled, axis=2 + d)
    return _laid_out(attrs, result, x.dtype)


def _register_adaptive(kind: str, attrs: type[AdaptivePoolAttrs]) -> OpFunction:
    return register(
        f"nn.adaptive_{kind}_pool{attrs.RANK}d",
        doc=f"Divide images into windows and return the {'mean' if kind == 'avg' else 'largest element'} of each.",
        inputs={"data": "Images in ``layout``."},
        attrs=attrs,
        relation=_adaptive_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=partial(_adaptive_compute, kind),
        reference=partial(_adaptive_reference, kind),
        waived={"gradient": "windows of different sizes, which no operator here scatters into"},
    )


_SIZES = (AdaptivePool1DAttrs, AdaptivePool2DAttrs, AdaptivePool3DAttrs)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_register_adaptive("max", attrs) for attrs in _SIZES)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_register_adaptive("avg", attrs) for attrs in _SIZES)
