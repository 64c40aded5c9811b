"""Convolutions: ``nn.conv1d``, ``nn.conv2d`` and ``nn.conv3d``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.error import ArgumentError
from compiler.ir.primexpr import PrimExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import check_same_extent, is_symbolic
from compiler.relay.op.layout_rules import convolution_layout
from compiler.relay.op.nn.conv_alter_layout import alter_conv2d_layout
from compiler.relay.op.nn.conv_attrs import PLAIN_LAYOUTS, Conv1DAttrs, Conv2DAttrs, Conv3DAttrs, ConvAttrs
from compiler.relay.op.nn.spatial import extents, window_dim, windows
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import (
    AlterLayout,
    Array,
    OpPattern,
    PartialTypes,
    RelationError,
    Types,
    call_op,
    operator_of,
)
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.te.tensor import Tensor
from compiler.tir.data_layout import layout
from compiler.topi.compute import compute
from compiler.topi.nn.conv import conv as topi_conv
from compiler.topi.nn.conv import spatial_letters
from compiler.topi.operands import dims
from compiler.topi.schedules.x86.conv import schedule_conv
from compiler.topi.tag import Tag


def conv_relation(types: Types, attrs: ConvAttrs) -> Type:
    """The type of a convolution's result in its layout."""
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight")
    x = extents(data, layout(attrs.data_layout), "data")
    w = extents(weight, layout(attrs.kernel_layout), "weight")
    if multiplies_depth(x["C"], w["O"], w["I"], attrs):
        w = {**w, "O": w["O"] * w["I"], "I": 1}
    elif attrs.RANK == 2 and isinstance(w["I"], AnyDim) and w["O"] == attrs.groups > 1:
        # Whether each channel has several kernels is not known.
        w = {**w, "O": AnyDim() if attrs.channels is None else attrs.channels}
    spatial = spatial_letters(attrs.data_layout)
    _check_channels(x["C"], w["O"], w["I"], attrs)
    if attrs.kernel_size is not None:
        for d, letter in enumerate(spatial):
            check_same_extent(attrs.kernel_size[d], w[letter], f"kernel_size and the weight in {letter}")
    result: dict[str, Dim] = {"N": x["N"], "C": w["O"]}
    for d, letter in enumerate(spatial):
        around = attrs.padding[d] + attrs.padding[d + len(spatial)]
        result[letter] = window_dim(x[letter], around, w[letter], attrs.strides[d], attrs.dilation[d])
    try:
        shape = layout(attrs.result_layout).shape(result)
    except ArgumentError as exc:
        raise RelationError(str(exc)) from None
    return TensorType(shape, attrs.out_dtype or data.dtype)


def multiplies_depth(channels: Dim, outputs: Dim, inputs: Dim, attrs: ConvAttrs) -> bool:
    """Return whether a weight has several kernels for each channel, ``(C, M, H, W)`` as in TVM, not ``(C M, 1, H, W)``.

    Parameters
    ----------
    channels : Dim
        Of the data.
    outputs, inputs : Dim
        Extents of the weight, as its layout names them.
    attrs : ConvAttrs

    Returns
    -------
    bool
    """
    if not (isinstance(channels, int) and isinstance(outputs, int) and isinstance(inputs, int)):
        return False
    return attrs.RANK == 2 and inputs > 1 and channels == outputs == attrs.groups > 1


def _check_channels(channels: Dim, outputs: Dim, inputs: Dim, attrs: ConvAttrs) -> None:
    groups = attrs.groups
    if attrs.channels is not None:
        check_same_extent(attrs.channels, outputs, "channels and the output channels of the weight")
    if isinstance(outputs, int) and outputs % groups:
        raise RelationError(f"the {outputs} output channels must be a multiple of groups={groups}")
    if isinstance(channels, int) and isinstance(inputs, int) and channels != inputs * groups:
        each = f" in each of {groups} groups" if groups > 1 else ""
        raise RelationError(f"data has {channels} channels, the weight takes {inputs}{each}")


