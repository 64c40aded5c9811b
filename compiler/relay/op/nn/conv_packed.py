"""Convolutions with channels in blocks: ``nn.contrib_conv2d_NCHWc`` and its relatives.

They are what ``nn.conv2d`` becomes where vectors are as wide as a block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.conv import conv_complete, conv_reference, conv_relation
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs, Conv2DPackedAttrs, DepthwiseConv2DPackedAttrs
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn.convolution import conv_packed as topi
from compiler.topi.nn.convolution.conv import ConvSpec
from compiler.topi.nn.convolution.winograd_packed import POINTS, WINDOW, conv2d_winograd_nchwc, transform_matrices
from compiler.topi.schedules.x86.conv import schedule_conv
from compiler.topi.schedules.x86.winograd import schedule_winograd


def _register(
    name: str, doc: str, kernel: str, attrs: type[Conv2DAttrs], compute: Callable[[Tensor, Tensor, ConvSpec], Tensor]
) -> OpFunction:
    return register(
        name,
        doc=doc,
        inputs={"data": "Images, ``(N, C / c, H, W, c)``.", "kernel": kernel},
        spelt_out=("padding",),
        attrs=attrs,
        relation=conv_relation,
        complete=conv_complete,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=lambda attrs, inputs, out_type: [compute(inputs[0], inputs[1], attrs.spec(inputs[0].dtype))],
        schedule=schedule_conv,
        reference=conv_reference,
        waived={"gradient": "made by the layout pass, after differentiation"},
    )


contrib_conv2d_nchwc = _register(
    "nn.contrib_conv2d_NCHWc",
    "Convolve images whose channels are in blocks.",
    "Kernels, ``(O / o, C / c, H, W, c, o)``.",
    Conv2DPackedAttrs,
    topi.conv2d_nchwc,
)
contrib_depthwise_conv2d_nchwc = _register(
    "nn.contrib_depthwise_conv2d_NCHWc",
    "Convolve each channel with its own kernel, channels in blocks.",
    "Kernels, ``(O / o, 1, H, W, 1, o)``.",
    DepthwiseConv2DPackedAttrs,
    topi.depthwise_conv2d_nchwc,
)


def _plain_kernel(data: TensorType, attrs: Conv2DPackedAttrs) -> TensorType:
    """Return the type of the kernels before they were transformed."""
    known = conv_complete((data, None), attrs)[1]
    usual = (attrs.strides, attrs.dilation, attrs.groups, attrs.kernel_size) == ((1, 1), (1, 1), 1, (WINDOW, WINDOW))
    if known is None or not usual:
        raise RelationError("channels must be given, kernel_size be (3, 3), and strides, dilation and groups be 1")
    return tensor(known, "weight")


def _winograd_relation(types: Types, attrs: Conv2DPackedAttrs) -> Type:
    """The type of the convolution's result."""
    data = tensor(types[0], "data", 5)
    kernel = _plain_kernel(data, attrs)
    outer, inputs, _, _, *inner = kernel.dims
    weight = tensor(types[1], "weight", 3 + len(inner))
    for a, b in zip(weight.dims, (POINTS**2, outer, inputs, *inner), strict=True):
        check_same_extent(a, b, f"the transformed weight {weight} and the kernels that it is of, {kernel}")
    return conv_relation((data, kernel), attrs)


def _winograd_reference(attrs: Conv2DPackedAttrs, data: Array, weight: Array) -> Array:
    """Convolve with the kernels whose transform the weight is: the points are more than the window has elements."""
    back = np.linalg.pinv(transform_matrices(str(weight.dtype))[2])
    values = weight.astype("float64").reshape(POINTS, POINTS, *weight.shape[1:])
    kernel = np.einsum("rp,pqab...,sq->abrs...", back, values, back)
    whole = kernel if weight.dtype.kind == "f" else np.rint(kernel)
    return conv_reference(attrs, data.astype(weight.dtype), whole.astype(weight.dtype))


contrib_conv2d_winograd_nchwc = register(
    "nn.contrib_conv2d_winograd_NCHWc",
    doc="Convolve images whose channels are in blocks, by Winograd's minimal filtering.",
    inputs={
        "data": "Images, ``(N, C / c, H, W, c)``.",
        "weight": "Kernels of 3 x 3 at 36 points, ``(36, O / o, C / c, c, o)`` or, of 16-bit integers, "
        "``(36, O / o, C / c, c / 2, o, 2)``, as the pass Winograd makes them.",
    },
    spelt_out=("padding",),
    attrs=Conv2DPackedAttrs,
    relation=_winograd_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [conv2d_winograd_nchwc(inputs[0], inputs[1], attrs.spec(inputs[0].dtype))],
    schedule=schedule_winograd,
    reference=_winograd_reference,
    references=('A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.',),
    waived={
        "gradient": "made by a pass that runs after differentiation",
        "layout": "the weight is in none, and the images are in the one that it was made for",
    },
)
