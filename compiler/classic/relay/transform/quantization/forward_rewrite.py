"""Forward rewriting with values that carry more information than an expression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.relay.analysis import free_vars, operands, post_order, with_operands
from compiler.relay.expr import Call, GraphExpr, Tuple, expect
from compiler.relay.function import Function
from compiler.relay.operator import op_name


class MarkedExpr(ABC):
    """An expression with what a pass knows of it."""

    @abstractmethod
    def realize(self) -> GraphExpr:
        pass


Argument: TypeAlias = "GraphExpr | MarkedExpr | list[Argument]"
"""What a rule gets of an argument: of a tuple, a list of what its fields have become."""


class Rule(Protocol):
    """What becomes of the call of an operator."""

    def __call__(self, call: Call, args: Sequence[Argument], /) -> GraphExpr | MarkedExpr | None:
        """Return an expression or a marked one; None if the call stays what it is."""


class ForwardRewrite:
    """Applies rules to calls, operands first."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules
        self._new: dict[GraphExpr, GraphExpr | MarkedExpr] = {}

    def apply(self, func: Function) -> Function:
        for part in post_order(func.body):
            with derived_from(part.span):
                self._new[part] = self._rewritten(part)
        return rebuild(func, body=_plain(self._new[func.body]), ret_type=None)

    def _rewritten(self, part: GraphExpr) -> GraphExpr | MarkedExpr:
        rule = self._rules.get(op_name(part))
        if rule is not None and isinstance(part, Call):
            result = rule(part, [self._argument(arg) for arg in part.args])
            if result is not None:
                return result
        old = operands(part)
        new = [_plain(self._new[p]) for p in old]
        return part if all(a is b for a, b in zip(old, new, strict=True)) else with_operands(part, new)

    def _argument(self, arg: GraphExpr) -> Argument:
        return [self._new[field] for field in arg.fields] if isinstance(arg, Tuple) else self._new[arg]


def _plain(value: GraphExpr | MarkedExpr) -> GraphExpr:
    return value.realize() if isinstance(value, MarkedExpr) else value


def marked(value: object) -> bool:
    """Return whether something is known of an argument, or of one of a tuple's fields."""
    return any(map(marked, value)) if isinstance(value, list) else isinstance(value, MarkedExpr)


def plain(value: Argument) -> RelayExpr:
    """Return the expression of an argument that is no tuple, with nothing known of it."""
    return expect(RelayExpr, value.realize() if isinstance(value, MarkedExpr) else value)


def check_constant(expr: GraphExpr) -> bool:
    """Return whether an expression is made of constants alone."""
    return not free_vars(expr)
