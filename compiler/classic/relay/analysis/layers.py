"""Depth of a network, and layers with transposed weights."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import GraphExpr, Var
from compiler.relay.operator import call_of, op_name

__all__ = ["LayerCounter", "count_layers", "search_fc_transpose"]


class LayerCounter:
    """Finds how many of some operators lie one after the other at most."""

    def __init__(self, valid_ops: Sequence[str]) -> None:
        self.valid_ops = valid_ops
        self._depth: dict[GraphExpr, int] = {}

    def visit(self, expr: GraphExpr) -> None:
        """Look at an expression."""
        for part in post_order(expr):
            below = max((self._depth[operand] for operand in operands(part)), default=0)
            self._depth[part] = below + (op_name(part) in self.valid_ops)

    def count(self) -> int:
        """Return the largest number of calls on a path through what was looked at."""
        return max(self._depth.values(), default=0)


def count_layers(expr: GraphExpr | IRModule, valid_ops: Sequence[str]) -> int:
    """Return the largest number of calls of some operators on a path from an input to the result.

    They are named, e.g. ``["nn.conv2d", "nn.dense"]``; of a module its function ``main`` counts. Raises ArgumentError
    if ``expr`` is a module without ``main``.
    """
    root: GraphExpr = expr["main"] if isinstance(expr, IRModule) else expr
    counter = LayerCounter(valid_ops)
    counter.visit(root)
    return counter.count()


def search_fc_transpose(expr: GraphExpr) -> list[str]:
    """Return the weights that stand in ``nn.dense(x, transpose(weight, axes=[1, 0]))``.

    Raises ArgumentError if two different variables have one name, as the names would not say which is meant.
    """
    weights = dict.fromkeys(w for part in post_order(expr) if (w := transposed_weight(part)) is not None)
    names = [w.name_hint for w in weights]
    if len(set(names)) != len(names):
        raise ArgumentError("search_fc_transpose: several weights have the same name; rename the parameters")
    return names


def transposed_weight(expr: GraphExpr) -> Var | None:
    """Return the variable that a dense layer takes transposed; None for everything else."""
    dense = call_of(expr, "nn.dense")
    transposed = call_of(dense.args[1], "transpose") if dense else None
    if transposed is None or not isinstance(transposed.args[0], Var):
        return None
    axes = transposed.attrs.get("axes")
    return transposed.args[0] if axes is None or [int(a) % 2 for a in axes] == [1, 0] else None
