"""Substitution of variables, and the variables that a node uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import BinaryOp, FloatImm, IntImm, PrimExpr, Var, binary
from compiler.ir.functor import Mutator, post_order
from compiler.ir.node import Node, duplicate, same_items, structure

N = TypeVar("N")
VarMap = Mapping[Var, PrimExpr] | Callable[[Var], PrimExpr | None]


def substitute(n: N, vmap: VarMap, fold: bool = False) -> N:
    """Replace the free uses of variables; the very same object where nothing changed.

    Where a variable is defined (a loop, a let, a parameter) it stays, and so do its uses inside, and those for which a
    callable ``vmap`` returns None.  Buffers whose pointer, shape or offset changed are replaced consistently.
    """
    replaced: N = (_FoldingSubstitution if fold else _Substitution)(vmap).apply(n)
    return replaced


def values_of(pairs: Iterable[tuple[Var, PrimExpr]]) -> dict[Var, PrimExpr]:
    """Return what :func:`substitute` puts in the place of variables: their values, in the variables' data types.

    An index may be of another integer type than the axis that it is a value of.
    """
    return {
        var: value if value.dtype == var.dtype or dt.lanes(value.dtype) != 1 else value.astype(var.dtype)
        for var, value in pairs
    }


class _Substitution(Mutator):
    def __init__(self, vmap: VarMap) -> None:
        self._lookup: Callable[[Var], PrimExpr | None] = vmap.get if isinstance(vmap, Mapping) else vmap
        self._things: dict[Node, Node] = {}
        self._bound: list[Node] = []

    def apply(self, n: object) -> Any:
        if isinstance(n, Node):
            if n.unique_instance:
                return self.visit_Var(n) if isinstance(n, Var) else self._thing(n)
            return n if isinstance(n, (IntImm, FloatImm)) else self.visit(n)
        if isinstance(n, tuple):
            new = tuple([self.apply(item) for item in n])
            return n if same_items(new, n) else new
        return n

    def visit_Var(self, n: Var) -> PrimExpr:
        if self._bound and any(n is b for b in self._bound):
            return n
        new = self._lookup(n)
        return n if new is None else new

    def visit_BinaryOp(self, n: BinaryOp) -> PrimExpr:
        a, b = self.apply(n.a), self.apply(n.b)
        return n if a is n.a and b is n.b else type(n)(a, b)

    def visit_Node(self, n: Node) -> Any:
        defined = _defined_vars(n) if n.defines else ()
        self._bound.extend(defined)
        changes: dict[str, object] = {}
        for name in _fields_to_visit(type(n)):
            old = getattr(n, name)
            new = self.apply(old)
            if new is not old and _may_replace(n, name, new):
                changes[name] = new
        if defined:
            del self._bound[-len(defined) :]
        return duplicate(n, changes) if changes else n

    def _thing(self, n: Node) -> Node:
        """Replace a buffer once for all of its uses; tensors stay what they are."""
        if not n.defines:
            return n
        replaced = self._things.get(n)
        if replaced is None:
            changes = {}
            for name in n.defines:
                old = getattr(n, name)
                new = self.apply(old)
                if new is not old and (name != "data" or isinstance(new, Var)):
                    changes[name] = new
            replaced = self._things[n] = duplicate(n, changes) if changes else n
        return replaced


class _FoldingSubstitution(_Substitution):
    def visit_BinaryOp(self, n: BinaryOp) -> PrimExpr:
        a, b = self.apply(n.a), self.apply(n.b)
        return n if a is n.a and b is n.b else binary(type(n), a, b)


def _may_replace(n: Node, name: str, new: object) -> bool:
    """Only a variable can stand where a statement names one, e.g. the subject of an attribute."""
    return name in n.children or not isinstance(new, PrimExpr) or isinstance(new, Var)


_FIELDS: dict[type[Node], tuple[str, ...]] = {}
_HOLD_USES = ("buffer", "axis", "iter_vars", "alloc_buffers", "match_buffers")
"""Fields that define variables and use others, in domains and shapes."""


def _fields_to_visit(cls: type[Node]) -> tuple[str, ...]:
    """Return the fields that can hold uses: all but those that only define variables."""
    names = _FIELDS.get(cls)
    if names is None:
        every, _ = structure(cls)
        names = _FIELDS[cls] = tuple(name for name in every if name not in cls.defines or name in _HOLD_USES)
    return names


def _defined_vars(n: Node) -> list[Node]:
    """Return the variables that ``n`` itself defines."""
    defined: list[Node] = []
    todo = [getattr(n, name) for name in reversed(n.defines) if name not in n.allocates]
    todo += [buffer.data for name in n.allocates for buffer in getattr(n, name)]
    while todo:
        item = todo.pop()
        if isinstance(item, Var):
            defined.append(item)
        elif isinstance(item, Node):
            todo.extend(getattr(item, name) for name in reversed(item.defines))
        elif isinstance(item, tuple):
            todo.extend(reversed(item))
        elif isinstance(item, Mapping):
            todo.extend(reversed(list(item.values())))
    return defined


def post_order_visit(n: Node, f: Callable[[Any], None]) -> None:
    """Call ``f`` on every node in :func:`~compiler.ir.functor.post_order`."""
    for part in post_order(n):
        f(part)


def free_vars(n: object) -> list[Var]:
    """Return the variables that are used but not defined within ``n``, in order of first use.

    The pointer of a buffer counts as used where the buffer is.
    """
    return list(dict.fromkeys(_free_uses(n)))


def _free_uses(n: object) -> Iterator[Var]:
    """Yield each use of a variable that is not defined within ``n``, from the first on."""
    bound: list[Node] = []
    todo: list[object] = [n]
    while todo:
        item = todo.pop()
        if isinstance(item, Var):
            if not (bound and any(item is b for b in bound)):
                yield item
        elif isinstance(item, BinaryOp):
            todo += (item.b, item.a)
        elif isinstance(item, Node):
            if item.unique_instance:
                todo.append(getattr(item, "data", None))
                continue
            if item.defines:
                defined = _defined_vars(item)
                bound.extend(defined)
                todo.append(_EndOfScope(len(defined)))
            todo.extend([getattr(item, name) for name in reversed(_fields_to_visit(type(item)))])
        elif isinstance(item, tuple):
            todo.extend(reversed(item))
        elif isinstance(item, _EndOfScope):
            del bound[len(bound) - item.variables :]


@dataclass(slots=True)
class _EndOfScope:
    """Stands on the list of what is to be visited behind the last part of a node that defines variables."""

    variables: int


def uses_var(n: object, var: Var | Callable[[Var], bool]) -> bool:
    """Return whether ``n`` uses the variable, or one for which the predicate holds."""
    matches = (lambda v: v is var) if isinstance(var, Var) else var
    return any(map(matches, _free_uses(n)))
