"""Winograd: convolutions of 3 x 3 by fewer products, on transformed tiles."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, array_const
from compiler.relay.op.nn.conv_attrs import Conv2DPackedAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, op_name, tensor_type
from compiler.relay.ty import TensorType
from compiler.topi.nn.convolution.winograd_packed import WINDOW, is_worth_winograd, transformed_weight


class Winograd(RewritePass, opt_level=3, required=("InferType",)):
    """Compute convolutions of 3 x 3 by Winograd's minimal filtering, where that is less work and kernels are known.

    Level 3; requires InferType.  Those in float32 with steps of 1 whose channels AlterOpLayout has brought into blocks
    multiply 36 values for each 4 x 4 outputs of two channels instead of 144.  The results differ by rounding: their
    largest error is about 5e-6 of the largest result, ten times that of the sums of products.

    Examples
    --------
    A convolution of 64 to 64 channels, of which the kernels ``w`` are known::

        def @main(%x: Tensor[(1, 4, 56, 56, 16), float32]) {
          nn.contrib_conv2d_NCHWc(%x, w, padding=[1, 1, 1, 1], data_layout="NCHW16c", …)
        }
        ->
        def @main(%x: Tensor[(1, 4, 56, 56, 16), float32]) {
          nn.contrib_conv2d_winograd_NCHWc(%x, w at 36 points, padding=[1, 1, 1, 1], data_layout="NCHW16c", …)
        }
    """

    def mutator(self) -> GraphMutator:
        return _Transform()


class _Transform(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        if op_name(new) != "nn.contrib_conv2d_NCHWc":
            return new
        kernel, result = new.args[1], tensor_type(call)
        if not isinstance(kernel, Constant) or result is None or not _is_filtered(call, kernel, result):
            return new
        weight = array_const(transformed_weight(kernel.data.numpy()))
        size = {"channels": kernel.data.shape[0] * kernel.data.shape[-1], "kernel_size": (WINDOW, WINDOW)}
        return call_op("nn.contrib_conv2d_winograd_NCHWc", new.args[0], weight, **{**Conv2DPackedAttrs.of(new), **size})


def _is_filtered(call: Call, kernel: Constant, result: TensorType) -> bool:
    """Return whether a packed convolution is one that has fewer products on transformed tiles."""
    attrs = Conv2DPackedAttrs.of(call)
    data = tensor_type(call.args[0])
    if data is None or not data.is_static or {data.dtype, str(kernel.data.dtype), result.dtype} != {"float32"}:
        return False
    outer, inputs, *window, inner, block = kernel.data.shape
    plain = (attrs.strides, attrs.dilation, attrs.groups) == ((1, 1), (1, 1), 1)
    if (
        window != [WINDOW] * 2
        or not plain
        or (attrs.kernel_layout, attrs.result_layout) != (f"OIHW{inner}i{block}o", f"NCHW{block}c")
    ):
        return False
    batch, _, height, width, _ = result.concrete_shape
    return is_worth_winograd(inputs * inner, outer * block, batch, height, width)
