"""Convolutions: ``nn.conv1d``, ``nn.conv2d`` and ``nn.conv3d``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import agree, symbolic
from compiler.relay.op.nn.common import ints, paddings, positive, window_dim, windows
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op, operator_of
from compiler.relay.ty import Dim, TensorType
from compiler.topi.layout import Layout, layout
from compiler.topi.nn import conv as topi
from compiler.topi.schedules.x86.conv import schedule_conv

_LAYOUTS = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}


def out_layout(attrs: Attrs) -> str:
    """Return the layout of the result: that of the data where none is named."""
    return str(attrs.out_layout or attrs.data_layout)


def spec_of(attrs: Attrs, dtype: str) -> topi.ConvSpec:
    """Return what a call's attributes ask for."""
    half = len(attrs.padding) // 2
    return topi.ConvSpec(
        strides=attrs.strides,
        dilation=attrs.dilation,
        before=attrs.padding[:half],
        after=attrs.padding[half:],
        groups=attrs.groups,
        data_layout=attrs.data_layout,
        kernel_layout=attrs.kernel_layout,
        out_layout=out_layout(attrs),
        out_dtype=attrs.out_dtype or dtype,
    )


def extents(t: TensorType, where: Layout, what: str) -> dict[str, Dim]:
    """Return the extents of a tensor's dimensions by letter.

    Raises
    ------
    RelationError
        If the type does not have that layout.
    """
    tensor(t, what, where.ndim)
    try:
        return where.extents(t.dims)
    except ArgumentError as exc:
        raise RelationError(f"{what}: {exc}") from None


def conv_relation(types: Types, attrs: Attrs) -> Type:
    """The type of a convolution's result in its layout."""
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight")
    x = extents(data, layout(attrs.data_layout), "data")
    w = extents(weight, layout(attrs.kernel_layout), "weight")
    spatial = topi.spatial_letters(attrs.data_layout)
    _check_channels(x["C"], w["O"], w["I"], attrs)
    if attrs.kernel_size is not None:
        for d, letter in enumerate(spatial):
            agree(attrs.kernel_size[d], w[letter], f"kernel_size and the weight in {letter}")
    result: dict[str, Dim] = {"N": x["N"], "C": w["O"]}
    for d, letter in enumerate(spatial):
        around = attrs.padding[d] + attrs.padding[d + len(spatial)]
        result[letter] = window_dim(x[letter], around, w[letter], attrs.strides[d], attrs.dilation[d])
    try:
        shape = layout(out_layout(attrs)).shape(result)
    except ArgumentError as exc:
        raise RelationError(str(exc)) from None
    return TensorType(shape, attrs.out_dtype or data.dtype)


def _check_channels(channels: Dim, outputs: Dim, inputs: Dim, attrs: Attrs) -> None:
    groups = attrs.groups
    if attrs.channels is not None:
        agree(attrs.channels, outputs, "channels and the output channels of the weight")
    if isinstance(outputs, int) and outputs % groups:
        raise RelationError(f"the {outputs} output channels must be a multiple of groups={groups}")
    if isinstance(channels, int) and isinstance(inputs, int) and channels != inputs * groups:
        each = f" in each of {groups} groups" if groups > 1 else ""
        raise RelationError(f"data has {channels} channels, the weight takes {inputs}{each}")


def conv_complete(types: tuple[Any, ...], attrs: Attrs) -> Sequence[Type | None]:
    """The weight's type follows from ``channels`` and ``kernel_size``."""
    data, weight = types
    if data is None or weight is not None or attrs.channels is None or attrs.kernel_size is None:
        return types
    x = extents(tensor(data, "data"), layout(attrs.data_layout), "data")
    if symbolic(x["C"]):
        return types
    w = {"O": attrs.channels, "I": x["C"] // attrs.groups}
    w |= dict(zip(topi.spatial_letters(attrs.data_layout), attrs.kernel_size, strict=True))
    return (data, TensorType(layout(attrs.kernel_layout).shape(w), data.dtype))


def _compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.conv(inputs[0], inputs[1], spec_of(attrs, inputs[0].dtype))]


