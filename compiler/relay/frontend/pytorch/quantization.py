"""Quantized tensors: integers, associated with a scale and a zero point."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass

import torch

from compiler.ir.context_stack import setting
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.registry import Argument, Convert, apply
from compiler.relay.frontend.pytorch.tensors import constant, ops, settled_value
from compiler.relay.frontend.pytorch.values import TorchValue
from compiler.relay.frontend.shared.errors import ConversionError

_DTYPES = {12: "int8", 13: "uint8", 14: "int32", torch.qint8: "int8", torch.quint8: "uint8", torch.qint32: "int32"}
"""PyTorch's quantized types and their codes."""

_OF_THEIR_OWN = {"aten::sigmoid": (1 / 256, 0), "aten::hardsigmoid": (1 / 256, 0), "aten::tanh": (2 / 256, 128)}
"""Operators that set the scale of their results; others keep that of their first argument."""

_ON_BYTES = frozenset({"aten::dequantize", "aten::int_repr", "aten::size", "aten::dim", "aten::q_scale"})
"""Operators that take quantized tensors without dequantization."""


@dataclass(frozen=True, slots=True)
class QuantizedTensor:
    """The quantization parameters of a tensor."""

    scale: float
    zero: int
    dtype: str

    @property
    def parameters(self) -> tuple[RelayExpr, RelayExpr]:
        """The scale and the zero point as constants."""
        return constant(self.scale, "float32"), constant(self.zero, "int32")


_SCALES: ContextVar[dict[RelayExpr, QuantizedTensor] | None] = ContextVar("_SCALES", default=None)


def keeping_scales() -> AbstractContextManager[None]:
    """Track quantization parameters within the context, for one import."""
    return setting(_SCALES, {})


def scales_of(x: object) -> QuantizedTensor | None:
    """Return the quantization parameters of a tensor; None if it is not quantized."""
    return (_SCALES.get() or {}).get(x) if isinstance(x, RelayExpr) else None


def real(x: RelayExpr) -> RelayExpr:
    """Dequantize a tensor."""
    q = scales_of(x)
    if q is None:
        raise ConversionError("its input must be quantized")
    return ops.qnn.dequantize(x, *q.parameters)


def with_scales(x: RelayExpr, q: QuantizedTensor) -> RelayExpr:
    """Associate a tensor with quantization parameters."""
    notes = _SCALES.get()
    assert notes is not None
    notes[x] = q
    return x


def quantized(x: RelayExpr, scale: float, zero: int, dtype: int | str) -> RelayExpr:
    """Quantize a tensor."""
    name = dtype if isinstance(dtype, str) else _DTYPES.get(dtype, "")
    if not name:
        raise ConversionError(f"data type {dtype} is not supported for quantized tensors")
    q = QuantizedTensor(float(scale), int(zero), name)
    return with_scales(ops.qnn.quantize(x, *q.parameters, out_dtype=name), q)


def on_real_numbers(kind: str, arguments: Sequence[Argument], convert: Convert) -> TorchValue:
    """Apply a converter, dequantizing the arguments of operators without quantized converters."""
    first = next((q for q in map(scales_of, _flat([a.value for a in arguments])) if q is not None), None)
    if first is None or kind.startswith("quantized::") or kind in _ON_BYTES:
        return settled_value(apply(convert, arguments))
    scale, zero = _OF_THEIR_OWN.get(kind, (first.scale, first.zero))
    made_real = [dataclasses.replace(a, value=_as_real(a.value)) for a in arguments]
    return _as_bytes(settled_value(apply(convert, made_real)), QuantizedTensor(scale, zero, first.dtype))


def _flat(arguments: Sequence[TorchValue]) -> Iterator[TorchValue]:
    for argument in arguments:
        yield from argument if isinstance(argument, (list, tuple)) else (argument,)


def _as_real(argument: TorchValue) -> TorchValue:
    if isinstance(argument, (list, tuple)):
        return [_as_real(item) for item in argument]
    return real(argument) if isinstance(argument, RelayExpr) and scales_of(argument) is not None else argument


def _as_bytes(result: TorchValue, q: QuantizedTensor) -> TorchValue:
    if isinstance(result, (list, tuple)):
        return type(result)(_as_bytes(item, q) for item in result)
    is_real = isinstance(result, RelayExpr) and result.checked_type.dtype == "float32"
    return quantized(result, q.scale, q.zero, q.dtype) if is_real and isinstance(result, RelayExpr) else result
