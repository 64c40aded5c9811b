"""From quantized tensors to real numbers and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.common.folding import constant, ops, rank_of
from compiler.relay.frontend.common.tensors import half_to_even
from compiler.relay.frontend.tflite.reader import Quantization, TensorInfo

__all__ = ["is_quantized", "quantized", "real"]


def is_quantized(tensor: TensorInfo) -> bool:
    """Return whether a tensor's integers stand for real numbers."""
    return tensor.quantization is not None and tensor.dtype.startswith(("int", "uint"))


def _along(values: np.ndarray[Any, Any], quantization: Quantization, rank: int) -> Any:
    """Return numbers so that they broadcast: one, or one for each slice."""
    if values.size == 1:
        return constant(values.reshape(()))
    return constant(values.reshape([-1 if axis == quantization.axis else 1 for axis in range(rank)]))


def real(x: RelayExpr, tensor: TensorInfo) -> Any:
    """Return the real numbers that a quantized tensor stands for.

    Parameters
    ----------
    x : Expr
        Its integers.
    tensor : TensorInfo
    """
    q = tensor.quantization
    assert q is not None  # is_quantized has seen to it
    wide = ops.subtract(ops.cast(x, "int32"), _along(q.zero_point, q, rank_of(x)))
    return ops.multiply(ops.cast(wide, "float32"), _along(q.scale, q, rank_of(x)))


def quantized(x: RelayExpr, tensor: TensorInfo) -> Any:
    """Return the integers that stand for real numbers, as near as the data type comes.

    Parameters
    ----------
    x : Expr
        Real numbers.
    tensor : TensorInfo
        What the result is.
    """
    q = tensor.quantization
    assert q is not None  # is_quantized has seen to it
    limits = np.iinfo(tensor.dtype)
    steps = half_to_even(ops.divide(ops.cast(x, "float32"), _along(q.scale, q, rank_of(x))))
    shifted = ops.add(steps, _along(q.zero_point.astype("float32"), q, rank_of(x)))
    return ops.cast(ops.clip(shifted, float(limits.min), float(limits.max)), tensor.dtype)
