"""Pooling of whole images (``nn.global_avg_pool2d``, …) and into a given shape (``nn.adaptive_avg_pool2d``, …)."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import symbolic
from compiler.relay.op.nn.common import ints, positive
from compiler.relay.op.nn.conv import extents
from compiler.relay.op.nn.pool import pool_layout
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi.layout import layout
from compiler.topi.nn import pool as topi
from compiler.topi.nn.conv import spatial_letters
from compiler.topi.util import dims

_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _plain(attrs: Attrs, x: Any) -> Any:
    return layout(attrs.layout).to_plain(x, "NC" + spatial_letters(attrs.layout))


def _laid_out(attrs: Attrs, result: Any, dtype: Any) -> Any:
    return layout(attrs.layout).from_plain(result.astype(dtype), "NC" + spatial_letters(attrs.layout))


# whole images


def _global_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    x = extents(data, layout(attrs.layout), "data")
    ones = dict.fromkeys(spatial_letters(attrs.layout), 1)
    return TensorType(layout(attrs.layout).shape(x | ones), data.dtype)


def _global_reference(kind: str) -> Any:
    def reference(attrs: Attrs, x: Any) -> Any:
        plain = _plain(attrs, x)
        axes = tuple(range(2, plain.ndim))
        result = plain.max(axes, keepdims=True) if kind == "max" else plain.mean(axes, keepdims=True)
        return _laid_out(attrs, result, x.dtype)

    return reference


def _global_gradient(kind: str) -> Any:
    def gradient(call: Call, grad: Expr) -> list[Expr]:
        data = call.args[0]
        spread = call_op("broadcast_to_like", grad, data)
        if kind == "avg":
            shape, pooled = data.checked_type.concrete_shape, call.checked_type.concrete_shape
            count = int(np.prod(shape)) // int(np.prod(pooled))
            return [call_op("multiply", spread, const(1 / count, call.checked_type.dtype))]
        largest = call_op("equal", data, call_op("broadcast_to_like", call, data))
        return [call_op("where", largest, spread, call_op("zeros_like", data))]

    return gradient


def _register_global(kind: str, rank: int) -> Any:
    return register(
        f"nn.global_{kind}_pool{rank}d",
        doc=f"The {'mean' if kind == 'avg' else 'largest element'} of each channel of each image.",
        inputs=("data",),
        attributes={"layout": _LAYOUTS[rank], "out_layout": ""},
        relation=_global_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=lambda attrs, inputs, out_type: [topi.global_pool(inputs[0], attrs.layout, kind)],
        reference=_global_reference(kind),
        gradient=_global_gradient(kind),
        layout=pool_layout,
    )


_GLOBAL = {(kind, rank): _register_global(kind, rank) for kind in ("max", "avg") for rank in _LAYOUTS}


# into a given shape


def _adaptive_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    x = extents(data, layout(attrs.layout), "data")
    letters = spatial_letters(attrs.layout)
    if attrs.output_size is None:
        return data
    if any(symbolic(x[letter]) for letter in letters):
        raise RelationError(f"the spatial extents of data must be known, got {data}")
    return TensorType(layout(attrs.layout).shape(x | dict(zip(letters, attrs.output_size, strict=True))), data.dtype)


def _adaptive_compute(kind: str) -> Any:
    def compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
        x = layout(attrs.layout).extents(dims(inputs[0]))
        out = attrs.output_size or [x[letter] for letter in spatial_letters(attrs.layout)]
        return [topi.adaptive_pool(inputs[0], out, attrs.layout, kind)]

    return compute


def _adaptive_reference(kind: str) -> Any:
    def reference(attrs: Attrs, x: Any) -> Any:
        result = _plain(attrs, x)
        for d, n in enumerate(attrs.output_size or ()):
            extent = result.shape[2 + d]
            parts = [np.take(result, range(i * extent // n, -(-(i + 1) * extent // n)), axis=2 + d) for i in range(n)]
            pooled = [p.max(2 + d) if kind == "max" else p.mean(2 + d) for p in parts]
            result = np.stack(pooled, axis=2 + d)
        return _laid_out(attrs, result, x.dtype)

    return reference


def _register_adaptive(kind: str, rank: int) -> Any:
    return register(
        f"nn.adaptive_{kind}_pool{rank}d",
        doc=f"The {'mean' if kind == 'avg' else 'largest element'} of as many windows as the result has elements.",
        inputs=("data",),
        attributes={"output_size": None, "layout": _LAYOUTS[rank], "out_layout": ""},
        relation=_adaptive_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_adaptive_compute(kind),
        reference=_adaptive_reference(kind),
        layout=pool_layout,
        waived={"gradient": "windows of different sizes, which no operator here scatters into"},
    )


_ADAPTIVE = {(kind, rank): _register_adaptive(kind, rank) for kind in ("max", "avg") for rank in _LAYOUTS}


def _adaptive(kind: str, data: Expr, output_size: Any, name: str, out_layout: str) -> Call:
    rank = len(spatial_letters(name))
    size = None if output_size in (None, ()) else positive("output_size", ints(output_size, rank, "output_size"))
    return _ADAPTIVE[kind, rank](data, output_size=size, layout=name, out_layout=out_layout)  # type: ignore[no-any-return]


def global_max_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call:
    """Return the largest element of each channel of each image; spatial extents become 1."""
    return _GLOBAL["max", 1](data, layout=layout, out_layout=out_layout)  # type: ignore[no-any-return]


def adaptive_max_pool1d(data: Expr, output_size: Any = None, layout: str = "NCW", out_layout: str = "") -> Call:
    """Return the largest element of windows that divide ``data`` into ``output_size``, an int or 1."""
    return _adaptive("max", data, output_size, layout, out_layout)


def global_max_pool2d(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call:
    """Return the largest element of each channel of each image; spatial extents become 1."""
    return _GLOBAL["max", 2](data, layout=layout, out_layout=out_layout)  # type: ignore[no-any-return]


def adaptive_max_pool2d(data: Expr, output_size: Any = None, layout: str = "NCHW", out_layout: str = "") -> Call:
    """Return the largest element of windows that divide ``data`` into ``output_size``, an int or 2."""
    return _adaptive("max", data, output_size, layout, out_layout)


def global_max_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """Return the largest element of each channel of each image; spatial extents become 1."""
    return _GLOBAL["max", 3](data, layout=layout, out_layout=out_layout)  # type: ignore[no-any-return]


def adaptive_max_pool3d(data: Expr, output_size: Any = None, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """Return the largest element of windows that divide ``data`` into ``output_size``, an int or 3."""
    return _adaptive("max", data, output_size, layout, out_layout)


def global_avg_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call:
    """Return the mean of each channel of each image; spatial extents become 1."""
    return _GLOBAL["avg", 1](data, layout=layout, out_layout=out_layout)  # type: ignore[no-any-return]


def adaptive_avg_pool1d(data: Expr, output_size: Any = None, layout: str = "NCW", out_layout: str = "") -> Call:
    """Return the mean of windows that divide ``data`` into ``output_size``, an int or 1."""
    return _adaptive("avg", data, output_size, layout, out_layout)


def global_avg_pool2d(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call:
    """Return the mean of each channel of each image; spatial extents become 1."""
    return _GLOBAL["avg", 2](data, layout=layout, out_layout=out_layout)  # type: ignore[no-any-return]


def adaptive_avg_pool2d(data: Expr, output_size: Any = None, layout: str = "NCHW", out_layout: str = "") -> Call:
    """Return the mean of windows that divide ``data`` into ``output_size``, an int or 2."""
    return _adaptive("avg", data, output_size, layout, out_layout)


def global_avg_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """Return the mean of each channel of each image; spatial extents become 1."""
    return _GLOBAL["avg", 3](data, layout=layout, out_layout=out_layout)  # type: ignore[no-any-return]


def adaptive_avg_pool3d(data: Expr, output_size: Any = None, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """Return the mean of windows that divide ``data`` into ``output_size``, an int or 3."""
    return _adaptive("avg", data, output_size, layout, out_layout)
