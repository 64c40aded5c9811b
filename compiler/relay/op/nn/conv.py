"""Convolutions: ``nn.conv1d``, ``nn.conv2d`` and ``nn.conv3d``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import check_same_extent, is_symbolic
from compiler.relay.op.nn.conv_alter_layout import alter_conv2d_layout
from compiler.relay.op.nn.conv_attrs import (
    PLAIN_LAYOUTS,
    Conv1DAttrs,
    Conv2DAttrs,
    Conv3DAttrs,
    ConvAttrs,
    ConvTransposeAttrs,
)
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
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import compute
from compiler.topi.nn.convolution.conv import conv as topi_conv
from compiler.topi.nn.convolution.conv import spatial_letters
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
    elif isinstance(w["I"], AnyDim) and w["O"] == attrs.groups > 1:
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
    """Return whether a weight has several kernels for each channel, ``(C, M, …)`` as in TVM, not ``(C M, 1, …)``.

    ``outputs`` and ``inputs`` are extents of the weight, as its layout names them.
    """
    if not (isinstance(channels, int) and isinstance(outputs, int) and isinstance(inputs, int)):
        return False
    return inputs > 1 and channels == outputs == attrs.groups > 1


def _check_channels(channels: Dim, outputs: Dim, inputs: Dim, attrs: ConvAttrs) -> None:
    groups = attrs.groups
    if attrs.channels is not None:
        check_same_extent(attrs.channels, outputs, "channels and the output channels of the weight")
    if isinstance(outputs, int) and outputs % groups:
        raise RelationError(f"the {outputs} output channels must be a multiple of groups={groups}")
    if isinstance(channels, int) and isinstance(inputs, int) and channels != inputs * groups:
        each = f" in each of {groups} groups" if groups > 1 else ""
        raise RelationError(f"data has {channels} channels, the weight takes {inputs}{each}")


def conv_complete(types: PartialTypes, attrs: ConvAttrs | ConvTransposeAttrs) -> Sequence[Type | None]:
    """The weight's type follows from ``channels`` and ``kernel_size``."""
    data, weight = types
    if data is None or weight is not None or attrs.channels is None or attrs.kernel_size is None:
        return types
    images = tensor(data, "data")
    x = extents(images, layout(attrs.data_layout), "data")
    if is_symbolic(x["C"]):
        return types
    if isinstance(attrs, ConvTransposeAttrs):
        w = {"I": x["C"], "O": attrs.channels // attrs.groups}
    else:
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


def conv_reference(attrs: ConvAttrs, data: Array, weight: Array) -> Array:
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


def conv_gradient(call: Call, grad: Expr) -> Sequence[RelayExpr]:
    """Gradients of data and weight, both as convolutions of tensors in plain layouts.

    The data's is the transposed convolution of the result's.  The weight's is the convolution of data and result's
    gradient whose batch is the input channels, and whose strides and dilation have changed places.
    """
    attrs = ConvAttrs.of(call)
    data, weight = call.args
    images, kernels = PLAIN_LAYOUTS[len(attrs.strides)]
    to_images = _order(call, attrs.data_layout, images)
    to_kernels = _order(call, attrs.kernel_layout, kernels)
    from_results = _order(call, attrs.result_layout, images)
    x = _permuted(data.checked_type.concrete_shape, to_images)
    w = _permuted(weight.checked_type.concrete_shape, to_kernels)
    y = _permuted(call.checked_type.concrete_shape, from_results)
    if multiplies_depth(x[1], w[0], w[1], attrs):
        raise ArgumentError(f"gradient of {operator_of(call).name}: the weight must be (O, C / groups, …)")
    plain_data, plain_weight = _transposed(data, to_images), _transposed(weight, to_kernels)
    plain_grad = _transposed(grad, from_results)
    to_data = _data_gradient(attrs, plain_grad, plain_weight, (x, w, y))
    to_weight = _weight_gradient(call, plain_data, plain_grad, (x, w, y))
    return [_transposed(to_data, _inverse(to_images)), _transposed(to_weight, _inverse(to_kernels))]


Shape = Sequence[int]


def _order(call: Call, given: str, wanted: str) -> Shape:
    """Return where the dimensions of a plain layout are in another of the same letters."""
    if sorted(given) != sorted(wanted):
        raise ArgumentError(f"gradient of {operator_of(call).name}: layout {given} must have the letters of {wanted}")
    return tuple(map(given.index, wanted))


def _inverse(order: Shape) -> Shape:
    return tuple(order.index(place) for place in range(len(order)))


def _permuted(shape: Shape, order: Shape) -> Shape:
    return tuple(shape[place] for place in order)


def _transposed(x: RelayExpr, order: Shape) -> RelayExpr:
    return x if list(order) == sorted(order) else call_op("transpose", x, axes=order)


def _data_gradient(
    attrs: ConvAttrs, grad: RelayExpr, weight: RelayExpr, shapes: tuple[Shape, Shape, Shape]
) -> RelayExpr:
    """Return the transposed convolution of the result's gradient."""
    x, w, y = shapes
    rank = len(attrs.strides)
    images, kernels = PLAIN_LAYOUTS[rank]
    before, after = attrs.padding[:rank], attrs.padding[rank:]
    fits = [(y[2 + d] - 1) * attrs.strides[d] + (w[2 + d] - 1) * attrs.dilation[d] + 1 for d in range(rank)]
    return call_op(
        f"nn.conv{rank}d_transpose",
        grad,
        weight,
        strides=attrs.strides,
        padding=attrs.padding,
        dilation=attrs.dilation,
        groups=attrs.groups,
        output_padding=tuple(x[2 + d] + before[d] + after[d] - fits[d] for d in range(rank)),
        channels=x[1],
        kernel_size=w[2:],
        data_layout=images,
        kernel_layout="IO" + kernels[2:],
    )


def _weight_gradient(call: Call, data: RelayExpr, grad: RelayExpr, shapes: tuple[Shape, Shape, Shape]) -> RelayExpr:
    """Return the convolution of the data by the result's gradient; the images are the channels of each group."""
    attrs = ConvAttrs.of(call)
    x, w, y = shapes
    rank, groups, around = len(attrs.strides), attrs.groups, tuple(range(2, 2 + len(attrs.strides)))
    apart = tuple(place + 1 for place in around)
    if groups == 1:
        images, filters = (call_op("transpose", tensor, axes=(1, 0, *around)) for tensor in (data, grad))
    else:
        # (N, G * I, …) → (I, G * N, …) and (N, G * O, …) → (G * O, N, …)
        split = call_op("reshape", data, newshape=(x[0], groups, x[1] // groups, *x[2:]))
        images = call_op("transpose", split, axes=(2, 1, 0, *apart))
        images = call_op("reshape", images, newshape=(x[1] // groups, groups * x[0], *x[2:]))
        filters = call_op("transpose", grad, axes=(1, 0, *around))
    wide = call_op(
        f"nn.conv{rank}d",
        images,
        filters,
        strides=attrs.dilation,
        padding=attrs.padding,
        dilation=attrs.strides,
        groups=groups,
        channels=y[1],
        kernel_size=y[2:],
    )
    # Where windows do not reach the data's end, there are more shifts than the kernel has elements.
    kept = call_op("strided_slice", wide, begin=(0,) * (2 + rank), end=(w[1], w[0], *w[2:]), strides=(1,) * (2 + rank))
    return call_op("transpose", kept, axes=(1, 0, *around))


def _register(attrs: type[ConvAttrs], alter_layout: AlterLayout | None = None) -> OpFunction:
    rank, letters = attrs.RANK, ("", "W", "HW", "DHW")[attrs.RANK]
    spatial = ", ".join(letters)
    return register(
        f"nn.conv{rank}d",
        doc=f"Convolve over {rank} spatial dimension{'s' * (rank > 1)}, optionally in groups of channels.",
        inputs={
            "data": f"Images, ``(N, C, {spatial})`` in the default layout.",
            "weight": f"Kernels, ``(O, C / groups, {spatial})`` in the default layout; several for each channel may be"
            f" ``(C, O / C, {spatial})``.",
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
    )


conv1d = _register(Conv1DAttrs)
conv2d = _register(Conv2DAttrs, alter_conv2d_layout)
conv3d = _register(Conv3DAttrs)
