"""Systems of integer constraints, and their changes of variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import GE, LE, ExprLike, PrimExpr, Range, Var, const, convert
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import Node, node


@node
class IntGroupBounds(Node):
    """Bounds on a positive multiple of a variable: ``lower <= coef * var <= upper``, or ``coef * var == equal``."""

    children: ClassVar[tuple[str, ...]] = ("coef", "lower", "equal", "upper")

    coef: PrimExpr
    lower: tuple[PrimExpr, ...]
    equal: tuple[PrimExpr, ...]
    upper: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef", convert(self.coef))
        for name in ("lower", "equal", "upper"):
            object.__setattr__(self, name, tuple(convert(bound) for bound in getattr(self, name)))

    @staticmethod
    def from_range(rng: Range) -> IntGroupBounds:
        """Return the bounds that a range is."""
        simplify = Analyzer().simplify
        if Analyzer().can_prove_equal(rng.extent, 1):
            return IntGroupBounds(const(1, rng.min.dtype), (), (rng.min,), ())
        return IntGroupBounds(const(1, rng.min.dtype), (rng.min,), (), (simplify(rng.min + rng.extent - 1),))

    def conditions(self, var: Var) -> list[PrimExpr]:
        """Return the bounds as comparisons: equalities, lower bounds, upper bounds."""
        value = Analyzer().simplify(var * self.coef)
        equalities = [value.equal(bound) for bound in self.equal]
        lower: list[PrimExpr] = [GE(value, bound) for bound in self.lower]
        return equalities + lower + [LE(value, bound) for bound in self.upper]


@node
class IntConstraints(Node):
    """Variables that a solution is sought for, with their ranges, and conditions over them and parameters."""

    children: ClassVar[tuple[str, ...]] = ("relations",)

    variables: tuple[Var, ...]
    ranges: Mapping[Var, Range]
    relations: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables or ()))
        object.__setattr__(self, "ranges", dict(self.ranges or {}))
        object.__setattr__(self, "relations", tuple(convert(relation) for relation in self.relations or ()))

    def __str__(self) -> str:
        ranges = ", ".join(f"{var}: {domain}" for var, domain in self.ranges.items())
        return f"IntConstraints({list(self.variables)}, {{{ranges}}}, {list(self.relations)})"

    __repr__ = __str__


@node
class IntConstraintsTransform(Node):
    """Two systems with the same solutions, and the variables of each in terms of the other's."""

    children: ClassVar[tuple[str, ...]] = ("src", "dst")

    src: IntConstraints
    dst: IntConstraints
    src_to_dst: Mapping[Var, PrimExpr]
    dst_to_src: Mapping[Var, PrimExpr]


System = IntConstraints | Sequence[PrimExpr]


def as_constraints(
    system: System, variables: Sequence[Var] | None, ranges: Mapping[Var, Range] | None
) -> IntConstraints:
    """Return a system that is given as such, or by its relations."""
    if isinstance(system, IntConstraints):
        return system
    return IntConstraints(tuple(variables or ()), dict(ranges or {}), tuple(system))


def unsatisfiable(source: IntConstraints) -> IntConstraintsTransform:
    """Return what a system without solutions is transformed to."""
    nothing = IntConstraints((), {}, (convert(False),))
    return IntConstraintsTransform(source, nothing, {}, {})


def transformed_relations(source: IntConstraints, values: Mapping[Var, PrimExpr], analyzer: Analyzer) -> list[PrimExpr]:
    """Return the ranges of a system's variables as conditions on the expressions that replace the variables."""
    conditions: list[PrimExpr] = []
    for var in source.variables:
        domain: Range | None = source.ranges.get(var)
        if domain is None or var not in values:
            continue
        low = substitute(domain.min, values)
        last = substitute(domain.min + domain.extent - 1, values)
        ends: tuple[tuple[ExprLike, ExprLike], ...] = ((low, values[var]), (values[var], last))
        for a, b in ends:
            condition = analyzer.simplify(LE(a, b))
            if not analyzer.can_prove(condition):
                conditions.append(condition)
    return conditions
