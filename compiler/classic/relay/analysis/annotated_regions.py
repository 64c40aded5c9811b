"""Annotated regions: the parts of a graph between compiler_begin and compiler_end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compiler.ir.op import Op
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, GraphExpr, Let
from compiler.relay.function import Function

BEGIN, END = "annotation.compiler_begin", "annotation.compiler_end"
"""The operators that mark what an external compiler gets."""


@dataclass(eq=False)
class AnnotatedRegion:
    """A connected part of a graph that one compiler gets.

    ``nodes`` are all of its expressions, the annotations included, in the order of evaluation.  Regions that are merged
    leave gaps in the numbers ``id``.
    """

    id: int
    target: str
    args: list[Call] = field(default_factory=list)
    nodes: dict[GraphExpr, None] = field(default_factory=dict)
    rets: list[Call] = field(default_factory=list)


class AnnotatedRegionSet:
    """The regions of a graph between operators that mark where they begin and end, by default those of external
    compilers.

    A region that ends without a beginning, or in another compiler, is a ValueError.
    """

    def __init__(self, expr: GraphExpr, region_begin_op: Op | None = None, region_end_op: Op | None = None) -> None:
        self._begin = region_begin_op.name if region_begin_op else BEGIN
        self._end = region_end_op.name if region_end_op else END
        self._regions: dict[int, AnnotatedRegion] = {}
        self._region_of: dict[GraphExpr, AnnotatedRegion] = {}
        self._next_id = 0
        for part in post_order(expr):
            self._enter(part)

    def __len__(self) -> int:
        return len(self._regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(list(self._regions.values()))

    def get_region(self, expr: GraphExpr) -> AnnotatedRegion | None:
        """Return the region that an expression is in; None if it is in none."""
        return self._region_of.get(expr)

    def merge(self, source: AnnotatedRegion, into: AnnotatedRegion) -> None:
        """Make one region of two; annotations between them are no longer its beginnings and ends."""
        into.args += source.args
        into.rets += source.rets
        inner = [begin for begin in into.args if begin.args[0] in source.nodes]
        into.nodes.update(source.nodes)
        for begin in inner:
            into.args.remove(begin)
            if begin.args[0] in into.rets:
                into.rets.remove(begin.args[0])
        self._region_of.update(dict.fromkeys(source.nodes, into))
        del self._regions[source.id]

    def _enter(self, part: GraphExpr) -> None:
        begin, end = self._call_of(part, self._begin), self._call_of(part, self._end)
        if begin is not None:
            region = AnnotatedRegion(self._next_id, begin.attrs["compiler"], [begin])
            self._next_id += 1
            self._regions[region.id] = region
            self._add(region, part)
        elif end is not None:
            region = self._ended(end)
            region.rets.append(end)
            self._add(region, part)
        else:
            self._join(part)

    def _ended(self, end: Call) -> AnnotatedRegion:
        region = self._region_of.get(end.args[0])
        if region is None or region.target != end.attrs["compiler"]:
            raise ValueError(f"nothing begins the region of compiler {end.attrs['compiler']!r} that ends here: {end}")
        return region

    def _join(self, part: GraphExpr) -> None:
        """Put an expression into the region of its operands, which becomes one region."""
        inputs = [p for p in _inputs(part) if self._call_of(p, self._end) is None]
        regions = [r for r in map(self._region_of.get, inputs) if r is not None]
        if not regions:
            return
        for other in regions[1:]:
            if other is not regions[0] and other.id in self._regions:
                self.merge(other, regions[0])
        self._add(regions[0], part)

    def _add(self, region: AnnotatedRegion, part: GraphExpr) -> None:
        region.nodes[part] = None
        self._region_of[part] = region

    @staticmethod
    def _call_of(part: GraphExpr, name: str) -> Call | None:
        return part if isinstance(part, Call) and isinstance(part.op, Op) and part.op.name == name else None


def _inputs(part: GraphExpr) -> Sequence[GraphExpr]:
    """Return the expressions that must be in the region of an expression."""
    if isinstance(part, Call):
        return part.args
    if isinstance(part, Let):
        return (part.value, part.body)
    return () if isinstance(part, Function) else operands(part)
