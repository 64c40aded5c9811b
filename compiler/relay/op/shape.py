"""The same elements in another shape: ``reshape``, ``transpose``, ``expand_dims``, ``squeeze``, ``reverse``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr
from compiler.relay.op.common import agree, axes_of, axis_of, int_of, ints_of, shape_of_attr, total, unknown
from compiler.relay.op.newshape import resolve_shape
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, TensorType
from compiler.topi import transform as topi
from compiler.topi.layout import layout
from compiler.topi.util import dims


def _like_input(call: Call, grad: Expr) -> list[Expr]:
    return [call_op("reshape_like", grad, call.args[0])]


def _reshape_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(resolve_shape(data.dims, attrs.newshape, attrs.allowzero), data.dtype)


_RESHAPE = register(
    "reshape",
    doc="The elements in their order in another shape.",
    inputs=("data",),
    attributes={"newshape": REQUIRED, "allowzero": False},
    relation=_reshape_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.reshape(inputs[0], resolve_shape(dims(inputs[0]), attrs.newshape, attrs.allowzero))
    ],
    reference=lambda attrs, x: x.reshape(resolve_shape(x.shape, attrs.newshape, attrs.allowzero)),
    gradient=_like_input,
)


def reshape(data: Expr, newshape: Any, allowzero: bool = False) -> Call:
    """Return the elements in their order in another shape.

    Parameters
    ----------
    newshape : int, sequence of int or PrimExpr, or Expr
        An extent for each dimension, or 0: that of the input there, -1: what is left, -2: all that remain of the
        input, -3: the product of the next two of the input, -4: the next one of the input as the two that follow.
        An expression that is no constant makes the shape known to the running program only.
    allowzero : bool
        Whether 0 means an extent of zero.
    """
    if isinstance(newshape, Constant):
        newshape = newshape.value.reshape(-1).tolist()
    if isinstance(newshape, Expr):
        return call_op("dyn.reshape", data, newshape, allowzero=bool(allowzero))
    return _RESHAPE(data, newshape=shape_of_attr(newshape, "newshape"), allowzero=bool(allowzero))


def _reshape_like_shape(attrs: Attrs, data: Sequence[Any], like: Sequence[Any]) -> tuple[Any, ...]:
    lhs = slice(*_span(attrs.lhs_begin, attrs.lhs_end, len(data)))
    rhs = slice(*_span(attrs.rhs_begin, attrs.rhs_end, len(like)))
    return (*data[: lhs.start], *like[rhs], *data[lhs.stop :])


def _span(begin: int, end: int | None, rank: int) -> tuple[int, int]:
    return begin + rank if begin < 0 else begin, rank if end is None else end + rank if end < 0 else end


def _reshape_like_relation(types: Types, attrs: Attrs) -> Type:
    data, like = tensor(types[0], "data"), tensor(types[1], "shape_like")
    shape = _reshape_like_shape(attrs, data.dims, like.dims)
    agree(total(data.dims), total(shape), f"the numbers of elements of {data} and the shape {shape}")
    return TensorType(shape, data.dtype)


_RESHAPE_LIKE = register(
    "reshape_like",
    doc="The elements in their order in the shape of another tensor.",
    inputs=("data", "shape_like"),
    attributes={"lhs_begin": 0, "lhs_end": None, "rhs_begin": 0, "rhs_end": None},
    relation=_reshape_like_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.reshape(inputs[0], _reshape_like_shape(attrs, dims(inputs[0]), dims(inputs[1])))
    ],
    reference=lambda attrs, x, like: x.reshape(_reshape_like_shape(attrs, x.shape, like.shape)),
    gradient=lambda call, grad: [
        call_op("reshape_like", grad, call.args[0]),
        call_op("zeros_like", call.args[1]),
    ],
)


def reshape_like(
    data: Expr,
    shape_like: Expr,
    lhs_begin: int = 0,
    lhs_end: int | None = None,
    rhs_begin: int = 0,
    rhs_end: int | None = None,
) -> Call:
    """Return ``data`` with its axes from ``lhs_begin`` to ``lhs_end`` in the shape of another tensor's axes."""
    return _RESHAPE_LIKE(data, shape_like, lhs_begin=lhs_begin, lhs_end=lhs_end, rhs_begin=rhs_begin, rhs_end=rhs_end)


def _order(attrs: Attrs, rank: int) -> tuple[int, ...]:
    if attrs.axes is None:
        return tuple(reversed(range(rank)))
    found = axes_of(attrs.axes, rank, "axes")
    if len(found) != rank:
        raise RelationError(f"axes must name each of {rank} dimensions once, got {attrs.axes}")
    return found


def _transpose_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(tuple(data.shape[d] for d in _order(attrs, len(data.shape))), data.dtype)


