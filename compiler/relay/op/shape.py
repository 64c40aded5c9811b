"""Shape operators: ``reshape``, ``transpose``, ``expand_dims``, ``squeeze``, ``reverse``, …"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, INT, INTS, SHAPE, STRING, optional
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.axis_layouts import squeeze_layout, transpose_layout
from compiler.relay.op.common import check_same_extent, has_any_dim, normalize_axes, normalize_axis, num_elements
from compiler.relay.op.reshape_inference import resolve_shape
from compiler.relay.op.type_relations import along_axis, tensor
from compiler.relay.op_registry import composite, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.tir.layout.data_layout import layout
from compiler.topi.arrays import layout_conversion
from compiler.topi.arrays import transform as topi
from compiler.topi.operands import dims


class ReshapeAttrs(Attrs):
    """Attributes of ``reshape``."""

    newshape: tuple[int | PrimExpr, ...] = attr_field(
        SHAPE,
        "An extent for each dimension, or 0: that of the input there, -1: what is left, -2: all that remain of the "
        "input, -3: the product of the next two of the input, -4: the next one of the input split into the two that "
        "follow.",
    )
    allowzero: bool = attr_field(BOOL, "Whether 0 means an extent of zero.", False)


class ReshapeLikeAttrs(Attrs):
    lhs_begin: int = attr_field(INT, "First axis of ``data`` to replace.", 0)
    lhs_end: int | None = attr_field(
        optional(INT), "Axis of ``data`` to stop before; all the rest if it is None.", None
    )
    rhs_begin: int = attr_field(INT, "First axis of ``shape_like`` to take.", 0)
    rhs_end: int | None = attr_field(
        optional(INT), "Axis of ``shape_like`` to stop before; the end if it is None.", None
    )


class TransposeAttrs(Attrs):
    axes: tuple[int, ...] | None = attr_field(
        optional(INTS), "Axis of the input for each axis of the result; reversed order if it is None.", None
    )


class ExpandDimsAttrs(Attrs):
    axis: int = attr_field(INT, "Position of the first new axis; negative ones count from the end.")
    num_newaxis: int = attr_field(INT, "Number of new axes.", 1)


class SqueezeAttrs(Attrs):
    axis: tuple[int, ...] | None = attr_field(
        optional(INTS), "Axes of extent 1 to remove; all of them if it is None.", None
    )


class ReverseAttrs(Attrs):
    axis: int = attr_field(INT, "Axis to reverse; negative ones count from the end.")


class ReverseSequenceAttrs(Attrs):
    seq_axis: int = attr_field(INT, "Axis of time.", 1)
    batch_axis: int = attr_field(INT, "Axis of the batch.", 0)


class SlidingWindowAttrs(Attrs):
    axis: int = attr_field(INT, "First of the axes that windows slide over.")
    window_shape: tuple[int, ...] = attr_field(INTS, "Extents of a window, one for each axis from ``axis`` on.")
    strides: tuple[int, ...] = attr_field(INTS, "Step of the window along each of these axes.")


class LayoutTransformAttrs(Attrs):
    src_layout: str = attr_field(STRING, "Layout of the data, such as ``NCHW``.")
    dst_layout: str = attr_field(STRING, "Layout of the result, such as ``NCHW16c``.")


def _like_input(call: Call, grad: Expr) -> list[Expr]:
    return [call_op("reshape_like", grad, call.args[0])]


def _reshape_relation(types: Types, attrs: ReshapeAttrs) -> Type:
    """The data in the shape that ``newshape`` describes."""
    data = tensor(types[0], "data")
    return TensorType(resolve_shape(data.dims, attrs.newshape, attrs.allowzero), data.dtype)


reshape = register(
    "reshape",
    doc="Return the elements in their order in another shape.",
    inputs={"data": "The tensor to reshape."},
    attrs=ReshapeAttrs,
    relation=_reshape_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.reshape(inputs[0], resolve_shape(dims(inputs[0]), attrs.newshape, attrs.allowzero))
    ],
    reference=lambda attrs, x: x.reshape(resolve_shape(x.shape, attrs.newshape, attrs.allowzero)),
    gradient=_like_input,
)


def _reversed_shape(old: Sequence[Dim], attrs: ReshapeAttrs) -> tuple[Dim, ...]:
    """Return the shape of which the special numbers count from the right."""
    return resolve_shape(old[::-1], attrs.newshape[::-1], attrs.allowzero)[::-1]


def _reverse_reshape_relation(types: Types, attrs: ReshapeAttrs) -> Type:
    """The data in the shape that ``newshape`` describes, read from the right."""
    data = tensor(types[0], "data")
    return TensorType(_reversed_shape(data.dims, attrs), data.dtype)


_REVERSE_RESHAPE = register(
    "contrib_reverse_reshape",
    doc="Return the elements in their order in another shape, whose special numbers are read from the right.",
    inputs={"data": "The tensor to reshape."},
    attrs=ReshapeAttrs,
    relation=_reverse_reshape_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.reshape(inputs[0], _reversed_shape(dims(inputs[0]), attrs))],
    reference=lambda attrs, x: x.reshape(_reversed_shape(x.shape, attrs)),
    gradient=_like_input,
)


@composite
def reverse_reshape(data: Expr, newshape: Sequence[int]) -> Call:
    """Return the elements in their order in another shape, whose special numbers are read from the right.

    As for ``reshape``, 0 takes over the extent at this place from the right, and -1 is what remains: (10, 5, 4) becomes
    (50, 4) by ``newshape=(-1, 0)``.
    """
    return _REVERSE_RESHAPE(data, newshape=newshape)


def _reshape_like_shape(attrs: ReshapeLikeAttrs, data: Sequence[Dim], like: Sequence[Dim]) -> tuple[Dim, ...]:
    lhs = slice(*_span(attrs.lhs_begin, attrs.lhs_end, len(data)))
    rhs = slice(*_span(attrs.rhs_begin, attrs.rhs_end, len(like)))
    return (*data[: lhs.start], *like[rhs], *data[lhs.stop :])


def _span(begin: int, end: int | None, rank: int) -> tuple[int, int]:
    return begin + rank if begin < 0 else begin, rank if end is None else end + rank if end < 0 else end


def _reshape_like_relation(types: Types, attrs: ReshapeLikeAttrs) -> Type:
    """The data with some axes in the shape of another tensor's."""
    data, like = tensor(types[0], "data"), tensor(types[1], "shape_like")
    shape = _reshape_like_shape(attrs, data.dims, like.dims)
    check_same_extent(
        num_elements(data.dims), num_elements(shape), f"the numbers of elements of {data} and the shape {shape}"
    )
    return TensorType(shape, data.dtype)


