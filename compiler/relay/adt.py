"""Algebraic data types: definitions, constructors and matching."""

from __future__ import annotations

import zlib
from typing import Any, ClassVar

from compiler.ir.expr import RelayExpr
from compiler.ir.node import Node, node
from compiler.ir.types import Type, TypeVar
from compiler.relay.expr import Call, Expr, ExprLike, Var, as_expr, make_call
from compiler.relay.ty import GlobalTypeVar

__all__ = [
    "Clause", "Constructor", "Match", "Pattern", "PatternConstructor", "PatternTuple", "PatternVar", "PatternWildcard",
    "TypeData",
]  # fmt: skip


@node
class Constructor(Expr):
    """Makes values of an algebraic data type: ``Cons(x, xs)``.

    ``tag``, which :class:`TypeData` sets, tells it from all constructors of a module: those of one type are numbered
    one after the other, and the name of the type says from where on.
    """

    unique_instance: ClassVar[bool] = True
    defines: ClassVar[tuple[str, ...]] = ("inputs",)

    name_hint: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int = -1

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))

    def __call__(self, *args: ExprLike) -> Call:
        return make_call(self, args)


def _first_tag(type_name: str) -> int:
    """Return the tag of a type's first constructor: its upper byte, which is not zero, follows from the type's name."""
    return (zlib.crc32(type_name.encode()) % 127 + 1) << 24


@node
class TypeData(Type):
    """The definition of an algebraic data type: ``type List[A] { Cons(A, List[A]), Nil }``."""

    defines: ClassVar[tuple[str, ...]] = ("type_vars", "constructors")

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...]
    constructors: tuple[Constructor, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "type_vars", tuple(self.type_vars))
        object.__setattr__(self, "constructors", tuple(self.constructors))
        for tag, constructor in enumerate(self.constructors, _first_tag(self.header.name_hint)):
            object.__setattr__(constructor, "tag", tag)

    def _key(self) -> Any:
        return id(self)


@node
class Pattern(Node):
    """Base of what :class:`Match` compares a value with."""


@node
class PatternWildcard(Pattern):
    """Matches anything."""


@node
class PatternVar(Pattern):
    """Matches anything and binds it to a variable."""

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var


@node
class PatternConstructor(Pattern):
    """Matches the values of one constructor whose fields match ``patterns``."""

    children: ClassVar[tuple[str, ...]] = ("patterns",)

    constructor: Constructor
    patterns: tuple[Pattern, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", tuple(self.patterns or ()))


@node
class PatternTuple(Pattern):
    """Matches tuples whose fields match ``patterns``."""

    children: ClassVar[tuple[str, ...]] = ("patterns",)

    patterns: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", tuple(self.patterns or ()))


@node
class Clause(Node):
    """One case of a match; its value, ``rhs``, sees the variables of the pattern."""

    children: ClassVar[tuple[str, ...]] = ("lhs", "rhs")

    lhs: Pattern
    rhs: RelayExpr

    def __post_init__(self) -> None:
        object.__setattr__(self, "rhs", as_expr(self.rhs))


@node
class Match(Expr):
    """The first of several clauses whose pattern a value matches.

    If it is ``complete``, inference checks that the clauses cover every value (``match?`` in texts where they need
    not).
    """

    children: ClassVar[tuple[str, ...]] = ("data", "clauses")

    data: RelayExpr
    clauses: tuple[Clause, ...]
    complete: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", as_expr(self.data))
        object.__setattr__(self, "clauses", tuple(self.clauses))
