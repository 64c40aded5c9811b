"""Visitors and mutators over nodes of all levels.

A rule is a method named after the class that it handles: ``visit_Add(self, n)``.  Each visitor class keeps a table
from node type to rule, resolved along the node's MRO once, so that a visit costs one dictionary lookup.

Rules are ordinary recursive methods, and programs may nest as deeply as they like: every few levels a traversal looks
whether its thread has frames left, see :mod:`compiler.ir.recursion`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar, overload

from compiler.ir.instrument import report_rewrite
from compiler.ir.node import Node, duplicate, same_items
from compiler.ir.origin import begin_traversal, current_ambient, set_ambient
from compiler.ir.recursion import call_in_new_thread, stack_is_low

AnyNode = TypeVar("AnyNode", bound=Node)
OtherNode = TypeVar("OtherNode", bound=Node)
Rule = Callable[..., Any]
T = TypeVar("T")


class NoRuleError(NotImplementedError, TypeError):
    """A visitor has no rule for the class of a node."""


def leave(self: Any, n: Any) -> Any:
    """Return ``n`` itself: the rule for what is left alone.  A visit ends at once with it."""
    return n


class Functor:
    """Dispatches ``visit(n, *args)`` to the most specific ``visit_<Class>`` rule."""

    _table: ClassVar[dict[type, Rule]] = {}
    _visits_open = 0

    def __init_subclass__(cls) -> None:
        cls._table = {}

    def visit(self, n: Any, *args: Any) -> Any:
        """Apply the rule for ``n``'s class."""
        try:
            rule = self._table[type(n)]
        except KeyError:
            rule = self._resolve(type(n))
        if rule is leave:
            return None
        self._visits_open = depth = self._visits_open + 1
        try:
            if not depth & 15 and stack_is_low():  # every CHECK_INTERVAL levels
                return call_in_new_thread(rule, self, n, *args)
            return rule(self, n, *args) if args else rule(self, n)
        finally:
            self._visits_open = depth - 1

    def _visit_tuple(self, items: tuple[T, ...]) -> tuple[T, ...]:
        new = tuple([self.visit(item) for item in items])
        return items if same_items(new, items) else new

    @classmethod
    def rule_name(cls, kind: type) -> str:
        """Return the name of the rule for a class of nodes."""
        return "visit_" + kind.__name__

    @classmethod
    def _resolve(cls, kind: type[Node]) -> Rule:
        for base in kind.__mro__:
            rule: Rule | None = getattr(cls, cls.rule_name(base), None)
            if rule is not None:
                if rule in (Visitor.visit_Node, Mutator.visit_Node) and not kind.children:
                    rule = leave
                cls._table[kind] = rule
                return rule
        raise NoRuleError(f"{cls.__name__} has no rule for {kind.__name__}")


class Visitor(Functor):
    """Visits every child; override ``visit_<Class>`` and call ``self.visit_Node(n)`` to continue below."""

    def visit_Node(self, n: Node) -> None:
        """Visit the children of ``n``, in order."""
        for name in n.children:
            child = getattr(n, name)
            if isinstance(child, Node):
                self.visit(child)
            elif child is not None:
                for item in child:
                    self.visit(item)


class RewriteFunctor(Functor):
    """A functor whose rules make what replaces a node: the one place where rewrites get and report their origins.

    The visited node's span is ambient during its rule, so that what the rule builds inherits it; each replacement is
    reported to the instruments that hear of rewrites.  Where nodes are shared, ``memo_map`` holds what replaced them,
    so that each is visited once.
    """

    memo_map: dict[object, object] | None = None

    def visit(self, n: Any, *args: Any) -> Any:
        """Apply the rule for ``n``'s class, or return what it returned before; see :meth:`Functor.visit`."""
        try:
            rule = self._table[type(n)]
        except KeyError:
            rule = self._resolve(type(n))
        if rule is leave:
            return n
        memo = self.memo_map
        if memo is not None and n in memo:
            return memo[n]
        surrounding = current_ambient()
        depth = surrounding.depth
        ambient = surrounding if depth else begin_traversal(surrounding)
        outer = ambient.span
        ambient.span = n.span | ambient.inherited if ambient.inherited else n.span
        ambient.depth = depth + 1
        try:
            if depth & 15 == 15 and stack_is_low():  # every CHECK_INTERVAL levels
                result = call_in_new_thread(rule, self, n, *args)
            else:
                result = rule(self, n, *args) if args else rule(self, n)
        finally:
            ambient.span = outer
            ambient.depth = depth
            if not depth:
                set_ambient(surrounding)
        if memo is not None:
            memo[n] = result
        if result is not n and result is not None:
            report_rewrite(n, result)
        return result


class Mutator(RewriteFunctor):
    """Rebuilds a tree, and returns the same object if nothing changed."""

    def visit_Node(self, n: AnyNode) -> AnyNode:
        """Return ``n`` with its children visited; ``n`` itself where all of them stayed."""
        changes: dict[str, object] | None = None
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

    def _visit_optional(self, child: object) -> Any:
        return None if child is None else self.visit(child)


_OPERANDS_DONE = object()
"""Stands on the list of what is to be visited, above a node that comes next."""


def post_order(n: object) -> Iterator[Node]:
    """Yield every node below ``n``, a node or several, and ``n`` itself: operands first, each object once."""
    return nodes_of(n, Node)


def parts_of(n: Node, kind: type[AnyNode]) -> list[AnyNode]:
    """Return the nodes of a class that a node is made of directly, in order."""
    parts: list[AnyNode] = []
    for name in n.children:
        child = getattr(n, name)
        if isinstance(child, kind):
            parts.append(child)
        elif isinstance(child, tuple):
            parts.extend([part for part in child if isinstance(part, kind)])
    return parts


def operands_first(roots: Sequence[T], operands: Callable[[T], Sequence[T]]) -> list[T]:
    """Return all that some objects are made of, each once and after its operands, however deep they are."""
    order: dict[T, None] = {}
    todo = [(root, False) for root in reversed(roots)]
    while todo:
        n, operands_done = todo.pop()
        if n in order:
            continue
        if operands_done:
            order[n] = None
        else:
            todo.append((n, True))
            todo += [(operand, False) for operand in reversed(operands(n))]
    return list(order)


@overload
def nodes_of(n: object, kind: type[AnyNode], /) -> Iterator[AnyNode]: ...
@overload
def nodes_of(n: object, kind: type[AnyNode], other: type[OtherNode], /) -> Iterator[AnyNode | OtherNode]: ...
@overload
def nodes_of(n: object, /, *kinds: type[Node]) -> Iterator[Node]: ...
def nodes_of(n: object, /, *kinds: type[Node]) -> Iterator[Any]:
    """Yield the nodes of some classes in :func:`post_order`."""
    seen: set[int] = set()  # a dictionary of nodes compares constants as programs do, slowly
    todo: list[Any] = [n]
    while todo:
        item = todo.pop()
        if item is _OPERANDS_DONE:
            yield todo.pop()
        elif isinstance(item, tuple):
            todo.extend(reversed(item))
        elif isinstance(item, Node) and id(item) not in seen:
            seen.add(id(item))
            if isinstance(item, kinds):
                todo += (item, _OPERANDS_DONE)
            if item.children:
                todo.extend([getattr(item, name) for name in reversed(item.children)])