reshape_like = register(
    "reshape_like",
    doc="Return the elements in their order with some axes in the shape of another tensor's axes.",
    inputs={"data": "The tensor to reshape.", "shape_like": "The tensor whose extents to take."},
    attrs=ReshapeLikeAttrs,
    relation=_reshape_like_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.reshape(inputs[0], _reshape_like_shape(attrs, dims(inputs[0]), dims(inputs[1])))
    ],
    reference=lambda attrs, x, like: x.reshape(_reshape_like_shape(attrs, x.shape, like.shape)),
    gradient=lambda call, grad: [call_op("reshape_like", grad, call.args[0]), call_op("zeros_like", call.args[1])],
)


def _order(attrs: TransposeAttrs, rank: int) -> tuple[int, ...]:
    if attrs.axes is None:
        return tuple(reversed(range(rank)))
    order = normalize_axes(attrs.axes, rank, "axes")
    if len(order) != rank:
        raise RelationError(f"axes must name each of {rank} dimensions once, got {attrs.axes}")
    return order


def _transpose_relation(types: Types, attrs: TransposeAttrs) -> Type:
    """The data with its axes permuted."""
    data = tensor(types[0], "data")
    return TensorType(tuple(data.shape[d] for d in _order(attrs, len(data.shape))), data.dtype)


def _transpose_gradient(call: Call, grad: Expr) -> list[Expr]:
    order = _order(TransposeAttrs.of(call), len(call.args[0].checked_type.shape))
    return [call_op("transpose", grad, axes=[order.index(d) for d in range(len(order))])]


