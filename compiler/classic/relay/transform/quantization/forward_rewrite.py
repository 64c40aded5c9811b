"""Forward rewriting with values that carry more information than an expression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.relay.analysis import free_vars, operands, post_order, with_operands
from compiler.relay.expr import Call, GraphExpr, Tuple
from compiler.relay.function import Function
from compiler.relay.operator import op_name

__all__ = ["ForwardRewrite", "Marked", "Rule", "check_constant", "marked"]


class Marked(ABC):
    """An expression with what a pass knows of it."""

    @abstractmethod
    def realize(self) -> GraphExpr:
        pass


class Rule(Protocol):
    """What becomes of the call of an operator."""

    def __call__(self, call: Call, args: Sequence[Any], /) -> Any:
        """Return an expression or a marked one; None if the call stays what it is."""


class ForwardRewrite:
    """Applies rules to calls, operands first."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules
        self._new: dict[Any, Any] = {}

    def apply(self, func: Function) -> Function:
        for part in post_order(func.body):
            with derived_from(part.span):
                self._new[part] = self._rewritten(part)
        return rebuild(func, body=_plain(self._new[func.body]), ret_type=None)

    def _rewritten(self, part: Any) -> Any:
        rule = self._rules.get(op_name(part) or "") if isinstance(part, Call) else None
        if rule is not None:
            result = rule(part, [self._argument(arg) for arg in part.args])
            if result is not None:
                return result
        old = operands(part)
        new = [_plain(self._new[p]) for p in old]
        return part if all(a is b for a, b in zip(old, new, strict=True)) else with_operands(part, new)

    def _argument(self, arg: Any) -> Any:
        """Return what a rule gets: of a tuple, a list of what its fields have become."""
        return [self._new[field] for field in arg.fields] if isinstance(arg, Tuple) else self._new[arg]


def _plain(value: Any) -> Any:
    return value.realize() if isinstance(value, Marked) else value


def marked(value: Any) -> bool:
    """Return whether something is known of an argument, or of one of a tuple's fields."""
    return any(map(marked, value)) if isinstance(value, list) else isinstance(value, Marked)


def check_constant(expr: GraphExpr) -> bool:
    """Return whether an expression is made of constants alone."""
    return not free_vars(expr)
