"""Source locations: ``tvm.ir.Span`` and ``tvm.ir.SourceName``."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.origin import Location, mint_place
from compiler.ir.origin import SourceName as SourceName


class Span(frozenset[int]):
    """A range in a source, which expressions are given as their ``span``; texts show it if it names the source.

    It is the set of one row of the table of origins that is recorded into, so it is kept, and joined with others, as
    any other origin of an expression is.  Naming a span starts recording where nothing records yet.

    Examples
    --------
    >>> span = relay.Span(relay.SourceName("conv1"), 0, 0, 0, 0)
    >>> relay.Call(relay.op.get("nn.relu"), [x], span=span)
    nn.relu(%x) /* span=conv1:0:0 */
    """

    __slots__ = ("column", "end_column", "end_line", "line", "source_name")

    source_name: SourceName | None
    line: int
    end_line: int
    column: int
    end_column: int

    def __new__(cls, source_name: SourceName | None, line: int, end_line: int, column: int, end_column: int) -> Span:
        name = "" if source_name is None else source_name.name
        span = super().__new__(cls, mint_place(Location(name, line, column, end_line, end_column)))
        span.source_name, span.line, span.end_line = source_name, line, end_line
        span.column, span.end_column = column, end_column
        return span

    @classmethod
    def of_rows(cls, rows: frozenset[int], name: str) -> Span:
        """Return rows of the table of origins as the span of a source without lines, such as a layer of a model."""
        span = super().__new__(cls, rows)
        span.source_name = SourceName(name)
        span.line = span.end_line = span.column = span.end_column = 0
        return span

    def is_at(self, other: Span) -> bool:
        """Return whether two spans are the same range of one source."""
        return self.__reduce__() == other.__reduce__()

    def __reduce__(self) -> tuple[object, ...]:
        return Span, (self.source_name, self.line, self.end_line, self.column, self.end_column)

    def __repr__(self) -> str:
        return f"Span({self.source_name!r}, {self.line}, {self.end_line}, {self.column}, {self.end_column})"

    def same_as(self, other: object) -> bool:
        """Return whether ``other`` is this object."""
        return self is other


class SequentialSpan(frozenset[int]):
    """The ranges that an expression was made of, as those of operators that were fused; sequences are flattened."""

    __slots__ = ("spans",)

    spans: tuple[Span, ...]

    def __new__(cls, spans: Iterable[Span | SequentialSpan]) -> SequentialSpan:
        flat = tuple(each for span in spans for each in (span.spans if isinstance(span, SequentialSpan) else (span,)))
        sequence = super().__new__(cls, frozenset().union(*flat))
        sequence.spans = flat
        return sequence

    def __reduce__(self) -> tuple[object, ...]:
        return SequentialSpan, (self.spans,)

    def __repr__(self) -> str:
        return f"SequentialSpan({list(self.spans)!r})"
