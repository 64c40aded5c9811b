"""Common subexpressions of one expression, bound to names.

Expressions are trees to all that looks at them, while Python shares what it is given: ``e = e * e``, n times, is n
nodes and 2ⁿ leaves.  Before such an expression grows in lowering, its shared values become variables::

    (A[i] * A[i]) * (A[i] * A[i])    →    let v1 = A[i] * A[i] in v1 * v1

A value is computed where something that uses it is certain to be evaluated, never before the condition that guards it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from compiler.ir.expr.primexpr import And, Call, IntImm, Let, Or, PrimExpr, ProducerLoad, Select, Var
from compiler.ir.expr.substitute import post_order_visit
from compiler.ir.functor import Mutator
from compiler.ir.node import Node
from compiler.ir.origin import derived_from
from compiler.tir.expressions.builtin import IF_THEN_ELSE

MIN_EXPANSION = 4
"""How many times larger than the expression its tree is before its values are named."""
MIN_TREE = 1024
"""Nodes of a tree that needs no names."""


def shared_values_named(e: PrimExpr) -> PrimExpr:
    """Return an expression whose tree is about as large as the expression."""
    order: list[PrimExpr] = []
    post_order_visit(e, order.append)
    sizes: dict[Node, int] = {}
    for n in order:
        sizes[n] = 1 + sum(sizes.get(operand, 1) for operand in _operands(n))
    if sizes[e] < max(MIN_TREE, MIN_EXPANSION * len(order)):
        return e
    return _Naming(order, sizes).scope(e)


class _Naming:
    """Names the values of one expression."""

    def __init__(self, order: Iterable[PrimExpr], sizes: dict[Node, int]) -> None:
        self._uses: Counter[Node] = Counter()
        self._evaluated: dict[Node, frozenset[PrimExpr]] = {}
        self._names: dict[Node, Var] = {}
        self._order = {n: place for place, n in enumerate(order)}
        reads: set[PrimExpr] = set()
        for n in self._order:
            operands = _operands(n)
            self._uses.update(operands)
            if isinstance(n, ProducerLoad) or any(o in reads for o in operands):
                reads.add(n)
        # Indices and the conditions on them stay as they are written: bounds are found from them.
        self._candidates = {
            n
            for n in reads
            if self._uses[n] > 1 and sizes[n] > 2 and not isinstance(n, ProducerLoad) and n.dtype != "bool"
        }

    def scope(self, root: PrimExpr) -> PrimExpr:
        """Return an expression with the values that are certain to be evaluated in it named around it."""
        certain = [n for n in self._certain(root) if n is not root and n not in self._names]
        variables = []
        replace = _Replace(self)
        for n in sorted(certain, key=self._order.__getitem__):
            with derived_from(n.span):
                variables.append((Var(f"v{len(self._names) + 1}", n.dtype), replace.inside(n)))
            self._names[n] = variables[-1][0]
        result = replace.inside(root)
        for var, value in reversed(variables):
            with derived_from(value.span):
                result = Let(var, value, result)
        for n in certain:
            del self._names[n]
        return result

    def name(self, n: Node) -> Var | None:
        """Return the variable that stands for a value here, if one does."""
        return self._names.get(n)

    def _certain(self, root: PrimExpr) -> frozenset[PrimExpr]:
        """Return the candidates that are evaluated whenever ``root`` is."""
        todo = [root]
        while todo:
            n = todo[-1]
            missing = [operand for operand in _operands(n) if operand not in self._evaluated]
            if missing:
                todo += missing
                continue
            todo.pop()
            self._evaluated[n] = self._certain_of(n)
        return self._evaluated[root]

    def _certain_of(self, n: PrimExpr) -> frozenset[PrimExpr]:
        always, alternatives = _evaluation(n)
        parts = [self._evaluated[operand] for operand in always]
        if len(alternatives) > 1:
            # A variable or a number as an alternative evaluates nothing.
            parts.append(frozenset.intersection(*(self._evaluated.get(o, frozenset()) for o in alternatives)))
        own = frozenset({n}) if n in self._candidates else frozenset()
        return own.union(*parts)


class _Replace(Mutator):
    """Puts names in place of values; what is evaluated under a condition names its own."""

    def __init__(self, naming: _Naming) -> None:
        self._naming = naming
        self.memo_map = {}

    def inside(self, n: PrimExpr) -> PrimExpr:
        """Return a node itself with names for what it is made of."""
        rule = type(self)._table.get(type(n)) or type(self)._resolve(type(n))
        result: PrimExpr = rule(self, n)
        return result

    def visit(self, n: PrimExpr, *args: object) -> PrimExpr:
        name = self._naming.name(n)
        return super().visit(n, *args) if name is None else name

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        return n

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        always, alternatives = _evaluation(n)
        if not alternatives:
            return self.visit_Node(n)
        new = {operand: self.visit(operand) for operand in always}
        new.update((operand, self._naming.scope(operand)) for operand in alternatives if operand not in new)
        return _Operands(new).visit_Node(n)


class _Operands(Mutator):
    """Replaces the operands of a node by others."""

    def __init__(self, new: dict[PrimExpr, PrimExpr]) -> None:
        self._new = new

    def visit(self, n: PrimExpr, *args: object) -> PrimExpr:
        return self._new.get(n, n)


def _operands(n: Node) -> list[PrimExpr]:
    """Return what a value is computed from; an index is no such value."""
    if isinstance(n, ProducerLoad):
        return []
    operands: list[PrimExpr] = []
    for name in n.children:
        child = getattr(n, name)
        operands += child if isinstance(child, tuple) else [child]
    return [operand for operand in operands if isinstance(operand, PrimExpr) and not isinstance(operand, (Var, IntImm))]


def _evaluation(n: Node) -> tuple[list[PrimExpr], list[PrimExpr]]:
    """Return the operands that are always evaluated, and those of which that depends on the first."""
    operands = _operands(n)
    match n:
        case Select():
            return [o for o in operands if o is n.condition], [n.true_value, n.false_value]
        case Call() if n.op is IF_THEN_ELSE:
            return [o for o in operands if o is n.args[0]], list(n.args[1:])
        case And() | Or():
            return [o for o in operands if o is n.a], [n.b]
        case _:
            return operands, []
