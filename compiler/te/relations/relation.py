"""The interface of axis relations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import ClassVar

from compiler.arith import Analyzer, eval_set
from compiler.arith.int_set import IntervalSet
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range
from compiler.ir.origin import Span, current_span

Domains = dict[IterVar, Range]
Values = dict[IterVar, PrimExpr]
Sets = dict[IterVar, IntervalSet]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Relation(ABC):
    """How some axes of a stage, the children, derive from others, the parents.

    Lowering knows a relation by these methods alone; a subclass that lacks one of them is a ``TypeError`` when the
    class is created.  All of them speak of *offsets*: the distance of an axis from the beginning of its domain.  A
    child always begins at zero, so that its offset is the counter of its loop.

    Down means from the axes of the operation to the loops, up means back to the axes of the operation. ``span`` is the
    origin of the primitive that made the relation.
    """

    participle: ClassVar[str] = "replaced"
    """What has become of a parent, for error messages: ``axis 'i' has already been split``."""

    span: Span = field(default_factory=current_span, kw_only=True)

    def __init_subclass__(cls, **options: object) -> None:
        missing = [name for name in _INTERFACE if getattr(cls, name) is getattr(Relation, name)]
        if missing:
            raise TypeError(f"axis relation {cls.__name__} must define {', '.join(missing)}")

    @property
    @abstractmethod
    def parents(self) -> tuple[IterVar, ...]:
        """The axes that the relation consumes; they are not loops any more."""

    @property
    @abstractmethod
    def children(self) -> tuple[IterVar, ...]:
        """The axes that it makes, outermost first; they take the place of the parents in the loop nest."""

    @abstractmethod
    def extents_down(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        """Return the extents of the children.

        Together the children must reach every value of the parents.
        """

    def requested_extents(self) -> tuple[PrimExpr | None, ...]:
        """Return the extents that the schedule asks for, whatever the parents' are, as loops bound to threads have."""
        return (None,) * len(self.children)

    @abstractmethod
    def values_down(
        self, offsets: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]
    ) -> tuple[PrimExpr, ...]:
        """Return the values of the children where the parents have the given offsets."""

    @abstractmethod
    def values_up(self, values: Mapping[IterVar, PrimExpr], domains: Mapping[IterVar, Range]) -> tuple[PrimExpr, ...]:
        """Return the offsets of the parents where the children have the given values."""

    @abstractmethod
    def covers_exactly(self, domains: Mapping[IterVar, Range], analyzer: Analyzer) -> bool:
        """Return whether the children, each within its domain, reach no value outside of the parents' domains.

        Where they may, lowering guards the body of the loops.
        """

    def sets_up(
        self, sets: Mapping[IterVar, IntervalSet], domains: Mapping[IterVar, Range], analyzer: Analyzer
    ) -> tuple[IntervalSet, ...]:
        """Return intervals that hold the offsets of the parents while the children run over ``sets``.

        By default :meth:`values_up` is evaluated over the sets, which is always sound; a relation may know better.
        """
        over = {child.var: sets[child] for child in self.children}
        offsets = self.values_up({child: child.var for child in self.children}, domains)
        return tuple(eval_set(offset, over, analyzer) for offset in offsets)

    @property
    def operands(self) -> dict[str, PrimExpr]:
        """The expressions that the user gave, such as a factor, by name."""
        given = {name: getattr(self, name) for name in _field_names(type(self))}
        return {name: value for name, value in given.items() if isinstance(value, PrimExpr)}

    def __repr__(self) -> str:
        """Return the relation as text, such as ``Split(i -> i.outer, i.inner, factor=32)``."""
        parents, children = (", ".join(a.var.name for a in axes) for axes in (self.parents, self.children))
        operands = "".join(f", {name}={value}" for name, value in self.operands.items())
        return f"{type(self).__name__}({parents} -> {children}{operands})"


@cache
def _field_names(cls: type[Relation]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


_INTERFACE = sorted(Relation.__abstractmethods__)