def _transpose_gradient(call: Call, grad: Expr) -> list[Expr]:
    order = _order(call.attrs, len(call.args[0].checked_type.shape))
    return [transpose(grad, [order.index(d) for d in range(len(order))])]


_TRANSPOSE = register(
    "transpose",
    doc="The axes in another order.",
    inputs=("data",),
    attributes={"axes": None},
    spelt_out=("axes",),
    relation=_transpose_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.transpose(inputs[0], _order(attrs, inputs[0].ndim))],
    reference=lambda attrs, x: np.array(np.transpose(x, _order(attrs, x.ndim)), order="C"),
    gradient=_transpose_gradient,
)


def transpose(data: Expr, axes: Sequence[int] | None = None) -> Call:
    """Return ``data`` with its axis ``axes[d]`` as axis ``d``; in reverse order when left out."""
    return _TRANSPOSE(data, axes=None if axes is None else ints_of(axes, "axes"))


def _expanded(attrs: Attrs, shape: Sequence[Any]) -> tuple[Any, ...]:
    at = axis_of(attrs.axis, len(shape) + 1)
    return (*shape[:at], *[1] * attrs.num_newaxis, *shape[at:])


def _expand_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(_expanded(attrs, data.shape), data.dtype)


_EXPAND_DIMS = register(
    "expand_dims",
    doc="New axes of extent 1.",
    inputs=("data",),
    attributes={"axis": REQUIRED, "num_newaxis": 1},
    relation=_expand_relation,
    pattern=OpPattern.BROADCAST,
    compute=lambda attrs, inputs, out_type: [topi.expand_dims(inputs[0], attrs.axis, attrs.num_newaxis)],
    reference=lambda attrs, x: x.reshape(_expanded(attrs, x.shape)),
    gradient=_like_input,
)


def expand_dims(data: Expr, axis: Any, num_newaxis: int = 1) -> Call:
    """Return ``data`` with ``num_newaxis`` axes of extent 1 before ``axis``, counted from the end if negative."""
    if isinstance(axis, Constant):
        axis = axis.value.item()
    if isinstance(axis, Expr):
        return call_op("dyn.expand_dims", data, axis, num_newaxis=num_newaxis)
    return _EXPAND_DIMS(data, axis=int_of(axis, "axis"), num_newaxis=int_of(num_newaxis, "num_newaxis"))


def _squeezed(attrs: Attrs, shape: Sequence[Any]) -> tuple[Any, ...]:
    if attrs.axis is None:
        return tuple(d for d, e in enumerate(shape) if isinstance(e, int) and e == 1)
    return axes_of(attrs.axis, len(shape))


def _squeeze_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    gone = _squeezed(attrs, data.dims)
    for d in gone:
        agree(data.dims[d], 1, f"dimension {d} of {data} cannot be squeezed, its extent must be 1")
    if attrs.axis is None and unknown(*data.dims):
        raise RelationError(f"axis must be given where extents are not known, as in {data}")
    return TensorType(tuple(e for d, e in enumerate(data.shape) if d not in gone), data.dtype)


_SQUEEZE = register(
    "squeeze",
    doc="Without axes of extent 1.",
    inputs=("data",),
    attributes={"axis": None},
    relation=_squeeze_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.squeeze(inputs[0], _squeezed(attrs, dims(inputs[0])))],
    reference=lambda attrs, x: np.squeeze(x, _squeezed(attrs, x.shape)),
    gradient=_like_input,
)


def squeeze(data: Expr, axis: Any = None) -> Call:
    """Return ``data`` without the axes ``axis``, whose extents must be 1; without all such when left out."""
    if isinstance(axis, Constant):
        axis = axis.value.reshape(-1).tolist()
    if isinstance(axis, Expr):
        return call_op("dyn.squeeze", data, axis)
    return _SQUEEZE(data, axis=None if axis is None else ints_of(axis, "axis"))


def _axis_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    axis_of(attrs.axis, len(data.shape))
    return data


_REVERSE = register(
    "reverse",
    doc="Backwards along an axis.",
    inputs=("data",),
    attributes={"axis": REQUIRED},
    relation=_axis_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.flip(inputs[0], attrs.axis)],
    reference=lambda attrs, x: np.flip(x, attrs.axis).copy(),
    gradient=lambda call, grad: [reverse(grad, call.attrs.axis)],
)


def reverse(data: Expr, axis: int) -> Call:
    """Return ``data`` backwards along ``axis``."""
    return _REVERSE(data, axis=int_of(axis, "axis"))


