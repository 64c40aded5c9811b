"""Rewriting a graph into other layouts: what AlterOpLayout and ConvertLayout share.

A value stands in its *base* layout in the old graph, and may stand in another one now.  Operators that work in any
layout take the one that their data comes in, so that values are only transformed where layouts meet; a value that comes
back to its base layout is transformed once, and one that nobody needs in its base layout never is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr, Tuple
from compiler.relay.operator import OpPattern, call_op, operator_of
from compiler.relay.transform.rewriter import GraphMutator, op_name, outside_kernels, relay_op, type_of
from compiler.relay.ty import TensorType
from compiler.topi.layout import layout

Alter = Callable[[Call, Sequence[Any]], Call | None]
"""``alter(call, operand types)`` returns the call with the attributes of the layouts that it should have, or None."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A value of the new graph that stands in another layout than in the old one."""

    expr: Any
    base: str
    now: str


@dataclass(frozen=True, slots=True)
class _Wish:
    """The layouts of a call: of its operands and of its result, as in the old graph and as in the new one."""

    call: Call
    base: Sequence[str]
    now: Sequence[str]
    base_out: str
    now_out: str


class LayoutRewriter(GraphMutator):
    """Brings calls into the layouts that ``alter`` wants for them, and all that works in any layout with them."""

    def __init__(self, alter: Alter) -> None:
        super().__init__()
        self._alter = alter
        self._placed: dict[Any, Placed] = {}
        self._forms: dict[tuple[Any, str], Any] = {}

    def rewrite(self, expr: GraphExpr) -> Any:
        for part in post_order(expr, outside_kernels):
            with derived_from(part.span):
                placed = self._place(part)
            if placed is None:
                self.visit(part)
            else:
                self._placed[part] = placed
        return self.visit(expr)

    def visit(self, expr: GraphExpr) -> Any:
        """Return an expression in its base layout."""
        placed = self._placed.get(expr)
        if placed is None or expr in self.memo_map:
            return super().visit(expr)
        with derived_from(expr.span):
            plain = self.memo_map[expr] = _transformed(placed.expr, placed.now, placed.base)
        return plain

    def _place(self, expr: GraphExpr) -> Placed | None:
        """Return the value of a call that is not in its base layout; None for everything else."""
        if not isinstance(expr, Call) or relay_op(expr) is None or not isinstance(type_of(expr), TensorType):
            return None
        operands = _flat_operands(expr)
        wish = self._wish(expr, operands)
        if wish is None:
            return None
        try:
            forms = [self._form(*each) for each in zip(operands, wish.base, wish.now, _ranks(wish), strict=True)]
        except ArgumentError:
            return None  # blocks do not fit into an extent, so that everything stays in its base layout
        call = rebuild(wish.call, args=_like_operands(expr, forms))
        type_of(call)
        if wish.base_out != wish.now_out:
            return Placed(call, wish.base_out, wish.now_out)
        self.memo_map[expr] = call
        return None

    def _wish(self, call: Call, operands: Sequence[Any]) -> _Wish | None:
        types = [type_of(a) for a in operands]
        if not all(isinstance(t, TensorType) for t in types):
            return None
        placed = [self._placed.get(a) for a in operands]
        base, now = [p.base if p else "" for p in placed], [p.now if p else "" for p in placed]
        altered = self._alter(call, types)
        if altered is None and not any(placed):
            return None
        ranked = _same_rank(call, types)
        before = _layouts(call, base, ranked)
        after = _layouts(altered or call, now, ranked)
        if before is None or after is None:
            return _join(call, types, placed)
        made = rebuild(altered or call, attrs=after[2])
        return _Wish(made, before[0], after[0], before[1][0], after[1][0])

    def _form(self, operand: GraphExpr, base: str, now: str, rank: int) -> Any:
        """Return an operand in a layout."""
        placed = self._placed.get(operand)
        if not now or (placed is None and now == base):
            return self.visit(operand)
        if placed is not None and placed.now == now:
            return placed.expr
        if (operand, now) not in self._forms:
            source = self.visit(operand) if placed is None else placed.expr
            missing = rank - len(getattr(type_of(operand), "dims", ()))
            if missing:
                source = call_op("expand_dims", source, axis=0, num_newaxis=missing)
            self._forms[operand, now] = _transformed(source, base if placed is None else placed.now, now)
        return self._forms[operand, now]


def _transformed(expr: GraphExpr, source: str, target: str) -> Any:
    """Return a value in another layout.

    Raises
    ------
    ArgumentError
        If it does not fit.
    """
    layout(target).shape(layout(source).extents(getattr(type_of(expr), "dims", ())))
    call = call_op("layout_transform", expr, src_layout=source, dst_layout=target)
    type_of(call)
    return call


def _layouts(call: Call, names: Sequence[str], types: Sequence[Any]) -> Any:
    rule = operator_of(call).layout
    return None if rule is None or isinstance(call.args[0], Tuple) else rule(call, names, types)


def _same_rank(call: Call, types: Sequence[Any]) -> list[Any]:
    """Return operand types with axes in front of those that are broadcast; scalars stay as they are."""
    if operator_of(call).pattern is not OpPattern.BROADCAST:
        return list(types)
    rank = max(len(t.dims) for t in types)
    return [TensorType((1,) * (rank - len(t.dims)) + t.dims, t.dtype) if t.dims else t for t in types]


def _ranks(wish: _Wish) -> list[int]:
    return [layout(name).ndim if name else 0 for name in wish.base]


def _flat_operands(call: Call) -> tuple[Any, ...]:
    return tuple(p for a in call.args for p in (a.fields if isinstance(a, Tuple) else (a,)))


def _like_operands(call: Call, forms: Sequence[Any]) -> tuple[Any, ...]:
    """Return new operands in the tuples that the old ones stand in."""
    left = list(forms)
    made: list[Any] = []
    for arg in call.args:
        count = len(arg.fields) if isinstance(arg, Tuple) else 1
        taken, left = left[:count], left[count:]
        made.append(Tuple(tuple(taken)) if isinstance(arg, Tuple) else taken[0])
    return tuple(made)


def _join(call: Call, types: Sequence[Any], placed: Sequence[Placed | None]) -> _Wish | None:
    """Return how tensors of other layouts are concatenated: all in the layout of the first that has one."""
    first = next((p for p in placed if p is not None), None)
    if op_name(call) != "concatenate" or first is None or any(p and p.base != first.base for p in placed):
        return None
    letter = layout(first.base).letters[call.attrs.axis % len(types[0].dims)]
    if layout(first.base).ndim != len(layout(first.base).letters):
        return None
    axis = next(at for at, a in enumerate(layout(first.now).axes) if a.letter == letter and not a.factor)
    made = rebuild(call, attrs=call.attrs.with_values(axis=axis))
    count = len(types)
    return _Wish(made, [first.base] * count, [first.now] * count, first.base, first.now)
