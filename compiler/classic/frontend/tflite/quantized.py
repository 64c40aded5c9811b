"""Quantization, dequantization and requantization by ``qnn`` operators."""

from __future__ import annotations

from compiler.classic.frontend.tflite.reader import Quantization, TensorInfo
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import Array, constant, ops


def is_quantized(tensor: TensorInfo) -> bool:
    """Return whether a tensor is quantized."""
    return tensor.quantization is not None and tensor.dtype.startswith(("int", "uint"))


def quantization_of(tensor: TensorInfo | None) -> Quantization:
    """Return the quantization parameters of a tensor."""
    if tensor is None or tensor.quantization is None:
        raise ModelError(f"tensor {'' if tensor is None else tensor.name!r} must be quantized")
    return tensor.quantization


def _parameter(values: Array) -> RelayExpr:
    """Convert scales or zero points to a constant, a scalar if all are equal."""
    first = values.reshape(-1)[:1]
    return constant(first.reshape(()) if (values == first).all() else values)


def parameters_of(tensor: TensorInfo | None) -> tuple[RelayExpr, RelayExpr]:
    """Return the scale and the zero point of a quantized tensor."""
    q = quantization_of(tensor)
    return _parameter(q.scale), _parameter(q.zero_point)


def real(x: RelayExpr, tensor: TensorInfo) -> RelayExpr:
    """Dequantize a tensor."""
    return ops.qnn.dequantize(x, *parameters_of(tensor), axis=quantization_of(tensor).axis)


def quantized(x: RelayExpr, tensor: TensorInfo) -> RelayExpr:
    """Quantize a tensor."""
    axis = quantization_of(tensor).axis
    return ops.qnn.quantize(ops.cast(x, "float32"), *parameters_of(tensor), axis=axis, out_dtype=tensor.dtype)


def requantized(x: RelayExpr, scale: Array, zero: RelayExpr, tensor: TensorInfo) -> RelayExpr:
    """Requantize integers to the scale and zero point of a result.

    They may have one scale per slice along their last axis.
    """
    return ops.qnn.requantize(x, _parameter(scale), zero, *parameters_of(tensor), axis=-1, out_dtype=tensor.dtype)
