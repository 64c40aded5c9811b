"""Algebraic data types: their definitions, their constructors, and matching on them."""

from __future__ import annotations

from typing import Any, ClassVar

from compiler.ir.expr import RelayExpr
from compiler.ir.node import Node, node
from compiler.ir.types import Type, TypeVar
from compiler.relay.expr import Call, Expr, Var, as_expr, make_call
from compiler.relay.ty import GlobalTypeVar


@node
class Constructor(Expr):
    """Makes values of an algebraic data type.

    Attributes
    ----------
    name_hint : str
    inputs : tuple of Type
        What a value holds.
    belong_to : GlobalTypeVar
    tag : int
        The position among the constructors of the type; set by :class:`TypeData`.
    """

    nominal: ClassVar[bool] = True
    defines: ClassVar[tuple[str, ...]] = ("inputs",)

    name_hint: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int = -1

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))

    def __call__(self, *args: Any) -> Call:
        return make_call(self, args)


@node
class TypeData(Type):
    """The definition of an algebraic data type."""

    defines: ClassVar[tuple[str, ...]] = ("type_vars", "constructors")

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...]
    constructors: tuple[Constructor, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "type_vars", tuple(self.type_vars))
        object.__setattr__(self, "constructors", tuple(self.constructors))
        for tag, constructor in enumerate(self.constructors):
            object.__setattr__(constructor, "tag", tag)

    def _key(self) -> Any:
        return id(self)


@node
class Pattern(Node):
    """Base of what a value can be matched with."""


@node
class PatternWildcard(Pattern):
    """Matches anything."""


@node
class PatternVar(Pattern):
    """Matches anything and names it."""

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var


@node
class PatternConstructor(Pattern):
    """Matches the values of one constructor whose parts match."""

    children: ClassVar[tuple[str, ...]] = ("patterns",)

    constructor: Constructor
    patterns: tuple[Pattern, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", tuple(self.patterns or ()))


@node
class PatternTuple(Pattern):
    """Matches tuples whose parts match."""

    children: ClassVar[tuple[str, ...]] = ("patterns",)

    patterns: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", tuple(self.patterns or ()))


@node
class Clause(Node):
    """One case of a match: a pattern, and what the match is where it fits."""

    children: ClassVar[tuple[str, ...]] = ("lhs", "rhs")

    lhs: Pattern
    rhs: RelayExpr

    def __post_init__(self) -> None:
        object.__setattr__(self, "rhs", as_expr(self.rhs))


@node
class Match(Expr):
    """Takes the first clause that fits a value.

    Attributes
    ----------
    complete : bool
        Whether the clauses must cover every value.
    """

    children: ClassVar[tuple[str, ...]] = ("data", "clauses")

    data: RelayExpr
    clauses: tuple[Clause, ...]
    complete: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", as_expr(self.data))
        object.__setattr__(self, "clauses", tuple(self.clauses))
