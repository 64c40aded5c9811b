"""Which operators mixed precision converts: ``relay.transform.mixed_precision``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.expr.primexpr import FloatImm
from compiler.ir.op import Op, register_op_attr
from compiler.relay.expr import Call
from compiler.relay.op.unary import ClipAttrs
from compiler.relay.transform.rewriter import call_of
from compiler.tir.expressions.op import max_value

__all__ = [
    "DEFAULT_ALWAYS_LIST", "DEFAULT_FOLLOW_LIST", "DEFAULT_NEVER_LIST", "MIXED_PRECISION_ALWAYS",
    "MIXED_PRECISION_FOLLOW", "MIXED_PRECISION_NEVER", "MIXED_PRECISION_RULE", "Conversion", "conversion_of",
    "get_generic_out_dtypes", "register_func_to_op_list", "register_mixed_precision_conversion",
]  # fmt: skip

MIXED_PRECISION_ALWAYS = 0
"""Computed in the chosen type: what gains most."""
MIXED_PRECISION_FOLLOW = 1
"""Computed in the chosen type where all arguments come in it."""
MIXED_PRECISION_NEVER = 2
"""Computed in float32: what loses too much otherwise."""

Conversion = tuple[int, str, str]
"""The category, the data type of sums, and the data type of the result."""
Rule = Callable[[Call, str], Conversion]

MIXED_PRECISION_RULE = "FTVMMixedPrecisionConversionType"
"""The attribute of an operator that holds its rule."""

DEFAULT_ALWAYS_LIST = [
    "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose",
    "nn.dense", "nn.batch_matmul",
]  # fmt: skip

DEFAULT_FOLLOW_LIST = [
    # what moves data
    "nn.pad", "nn.batch_flatten", "concatenate", "zeros", "split", "squeeze", "transpose", "expand_dims", "reshape",
    "dyn.reshape", "broadcast_to_like", "dyn.broadcast_to", "strided_slice", "dyn.strided_slice", "take", "argwhere",
    "where", "tile", "dyn.tile", "scatter_elements", "scatter_nd", "full", "dyn.full", "nn.depth_to_space",
    "image.resize2d",
    # comparisons
    "argmax", "argmin", "less", "greater", "less_equal", "greater_equal",
    # copies
    "copy", "cast", "cast_like",
    # arithmetic
    "add", "subtract", "multiply", "divide", "nn.bias_add", "nn.batch_norm", "sqrt", "shape_of",
    # activations
    "max", "min", "maximum", "minimum", "nn.relu", "nn.leaky_relu", "nn.prelu", "nn.dropout", "sigmoid", "tanh",
    "fast_tanh", "fast_exp", "fast_erf", "clip",
    # windows
    "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d",
    "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d", "nn.global_max_pool2d",
]  # fmt: skip

DEFAULT_NEVER_LIST = [
    # what grows fast
    "exp", "power", "nn.cross_entropy", "nn.cross_entropy_with_logits", "nn.softmax", "nn.l2_normalize", "erf",
    # indices, and sums of many elements
    "arange", "sum", "mean", "variance", "nn.layer_norm", "nn.global_avg_pool2d", "nn.adaptive_avg_pool1d",
    "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d", "device_copy",
]  # fmt: skip

_CATEGORIES = {
    **dict.fromkeys(DEFAULT_ALWAYS_LIST, MIXED_PRECISION_ALWAYS),
    **dict.fromkeys(DEFAULT_FOLLOW_LIST, MIXED_PRECISION_FOLLOW),
    **dict.fromkeys(DEFAULT_NEVER_LIST, MIXED_PRECISION_NEVER),
}


def conversion_of(call: Call, dtype: str) -> Conversion | None:
    """Return what becomes of a call: what programs set for its operator, else what the lists say.

    That is the category, the data type of sums, and the data type of the result; None of an operator that is not
    listed.
    """
    rule = call.op.get_attr(MIXED_PRECISION_RULE) if isinstance(call.op, Op) else None
    if rule is not None:
        category, sums, result = rule(call, dtype)
        return int(category), str(sums), str(result)
    category = _CATEGORIES.get(call.op.name) if isinstance(call.op, Op) else None
    if call_of(call, "clip") and not _holds_bounds(ClipAttrs.of(call), dtype):
        category = MIXED_PRECISION_NEVER
    return None if category is None else (category, dtype, dtype)


def _holds_bounds(attrs: ClipAttrs, dtype: str) -> bool:
    """Return whether the bounds of a clip are numbers of a type, and not beyond its largest."""
    largest = max_value(dtype)
    assert isinstance(largest, FloatImm), "the type is one of floating-point numbers"
    return -largest.value <= attrs.a_min and attrs.a_max <= largest.value


def register_mixed_precision_conversion(op_name: str, func: Rule | None = None, level: int = 10) -> Any:
    """Set what becomes of the calls of an operator in another floating-point type.

    ``func(call, dtype)`` returns the category, the data type of sums, and the data type of the result; without it, the
    decorator is returned.
    """
    return register_op_attr(op_name, MIXED_PRECISION_RULE, func, level)


def register_func_to_op_list(list_ops: Sequence[str]) -> Callable[[Rule], Rule]:
    """Return the decorator that sets a rule of several operators, as :func:`register_mixed_precision_conversion`."""

    def register(func: Rule) -> Rule:
        for name in list_ops:
            register_mixed_precision_conversion(name, func)
        return func

    return register


def get_generic_out_dtypes(call_node: Call, mixed_precision_type: str) -> list[str]:
    """Return the data types of sums and of the result that serve for most operators: the chosen one."""
    return [mixed_precision_type, mixed_precision_type]
