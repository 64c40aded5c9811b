"""CapturePostDfsIndexInSpans: records the post-DFS index of each expression in its span."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import duplicate, same_items
from compiler.ir.op import Op
from compiler.ir.origin import derived_from
from compiler.ir.source_span import SourceName, Span
from compiler.ir.transform import PassContext
from compiler.relay.analysis import operands, post_order, with_operands
from compiler.relay.analysis.post_dominators import PostDominators, Use
from compiler.relay.expr import GraphExpr, Let, Var, expect
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass


class CapturePostDfsIndexInSpans(FunctionPass, opt_level=0, required=("InferType",)):
    """Give each expression of a function the span ``index:N:D``: its place in a walk, and that of its dominator.

    Operands come before what uses them.  The dominator of an expression is the first one that everything made from it
    comes together in; the function itself has none, which is -1.

    Level 0; requires InferType.

    Examples
    --------
    ``CapturePostDfsIndexInSpans()``::

        def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }
        ->
        def @main(%x: Tensor[(3), float32] /* span=index:0:2 */) { nn.relu(%x) /* span=index:2:3 */ }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        order = [part for part in post_order(func) if not isinstance(part, GlobalVar)]
        dominators = _dominators(order)
        bound = {var for part in order for var in _bound(part)}
        new: dict[GraphExpr, RelayExpr] = {}
        for index, part in enumerate(order):
            if isinstance(part, Op) or (isinstance(part, Var) and part not in bound):
                continue  # what a pattern binds stays the variable of the pattern
            place = Span(SourceName("index"), index, index, dominators[index], dominators[index])
            new[part] = _copy(part, place, new)
        return expect(Function, new[func])


def _dominators(order: Sequence[GraphExpr]) -> list[int]:
    """Return the place of each expression's dominator, -1 if there is none."""
    at = {part: index for index, part in enumerate(order)}
    uses: list[list[Use]] = [[] for _ in order]
    for user in order:
        for operand in operands(user):
            if operand in at:
                uses[at[operand]].append(Use(at[user], 0))
    return [parent if parent < len(order) else -1 for parent in PostDominators(uses, 0).parent]


def _bound(part: GraphExpr) -> tuple[Var, ...]:
    if isinstance(part, Let):
        return (part.var,)
    return part.params if isinstance(part, Function) else ()


def _copy(part: RelayExpr, place: Span, new: Mapping[GraphExpr, RelayExpr]) -> RelayExpr:
    """Return a new node with a span that is made of the copies of what a node is made of."""
    if isinstance(part, Var):
        return Var(part.name_hint, part.type_annotation, span=place)
    with derived_from(place):
        if isinstance(part, Let):
            return duplicate(part, {"var": new[part.var], "value": new[part.value], "body": new[part.body]})
        if isinstance(part, Function):
            return duplicate(part, {"params": tuple(new[p] for p in part.params), "body": new[part.body]})
        parts = operands(part)
        copied = [new.get(operand, operand) for operand in parts]
        return duplicate(part, {}) if same_items(copied, parts) else with_operands(part, copied)
