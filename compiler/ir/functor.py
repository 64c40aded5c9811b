"""Visitors and mutators over nodes.

A rule is a method named after the class that it handles: ``visit_Add(self, n)``.  Each visitor class keeps a table
from node type to rule, resolved along the node's MRO once, so that a visit costs one dictionary lookup.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

from compiler.ir.instrument import report_rewrite
from compiler.ir.node import Node, duplicate, same_items
from compiler.ir.origin import ambient

# A sum that a script spells out nests as deeply as it has terms, and a rule takes several frames for each.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 8_000))


class Functor:
    """Dispatches ``visit(n, *args)`` to the most specific ``visit_<Class>`` rule."""

    _table: ClassVar[dict[type, Callable[..., Any]]] = {}

    def __init_subclass__(cls) -> None:
        cls._table = {}

    def visit(self, n: Any, *args: Any) -> Any:
        """Apply the rule for ``n``'s class."""
        rule = self._table.get(type(n)) or self._resolve(type(n))
        return rule(self, n, *args)

    @classmethod
    def _resolve(cls, kind: type) -> Callable[..., Any]:
        for base in kind.__mro__:
            rule = getattr(cls, "visit_" + base.__name__, None)
            if rule is not None:
                cls._table[kind] = rule
                return rule  # type: ignore[no-any-return]
        raise TypeError(f"{cls.__name__} has no rule for {kind.__name__}")


class Visitor(Functor):
    """Walks every child; override ``visit_<Class>`` and call ``self.visit_Node(n)`` to go on below."""

    def visit_Node(self, n: Node) -> None:
        for name in n.children:
            child = getattr(n, name)
            if isinstance(child, Node):
                self.visit(child)
            elif child is not None:
                for item in child:
                    self.visit(item)


class Mutator(Functor):
    """Rebuilds a tree; returns the very same object where nothing changed.

    The visited node's span is ambient during its rule, so that what the rule builds inherits it; each replacement is
    reported to the instruments that hear of rewrites.
    """

    def visit(self, n: Any, *args: Any) -> Any:
        outer = ambient.span
        ambient.span = n.span | ambient.inherited if ambient.inherited else n.span
        try:
            rule = self._table.get(type(n)) or self._resolve(type(n))
            result = rule(self, n, *args)
        finally:
            ambient.span = outer
        if result is not n:
            report_rewrite(n, result)
        return result

    def visit_Node(self, n: Node) -> Any:
        changes: dict[str, Any] | None = None
        for name in n.children:
            old = getattr(n, name)
            if isinstance(old, Node):
                new = self.visit(old)
            elif old is None:
                continue
            else:
                new = self._visit_tuple(old)
            if new is not old:
                if changes is None:
                    changes = {}
                changes[name] = new
        if changes is None:
            return n
        return duplicate(n, changes)

    def _visit_tuple(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        new = tuple([self.visit(item) for item in items])
        return items if same_items(new, items) else new
