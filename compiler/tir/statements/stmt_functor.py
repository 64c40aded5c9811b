"""Visitors and transformations by plain functions, under TVM's names.

Passes of this package subclass the visitors of ``compiler.ir.functor``; a user's pass hands functions to these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, IterVar, PrimExpr, Reduce, Var, convert
from compiler.ir.expr.substitute import substitute as _substitute
from compiler.ir.extension import public_module
from compiler.ir.functor import Mutator, Visitor, leave
from compiler.ir.node import Node
from compiler.ir.origin import derived_from, mint_source
from compiler.tir.statements.block import Block
from compiler.tir.statements.stmt import Stmt

S = TypeVar("S", bound=Node)
OtherS = TypeVar("OtherS", bound=Node)

__all__ = [
    "StmtExprMutator", "StmtExprVisitor", "StmtMutator", "StmtVisitor", "ir_transform", "post_order_visit",
    "pre_order_visit", "substitute",
]  # fmt: skip


class StmtVisitor(Visitor):
    """Walks statements; override ``visit_<Class>``.  Does not enter expressions."""

    visit_PrimExpr = leave


@overload
def statements_of(stmt: Stmt, kind: type[S], /) -> Iterator[S]: ...
@overload
def statements_of(stmt: Stmt, kind: type[S], other: type[OtherS], /) -> Iterator[S | OtherS]: ...
def statements_of(stmt: Stmt, /, *kinds: type[Node]) -> Iterator[Any]:
    """Yield the statements and blocks of some classes, outer ones first; expressions are not looked into."""
    todo: list[Any] = [stmt]
    while todo:
        item = todo.pop()
        if isinstance(item, kinds):
            yield item
        parts = item if isinstance(item, tuple) else [getattr(item, name) for name in item.children]
        todo.extend([part for part in reversed(parts) if part is not None and not isinstance(part, PrimExpr)])


class StmtExprVisitor(Visitor):
    """Walks statements and the expressions in them; override ``visit_<Class>``."""


class _TypedMutator(Mutator):
    """Rebuilds a block as a block, a statement as a statement, and an expression as an expression."""

    if TYPE_CHECKING:

        @overload
        def visit(self, n: Block, *args: object) -> Block: ...
        @overload
        def visit(self, n: Stmt, *args: object) -> Stmt: ...
        @overload
        def visit(self, n: PrimExpr, *args: object) -> PrimExpr: ...
        @overload
        def visit(self, n: Any, *args: object) -> Any: ...
        def visit(self, n: object, *args: object) -> Any: ...


class StmtMutator(_TypedMutator):
    """Rebuilds statements; override ``visit_<Class>``.  Does not enter expressions, which stay as they are."""

    visit_PrimExpr = leave


class StmtExprMutator(_TypedMutator):
    """Rebuilds statements and the expressions in them; override ``visit_<Class>``."""


def post_order_visit(stmt: object, fvisit: Callable[[Stmt | PrimExpr], object]) -> None:
    """Call ``fvisit`` on every statement and expression in ``stmt``, each one after its children."""
    _check_ir("post_order_visit", stmt)
    seen: set[int] = set()
    todo: list[tuple[object, bool]] = [(stmt, False)]
    while todo:
        item, children_done = todo.pop()
        if isinstance(item, tuple):
            todo.extend([(part, False) for part in reversed(item)])
        elif children_done and isinstance(item, (Stmt, PrimExpr)):
            fvisit(item)
        elif isinstance(item, Node) and id(item) not in seen:
            seen.add(id(item))
            if isinstance(item, (Stmt, PrimExpr)):
                todo.append((item, True))
            todo.extend([(part, False) for part in reversed(_used_parts(item))])


def pre_order_visit(stmt: object, fvisit: Callable[[Stmt | PrimExpr], object]) -> None:
    """Call ``fvisit`` on every statement and expression in ``stmt``, each one before its children.

    ``fvisit`` returns whether to go on to the children.
    """
    _check_ir("pre_order_visit", stmt)
    seen: set[int] = set()
    todo: list[object] = [stmt]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo.extend(reversed(item))
        elif isinstance(item, Node) and id(item) not in seen:
            seen.add(id(item))
            if not isinstance(item, (Stmt, PrimExpr)) or fvisit(item):
                todo.extend(reversed(_used_parts(item)))


def _used_parts(n: Node) -> list[object]:
    """Return what a node is made of, without the variables that begin to exist there; of reductions, their extents."""
    domains: list[object] = [axis.dom for axis in n.axis] if isinstance(n, Reduce) else []
    fields = [(name, getattr(n, name)) for name in n.children]
    return domains + [part for name, part in fields if not (name in n.defines and isinstance(part, Var))]


def ir_transform(
    stmt: Stmt,
    preorder: Callable[[Node], object] | None,
    postorder: Callable[[Node], object] | None,
    only_enable: Sequence[str] | None = None,
) -> Stmt:
    """Rebuild a statement, with functions that may replace its nodes.

    Raises ArgumentError if ``only_enable`` names an unknown class, or a function returns what cannot stand there.

    Parameters
    ----------
    preorder : callable or None
        Called on a node before its children; what it returns, unless that is None, replaces the node, and neither the
        children nor ``postorder`` are visited.
    postorder : callable or None
        Called on a node whose children are transformed; what it returns, unless that is None, replaces the node.
    only_enable : sequence of str, optional
        Classes of the nodes that the functions are called on, e.g. ``["tir.For"]``; all by default.
    """
    _check_ir("ir_transform", stmt)
    classes = None if only_enable is None else frozenset(_class_named(name) for name in only_enable)
    transformed: Stmt = _Transform(preorder, postorder, classes).visit(stmt)
    return transformed


class _Transform(Mutator):
    def __init__(
        self,
        preorder: Callable[[Node], object] | None,
        postorder: Callable[[Node], object] | None,
        classes: frozenset[str] | None,
    ) -> None:
        self._pre = preorder
        self._post = postorder
        self._classes = classes
        self._origin = mint_source("ir_transform")

    def visit_Node(self, n: Node) -> Any:  # what a function puts there
        wanted = self._classes is None or type(n).__name__ in self._classes
        if wanted and self._pre is not None:
            replaced = self._replaced(self._pre, n)
            if replaced is not None:
                return replaced
        result = Mutator.visit_Node(self, n)
        if wanted and self._post is not None:
            replaced = self._replaced(self._post, result)
            if replaced is not None:
                return replaced
        return result

    def _replaced(self, f: Callable[[Node], object], n: Node) -> object:
        """Return what ``f`` puts in place of ``n``: it comes from ``n`` and from the transformation."""
        with derived_from(n.span | self._origin):
            after = f(n)
            return None if after is None else _same_sort(n, after)


def _same_sort(before: Node, after: object) -> object:
    """Check that ``after`` can stand where ``before`` did: a statement for one, an expression for one."""
    if isinstance(before, PrimExpr):
        return convert(after)
    if isinstance(before, Stmt) and not isinstance(after, Stmt):
        kind = type(before).__name__
        raise ArgumentError(f"ir_transform: a {kind} can only be replaced by a statement, got {show(after)}")
    return after


def _class_named(name: str) -> str:
    short = name.rpartition(".")[2]
    if short not in _node_classes():
        raise ArgumentError(f"ir_transform: only_enable must name classes such as 'tir.For', got {show(name)}")
    return short


def _node_classes() -> set[str]:
    names, todo = set(), [Node]
    while todo:
        cls = todo.pop()
        names.add(cls.__name__)
        todo.extend(cls.__subclasses__())
    return names


Substitution: TypeAlias = Mapping[Var, ExprLike] | Mapping[IterVar, ExprLike] | Mapping[Var | IterVar, ExprLike]


@overload
def substitute(node: Stmt, vmap: Substitution) -> Stmt: ...
@overload
def substitute(node: PrimExpr, vmap: Substitution) -> PrimExpr: ...
def substitute(node: Stmt | PrimExpr, vmap: Substitution) -> Stmt | PrimExpr:
    """Replace variables by expressions, or numbers of their types; return the very same object where none is used."""
    _check_ir("substitute", node)
    return _substitute(node, {_variable(key): _replacement(_variable(key), value) for key, value in vmap.items()})


def _variable(key: object) -> Var:
    var = key.var if isinstance(key, IterVar) else key
    if not isinstance(var, Var):
        raise ArgumentError(f"substitute: vmap must map variables, got {type(key).__name__} {show(key)}")
    return var


def _replacement(var: Var, value: ExprLike) -> PrimExpr:
    e = convert(value)
    return e if isinstance(value, PrimExpr) else e.astype(var.dtype)


def _check_ir(operation: str, n: object) -> None:
    if not isinstance(n, (Stmt, PrimExpr)):
        raise ArgumentError(f"{operation}: expected a statement or an expression, got {type(n).__name__} {show(n)}")


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.tir.stmt_functor", __all__)