transpose = register(
    "transpose",
    doc="Permute the axes.",
    inputs={"data": "The tensor to transpose."},
    attrs=TransposeAttrs,
    spelt_out=("axes",),
    relation=_transpose_relation,
    pattern=OpPattern.INJECTIVE,
    layout=transpose_layout,
    compute=lambda attrs, inputs, out_type: [topi.transpose(inputs[0], _order(attrs, inputs[0].ndim))],
    reference=lambda attrs, x: np.array(np.transpose(x, _order(attrs, x.ndim)), order="C"),
    gradient=_transpose_gradient,
)


def _expanded(attrs: ExpandDimsAttrs, shape: Sequence[Dim]) -> tuple[Dim, ...]:
    at = normalize_axis(attrs.axis, len(shape) + 1)
    return (*shape[:at], *[1] * attrs.num_newaxis, *shape[at:])


def _expand_relation(types: Types, attrs: ExpandDimsAttrs) -> Type:
    """The data with ``num_newaxis`` more axes."""
    data = tensor(types[0], "data")
    return TensorType(_expanded(attrs, data.shape), data.dtype)


expand_dims = register(
    "expand_dims",
    doc="Insert axes of extent 1.",
    inputs={"data": "The tensor to expand."},
    attrs=ExpandDimsAttrs,
    relation=_expand_relation,
    pattern=OpPattern.BROADCAST,
    definition=topi.expand_dims,
    reference=lambda attrs, x: x.reshape(_expanded(attrs, x.shape)),
    gradient=_like_input,
)


def _squeezed(attrs: SqueezeAttrs, shape: Sequence[Dim]) -> tuple[int, ...]:
    if attrs.axis is None:
        return tuple(d for d, e in enumerate(shape) if isinstance(e, int) and e == 1)
    return normalize_axes(attrs.axis, len(shape))


def _squeeze_relation(types: Types, attrs: SqueezeAttrs) -> Type:
    """The data with fewer axes."""
    data = tensor(types[0], "data")
    gone = _squeezed(attrs, data.dims)
    for d in gone:
        check_same_extent(data.dims[d], 1, f"dimension {d} of {data} cannot be squeezed, its extent must be 1")
    if attrs.axis is None and has_any_dim(*data.dims):
        raise RelationError(f"axis must be given where extents are not known, as in {data}")
    return TensorType(tuple(e for d, e in enumerate(data.shape) if d not in gone), data.dtype)


squeeze = register(
    "squeeze",
    doc="Remove axes of extent 1.",
    inputs={"data": "The tensor to squeeze."},
    attrs=SqueezeAttrs,
    relation=_squeeze_relation,
    pattern=OpPattern.INJECTIVE,
    layout=squeeze_layout,
    compute=lambda attrs, inputs, out_type: [topi.squeeze(inputs[0], _squeezed(attrs, dims(inputs[0])))],
    reference=lambda attrs, x: np.squeeze(x, _squeezed(attrs, x.shape)),
    gradient=_like_input,
)


reverse = register(
    "reverse",
    doc="Reverse the elements along an axis.",
    inputs={"data": "The tensor to reverse."},
    attrs=ReverseAttrs,
    relation=along_axis,
    pattern=OpPattern.INJECTIVE,
    definition=topi.flip,
    reference=lambda attrs, x: np.flip(x, attrs.axis).copy(),
    gradient=lambda call, grad: [call_op("reverse", grad, axis=ReverseAttrs.of(call).axis)],
)


def _sequence_relation(types: Types, attrs: ReverseSequenceAttrs) -> Type:
    """The output has the type of the data."""
    data, lengths = tensor(types[0], "data"), tensor(types[1], "seq_lengths", 1)
    normalize_axes((attrs.seq_axis, attrs.batch_axis), len(data.dims), "seq_axis and batch_axis")
    batch, count = data.dims[attrs.batch_axis], lengths.dims[0]
    if isinstance(batch, int) and isinstance(count, int) and batch != count:
        raise RelationError(
            "For reverse_sequnece seq_lengths size should match with dimension of batch axis, but got dimension of"
            f" batch_axis = {batch}, and seq_length size = {count}"
        )
    return data


