"""Winograd: convolutions of 3 x 3 by fewer products, on transformed tiles."""

from __future__ import annotations

import math

from compiler.ir.expr import RelayExpr
from compiler.ir.instrument import chosen_way
from compiler.relay.expr import Call, Constant, array_const
from compiler.relay.op.nn.conv_attrs import Conv2DPackedAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, op_name, tensor_type
from compiler.relay.ty import TensorType
from compiler.target.target import Target
from compiler.topi.nn.convolution.winograd_packed import WINDOW, is_exact, is_worth_winograd, transformed_weight
from compiler.topi.nn.product_sums import has_tiles

_WAYS = ("sums of products", "transformed tiles")


class Winograd(RewritePass, opt_level=3, required=("InferType",)):
    """Compute convolutions of 3 x 3 by Winograd's minimal filtering, where that is less work and kernels are known.

    Level 3; requires InferType.  Those in float32 with steps of 1 whose channels AlterOpLayout has brought into blocks
    multiply 36 values for each 4 x 4 outputs of two channels instead of 144.  The results differ by rounding: their
    largest error is about 5e-6 of the largest result, ten times that of the sums of products.  Those of bfloat16 that
    are summed in float32 are transformed in it.  Those of 16-bit integers that are made of bytes are transformed where
    the result is the same for all data, which the weights tell.  Which of those that can be are faster so is told by a
    rule, unless an instrument decides it.

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
        weight = array_const(transformed_weight(kernel.value))
        size = {"channels": kernel.data.shape[0] * kernel.data.shape[5], "kernel_size": (WINDOW, WINDOW)}
        if weight.data.dtype == "float32":
            size["kernel_layout"] = "OIHW{}i{}o".format(*weight.data.shape[3:])
        return call_op("nn.contrib_conv2d_winograd_NCHWc", new.args[0], weight, **{**Conv2DPackedAttrs.of(new), **size})


def _is_filtered(call: Call, kernel: Constant, result: TensorType) -> bool:
    """Return whether a packed convolution is computed on transformed tiles, where it has fewer products."""
    attrs = Conv2DPackedAttrs.of(call)
    outer, inputs, *window, inner, block = kernel.data.shape[:6]
    pairs = math.prod(kernel.data.shape[6:])
    plain = (attrs.strides, attrs.dilation, attrs.groups) == ((1, 1), (1, 1), 1)
    layouts = (f"OIHW{inner}i{block}o" + (f"{pairs}i" if pairs > 1 else ""), f"NCHW{block}c")
    if window != [WINDOW] * 2 or not plain or (attrs.kernel_layout, attrs.result_layout) != layouts:
        return False
    if not _is_as_right(call.args[0], kernel, result):
        return False
    batch, _, height, width, _ = result.concrete_shape
    dtype = str(kernel.data.dtype)
    is_usual = is_worth_winograd(inputs * inner * pairs, outer * block, batch, height, width, dtype)
    is_usual = is_usual and not has_tiles(Target.current(), dtype)
    data = tensor_type(call.args[0])
    operator = f"{op_name(call)}({data}, {kernel.tensor_type}, padding={attrs.padding})"
    return chosen_way(operator, _WAYS[is_usual], _WAYS) == _WAYS[True]


def _is_as_right(data: RelayExpr, kernel: Constant, result: TensorType) -> bool:
    """Return whether the transforms of a convolution's data type are as exact as sums of ``float32`` or integers."""
    t, weights = tensor_type(data), kernel.value
    if t is None or not t.is_static:
        return False
    if t.dtype == "int16" == str(weights.dtype) and result.dtype == "int32":
        limits = _range(data)
        return limits is not None and is_exact(weights, max(map(abs, limits)))
    return (t.dtype, result.dtype) == (str(weights.dtype), "float32") and t.dtype in ("float32", "bfloat16")


def _range(expr: RelayExpr) -> tuple[int, int] | None:
    """Return the least and the largest that integers which are made of bytes may be; None for others."""
    t = tensor_type(expr)
    if t is not None and t.dtype in ("int8", "uint8"):
        return (-128, 127) if t.dtype == "int8" else (0, 255)
    if isinstance(expr, Constant):
        value = expr.value
        return (int(value.min()), int(value.max())) if value.dtype.kind in "iu" and value.size else None
    if not isinstance(expr, Call):
        return None
    if op_name(expr) in ("cast", "layout_transform", "reshape"):
        return _range(expr.args[0])
    if op_name(expr) != "subtract":
        return None
    whole, less = _range(expr.args[0]), _range(expr.args[1])
    return None if whole is None or less is None else (whole[0] - less[1], whole[1] - less[0])
