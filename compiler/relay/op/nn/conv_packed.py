"""Convolutions with channels in blocks: ``nn.contrib_conv2d_NCHWc``, ``nn.contrib_depthwise_conv2d_NCHWc``.

They are what ``nn.conv2d`` becomes where vectors are as wide as a block.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.relay.op.nn.conv import conv_complete, conv_reference, conv_relation
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs, Conv2DPackedAttrs, DepthwiseConv2DPackedAttrs
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import OpPattern
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn.convolution import conv_packed as topi
from compiler.topi.nn.convolution.conv import ConvSpec
from compiler.topi.schedules.x86.conv import schedule_conv


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