def conv_complete(types: PartialTypes, attrs: ConvAttrs) -> Sequence[Type | None]:
    """The weight's type follows from ``channels`` and ``kernel_size``."""
    data, weight = types
    if data is None or weight is not None or attrs.channels is None or attrs.kernel_size is None:
        return types
    images = tensor(data, "data")
    x = extents(images, layout(attrs.data_layout), "data")
    if is_symbolic(x["C"]):
        return types
    w = {"O": attrs.channels, "I": x["C"] // attrs.groups}
    w |= dict(zip(spatial_letters(attrs.data_layout), attrs.kernel_size, strict=True))
    return (images, TensorType(layout(attrs.kernel_layout).shape(w), images.dtype))


def _compute(attrs: ConvAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, weight = inputs
    plain = layout(attrs.kernel_layout).extents(dims(weight))
    if multiplies_depth(layout(attrs.data_layout).extents(dims(data))["C"], plain["O"], plain["I"], attrs):
        weight = _in_a_row(weight, attrs.kernel_layout)
    return [topi_conv(data, weight, attrs.spec(data.dtype))]


def _in_a_row(weight: Tensor, kernel_layout: str) -> Tensor:
    """Return a weight with several kernels for each channel as one whose kernels are one after the other."""
    letters = layout(kernel_layout).letters
    outputs, inputs = letters.index("O"), letters.index("I")
    shape = list(dims(weight))
    depth = shape[inputs]
    shape[outputs], shape[inputs] = shape[outputs] * depth, 1

    def element(*at: Any) -> PrimExpr:
        place = list(at)
        place[outputs], place[inputs] = at[outputs] // depth, at[outputs] % depth
        return weight(*place)

    return compute(tuple(shape), element, name="kernels", tag=Tag.INJECTIVE)


def conv_reference(attrs: ConvAttrs, data: Array, weight: Array) -> Any:
    """Convolve by one matrix product of the windows with the weights, group by group."""
    spatial = spatial_letters(attrs.data_layout)
    dtype = attrs.out_dtype or str(data.dtype)
    x = layout(attrs.data_layout).to_plain(data, "NC" + spatial).astype(dtype)
    w = layout(attrs.kernel_layout).to_plain(weight, "OI" + spatial).astype(dtype)
    rank, groups = len(spatial), attrs.groups
    if multiplies_depth(x.shape[1], w.shape[0], w.shape[1], attrs):
        w = w.reshape(-1, 1, *w.shape[2:])
    around = [(attrs.padding[d], attrs.padding[d + rank]) for d in range(rank)]
    seen = windows(np.pad(x, [(0, 0), (0, 0), *around]), w.shape[2:], attrs.strides, attrs.dilation)
    n, _, *out = seen.shape[: 2 + rank]
    seen = seen.reshape(n, groups, w.shape[1], *seen.shape[2:])
    # (N, G, I, out…, kernel…) → (N, G, out…, I, kernel…)
    rows = np.moveaxis(seen, 2, 2 + rank).reshape(n, groups, int(np.prod(out)), -1)
    product = rows @ w.reshape(groups, w.shape[0] // groups, -1).transpose(0, 2, 1)
    plain = product.transpose(0, 1, 3, 2).reshape(n, w.shape[0], *out)
    return layout(attrs.result_layout).from_plain(plain, "NC" + spatial).astype(dtype)


def conv_gradient(call: Call, grad: Expr) -> Sequence[Expr]:
    """Gradients of data and weight, both as convolutions; for plain layouts and one group.

    The data's is the transposed convolution of the result's.  The weight's is the convolution of data and result's
    gradient whose batch is the input channels, and whose strides and dilation have changed places.
    """
    attrs = ConvAttrs.of(call)
    data, weight = call.args
    rank = len(attrs.strides)
    plain = PLAIN_LAYOUTS[rank]
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


def _register(attrs: type[ConvAttrs], alter_layout: AlterLayout | None = None) -> OpFunction:
    rank, letters = attrs.RANK, ("", "W", "HW", "DHW")[attrs.RANK]
    spatial = ", ".join(letters)
    return register(
        f"nn.conv{rank}d",
        doc=f"Convolve over {rank} spatial dimension{'s' * (rank > 1)}, optionally in groups of channels.",
        inputs={
            "data": f"Images, ``(N, C, {spatial})`` in the default layout.",
            "weight": f"Kernels, ``(O, C / groups, {spatial})`` in the default layout"
            + (f"; several for each channel may be ``(C, O / C, {spatial})``." if rank == 2 else "."),
        },
        spelt_out=("padding",) if rank > 1 else (),
        attrs=attrs,
        relation=conv_relation,
        complete=conv_complete,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_compute,
        schedule=schedule_conv,
        reference=conv_reference,
        gradient=conv_gradient,
        alter_layout=alter_layout,
        layout=convolution_layout,
    )


conv1d = _register(Conv1DAttrs)
conv2d = _register(Conv2DAttrs, alter_conv2d_layout)
conv3d = _register(Conv3DAttrs)
