"""Pooling: ``nn.max_pool2d``, ``nn.global_avg_pool2d``, …, and the gradients ``nn.max_pool2d_grad``, …"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import BOOL, STRING
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.nn.spatial import PADDING, POSITIVE_SPATIAL, SpatialAttrs, extents, window_dim, windows
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, Types, call_op, operator_of
from compiler.relay.ty import Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.extrema import LARGEST
from compiler.topi.nn import pool as topi
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.pool_gradients import avg_pool_grad, max_pool_grad
from compiler.topi.operands import dims

_LAYOUT_DOC = "Layout of the data, such as ``NCHW`` or ``NHWC``."


class PoolAttrs(SpatialAttrs):
    """Attributes of pooling."""

    pool_size: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Extents of the window.", 1)
    strides: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Step of the window along each spatial dimension.", 1)
    dilation: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Distance of neighbouring elements of the window.", 1)
    padding: tuple[int, ...] = attr_field(
        PADDING, "Padding of the data: one number, one a dimension, or all beginnings and then all ends.", 0
    )
    layout: str = attr_field(STRING, _LAYOUT_DOC, "")
    out_layout: str = attr_field(STRING, "Layout of the result; only that of the data, or empty.", "")
    ceil_mode: bool = attr_field(BOOL, "Whether a last window that is not full counts.", False)


class MaxPool1DAttrs(PoolAttrs, RANK=1, layout="NCW"):
    """Attributes of ``nn.max_pool1d``."""


class MaxPool2DAttrs(PoolAttrs, RANK=2, layout="NCHW"):
    """Attributes of ``nn.max_pool2d``."""


class MaxPool3DAttrs(PoolAttrs, RANK=3, layout="NCDHW"):
    """Attributes of ``nn.max_pool3d``."""


class AvgPoolAttrs(PoolAttrs):
    """Attributes of average pooling."""

    count_include_pad: bool = attr_field(BOOL, "Whether padding counts as elements of the mean.", False)


class AvgPool1DAttrs(AvgPoolAttrs, RANK=1, layout="NCW"):
    """Attributes of ``nn.avg_pool1d``."""


class AvgPool2DAttrs(AvgPoolAttrs, RANK=2, layout="NCHW"):
    """Attributes of ``nn.avg_pool2d``."""


class AvgPool3DAttrs(AvgPoolAttrs, RANK=3, layout="NCDHW"):
    """Attributes of ``nn.avg_pool3d``."""


def _out_extents(x: dict[str, Dim], attrs: PoolAttrs) -> dict[str, Dim]:
    letters = spatial_letters(attrs.layout)
    rank = len(letters)
    result = dict(x)
    for d, letter in enumerate(letters):
        around = attrs.padding[d] + attrs.padding[d + rank]
        result[letter] = window_dim(
            x[letter], around, attrs.pool_size[d], attrs.strides[d], attrs.dilation[d], attrs.ceil_mode
        )
    return result


def _relation(types: Types, attrs: PoolAttrs) -> Type:
    """The data with an element for each window along the spatial dimensions."""
    data = tensor(types[0], "data")
    shape = layout(attrs.layout).shape(_out_extents(extents(data, layout(attrs.layout), "data"), attrs))
    return TensorType(shape, data.dtype)


def spec_of(attrs: PoolAttrs, data: Tensor) -> topi.PoolSpec:
    """Return what the definition of pooling a tensor takes."""
    letters = spatial_letters(attrs.layout)
    half = len(letters)
    out = _out_extents(layout(attrs.layout).extents(dims(data)), attrs)
    return topi.PoolSpec(
        kernel=attrs.pool_size,
        strides=attrs.strides,
        dilation=attrs.dilation,
        before=attrs.padding[:half],
        after=attrs.padding[half:],
        out=tuple(out[letter] for letter in letters),
        layout=attrs.layout,
    )


def _max_compute(attrs: PoolAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [topi.max_pool(inputs[0], spec_of(attrs, inputs[0]), LARGEST)]


def _avg_compute(attrs: AvgPoolAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [topi.avg_pool(inputs[0], spec_of(attrs, inputs[0]), attrs.count_include_pad)]


def pool_windows(attrs: PoolAttrs, x: Array, fill: float, padding: float | None = None) -> Array:
    """Return the windows of a plain array; ``padding`` fills the padding, ``fill`` what is beyond it."""
    rank = x.ndim - 2
    before, after = attrs.padding[:rank], attrs.padding[rank:]
    inner = fill if padding is None else padding
    x = np.pad(x, [(0, 0), (0, 0), *zip(before, after, strict=True)], constant_values=inner)
    more = []
    for d in range(rank):
        reach = (attrs.pool_size[d] - 1) * attrs.dilation[d] + 1
        count = window_dim(x.shape[2 + d], 0, attrs.pool_size[d], attrs.strides[d], attrs.dilation[d], attrs.ceil_mode)
        more.append((0, max(0, (count - 1) * attrs.strides[d] + reach - x.shape[2 + d])))
    x = np.pad(x, [(0, 0), (0, 0), *more], constant_values=fill)
    return windows(x, attrs.pool_size, attrs.strides, attrs.dilation)


def lowest(dtype: np.dtype[Any]) -> float:
    """Return the lowest number of a data type."""
    return int(np.iinfo(dtype).min) if dtype.kind in "iu" else -np.inf


def _plainly(function: Callable[[Any, Array], Array], attrs: PoolAttrs, x: Array) -> Array:
    """Compute of arrays of any layout what ``function`` does of arrays ``(N, C, spatial…)``."""
    letters = "NC" + spatial_letters(attrs.layout)
    result = function(attrs, layout(attrs.layout).to_plain(x, letters))
    return layout(attrs.layout).from_plain(result.astype(x.dtype), letters)


def pool_reference_axes(x: Array) -> tuple[int, ...]:
    """Return the axes of the elements of a window."""
    return tuple(range(-(x.ndim - 2), 0))


def _max_reference(attrs: PoolAttrs, x: Array) -> Array:
    made: Array = pool_windows(attrs, x, lowest(x.dtype)).max(pool_reference_axes(x))
    return made


def _avg_reference(attrs: AvgPoolAttrs, x: Array) -> Array:
    counted = pool_windows(attrs, np.ones_like(x), 0, 1 if attrs.count_include_pad else 0).sum(pool_reference_axes(x))
    total = pool_windows(attrs, x, 0).sum(pool_reference_axes(x), dtype=x.dtype)
    counted = np.maximum(counted, 1)
    result: Array = total / counted if x.dtype.kind not in "iub" else np.trunc(total / counted)
    return result


def _gradient(call: Call, grad: Expr) -> list[Expr]:
    return [call_op(operator_of(call).name + "_grad", grad, call.args[0], **call.attrs)]


def _register(attrs: type[PoolAttrs]) -> OpFunction:
    average = issubclass(attrs, AvgPoolAttrs)
    name = f"nn.{'avg' if average else 'max'}_pool{attrs.RANK}d"
    kind: type[Any] = attrs
    return register(
        name,
        doc=f"Return the {'mean' if average else 'largest element'} of each window.",
        inputs={"data": "Images in ``layout``."},
        spelt_out=("pool_size", "padding"),
        attrs=kind,
        relation=_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_avg_compute if average else _max_compute,
        reference=partial(_plainly, _avg_reference if average else _max_reference),
        gradient=_gradient,
    )


max_pool1d, max_pool2d, max_pool3d = (_register(a) for a in (MaxPool1DAttrs, MaxPool2DAttrs, MaxPool3DAttrs))
avg_pool1d, avg_pool2d, avg_pool3d = (_register(a) for a in (AvgPool1DAttrs, AvgPool2DAttrs, AvgPool3DAttrs))


def _grad_relation(types: Types, attrs: PoolAttrs) -> Type:
    """The gradient has the type of the data."""
    return tensor(types[1], "data")


def _grad_max_compute(attrs: PoolAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [max_pool_grad(inputs[0], inputs[1], spec_of(attrs, inputs[1]))]


def _grad_avg_compute(attrs: AvgPoolAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [avg_pool_grad(inputs[0], inputs[1], spec_of(attrs, inputs[1]), attrs.count_include_pad)]


def _scattered(attrs: PoolAttrs, grad: Array, x: Array, shares: Callable[[Array, Array, Array], Array]) -> Array:
    """Add ``shares(grad, windows)``, of the windows' shape, to the elements that the windows are made of."""
    letters = "NC" + spatial_letters(attrs.layout)
    plain, upstream = (layout(attrs.layout).to_plain(a, letters) for a in (x, grad))
    places = np.arange(plain.size).reshape(plain.shape)
    where = pool_windows(attrs, places, plain.size)
    result = np.zeros(plain.size + 1, x.dtype)
    np.add.at(result, where, shares(upstream.reshape(upstream.shape + (1,) * len(attrs.pool_size)), plain, where))
    return layout(attrs.layout).from_plain(result[:-1].reshape(plain.shape), letters)


