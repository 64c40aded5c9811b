"""QuantizePartition: marks the boundaries of quantised regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.classic.relay.transform.quantization.forward_rewrite import (
    Argument,
    ForwardRewrite,
    MarkedExpr,
    Rule,
    check_constant,
    marked,
    plain,
)
from compiler.classic.relay.transform.quantization.quantize_config import current_qconfig
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.operator import call_op
from compiler.relay.transform.function_pass import FunctionPass


@dataclass(frozen=True)
class QPartitionExpr(MarkedExpr):
    """The result of a quantized part, which goes over to the next as what ``dtype_input`` holds."""

    expr: RelayExpr

    def realize(self) -> GraphExpr:
        """Return the expression with the border after it."""
        hint = call_op("annotation.cast_hint", self.expr, dtype=current_qconfig().dtype_input)
        return call_op("annotation.stop_fusion", hint)


class QuantizePartition(FunctionPass, opt_level=1):
    """Put ``cast_hint`` and ``stop_fusion`` where the result of a quantized part is used.

    Level 1.  A part is a convolution with the additions of constants, ``nn.relu`` and ``nn.max_pool2d`` that follow.

    Examples
    --------
    ``QuantizePartition()``::

        def @main(%x: Tensor[(1, 3, 8, 8), float32], %v: Tensor[(4, 3, 1, 1), float32]) {
          nn.conv2d(%x, %v)
        }
        ->
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %v: Tensor[(4, 3, 1, 1), float32]) {
          annotation.stop_fusion(annotation.cast_hint(nn.conv2d(%x, %v), dtype="int8"))
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return ForwardRewrite(_RULES).apply(func)


def partition() -> QuantizePartition:
    """Return the pass that marks the borders of quantized parts."""
    return QuantizePartition()


def _inside(arg: Argument) -> RelayExpr:
    return arg.expr if isinstance(arg, QPartitionExpr) else plain(arg)


def _call(call: Call, args: Sequence[RelayExpr]) -> QPartitionExpr:
    return QPartitionExpr(Call(call.op, tuple(args), call.attrs))


def _convolution(call: Call, args: Sequence[Argument]) -> QPartitionExpr:
    return _call(call, [plain(arg) for arg in args])


def _same_part(call: Call, args: Sequence[Argument]) -> QPartitionExpr | None:
    return _call(call, [_inside(arg) for arg in args]) if marked(args[0]) else None


def _sum(call: Call, args: Sequence[Argument]) -> QPartitionExpr | None:
    """An addition of a constant stays in the part; one of two results begins another."""
    lhs, rhs = args
    if not marked(lhs) and not marked(rhs):
        return None
    if marked(lhs) and not marked(rhs) and check_constant(plain(rhs)):
        return _call(call, [_inside(lhs), plain(rhs)])
    return _call(call, [plain(lhs), plain(rhs)])


def _product(call: Call, args: Sequence[Argument]) -> QPartitionExpr | None:
    return _call(call, [plain(arg) for arg in args]) if any(map(marked, args)) else None


_RULES: dict[str, Rule] = {
    "nn.conv2d": _convolution,
    "nn.relu": _same_part,
    "clip": _same_part,
    "nn.max_pool2d": _same_part,
    "add": _sum,
    "multiply": _product,
}
