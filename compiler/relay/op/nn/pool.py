"""Pooling: windows (``nn.max_pool2d``, …), whole images (``nn.global_avg_pool2d``, …), a given number of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.nn.common import ints, paddings, positive, window_dim, windows
from compiler.relay.op.nn.conv import extents
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, Types, call_op, operator_of
from compiler.relay.ty import Dim, TensorType
from compiler.topi.layout import layout
from compiler.topi.nn import pool as topi
from compiler.topi.nn.conv import spatial_letters
from compiler.topi.util import dims

_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _out_extents(x: dict[str, Dim], attrs: Attrs) -> dict[str, Dim]:
    letters = spatial_letters(attrs.layout)
    rank = len(letters)
    found = dict(x)
    for d, letter in enumerate(letters):
        around = attrs.padding[d] + attrs.padding[d + rank]
        found[letter] = window_dim(
            x[letter], around, attrs.pool_size[d], attrs.strides[d], attrs.dilation[d], attrs.ceil_mode
        )
    return found


def _relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    shape = layout(attrs.layout).shape(_out_extents(extents(data, layout(attrs.layout), "data"), attrs))
    return TensorType(shape, data.dtype)


def spec_of(attrs: Attrs, data: Any) -> topi.PoolSpec:
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


def _max_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.max_pool(inputs[0], spec_of(attrs, inputs[0]))]


def _avg_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.avg_pool(inputs[0], spec_of(attrs, inputs[0]), attrs.count_include_pad)]


def seen(attrs: Attrs, x: Any, fill: Any, padding_too: Any = None) -> Any:
    """Return the windows of a plain array; ``padding_too`` fills the padding, ``fill`` what is beyond it."""
    rank = x.ndim - 2
    before, after = attrs.padding[:rank], attrs.padding[rank:]
    inner = fill if padding_too is None else padding_too
    x = np.pad(x, [(0, 0), (0, 0), *zip(before, after, strict=True)], constant_values=inner)
    more = []
    for d in range(rank):
        reach = (attrs.pool_size[d] - 1) * attrs.dilation[d] + 1
        count = window_dim(x.shape[2 + d], 0, attrs.pool_size[d], attrs.strides[d], attrs.dilation[d], attrs.ceil_mode)
        more.append((0, max(0, (count - 1) * attrs.strides[d] + reach - x.shape[2 + d])))
    x = np.pad(x, [(0, 0), (0, 0), *more], constant_values=fill)
    return windows(x, attrs.pool_size, attrs.strides, attrs.dilation)


def lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _plainly(function: Any) -> Any:
    """Return a reference that works on arrays ``(N, C, spatial…)`` for arrays of any layout."""

    def reference(attrs: Attrs, x: Any) -> Any:
        letters = "NC" + spatial_letters(attrs.layout)
        result = function(attrs, layout(attrs.layout).to_plain(x, letters))
        return layout(attrs.layout).from_plain(result.astype(x.dtype), letters)

    return reference


def pool_reference_axes(x: Any) -> tuple[int, ...]:
    return tuple(range(-(x.ndim - 2), 0))


def _max_reference(attrs: Attrs, x: Any) -> Any:
    return seen(attrs, x, lowest(x.dtype)).max(pool_reference_axes(x))


def _avg_reference(attrs: Attrs, x: Any) -> Any:
    counted = seen(attrs, np.ones_like(x), 0, 1 if attrs.count_include_pad else 0).sum(pool_reference_axes(x))
    total = seen(attrs, x, 0).sum(pool_reference_axes(x), dtype=x.dtype)
    counted = np.maximum(counted, 1)
    return total / counted if x.dtype.kind == "f" else np.trunc(total / counted)


def pool_layout(call: Call, inputs: Sequence[str], types: Sequence[Any]) -> Any:
    """Pooling takes the layout that its data comes in, if the spatial dimensions are whole."""
    wanted = inputs[0] or call.attrs.layout
    if any(a.factor and a.letter != "C" for a in layout(wanted).axes):
        wanted = call.attrs.layout
    return [wanted], [wanted], call.attrs.with_values(layout=wanted)


def _gradient(call: Call, grad: Expr) -> list[Expr]:
    return [call_op(operator_of(call).name + "_grad", grad, call.args[0], **call.attrs)]


def _register(kind: str, rank: int) -> Any:
    more = {"count_include_pad": False} if kind == "avg" else {}
    return register(
        f"nn.{kind}_pool{rank}d",
        doc=f"The {'mean' if kind == 'avg' else 'largest element'} of each window.",
        inputs=("data",),
        spelt_out=("padding",),
        attributes={
            "pool_size": (1,) * rank,
            "strides": (1,) * rank,
            "dilation": (1,) * rank,
            "padding": (0,) * (2 * rank),
            "layout": _LAYOUTS[rank],
            "out_layout": "",
            "ceil_mode": False,
            **more,
        },
        relation=_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_avg_compute if kind == "avg" else _max_compute,
        reference=_plainly(_avg_reference if kind == "avg" else _max_reference),
        layout=pool_layout,
        gradient=_gradient,
    )


POOLS = {(kind, rank): _register(kind, rank) for kind in ("max", "avg") for rank in _LAYOUTS}


def _pool(kind: str, data: Expr, pool_size: Any, name: str, **attrs: Any) -> Call:
    rank = len(spatial_letters(name))
    attrs["padding"] = paddings(attrs["padding"], rank)
    for each in ("strides", "dilation"):
        attrs[each] = positive(each, ints(attrs[each], rank, each))
    size = positive("pool_size", ints(pool_size, rank, "pool_size"))
    return POOLS[kind, rank](data, pool_size=size, layout=name, **attrs)  # type: ignore[no-any-return]


def max_pool1d(
    data: Expr,
    pool_size: Any = 1,
    strides: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """Return the largest element of each window of ``data``; see :func:`max_pool2d`."""
    attrs = {"strides": strides, "dilation": dilation, "padding": padding, "ceil_mode": bool(ceil_mode)}
    return _pool("max", data, pool_size, layout, out_layout=out_layout, **attrs)


def max_pool2d(
    data: Expr,
    pool_size: Any = 1,
    strides: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """Return the largest element of each window of ``data``.

    Parameters
    ----------
    pool_size, strides, dilation : int or sequence of int
        One for all spatial dimensions, or one each.
    padding : int or sequence of int
        One for all sides, one a dimension, or all beginnings and then all ends.
    ceil_mode : bool
        Whether a last window that is not whole counts.
    """
    attrs = {"strides": strides, "dilation": dilation, "padding": padding, "ceil_mode": bool(ceil_mode)}
    return _pool("max", data, pool_size, layout, out_layout=out_layout, **attrs)


def max_pool3d(
    data: Expr,
    pool_size: Any = 1,
    strides: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """Return the largest element of each window of ``data``; see :func:`max_pool2d`."""
    attrs = {"strides": strides, "dilation": dilation, "padding": padding, "ceil_mode": bool(ceil_mode)}
    return _pool("max", data, pool_size, layout, out_layout=out_layout, **attrs)


def avg_pool1d(
    data: Expr,
    pool_size: Any = 1,
    strides: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """Return the mean of each window of ``data``; see :func:`max_pool2d`."""
    attrs = {"strides": strides, "dilation": dilation, "padding": padding, "ceil_mode": bool(ceil_mode)}
    return _pool("avg", data, pool_size, layout, out_layout=out_layout, count_include_pad=count_include_pad, **attrs)


def avg_pool2d(
    data: Expr,
    pool_size: Any = 1,
    strides: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """Return the mean of each window of ``data``; see :func:`max_pool2d`."""
    attrs = {"strides": strides, "dilation": dilation, "padding": padding, "ceil_mode": bool(ceil_mode)}
    return _pool("avg", data, pool_size, layout, out_layout=out_layout, count_include_pad=count_include_pad, **attrs)


def avg_pool3d(
    data: Expr,
    pool_size: Any = 1,
    strides: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """Return the mean of each window of ``data``; see :func:`max_pool2d`."""
    attrs = {"strides": strides, "dilation": dilation, "padding": padding, "ceil_mode": bool(ceil_mode)}
    return _pool("avg", data, pool_size, layout, out_layout=out_layout, count_include_pad=count_include_pad, **attrs)
