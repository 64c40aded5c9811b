"""Transposed convolutions: ``nn.conv1d_transpose``, ``nn.conv2d_transpose``, ``nn.conv3d_transpose``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import agree, symbolic, unknown
from compiler.relay.op.nn.common import ints
from compiler.relay.op.nn.conv import conv_attrs, extents, out_layout, spec_of
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op, operator_of
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.topi.layout import layout
from compiler.topi.nn import conv_transpose as topi
from compiler.topi.nn.conv import spatial_letters
from compiler.topi.schedules.x86.conv import schedule_conv

_LAYOUTS = {1: ("NCW", "IOW"), 2: ("NCHW", "IOHW"), 3: ("NCDHW", "IODHW")}


def _relation(types: Types, attrs: Attrs) -> Type:
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight")
    x = extents(data, layout(attrs.data_layout), "data")
    w = extents(weight, layout(attrs.kernel_layout), "weight")
    agree(x["C"], w["I"], f"the channels of data {data} and the weight {weight} along I")
    if isinstance(w["I"], int) and w["I"] % attrs.groups:
        raise RelationError(f"the {w['I']} input channels must be a multiple of groups={attrs.groups}")
    if attrs.channels is not None:
        agree(attrs.channels, w["O"] * attrs.groups, "channels and the output channels of the weight")
    letters = spatial_letters(attrs.data_layout)
    result: dict[str, Dim] = {"N": x["N"], "C": w["O"] * attrs.groups}
    for d, letter in enumerate(letters):
        if attrs.kernel_size is not None:
            agree(attrs.kernel_size[d], w[letter], f"kernel_size and the weight {weight} in {letter}")
        result[letter] = _extent(x[letter], w[letter], attrs, d, len(letters))
    return TensorType(layout(out_layout(attrs)).shape(result), attrs.out_dtype or data.dtype)


def _extent(extent: Dim, kernel: Any, attrs: Attrs, d: int, rank: int) -> Dim:
    if unknown(extent, kernel):
        return AnyDim()
    around = attrs.padding[d] + attrs.padding[d + rank]
    more = attrs.output_padding[d]
    found: Dim = topi.transposed_extent(extent, around, kernel, attrs.strides[d], attrs.dilation[d], more)
    if isinstance(found, int) and found < 1:
        raise RelationError(f"a padding of {around} leaves nothing of the result")
    return found


def _complete(types: tuple[Any, ...], attrs: Attrs) -> Sequence[Type | None]:
    data, weight = types
    if data is None or weight is not None or attrs.channels is None or attrs.kernel_size is None:
        return types
    x = extents(tensor(data, "data"), layout(attrs.data_layout), "data")
    if symbolic(x["C"]):
        return types
    w = {"I": x["C"], "O": attrs.channels // attrs.groups}
    w |= dict(zip(spatial_letters(attrs.data_layout), attrs.kernel_size, strict=True))
    return (data, TensorType(layout(attrs.kernel_layout).shape(w), data.dtype))


def _compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.conv_transpose(inputs[0], inputs[1], spec_of(attrs, inputs[0].dtype), attrs.output_padding)]


def _reference(attrs: Attrs, data: Any, weight: Any) -> Any:
    """Add each element of the kernel times the data where it belongs in the result, then cut off the padding."""
    letters = spatial_letters(attrs.data_layout)
    dtype = attrs.out_dtype or str(data.dtype)
    x = layout(attrs.data_layout).to_plain(data, "NC" + letters).astype(dtype)
    w = layout(attrs.kernel_layout).to_plain(weight, "IO" + letters).astype(dtype)
    rank, groups = len(letters), attrs.groups
    kernel, steps, gaps = w.shape[2:], attrs.strides, attrs.dilation
    out = [_extent(x.shape[2 + d], kernel[d], attrs, d, rank) for d in range(rank)]
    room = [attrs.padding[d] + attrs.padding[d + rank] + out[d] for d in range(rank)]
    parts = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    weights = w.reshape(groups, w.shape[0] // groups, w.shape[1], *kernel)
    full = np.zeros((x.shape[0], groups, w.shape[1], *room), dtype)
    for at in np.ndindex(*kernel):
        product = np.einsum("ngi...,gio->ngo...", parts, weights[(..., *at)])
        where: Any = [
            slice(k * gap, k * gap + (n - 1) * step + 1, step)
            for k, gap, n, step in zip(at, gaps, x.shape[2:], steps, strict=True)
        ]
        full[(..., *where)] += product
    inner: Any = [slice(attrs.padding[d], attrs.padding[d] + out[d]) for d in range(rank)]
    kept = full[(..., *inner)]
    return layout(out_layout(attrs)).from_plain(kept.reshape(x.shape[0], -1, *out), "NC" + letters)


def _gradient(call: Call, grad: Expr) -> Sequence[Expr]:
    """Gradients of data and weight: convolutions again, for plain layouts and one group."""
    attrs, (data, weight) = call.attrs, call.args
    rank = len(attrs.strides)
    if attrs.groups != 1 or (attrs.data_layout, attrs.kernel_layout) != _LAYOUTS[rank]:
        raise ArgumentError(f"gradient of {operator_of(call).name}: groups must be 1 and the layouts {_LAYOUTS[rank]}")
    # As the kernel of a convolution, I is what comes out and O what goes in: its first axis is the output's.
    to_data = call_op(
        f"nn.conv{rank}d", grad, weight, strides=attrs.strides, padding=attrs.padding, dilation=attrs.dilation
    )
    swapped = (1, 0, *range(2, 2 + rank))
    wide = call_op(
        f"nn.conv{rank}d",
        call_op("transpose", grad, axes=swapped),
        call_op("transpose", data, axes=swapped),
        strides=attrs.dilation,
        padding=attrs.padding,
        dilation=attrs.strides,
    )
    w = weight.checked_type.concrete_shape
    kept = call_op("strided_slice", wide, begin=(0,) * (2 + rank), end=(w[1], w[0], *w[2:]), strides=(1,) * (2 + rank))
    return [to_data, call_op("transpose", kept, axes=swapped)]


def _register(rank: int) -> Any:
    data_layout, kernel_layout = _LAYOUTS[rank]
    return register(
        f"nn.conv{rank}d_transpose",
        doc=f"Transposed convolution over {rank} spatial dimension{'s' * (rank > 1)}.",
        inputs=("data", "weight"),
        spelt_out=("padding",),
        attributes={
            "channels": None,
            "kernel_size": None,
            "strides": (1,) * rank,
            "padding": (0,) * (2 * rank),
            "output_padding": (0,) * rank,
            "dilation": (1,) * rank,
            "groups": 1,
            "data_layout": data_layout,
            "kernel_layout": kernel_layout,
            "out_layout": "",
            "out_dtype": "",
        },
        relation=_relation,
        complete=_complete,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_compute,
        schedule=schedule_conv,
        reference=_reference,
        gradient=_gradient,
        layout=lambda call, inputs, types: (
            [call.attrs.data_layout, call.attrs.kernel_layout],
            [out_layout(call.attrs)],
            call.attrs,
        ),
    )


_TRANSPOSED = {rank: _register(rank) for rank in _LAYOUTS}


def _transposed(rank: int, data: Expr, weight: Expr, output_padding: Any, given: dict[str, Any]) -> Call:
    attrs = conv_attrs(rank, given.pop("channels"), given.pop("kernel_size"), **given)
    attrs["output_padding"] = ints(output_padding, rank, "output_padding")
    return _TRANSPOSED[rank](data, weight, **attrs)  # type: ignore[no-any-return]


def conv1d_transpose(
    data: Expr,
    weight: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    channels: int | None = None,
    kernel_size: Any = None,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "IOW",
    out_layout: str = "",
    output_padding: Any = 0,
    out_dtype: str = "",
) -> Call:
    """Return the transposed 1-D convolution of ``data`` with ``weight`` ``(C, O / groups, kw)``.

    See :func:`conv2d_transpose` for the parameters.
    """
    given = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups, "out_dtype": out_dtype}
    given |= {"channels": channels, "kernel_size": kernel_size}
    given |= {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return _transposed(1, data, weight, output_padding, given)


def conv2d_transpose(
    data: Expr,
    weight: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    channels: int | None = None,
    kernel_size: Any = None,
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: Any = 0,
    out_dtype: str = "",
) -> Call:
    """Return the transposed 2-D convolution of ``data`` with ``weight`` ``(C, O / groups, kh, kw)``.

    Parameters
    ----------
    output_padding : int or sequence of int
        Rows and columns to add at the ends, as strides leave the extents of the result open.

    The others are those of :func:`~compiler.relay.op.nn.conv.conv2d`; the kernel's ``I`` is the data's channels.
    """
    given = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups, "out_dtype": out_dtype}
    given |= {"channels": channels, "kernel_size": kernel_size}
    given |= {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return _transposed(2, data, weight, output_padding, given)


def conv3d_transpose(
    data: Expr,
    weight: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    channels: int | None = None,
    kernel_size: Any = None,
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "IODHW",
    out_layout: str = "",
    output_padding: Any = 0,
    out_dtype: str = "",
) -> Call:
    """Return the transposed 3-D convolution of ``data`` with ``weight`` ``(C, O / groups, kd, kh, kw)``.

    See :func:`conv2d_transpose` for the parameters.
    """
    given = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups, "out_dtype": out_dtype}
    given |= {"channels": channels, "kernel_size": kernel_size}
    given |= {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return _transposed(3, data, weight, output_padding, given)
