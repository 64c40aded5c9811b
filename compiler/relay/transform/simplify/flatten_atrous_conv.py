"""FlattenAtrousConv: turns a convolution between space_to_batch and batch_to_space into a dilated one."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.relay.expr import Call
from compiler.relay.op.nn.conv_attrs import ConvolutionAttrs
from compiler.relay.op.nn.space_batch import BatchToSpaceNDAttrs, SpaceToBatchNDAttrs
from compiler.relay.transform.rewriter import (
    GraphMutator,
    RewritePass,
    call_of,
    dims_of,
    op_name,
    scalar_value,
    type_of,
)
from compiler.tir.layout.data_layout import layout

_CONVOLUTIONS = ("nn.conv2d", "qnn.conv2d")


class FlattenAtrousConv(RewritePass, required=("InferType",)):
    """Replace ``space_to_batch_nd``, a convolution and ``batch_to_space_nd`` by one dilated convolution.

    Level 0; requires InferType.  Each of the batches holds every n-th element of the image, so that the window of the
    convolution takes elements that lie n apart.  The convolution must have strides of 1 and its channels last, and
    all must pad alike: with zeros, or with the zero point of a quantized convolution.

    Examples
    --------
    ``FlattenAtrousConv()``::

        def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 4), float32]) {
          %0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]]);
          %1 = nn.conv2d(%0, %w, data_layout="NHWC", kernel_layout="HWIO");
          nn.batch_to_space_nd(%1, block_shape=[2, 2], crops=[[0, 1], [0, 1]])
        }
        ->
        def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 4), float32]) {
          nn.conv2d(%x, %w, padding=[2, 2, 2, 2], dilation=[2, 2], data_layout="NHWC", kernel_layout="HWIO")
        }
    """

    def mutator(self) -> GraphMutator:
        return _Flattener()


class _Flattener(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        back = call_of(new, "nn.batch_to_space_nd")
        conv = call_of(back.args[0], *_CONVOLUTIONS) if back else None
        blocks = call_of(conv.args[0], "nn.space_to_batch_nd") if conv else None
        if back is None or conv is None or blocks is None:
            return new
        flat = _flattened(blocks, conv, back)
        return flat if flat is not None and dims_of(flat) == dims_of(call) else new


def _flattened(blocks: Call, conv: Call, back: Call) -> Call | None:
    """Return the dilated convolution; None if there is none of the same meaning."""
    padded, cropped, attrs = SpaceToBatchNDAttrs.of(blocks), BatchToSpaceNDAttrs.of(back), ConvolutionAttrs.of(conv)
    image = [axis.letter for axis in layout(attrs.data_layout).axes[1:3]] == ["H", "W"]
    same_blocks = tuple(padded.block_shape) == tuple(cropped.block_shape) and len(padded.block_shape) == 2
    if not image or not same_blocks or set(attrs.strides) != {1} or not _pads_alike(padded, conv):
        return None
    block = np.array(padded.block_shape)
    before, after = np.array(padded.paddings).T + np.array(attrs.padding).reshape(2, 2) * block
    before, after = before - np.array(cropped.crops)[:, 0], after - np.array(cropped.crops)[:, 1]
    if before.min() < 0 or after.min() < 0:
        return None
    dilation = np.array(attrs.dilation) * block
    changes = {"padding": (*before.tolist(), *after.tolist()), "dilation": tuple(dilation.tolist())}
    made = rebuild(conv, args=(blocks.args[0], *conv.args[1:]), attrs=conv.attrs.with_values(**changes))
    type_of(made)
    return made


def _pads_alike(padded: SpaceToBatchNDAttrs, conv: Call) -> bool:
    """Return whether the image is padded before it is cut into blocks by what the convolution pads by."""
    fill = scalar_value(conv.args[2]) if op_name(conv) == "qnn.conv2d" else 0
    return fill is not None and padded.pad_value == fill