def _sequence_relation(types: Types, attrs: Attrs) -> Type:
    data, lengths = tensor(types[0], "data"), tensor(types[1], "seq_lengths", 1)
    axes_of((attrs.seq_axis, attrs.batch_axis), len(data.dims), "seq_axis and batch_axis")
    agree(data.dims[attrs.batch_axis], lengths.dims[0], f"sequences of {data} and lengths")
    return data


def _sequence_reference(attrs: Attrs, x: Any, lengths: Any) -> Any:
    rows = np.moveaxis(x.copy(), (attrs.batch_axis, attrs.seq_axis), (0, 1))
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = row[:length][::-1].copy()
    return np.moveaxis(rows, (0, 1), (attrs.batch_axis, attrs.seq_axis)).copy()


_REVERSE_SEQUENCE = register(
    "reverse_sequence",
    doc="The first elements of each sequence backwards, as many as its length says.",
    inputs=("data", "seq_lengths"),
    attributes={"seq_axis": 1, "batch_axis": 0},
    relation=_sequence_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.reverse_sequence(inputs[0], inputs[1], attrs.seq_axis, attrs.batch_axis)
    ],
    reference=_sequence_reference,
    gradient=lambda call, grad: [
        call_op("reverse_sequence", grad, call.args[1], **call.attrs),
        call_op("zeros_like", call.args[1]),
    ],
)


def reverse_sequence(data: Expr, seq_lengths: Expr, seq_axis: int = 1, batch_axis: int = 0) -> Call:
    """Return ``data`` with the first ``seq_lengths[b]`` elements along ``seq_axis`` of each batch backwards."""
    return _REVERSE_SEQUENCE(data, seq_lengths, seq_axis=seq_axis, batch_axis=batch_axis)


def _windows_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    at = axis_of(attrs.axis, len(data.dims))
    if not len(data.dims) - at == len(attrs.window_shape) == len(attrs.strides):
        raise RelationError(
            f"window_shape and strides must have an entry for each axis from {at} on of {data}, "
            f"got {attrs.window_shape} and {attrs.strides}"
        )
    windows = zip(data.dims[at:], attrs.window_shape, attrs.strides, strict=True)
    counts = [AnyDim() if unknown(e) else (e - w) // s + 1 for e, w, s in windows]
    return TensorType((*data.shape[:at], *counts, *attrs.window_shape), data.dtype)


def _windows_reference(attrs: Attrs, x: Any) -> Any:
    at = attrs.axis % x.ndim
    found = np.lib.stride_tricks.sliding_window_view(x, attrs.window_shape, tuple(range(at, x.ndim)))
    return found[(slice(None),) * at + tuple(slice(None, None, s) for s in attrs.strides)].copy()


_SLIDING_WINDOW = register(
    "sliding_window",
    doc="All windows over the last axes, as axes of their own.",
    inputs=("data",),
    attributes={"axis": REQUIRED, "window_shape": REQUIRED, "strides": REQUIRED},
    relation=_windows_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.sliding_window(inputs[0], attrs.axis % inputs[0].ndim, attrs.window_shape, attrs.strides)
    ],
    reference=_windows_reference,
    waived={"gradient": "not needed by any model that is trained here"},
)


def sliding_window(data: Expr, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Call:
    """Return all windows over the axes from ``axis`` on: ``(rest…, windows…, window_shape…)``."""
    return _SLIDING_WINDOW(data, axis=axis, window_shape=tuple(window_shape), strides=tuple(strides))


def _layout_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(topi.transformed_shape(data.dims, attrs.src_layout, attrs.dst_layout), data.dtype)


def _layout_reference(attrs: Attrs, x: Any) -> Any:
    source, wanted = layout(attrs.src_layout), layout(attrs.dst_layout)
    plain = source.to_plain(x, source.letters)
    room = [(0, -e % wanted.block(letter)) for letter, e in zip(source.letters, plain.shape, strict=True)]
    return wanted.from_plain(np.pad(plain, room), source.letters)


def _layout_gradient(call: Call, grad: Expr) -> list[Expr]:
    return [layout_transform(grad, call.attrs.dst_layout, call.attrs.src_layout)]


_LAYOUT_TRANSFORM = register(
    "layout_transform",
    doc="Another layout, such as NCHW16c instead of NCHW; blocks are filled up with zeros.",
    inputs=("data",),
    attributes={"src_layout": REQUIRED, "dst_layout": REQUIRED},
    relation=_layout_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.layout_transform(inputs[0], attrs.src_layout, attrs.dst_layout)],
    reference=_layout_reference,
    gradient=_layout_gradient,
)


def layout_transform(data: Expr, src_layout: str, dst_layout: str) -> Call:
    """Return ``data`` of one layout in another one."""
    return _LAYOUT_TRANSFORM(data, src_layout=src_layout, dst_layout=dst_layout)
