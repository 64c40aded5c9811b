"""Transposed convolutions: ``nn.conv1d_transpose``, ``nn.conv2d_transpose``, ``nn.conv3d_transpose``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.error import ArgumentError
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import check_same_extent, has_any_dim
from compiler.relay.op.nn.conv import conv_complete
from compiler.relay.op.nn.conv_attrs import (
    Conv1DTransposeAttrs,
    Conv2DTransposeAttrs,
    Conv3DTransposeAttrs,
    ConvTransposeAttrs,
)
from compiler.relay.op.nn.spatial import extents
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op, operator_of
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.convolution.conv_transpose import conv_transpose as topi_conv_transpose
from compiler.topi.nn.convolution.conv_transpose import transposed_extent
from compiler.topi.schedules.x86.conv import schedule_conv


def transpose_relation(types: Types, attrs: ConvTransposeAttrs) -> Type:
    """The transposed images, of ``out_layout`` and ``out_dtype``."""
    data, weight = tensor(types[0], "data"), tensor(types[1], "weight")
    x = extents(data, layout(attrs.data_layout), "data")
    w = extents(weight, layout(attrs.kernel_layout), "weight")
    check_same_extent(x["C"], w["I"], f"the channels of data {data} and the weight {weight} along I")
    if isinstance(w["I"], int) and w["I"] % attrs.groups:
        raise RelationError(f"the {w['I']} input channels must be a multiple of groups={attrs.groups}")
    if attrs.channels is not None:
        check_same_extent(attrs.channels, w["O"] * attrs.groups, "channels and the output channels of the weight")
    letters = spatial_letters(attrs.data_layout)
    result: dict[str, Dim] = {"N": x["N"], "C": w["O"] * attrs.groups}
    for d, letter in enumerate(letters):
        if attrs.kernel_size is not None:
            check_same_extent(attrs.kernel_size[d], w[letter], f"kernel_size and the weight {weight} in {letter}")
        result[letter] = _extent(x[letter], w[letter], attrs, d, len(letters))
    return TensorType(layout(attrs.result_layout).shape(result), attrs.out_dtype or data.dtype)


def _extent(extent: Dim, kernel: Any, attrs: ConvTransposeAttrs, d: int, rank: int) -> Dim:
    if has_any_dim(extent, kernel):
        return AnyDim()
    around = attrs.padding[d] + attrs.padding[d + rank]
    more = attrs.output_padding[d]
    size: Dim = transposed_extent(extent, around, kernel, attrs.strides[d], attrs.dilation[d], more)
    if isinstance(size, int) and size < 1:
        raise RelationError(f"a padding of {around} leaves an empty result")
    return size


def _compute(attrs: ConvTransposeAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [topi_conv_transpose(inputs[0], inputs[1], attrs.spec(inputs[0].dtype), attrs.output_padding)]


def transpose_reference(attrs: ConvTransposeAttrs, data: Array, weight: Array) -> Array:
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
    return layout(attrs.result_layout).from_plain(kept.reshape(x.shape[0], -1, *out), "NC" + letters)


def _gradient(call: Call, grad: Expr) -> Sequence[Expr]:
    """Gradients of data and weight: convolutions again, for plain layouts and one group."""
    attrs, (data, weight) = ConvTransposeAttrs.of(call), call.args
    rank = len(attrs.strides)
    if attrs.groups != 1 or (attrs.data_layout, attrs.kernel_layout) != (plain := attrs.plain_layouts()):
        raise ArgumentError(f"gradient of {operator_of(call).name}: groups must be 1 and the layouts {plain}")
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


_PARAMETERS = (
    "data", "weight", "strides", "padding", "dilation", "groups", "channels", "kernel_size", "data_layout",
    "kernel_layout", "out_layout", "output_padding", "out_dtype",
)  # fmt: skip


def _register(attrs: type[ConvTransposeAttrs]) -> OpFunction:
    rank, letters = attrs.RANK, ("", "W", "HW", "DHW")[attrs.RANK]
    spatial = ", ".join(letters)
    return register(
        f"nn.conv{rank}d_transpose",
        doc=f"Transposed convolution over {rank} spatial dimension{'s' * (rank > 1)}: the gradient of a convolution.",
        inputs={
            "data": f"Images, ``(N, C, {spatial})`` in the default layout.",
            "weight": f"Kernels, ``(C, O / groups, {spatial})`` in the default layout.",
        },
        spelt_out=("padding",) if rank > 1 else (),
        parameters=_PARAMETERS,
        attrs=attrs,
        relation=transpose_relation,
        complete=conv_complete,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_compute,
        schedule=schedule_conv,
        reference=transpose_reference,
        gradient=_gradient,
    )


conv1d_transpose = _register(Conv1DTransposeAttrs)
conv2d_transpose = _register(Conv2DTransposeAttrs)
conv3d_transpose = _register(Conv3DTransposeAttrs)