def _sequence_reference(attrs: ReverseSequenceAttrs, x: Array, lengths: Array) -> Array:
    rows = np.moveaxis(x.copy(), (attrs.batch_axis, attrs.seq_axis), (0, 1))
    for row, length in zip(rows, lengths, strict=True):
        first = row[: max(length, 0)]
        first[:] = first[::-1].copy()
    return np.moveaxis(rows, (0, 1), (attrs.batch_axis, attrs.seq_axis)).copy()


reverse_sequence = register(
    "reverse_sequence",
    doc="Reverse the first elements of each sequence, as many as its length says.",
    inputs={"data": "Sequences.", "seq_lengths": "Length of each sequence of the batch, a vector of integers."},
    attrs=ReverseSequenceAttrs,
    relation=_sequence_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.reverse_sequence,
    reference=_sequence_reference,
    gradient=lambda call, grad: [
        call_op("reverse_sequence", grad, call.args[1], **ReverseSequenceAttrs.of(call)),
        call_op("zeros_like", call.args[1]),
    ],
)


def _windows_relation(types: Types, attrs: SlidingWindowAttrs) -> Type:
    """``(leading axes…, windows…, *window_shape)``."""
    data = tensor(types[0], "data")
    at = normalize_axis(attrs.axis, len(data.dims))
    if not len(data.dims) - at == len(attrs.window_shape) == len(attrs.strides):
        raise RelationError(
            f"window_shape and strides must have an entry for each axis from {at} on of {data}, "
            f"got {attrs.window_shape} and {attrs.strides}"
        )
    windows = zip(data.dims[at:], attrs.window_shape, attrs.strides, strict=True)
    counts = [AnyDim() if has_any_dim(e) else (e - w) // s + 1 for e, w, s in windows]
    return TensorType((*data.shape[:at], *counts, *attrs.window_shape), data.dtype)


def _windows_reference(attrs: SlidingWindowAttrs, x: Array) -> Array:
    at = attrs.axis % x.ndim
    windows = np.lib.stride_tricks.sliding_window_view(x, attrs.window_shape, tuple(range(at, x.ndim)))
    return windows[(slice(None),) * at + tuple(slice(None, None, s) for s in attrs.strides)].copy()


sliding_window = register(
    "sliding_window",
    doc="Return all windows over the last axes, as axes of their own.",
    inputs={"data": "The tensor that windows slide over."},
    attrs=SlidingWindowAttrs,
    relation=_windows_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [
        topi.sliding_window(inputs[0], attrs.axis % inputs[0].ndim, attrs.window_shape, attrs.strides)
    ],
    reference=_windows_reference,
    waived={"gradient": "not needed by any model that is trained here"},
)


def _layout_relation(types: Types, attrs: LayoutTransformAttrs) -> Type:
    """The data in ``dst_layout``."""
    data = tensor(types[0], "data")
    return TensorType(layout_conversion.transformed_shape(data.dims, attrs.src_layout, attrs.dst_layout), data.dtype)


def _layout_reference(attrs: LayoutTransformAttrs, x: Array) -> Array:
    source, wanted = layout(attrs.src_layout), layout(attrs.dst_layout)
    plain = source.to_plain(x, source.letters)
    room = [(0, -e % wanted.block(letter)) for letter, e in zip(source.letters, plain.shape, strict=True)]
    return wanted.from_plain(np.pad(plain, room), source.letters)


def _layout_gradient(call: Call, grad: Expr) -> list[Expr]:
    attrs = LayoutTransformAttrs.of(call)
    return [call_op("layout_transform", grad, src_layout=attrs.dst_layout, dst_layout=attrs.src_layout)]


layout_transform = register(
    "layout_transform",
    doc="Bring a tensor into another layout; blocks that are not full are padded with zeros.",
    inputs={"data": "The tensor to convert, of layout ``src_layout``."},
    attrs=LayoutTransformAttrs,
    relation=_layout_relation,
    pattern=OpPattern.INJECTIVE,
    definition=layout_conversion.layout_transform,
    reference=_layout_reference,
    gradient=_layout_gradient,
    waived={"layout": "the layouts that it names are what it is there for"},
)
