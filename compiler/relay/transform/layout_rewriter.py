"""Rewriting a graph into other layouts: what AlterOpLayout and ConvertLayout share.

A value has one layout in the old graph, and may have another in the new one.  Operators that work in any layout take
the one that their data comes in, so that values are only transformed where layouts meet; a value that is needed in its
old layout is transformed back once, and one that nothing needs in its old layout never is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from, traversing
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr, Tuple
from compiler.relay.op.concat_split import ConcatenateAttrs
from compiler.relay.operator import OpPattern, call_op, operator_of
from compiler.relay.transform.rewriter import GraphMutator, op_name, outside_kernels, relay_op, type_of
from compiler.relay.ty import TensorType
from compiler.topi.layout import layout

Alter = Callable[[Call, Sequence[Any]], Call | None]
"""``alter(call, operand types)`` returns the call with the attributes of the layouts that it should have, or None."""


@dataclass(frozen=True, slots=True)
class RelaidValue:
    """A value that has another layout in the new graph than in the old one."""

    expr: RelayExpr
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class CallLayouts:
    """The layouts of a call: of its operands and of its result, as in the old graph and as in the new one."""

    call: Call
    old_inputs: Sequence[str]
    new_inputs: Sequence[str]
    old_output: str
    new_output: str


class LayoutRewriter(GraphMutator):
    """Brings calls into the layouts that ``alter`` wants for them, and all that works in any layout with them."""

    def __init__(self, alter: Alter) -> None:
        super().__init__()
        self._alter = alter
        self._relaid: dict[Any, RelaidValue] = {}
        self._transformed: dict[tuple[Any, str], Any] = {}

    def rewrite(self, expr: GraphExpr) -> Any:
        with traversing():
            for part in post_order(expr, outside_kernels):
                with derived_from(part.span):
                    relaid = self._rewrite_call(part)
                if relaid is None:
                    self.visit(part)
                else:
                    self._relaid[part] = relaid
            return self.visit(expr)

    def visit(self, expr: GraphExpr) -> Any:
        """Return an expression in its old layout."""
        relaid = self._relaid.get(expr)
        if relaid is None or expr in self.memo_map:
            return super().visit(expr)
        with derived_from(expr.span):
            plain = self.memo_map[expr] = _transformed(relaid.expr, relaid.new, relaid.old)
        return plain

    def _rewrite_call(self, expr: GraphExpr) -> RelaidValue | None:
        """Return the value of a call that is not in its old layout; None for everything else."""
        if not isinstance(expr, Call) or relay_op(expr) is None or not isinstance(type_of(expr), TensorType):
            return None
        operands = _flat_operands(expr)
        layouts = self._infer_layouts(expr, operands)
        if layouts is None:
            return None
        try:
            inputs = zip(operands, layouts.old_inputs, layouts.new_inputs, _ranks(layouts), strict=True)
            forms = [self._operand_in(*each) for each in inputs]
        except ArgumentError:
            return None  # blocks do not fit into an extent, so that everything stays in its old layout
        call = rebuild(layouts.call, args=_like_operands(expr, forms))
        type_of(call)
        if layouts.old_output != layouts.new_output:
            return RelaidValue(call, layouts.old_output, layouts.new_output)
        self.memo_map[expr] = call
        return None

    def _infer_layouts(self, call: Call, operands: Sequence[Any]) -> CallLayouts | None:
        types = [type_of(a) for a in operands]
        if not all(isinstance(t, TensorType) for t in types):
            return None
        relaid = [self._relaid.get(a) for a in operands]
        old, new = [p.old if p else "" for p in relaid], [p.new if p else "" for p in relaid]
        altered = self._alter(call, types)
        if altered is None and not any(relaid):
            return None
        ranked = _same_rank(call, types)
        before = _layouts(call, old, ranked)
        after = _layouts(altered or call, new, ranked)
        if before is None or after is None:
            return _concatenated(call, types, relaid)
        made = rebuild(altered or call, attrs=after[2])
        return CallLayouts(made, before[0], after[0], before[1][0], after[1][0])

    def _operand_in(self, operand: GraphExpr, old: str, new: str, rank: int) -> Any:
        """Return an operand in a layout."""
        relaid = self._relaid.get(operand)
        if not new or (relaid is None and new == old):
            return self.visit(operand)
        if relaid is not None and relaid.new == new:
            return relaid.expr
        if (operand, new) not in self._transformed:
            source = self.visit(operand) if relaid is None else relaid.expr
            missing = rank - len(getattr(type_of(operand), "dims", ()))
            if missing:
                source = call_op("expand_dims", source, axis=0, num_newaxis=missing)
            self._transformed[operand, new] = _transformed(source, old if relaid is None else relaid.new, new)
        return self._transformed[operand, new]


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


def _ranks(layouts: CallLayouts) -> list[int]:
    return [layout(name).ndim if name else 0 for name in layouts.old_inputs]


def _flat_operands(call: Call) -> tuple[Any, ...]:
    return tuple(p for a in call.args for p in (a.fields if isinstance(a, Tuple) else (a,)))


def _like_operands(call: Call, forms: Sequence[Any]) -> tuple[Any, ...]:
    """Return new operands, grouped into tuples like the old ones."""
    left = list(forms)
    made: list[Any] = []
    for arg in call.args:
        count = len(arg.fields) if isinstance(arg, Tuple) else 1
        taken, left = left[:count], left[count:]
        made.append(Tuple(tuple(taken)) if isinstance(arg, Tuple) else taken[0])
    return tuple(made)


def _concatenated(call: Call, types: Sequence[Any], relaid: Sequence[RelaidValue | None]) -> CallLayouts | None:
    """Return how tensors of other layouts are concatenated: all in the layout of the first that has one."""
    first = next((p for p in relaid if p is not None), None)
    if op_name(call) != "concatenate" or first is None or any(p and p.old != first.old for p in relaid):
        return None
    letter = layout(first.old).letters[ConcatenateAttrs.of(call).axis % len(types[0].dims)]
    if layout(first.old).ndim != len(layout(first.old).letters):
        return None
    axis = next(at for at, a in enumerate(layout(first.new).axes) if a.letter == letter and not a.factor)
    made = rebuild(call, attrs=call.attrs.with_values(axis=axis))
    count = len(types)
    return CallLayouts(made, [first.old] * count, [first.new] * count, first.old, first.new)


def chosen_by_rule(attribute: str, made: RelayExpr | None, call: Call) -> Call | None:
    """Return the call that a rule of the user's made of one.

    Parameters
    ----------
    attribute : str
        The operator's attribute that the rule is.
    made : Expr or None
        What it returned.
    call : Call
        What it was given.

    Raises
    ------
    ArgumentError
        If it is no call of the same arguments: their layouts follow from those that it has been told.
    """
    if made is None or made is call:
        return None
    same = isinstance(made, Call) and len(made.args) == len(call.args)
    if not isinstance(made, Call) or not same or any(a is not b for a, b in zip(made.args, call.args, strict=True)):
        raise ArgumentError(f"{attribute} of {call.op} must return a call of the same arguments, or None")
    return made
