"""Simulated quantization in floating point: ``qnn.simulated_quantize``, ``qnn.simulated_dequantize``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.qnn.parameters import AXIS_DOC, axis_of, check_parameter, round_away
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, public_function, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn import qnn as topi

_SAME_DOC = "Scale, a scalar or a vector along ``axis``."
_POINT_DOC = "Zero point, a scalar or a vector along ``axis``."
_DTYPE_DOC = "The number of the integers' data type, as ``topi.nn.qnn.SQNN_DTYPE_TO_CODE`` has it."
_GIVEN_DOC = "str or Expr: Data type of the integers: a name, or the number that stands for it."
_WAIVED = {"gradient": "it is constant between its jumps, so its derivative says nothing"}


class SimulatedQuantizeAttrs(Attrs):
    """Attributes of ``qnn.simulated_quantize`` and ``qnn.simulated_dequantize``."""

    axis: int = attr_field(INT, AXIS_DOC, -1)


def _relation(types: Types, attrs: SimulatedQuantizeAttrs) -> Type:
    """The type of the data."""
    data = tensor(types[0], "data")
    if not dt.is_float(data.dtype):
        raise RelationError(f"data must be real numbers, got {data}")
    axis = axis_of(attrs.axis, len(data.dims))
    for name, t in zip(("scale", "zero point"), types[2:], strict=True):
        check_parameter(t, name, data, axis)
    return data


def _compute(definition: Callable[..., Tensor]) -> Callable[..., list[Tensor]]:
    def compute(attrs: SimulatedQuantizeAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
        return [definition(*inputs, axis=axis_of(attrs.axis, inputs[0].ndim))]

    return compute


def _spread(value: Array, axis: int, x: Array) -> Array:
    """Return parameters as an array that broadcasts against the data."""
    flat = np.ravel(value)
    return flat.reshape([-1 if d == axis else 1 for d in range(x.ndim)]).astype(x.dtype)


def _quantize_reference(attrs: SimulatedQuantizeAttrs, x: Array, code: Array, scale: Array, zero_point: Array) -> Array:
    axis = axis_of(attrs.axis, x.ndim)
    name = topi.SQNN_CODE_TO_DTYPE.get(int(np.ravel(code)[0]), "disable")
    if name == "disable":
        return x.copy()
    limits = np.iinfo(name)
    shifted = round_away(x / _spread(scale, axis, x)) + _spread(zero_point, axis, x)
    result: Array = np.clip(shifted, x.dtype.type(limits.min), x.dtype.type(limits.max))
    return result


def _dequantize_reference(
    attrs: SimulatedQuantizeAttrs, x: Array, code: Array, scale: Array, zero_point: Array
) -> Array:
    axis = axis_of(attrs.axis, x.ndim)
    if int(np.ravel(code)[0]) == topi.SQNN_DTYPE_TO_CODE["disable"]:
        return x.copy()
    return (x - _spread(zero_point, axis, x)) * _spread(scale, axis, x)


def _simulated(name: str, doc: str, side: str, dtype: str, definition: Any, reference: Any) -> OpFunction:
    return register(
        name,
        doc=doc,
        inputs={
            "data": "Real numbers.",
            dtype: _DTYPE_DOC,
            f"{side}_scale": _SAME_DOC,
            f"{side}_zero_point": _POINT_DOC,
        },
        attrs=SimulatedQuantizeAttrs,
        relation=_relation,
        pattern=OpPattern.BROADCAST,
        compute=_compute(definition),
        reference=reference,
        waived=_WAIVED,
    )


_QUANTIZE = _simulated(
    "qnn.simulated_quantize",
    "Quantise real numbers and keep them as real numbers; the data type of the integers is an argument.",
    "output",
    "out_dtype",
    topi.simulated_quantize,
    _quantize_reference,
)
_DEQUANTIZE = _simulated(
    "qnn.simulated_dequantize",
    "Return the real numbers that integers stand for, which are kept as real numbers; their data type is an argument.",
    "input",
    "in_dtype",
    topi.simulated_dequantize,
    _dequantize_reference,
)


def _code(dtype: str | RelayExpr) -> RelayExpr:
    if isinstance(dtype, str):
        if dtype not in topi.SQNN_DTYPE_TO_CODE:
            raise ArgumentError(f"expected a data type of {sorted(topi.SQNN_DTYPE_TO_CODE)}, got {show(dtype)}")
        return const(np.asarray([topi.SQNN_DTYPE_TO_CODE[dtype]], "int32"))
    return call_op("reshape", dtype, newshape=(-1,))


def _vector(parameter: RelayExpr) -> RelayExpr:
    return call_op("reshape", parameter, newshape=(-1,))


@public_function(_QUANTIZE, out_dtype=_GIVEN_DOC)
def simulated_quantize(
    data: Expr, output_scale: Expr, output_zero_point: Expr, axis: int = -1, out_dtype: str | Expr = "int8"
) -> Call:
    """Quantise real numbers and keep them as real numbers; the data type of the integers may be an expression."""
    return _QUANTIZE(data, _code(out_dtype), _vector(output_scale), _vector(output_zero_point), axis=axis)


@public_function(_DEQUANTIZE, in_dtype=_GIVEN_DOC)
def simulated_dequantize(
    data: Expr, input_scale: Expr, input_zero_point: Expr, axis: int = -1, in_dtype: str | Expr = "int8"
) -> Call:
    """Return the real numbers that integers stand for, which are kept as real numbers."""
    return _DEQUANTIZE(data, _code(in_dtype), _vector(input_scale), _vector(input_zero_point), axis=axis)
