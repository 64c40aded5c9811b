"""Quantized binary arithmetic: ``qnn.add``, ``qnn.subtract``, ``qnn.mul``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Constant, array_const
from compiler.relay.op.layout_rules import broadcast_layout, quantized_layout
from compiler.relay.op.qnn.arithmetic import Quantization, centred, is_zero, rank_of, requantized, saturated
from compiler.relay.op.qnn.parameters import REWRITTEN, axis_of, check_parameter, saturated_array, spread_parameter
from compiler.relay.op.qnn.requantize import requantize_array
from compiler.relay.op.qnn.rounding import RequantizeConfig
from compiler.relay.op.type_relations import broadcast_dims, same_dtype, tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, InLayouts, LayoutAnswer, OpPattern, Types, call_op
from compiler.relay.ty import TensorType

_INPUTS = {
    "lhs": "The first integers.",
    "rhs": "The second integers, of the same data type.",
    "lhs_scale": "Scale of ``lhs``, a scalar or a vector along ``lhs_axis``.",
    "lhs_zero_point": "Zero point of ``lhs``, a scalar or a vector along ``lhs_axis``.",
    "rhs_scale": "Scale of ``rhs``, a scalar or a vector along ``rhs_axis``.",
    "rhs_zero_point": "Zero point of ``rhs``, a scalar or a vector along ``rhs_axis``.",
    "output_scale": "Scale of the result, a scalar.",
    "output_zero_point": "Zero point of the result, a scalar.",
}


class QnnBinaryAttrs(Attrs):
    """Attributes of the arithmetic of two quantised tensors."""

    lhs_axis: int = attr_field(INT, "Axis that the parameters of ``lhs`` belong to.", -1)
    rhs_axis: int = attr_field(INT, "Axis that the parameters of ``rhs`` belong to.", -1)


def _relation(types: Types, attrs: QnnBinaryAttrs) -> Type:
    """Both shapes, broadcast against each other; of the data type of ``lhs``."""
    lhs, rhs = tensor(types[0], "lhs"), tensor(types[1], "rhs")
    sides = ((lhs, attrs.lhs_axis), (rhs, attrs.rhs_axis))
    for i, name in enumerate(list(_INPUTS)[2:6]):
        data, axis = sides[i // 2]
        check_parameter(types[2 + i], name, data, axis_of(axis, len(data.dims)))
    for name, t in zip(("output_scale", "output_zero_point"), types[6:], strict=True):
        tensor(t, name)
    return TensorType(broadcast_dims(lhs.dims, rhs.dims), same_dtype(lhs, rhs))


def _sides(attrs: QnnBinaryAttrs, args: Sequence[Any], ranks: Sequence[int]) -> list[Quantization]:
    """Return what the integers of both sides and of the result mean."""
    axes = (axis_of(attrs.lhs_axis, ranks[0]), axis_of(attrs.rhs_axis, ranks[1]), 0)
    return [Quantization(args[2 + 2 * i], args[3 + 2 * i], axis) for i, axis in enumerate(axes)]


def _dtype(types: Sequence[Type]) -> str:
    return types[0].dtype if isinstance(types[0], TensorType) else "int8"


def _canonical_sum(plain: str, correction: str) -> Callable[..., Any]:
    """Return the rule of an operator that adds: both sides in units of the result, whose zero point counts once."""

    def rule(attrs: QnnBinaryAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
        ranks = [rank_of(t) for t in types[:2]]
        *sides, result = _sides(attrs, args, ranks)
        config = RequantizeConfig().completed()
        both = [
            call_op("cast", x, dtype="int32")
            if side.is_same(result)
            else requantized(x, side, result, rank, "int32", config)
            for x, side, rank in zip(args[:2], sides, ranks, strict=True)
        ]
        value = call_op(plain, *both)
        if not is_zero(result.zero_point):
            value = call_op(correction, value, result.zero_point)
        return saturated(value, _dtype(types))

    return rule


def _canonical_product(attrs: QnnBinaryAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    ranks = [rank_of(t) for t in types[:2]]
    lhs, rhs, result = _sides(attrs, args, ranks)
    factors = [
        centred(x, side.zero_point, side.axis, rank) for x, side, rank in zip(args[:2], (lhs, rhs), ranks, strict=True)
    ]
    product = call_op("multiply", *factors)
    along = lhs if isinstance(lhs.scale, Constant) and lhs.scale.value.size > 1 else rhs
    rank = max(ranks)
    axis = along.axis + rank - ranks[0 if along is lhs else 1]
    source = Quantization(_product(lhs.scale, rhs.scale), array_const(np.asarray(0, "int32")), axis)
    return requantized(product, source, result, rank, _dtype(types), RequantizeConfig().completed())


def _product(a: RelayExpr, b: RelayExpr) -> RelayExpr:
    """Return the product of two scales, computed at once where both are constants."""
    if isinstance(a, Constant) and isinstance(b, Constant):
        return array_const(np.asarray(a.value * b.value))
    return call_op("multiply", a, b)


def _sum_reference(function: Callable[..., Any]) -> Callable[..., Any]:
    def reference(attrs: QnnBinaryAttrs, x: Array, y: Array, *parameters: Array) -> Array:
        *sides, result = _sides(attrs, (x, y, *parameters), (x.ndim, y.ndim))
        config = RequantizeConfig().completed()
        both: list[Any] = []
        for data, side in zip((x, y), sides, strict=True):
            pairs = ((side.scale, result.scale), (side.zero_point, result.zero_point))
            if all(np.array_equal(np.ravel(a), np.ravel(b)) for a, b in pairs):  # type: ignore[call-overload]
                both.append(data.astype("int32"))
                continue
            source, target = (side.scale, side.zero_point), (result.scale, result.zero_point)
            both.append(requantize_array(data, source, target, side.axis, "int32", config))  # type: ignore[arg-type]
        return saturated_array(function(both[0], both[1], result.zero_point), str(x.dtype))

    return reference


def _product_reference(attrs: QnnBinaryAttrs, x: Array, y: Array, *parameters: Array) -> Array:
    scale, zero, other_scale, other_zero, new_scale, new_zero = parameters
    axis, other_axis = axis_of(attrs.lhs_axis, x.ndim), axis_of(attrs.rhs_axis, y.ndim)
    a = x.astype("int32") - spread_parameter(zero, axis, x.ndim).astype("int32")
    b = y.astype("int32") - spread_parameter(other_zero, other_axis, y.ndim).astype("int32")
    along = axis if np.size(scale) > 1 else other_axis
    source = (np.asarray(scale * other_scale), np.asarray(0, "int32"))
    config = RequantizeConfig().completed()
    return requantize_array(np.asarray(a * b), source, (new_scale, new_zero), along, str(x.dtype), config)


def _layout(attrs: QnnBinaryAttrs, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """Both sides go along with each other, as without scales; vectors of them belong to axes of the old layout."""
    return None if any(map(rank_of, types[2:])) else _ALONG_EACH_OTHER(attrs, new_in, old_in, types)


_ALONG_EACH_OTHER = quantized_layout(broadcast_layout, 2)


def _binary(name: str, doc: str, canonical: Callable[..., Any], reference: Callable[..., Any]) -> OpFunction:
    return register(
        name,
        doc=doc,
        inputs=_INPUTS,
        attrs=QnnBinaryAttrs,
        relation=_relation,
        pattern=OpPattern.BROADCAST,
        layout=_layout,
        reference=reference,
        waived=REWRITTEN,
        rules={"FTVMQnnCanonicalize": canonical},
    )


add = _binary(
    "qnn.add",
    "Add quantised tensors.",
    _canonical_sum("add", "subtract"),
    _sum_reference(lambda a, b, zero: a.astype("int64") + b - zero),
)
subtract = _binary(
    "qnn.subtract",
    "Subtract a quantised tensor from another.",
    _canonical_sum("subtract", "add"),
    _sum_reference(lambda a, b, zero: a.astype("int64") - b + zero),
)
mul = _binary("qnn.mul", "Multiply quantised tensors.", _canonical_product, _product_reference)
