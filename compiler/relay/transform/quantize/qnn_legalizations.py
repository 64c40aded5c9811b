"""``tvm.relay.qnn.op.legalizations``: what layers of integers become on targets that multiply bytes fast or slowly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Constant
from compiler.relay.op.qnn.attributes import register_qnn_legalize
from compiler.relay.op.qnn.legalize import fast_dtypes, with_byte_dtypes
from compiler.relay.op.qnn.unary import REAL_FUNCTIONS
from compiler.relay.op.qnn.unary import hardswish_func as hardswish_func
from compiler.relay.transform.quantize.integer_lookup import create_integer_lookup_op
from compiler.relay.ty import TensorType
from compiler.target.target import Target

__all__ = [
    "get_scalar_from_constant", "hardswish_func", "helper_change_dtypes_to_int8", "helper_change_dtypes_to_uint8",
    "helper_change_dtypes_to_uint8_int8", "is_fast_int8_on_intel", "register_qnn_unary_op_legalize",
]  # fmt: skip

_Layer = Callable[..., RelayExpr]


def get_scalar_from_constant(expr: RelayExpr) -> int | float:
    """Return the value of a constant scalar of int32 or float32.

    Raises ArgumentError if it is something else.
    """
    if not isinstance(expr, Constant) or expr.data.shape or expr.data.dtype not in ("int32", "float32"):
        raise ArgumentError(f"get_scalar_from_constant: expected a constant scalar of int32 or float32, got {expr}")
    value: int | float = expr.data.view().item()
    return value


def is_fast_int8_on_intel() -> bool:
    """Return whether the current target is an x86 processor that multiplies unsigned by signed bytes fast."""
    target = Target.current()
    return target is not None and target.kind == "llvm" and fast_dtypes(target, "int8", "uint8") == ("uint8", "int8")


def helper_change_dtypes_to_int8(
    attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type], relay_op: _Layer
) -> RelayExpr | None:
    """Return a layer of integers whose data and weight are int8; None where they are.

    The inputs are data, weight, their zero points and scales; the types are theirs, then that of the result.
    ``relay_op`` makes the layer, such as ``qnn.op.conv2d``.
    """
    return with_byte_dtypes(relay_op, ("int8", "int8"), attrs, inputs, types)


def helper_change_dtypes_to_uint8(
    attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type], relay_op: _Layer
) -> RelayExpr | None:
    """Return a layer of integers whose data and weight are uint8; None where they are.

    The arguments are those of :func:`helper_change_dtypes_to_int8`.
    """
    return with_byte_dtypes(relay_op, ("uint8", "uint8"), attrs, inputs, types)


def helper_change_dtypes_to_uint8_int8(
    attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type], relay_op: _Layer
) -> RelayExpr | None:
    """Return a layer of integers whose data are uint8 and whose weight is int8; None where they are.

    The arguments are those of :func:`helper_change_dtypes_to_int8`.
    """
    return with_byte_dtypes(relay_op, ("uint8", "int8"), attrs, inputs, types)


def register_qnn_unary_op_legalize(
    op_name: str, floating_point_func: Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]
) -> Any:
    """Let ``qnn.transform.Legalize`` replace a function of single bytes, such as ``qnn.sqrt``, by a table of its
    values.

    ``floating_point_func`` is the function of real numbers, of arrays.
    """

    def numbers(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        with np.errstate(all="ignore"):  # not all bytes are in the function's domain
            return np.asarray(np.nan_to_num(np.asarray(floating_point_func(x), "float32")))

    def rule(attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr | None:
        x, scale, zero_point, new_scale, new_zero_point = inputs
        dtype = types[0].dtype if isinstance(types[0], TensorType) else ""
        if dtype not in ("int8", "uint8") or not all(isinstance(given, Constant) for given in inputs[1:]):
            return None  # only of bytes there are few enough values, and the table is made while compiling
        return create_integer_lookup_op(
            x, numbers, scale, zero_point, new_scale, new_zero_point, in_dtype=dtype, out_dtype=dtype
        )

    return register_qnn_legalize(op_name, rule)


for _name, _function in REAL_FUNCTIONS.items():
    register_qnn_unary_op_legalize(_name, _function)
