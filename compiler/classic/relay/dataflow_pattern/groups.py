"""The matches of a pattern in a graph, and moving them into functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from compiler.classic.relay.dataflow_pattern.matcher import Graph, Matcher, Pattern
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.expr import RelayExpr
from compiler.ir.op import Op
from compiler.ir.origin import derived_from
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.analysis.variables import free_vars
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function


@dataclass(slots=True)
class Group:
    """One match of a pattern."""

    root: GraphExpr
    inside: list[GraphExpr]
    """What it is made of, the root included, in order; constants that the pattern names are inside."""
    inputs: list[GraphExpr] = field(default_factory=list)
    """What it is made from, which the pattern leaves whole, in the order in which the pattern names it."""
    bindings: Mapping[Pattern, list[GraphExpr]] = field(default_factory=dict)
    """The expressions that each pattern matched."""


def groups(pattern: Pattern, root: GraphExpr, separate: bool = True) -> Iterator[Group]:
    """Return where a pattern fits, beginning at the outputs; no expression is in two places.

    ``separate`` leaves out places of which something inside is used outside, so that they cannot be moved.
    """
    graph = Graph(root)
    matcher = Matcher(graph)
    taken = _partitioned(graph)
    for expr in reversed(graph.order):
        if expr in taken or isinstance(expr, Op) or not matcher.match(pattern, expr):
            continue
        inside = sorted(_with_functions(matcher.inside), key=graph.place.__getitem__)
        if any(part in taken for part in inside) or (separate and _leaks(graph, expr, inside)):
            continue
        taken.update(part for part in inside if not isinstance(part, Constant))
        bindings = dict(matcher.bindings)
        yield Group(expr, inside, _as_pattern_names(pattern, bindings, _inputs(expr, inside)), bindings)


def _partitioned(graph: Graph) -> set[GraphExpr]:
    """Return the functions that an earlier partition made, and what is in them: patterns do not match there again."""
    made = (e for e in graph.order if isinstance(e, Function) and "PartitionedFromPattern" in e.attrs)
    return {part for function in made for part in (function, *post_order(function.body))}


def _leaks(graph: Graph, root: GraphExpr, inside: list[GraphExpr]) -> bool:
    places = {graph.place[part] for part in inside}
    parts = [part for part in inside if part is not root and not isinstance(part, Constant)]
    return any(user not in places for part in parts for user in graph.users[graph.place[part]])


def _with_functions(matched: Sequence[GraphExpr]) -> dict[GraphExpr, None]:
    """Return what a pattern matched, and all of the functions among it: their variables mean nothing outside."""
    inside = dict.fromkeys(matched)
    for part in matched:
        if isinstance(part, Function):
            inside.update(dict.fromkeys(e for e in post_order(part) if not isinstance(e, Var) or e in part.params))
    return {part: None for part in inside if not isinstance(part, Op)}


def _inputs(root: GraphExpr, inside: list[GraphExpr]) -> list[GraphExpr]:
    """Return what the parts are made from, in the order of evaluation; a function that they call stays inside."""
    parts = {*inside, *(var for part in inside for var in _bound_by(part))}
    callees = [part.op for part in inside if isinstance(part, Call) and isinstance(part.op, Function)]
    free = {var for callee in callees for var in free_vars(callee)}
    parts |= {e for callee in callees for e in post_order(callee) if e not in free}
    order = post_order(root, lambda e: operands(e) if e in parts else ())
    return [e for e in order if e not in parts and not isinstance(e, Op)]


def _as_pattern_names(
    pattern: Pattern, bindings: Mapping[Pattern, Sequence[GraphExpr]], inputs: list[GraphExpr]
) -> list[GraphExpr]:
    """Return inputs in the order of the patterns that matched them; operands of ``add`` may have matched swapped."""
    place: dict[GraphExpr, int] = {}
    for part in _parts_of_pattern(pattern):
        for expr in bindings.get(part, ()):
            for each in (expr, *(operands(expr) if _leaves_operands_open(part) else ())):
                place.setdefault(each, len(place))
    return sorted(inputs, key=lambda e: place.get(e, len(place)))


def _parts_of_pattern(pattern: Any) -> list[Any]:
    """Return a pattern and those that it is made of, which come first; what is in a cycle comes once."""
    parts: list[Any] = []
    entered: set[Any] = set()
    todo = [(pattern, False)]
    while todo:
        part, ready = todo.pop()
        if ready:
            parts.append(part)
        elif part not in entered:
            entered.add(part)
            values = [getattr(part, f.name) for f in fields(part)]
            inner = [p for v in values for p in (v if isinstance(v, (tuple, list)) else (v,)) if hasattr(p, "matches")]
            todo += [(part, True), *((p, False) for p in reversed(inner) if p not in entered)]
    return parts


def _leaves_operands_open(part: object) -> bool:
    return getattr(part, "args", ()) is None or getattr(part, "fields", ()) is None


def _bound_by(part: GraphExpr) -> Sequence[Var]:
    match part:
        case Function():
            return part.params
        case Let():
            return (part.var,)
        case _:
            return ()


class Partition(ExprMutator):
    """Replaces groups by calls of functions."""

    def __init__(
        self, matches: Iterator[Group], attrs: Mapping[str, object], check: Callable[[GraphExpr], bool]
    ) -> None:
        super().__init__()
        self._attrs = attrs
        self._groups = {
            g.root: (number, g) for number, g in enumerate(g for g in matches if g.inside and check(g.root))
        }

    def visit(self, expr: GraphExpr) -> RelayExpr:
        if expr in self._groups and expr not in self.memo_map:
            with derived_from(expr.span):
                self.memo_map[expr] = self._call(*self._groups[expr])
        return super().visit(expr)

    def _call(self, number: int, group: Group) -> Call:
        params = {e: Var(f"FunctionVar_{number}_{i}", e.checked_type_) for i, e in enumerate(group.inputs)}
        body = _BodyRebuilder(params).visit(group.root)
        names = "".join(f"{name}_" for name in _part_names(group.inside))
        attrs = DictAttrs({"PartitionedFromPattern": names, **self._attrs})
        function = Function(tuple(params.values()), body, group.root.checked_type_, (), attrs)
        return Call(function, tuple(self.visit(e) for e in group.inputs))


def _part_names(parts: Sequence[GraphExpr]) -> Iterator[str]:
    """Yield what the attribute of a group's function says of its parts, and of functions that are called there."""
    for part in parts:
        match part:
            case Call(op=Op() as op):
                yield op.name
            case Call(op=Function() as callee):
                if callee not in parts:
                    yield from _part_names(post_order(callee))
                yield "FunctionCall"
            case TupleGetItem():
                yield f"TupleGetItem{part.index}"
            case Tuple() | If() | Let():
                yield type(part).__name__


class _BodyRebuilder(ExprMutator):
    """Rebuilds what is inside of a group around its parameters."""

    def __init__(self, params: Mapping[GraphExpr, Var]) -> None:
        super().__init__()
        self.memo_map.update(params)
