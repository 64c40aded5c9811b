"""``tvm.topi.math``: all elementwise operators."""

from __future__ import annotations

from compiler import tir
from compiler.ir.error import expected
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.topi import elementwise, fast_math
from compiler.topi.broadcast import left_shift, right_shift
from compiler.topi.elementwise import *  # noqa: F403
from compiler.topi.fast_math import *  # noqa: F403

_ELSEWHERE = {
    "bitwise_not", "fixed_point_multiply_per_axis", "full", "full_like", "logical_not", "ones_like", "zeros_like",
}  # fmt: skip
"""What is elementwise, too, but stands in ``tvm.topi`` alone."""

__all__ = ["ceil_log2", "left_shift", "right_shift", *fast_math.__all__]
__all__ += [name for name in elementwise.__all__ if name not in _ELSEWHERE]


def ceil_log2(x: int | PrimExpr) -> PrimExpr:
    """Return the smallest exponent whose power of two is not below a positive integer; computed in float64.

    Raises ArgumentError if it is a tensor.
    """
    if isinstance(x, Tensor):
        expected("ceil_log2", "x", "an integer expression", x)
    value = tir.convert(x)
    return tir.ceil(tir.log2(tir.Cast("float64", value))).astype(value.dtype)