def conv_reference(attrs: Attrs, data: Any, weight: Any) -> Any:
    """Convolve by one matrix product of the windows with the weights, group by group."""
    spatial = topi.spatial_letters(attrs.data_layout)
    dtype = attrs.out_dtype or str(data.dtype)
    x = layout(attrs.data_layout).to_plain(data, "NC" + spatial).astype(dtype)
    w = layout(attrs.kernel_layout).to_plain(weight, "OI" + spatial).astype(dtype)
    rank, groups = len(spatial), attrs.groups
    around = [(attrs.padding[d], attrs.padding[d + rank]) for d in range(rank)]
    seen = windows(np.pad(x, [(0, 0), (0, 0), *around]), w.shape[2:], attrs.strides, attrs.dilation)
    n, _, *out = seen.shape[: 2 + rank]
    seen = seen.reshape(n, groups, w.shape[1], *seen.shape[2:])
    # (N, G, I, out…, kernel…) → (N, G, out…, I, kernel…)
    rows = np.moveaxis(seen, 2, 2 + rank).reshape(n, groups, int(np.prod(out)), -1)
    product = rows @ w.reshape(groups, w.shape[0] // groups, -1).transpose(0, 2, 1)
    plain = product.transpose(0, 1, 3, 2).reshape(n, w.shape[0], *out)
    return layout(out_layout(attrs)).from_plain(plain, "NC" + spatial).astype(dtype)


def conv_layout(call: Call, inputs: Sequence[str], types: Sequence[Any]) -> Any:
    attrs = call.attrs
    return [attrs.data_layout, attrs.kernel_layout], [out_layout(attrs)], attrs


def conv_gradient(call: Call, grad: Expr) -> Sequence[Expr]:
    """Gradients of data and weight, both as convolutions; for plain layouts and one group.

    The data's is the transposed convolution of the result's.  The weight's is the convolution of data and result's
    gradient whose batch is the input channels, and whose strides and dilation have changed places.
    """
    attrs = call.attrs
    data, weight = call.args
    rank = len(attrs.strides)
    plain = _LAYOUTS[rank]
    if attrs.groups != 1 or (attrs.data_layout, attrs.kernel_layout) != plain:
        raise ArgumentError(f"gradient of {operator_of(call).name}: groups must be 1 and the layouts {plain}")
    x, w = data.checked_type.concrete_shape, weight.checked_type.concrete_shape
    y = call.checked_type.concrete_shape
    before, after = attrs.padding[:rank], attrs.padding[rank:]
    fits = [(y[2 + d] - 1) * attrs.strides[d] + (w[2 + d] - 1) * attrs.dilation[d] + 1 for d in range(rank)]
    left = tuple(x[2 + d] + before[d] + after[d] - fits[d] for d in range(rank))
    to_data = call_op(
        f"nn.conv{rank}d_transpose",
        grad,
        weight,
        strides=attrs.strides,
        padding=attrs.padding,
        dilation=attrs.dilation,
        output_padding=left,
        channels=x[1],
        kernel_size=w[2:],
        data_layout=attrs.data_layout,
        kernel_layout="IO" + plain[1][2:],
    )
    swapped = (1, 0, *range(2, 2 + rank))
    wide = call_op(
        operator_of(call).name,
        call_op("transpose", data, axes=swapped),
        call_op("transpose", grad, axes=swapped),
        strides=attrs.dilation,
        padding=attrs.padding,
        dilation=attrs.strides,
    )
    # Where windows do not reach the data's end, there are more shifts than the kernel has elements.
    kept = call_op("strided_slice", wide, begin=(0,) * (2 + rank), end=(w[1], w[0], *w[2:]), strides=(1,) * (2 + rank))
    return [to_data, call_op("transpose", kept, axes=swapped)]


def _register(rank: int) -> Any:
    data_layout, kernel_layout = _LAYOUTS[rank]
    return register(
        f"nn.conv{rank}d",
        doc=f"Convolution over {rank} spatial dimension{'s' * (rank > 1)}, optionally in groups of channels.",
        inputs=("data", "weight"),
        spelt_out=("padding",),
        attributes={
            "strides": (1,) * rank,
            "padding": (0,) * (2 * rank),
            "dilation": (1,) * rank,
            "groups": 1,
            "channels": None,
            "kernel_size": None,
            "data_layout": data_layout,
            "kernel_layout": kernel_layout,
            "out_layout": "",
            "out_dtype": "",
        },
        relation=conv_relation,
        complete=conv_complete,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_compute,
        schedule=schedule_conv,
        reference=conv_reference,
        gradient=conv_gradient,
        layout=conv_layout,
    )


_CONV = {rank: _register(rank) for rank in _LAYOUTS}
CONV2D = _CONV[2]


def conv_attrs(rank: int, channels: Any, kernel_size: Any, **given: Any) -> dict[str, Any]:
    """Return the attributes of a convolution as they are kept: an int for every dimension and side."""
    return {
        **given,
        "strides": positive("strides", ints(given["strides"], rank, "strides")),
        "padding": paddings(given["padding"], rank),
        "dilation": positive("dilation", ints(given["dilation"], rank, "dilation")),
        "channels": None if channels is None else int(channels),
        "kernel_size": None if kernel_size is None else ints(kernel_size, rank, "kernel_size"),
    }


def conv1d(
    data: Expr,
    weight: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Any = None,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Return the 1-D convolution of ``data`` ``(N, C, W)`` with ``weight`` ``(O, C / groups, kw)``.
    See :func:`conv2d` for the parameters.
    """
    attrs = conv_attrs(1, channels, kernel_size, strides=strides, padding=padding, dilation=dilation)
    names = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return _CONV[1](data, weight, groups=groups, out_dtype=out_dtype, **names, **attrs)  # type: ignore[no-any-return]


def conv2d(
    data: Expr,
    weight: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Any = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Return the 2-D convolution of ``data`` ``(N, C, H, W)`` with ``weight`` ``(O, C / groups, kh, kw)``.

    Parameters
    ----------
    strides, padding, dilation : int or sequence of int
        One for all dimensions, one each, or (padding) one for each side: all beginnings, then all ends.
    channels, kernel_size : optional
        Of the weight, whose type then need not be given.
    data_layout, kernel_layout, out_layout : str
        E.g. ``NHWC`` and ``HWIO``; the result has the data's where ``out_layout`` is empty.
    out_dtype : str
        What products are summed in; the data's type where it is empty.
    """
    attrs = conv_attrs(2, channels, kernel_size, strides=strides, padding=padding, dilation=dilation)
    names = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return _CONV[2](data, weight, groups=groups, out_dtype=out_dtype, **names, **attrs)  # type: ignore[no-any-return]


def conv3d(
    data: Expr,
    weight: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Any = None,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Return the 3-D convolution of ``data`` ``(N, C, D, H, W)`` with ``weight`` ``(O, C / groups, kd, kh, kw)``.
    See :func:`conv2d` for the parameters.
    """
    attrs = conv_attrs(3, channels, kernel_size, strides=strides, padding=padding, dilation=dilation)
    names = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return _CONV[3](data, weight, groups=groups, out_dtype=out_dtype, **names, **attrs)  # type: ignore[no-any-return]
