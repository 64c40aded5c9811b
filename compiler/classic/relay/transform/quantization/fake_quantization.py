"""Affine types of quantised values, and the rules that rewrite real operators to integer ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.ir.op import Op, register_op_attr
from compiler.ir.structural import structural_equal
from compiler.relay.expr import Call, GraphExpr

__all__ = [
    "AffineType", "TensorAffineType", "TupleAffineType", "register_fake_quantization_to_integer",
    "register_optional_fake_quantization_to_integer", "rule_of",
]  # fmt: skip

_ATTRIBUTE = "FTVMFakeQuantizationToInteger"
_OPTIONAL_ATTRIBUTE = "FTVMOptionalFakeQuantizationToInteger"


class AffineType:
    """What the integers of a value stand for."""


@dataclass(frozen=True, eq=False)
class TensorAffineType(AffineType):
    """What the integers of a tensor stand for: ``(integer - zero_point) * scale``.

    Scale and zero point are scalars, or vectors along ``axis``.
    """

    scale: RelayExpr
    zero_point: RelayExpr
    dtype: str
    axis: int = -1

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorAffineType)
            and (self.dtype, self.axis) == (other.dtype, other.axis)
            and structural_equal(self.scale, other.scale)
            and structural_equal(self.zero_point, other.zero_point)
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.axis))


@dataclass(frozen=True)
class TupleAffineType(AffineType):
    """What the integers of the tensors of a tuple stand for."""

    types: Sequence[TensorAffineType]


TypeMap = dict[GraphExpr, AffineType]
"""What the integers of expressions stand for."""
Rule = Callable[[Call, TypeMap], Sequence[Any] | None]
"""``rule(expr, type_map)`` returns the expression on integers and its affine type, or None if it cannot.

The operands of ``expr`` are on integers already, with their types in the map; its own type there is that of the result
of the region, for operators that can return any.
"""

_RULES: dict[str, Rule] = {}
_OPTIONAL_RULES: dict[str, Rule] = {}


def integer_rule(*names: str) -> Callable[[Rule], Rule]:
    """Return the decorator that enters a rule for operators."""

    def enter(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return enter


def optional_rule(*names: str) -> Callable[[Rule], Rule]:
    """Return the decorator that enters a rule for operators that a pass is asked to compute on integers."""

    def enter(rule: Rule) -> Rule:
        _OPTIONAL_RULES.update(dict.fromkeys(names, rule))
        return rule

    return enter


def rule_of(call: Call, optional: Collection[str] = ()) -> Rule | None:
    """Return the rule for a call: what programs have set for its operator, else the usual one; None if neither.

    Optional rules count for the operators in ``optional``.
    """
    if not isinstance(call.op, Op):
        return None
    name = call.op.name
    if name in optional:
        chosen: Rule | None = call.op.get_attr(_OPTIONAL_ATTRIBUTE) or _OPTIONAL_RULES.get(name)
        if chosen is not None:
            return chosen
    given: Rule | None = call.op.get_attr(_ATTRIBUTE)
    return given or _RULES.get(name)


def register_optional_fake_quantization_to_integer(op_name: str, func: Rule | None = None, level: int = 10) -> Any:
    """Set how an operator among the ``optional_qnn_ops`` of ``FakeQuantizationToInteger`` is computed on integers.

    ``func`` is as in :func:`register_fake_quantization_to_integer`.
    """
    return register_op_attr(op_name, _OPTIONAL_ATTRIBUTE, func, level)


def register_fake_quantization_to_integer(op_name: str, func: Rule | None = None, level: int = 10) -> Any:
    """Set how ``FakeQuantizationToInteger`` computes an operator on integers.

    ``func(expr, type_map)`` gets a call whose arguments are on integers, and what they stand for; it returns the new
    expression and its affine type.  Without it, the decorator is returned.
    """
    return register_op_attr(op_name, _ATTRIBUTE, func, level)