def _grad_max_reference(attrs: PoolAttrs, grad: Array, x: Array) -> Array:
    def shares(upstream: Array, plain: Array, where: Array) -> Array:
        elements = pool_windows(attrs, plain, lowest(plain.dtype))
        flat = elements.reshape(*elements.shape[: -len(attrs.pool_size)], -1)
        first = np.arange(flat.shape[-1]) == flat.argmax(-1)[..., None]
        return np.where(first.reshape(elements.shape), upstream, 0)

    return _scattered(attrs, grad, x, shares)


def _grad_avg_reference(attrs: AvgPoolAttrs, grad: Array, x: Array) -> Array:
    def shares(upstream: Array, plain: Array, where: Array) -> Array:
        counted = pool_windows(attrs, np.ones_like(plain), 0, 1 if attrs.count_include_pad else 0)
        total = counted.sum(pool_reference_axes(plain), keepdims=True)
        return np.broadcast_to(upstream / np.maximum(total, 1), where.shape)

    return _scattered(attrs, grad, x, shares)


def _grad_parameters(average: bool) -> tuple[str, ...]:
    """Return the order of the parameters: that of TVM's gradients, which have no dilation."""
    common = ("out_grad", "data", "pool_size", "strides", "padding", "layout", "out_layout", "ceil_mode")
    return (*common, *(("count_include_pad",) if average else ()), "dilation")


def _grad_register(pool: OpFunction) -> OpFunction:
    average = issubclass(pool.op.attrs_type, AvgPoolAttrs)
    kind: type[Any] = pool.op.attrs_type
    return register(
        f"{pool.op.name}_grad",
        doc=f"Return the gradient of the data of ``{pool.op.name}`` from that of its result.",
        inputs={"out_grad": "Gradient of the result of pooling.", "data": "What was pooled."},
        attrs=kind,
        parameters=_grad_parameters(average),
        relation=_grad_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_grad_avg_compute if average else _grad_max_compute,
        reference=_grad_avg_reference if average else _grad_max_reference,
        waived={"gradient": "pooling is not differentiated twice"},
    )


max_pool1d_grad, max_pool2d_grad, max_pool3d_grad = (_grad_register(p) for p in (max_pool1d, max_pool2d, max_pool3d))
avg_pool1d_grad, avg_pool2d_grad, avg_pool3d_grad = (_grad_register(p) for p in (avg_pool1d, avg_pool2d, avg_pool3d))
