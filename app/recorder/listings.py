"""Listings: printed text whose lines carry origins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from app.artifacts import Level, Line, Listing, Region, make_listing
from app.recorder.origins import OriginRows
from compiler.ir.expr.primexpr import Var
from compiler.ir.node import Node
from compiler.ir.printing.text import Line as PrintedLine
from compiler.ir.printing.text import TextBuilder
from compiler.tir.schedule.error import DrawnLine
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.stmt import For

Place = tuple[int, int]
"""Line and column, both 1-based."""


def from_builder(
    out: TextBuilder, name: str, summary: dict[str, int | float | str], level: Level = "loop", language: str = "python"
) -> Listing:
    """Create the listing of a printed module whose nodes have origins."""
    return make_listing(level, name, language, [_printed(line) for line in out.lines], summary)


def from_drawing(drawing: Iterable[DrawnLine], name: str) -> Listing:
    """Create the listing of a program with the error of a schedule primitive."""
    lines = [Line(text) if line is None else _printed(line) for text, line in drawing]
    return make_listing("loop", name, "python", lines, {})


def _printed(line: PrintedLine) -> Line:
    regions = [Region(r.start, r.end, sorted(r.node.span)) for r in line.regions if r.node.span]
    return Line(line.text, sorted(line.span), regions)


class Occurrence(NamedTuple):
    """An occurrence of a node in the loop IR: its line number and row."""

    line: int
    row: int


class FinalListing:
    """The final loop IR listing, the input of code generation, with a row per printed node.

    Attributes
    ----------
    places : dict
        The rows of nodes by line and column, which debug locations refer to.
    """

    def __init__(self, out: TextBuilder, name: str, rows: OriginRows, summary: dict[str, int | float | str]) -> None:
        self.places: dict[Place, int] = {}
        self._loops: dict[str, list[tuple[Var, int]]] = {}
        self._first_of_line: dict[int, int] = {}
        self._of_node: dict[Node, Occurrence] = {}
        self._again: dict[Node, dict[int, int]] = {}
        """Further rows of nodes on several lines, such as copies of an unrolled loop."""
        self._buffers: dict[Var, int] = {}
        lines = [self._line(number, line, rows) for number, line in enumerate(out.lines, 1)]
        self.listing = make_listing("loop", name, "python", lines, summary)

    def _line(self, number: int, line: object, rows: OriginRows) -> Line:
        regions: list[Region] = []
        mine: list[int] = []
        accesses = self._accesses(line, rows)
        # Outer regions come last, so that the outermost of several nodes at one column is kept.
        for region in line.regions:  # type: ignore[attr-defined]
            text = line.text[region.start : region.end]  # type: ignore[attr-defined]
            parents = [*sorted(region.node.span), *accesses.get(region.start, ())]
            row = rows.mint("loop", _short(text), number, region.start + 1, parents)
            self.places[number, region.start + 1] = row
            first = self._of_node.setdefault(region.node, Occurrence(number, row))
            if first.line != number:
                self._again.setdefault(region.node, {}).setdefault(number, row)
            if isinstance(region.node, For):
                variable = region.node.loop_var
                self._loops.setdefault(variable.name, []).append((variable, row))
            regions.append(Region(region.start, region.end, [row]))
            mine.append(row)
        if mine:
            self._first_of_line[number] = mine[-1]
        return Line(line.text, mine, regions)  # type: ignore[attr-defined]

    def _accesses(self, line: object, rows: OriginRows) -> dict[int, list[int]]:
        """Return the rows of the buffers that a line accesses, by the column where each access begins.

        All nodes that begin at a column share its location: the product ``A[i] * 2`` counts as an access to ``A``.
        """
        accesses: dict[int, list[int]] = {}
        for region in line.regions:  # type: ignore[attr-defined]
            if isinstance(region.node, BufferLoad | BufferStore) and region.node.buffer.span:
                buffer = region.node.buffer
                if buffer.data not in self._buffers:
                    self._buffers[buffer.data] = rows.mint("memory", buffer.name, 0, 0, sorted(buffer.span))
                accesses.setdefault(region.start, []).append(self._buffers[buffer.data])
        return accesses

    def loop_rows(self, variable: Var, unique: bool) -> list[int]:
        """Return the rows of the loops over a variable, none if it was unrolled or vectorized.

        Parameters
        ----------
        unique : bool
            Whether its name is unique; then loops over copies of the variable count, too.
        """
        loops = self._loops.get(variable.name, [])
        same = [row for over, row in loops if over is variable]
        return same or [row for _, row in loops if unique]

    def rows_of(self, nodes: Sequence[Node]) -> list[int | None]:
        """Return the rows of the nodes of a line of code; None for nodes that the loop IR does not have.

        Nodes on several lines are resolved to the line of the statement.

        Parameters
        ----------
        nodes : sequence of Node
            The nodes; the statement comes last.
        """
        own = (self._of_node[n].line for n in reversed(nodes) if n in self._of_node and n not in self._again)
        line = next(own, None)
        return [self._row_of(node, line) for node in nodes]

    def _row_of(self, node: Node, line: int | None) -> int | None:
        first = self._of_node.get(node)
        if first is None:
            return None
        return first.row if line is None else self._again.get(node, {}).get(line, first.row)

    def row_at(self, place: Place) -> int | None:
        """Return the row of a debug location, or of its line if the column is unknown."""
        return self.places.get(place) or self._first_of_line.get(place[0])


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 60 else text[:57] + "…"


_ATTACHED = re.compile(r",? !dbg !(\d+)")
_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\((.*)\)")
_FIELD = re.compile(r"\b(line|column): (\d+)")
_DEBUG_METADATA = re.compile(r"^!(\d+) = (?:distinct )?!DI\w+\(")
_INSTRUCTION = re.compile(r"^  \S")


def from_llvm(text: str, name: str, final: FinalListing | None) -> Listing:
    """Create the listing of LLVM IR, linked to loop IR by debug locations.

    The debug metadata itself is not shown.
    """
    raw = text.splitlines()
    locations = _llvm_locations(raw)
    lines: list[Line] = []
    instructions = 0
    for line in raw:
        if _DEBUG_METADATA.match(line) or line.startswith(("!llvm.dbg.cu", "source_filename", "; ModuleID")):
            continue
        attached = _ATTACHED.search(line)
        place = locations.get(int(attached[1])) if attached else None
        shown = _ATTACHED.sub("", line)
        instructions += bool(_INSTRUCTION.match(shown))
        lines.append(linked(shown, place, final))
    return make_listing("llvm", name, "llvm", _without_blank_runs(lines), {"instructions": instructions})


def _llvm_locations(raw: Iterable[str]) -> dict[int, Place]:
    locations: dict[int, Place] = {}
    for line in raw:
        match = _LOCATION.match(line)
        if match:
            # llvmlite prints the fields in order of their names, LLVM starts with the line; a column of 0 is omitted.
            fields = dict(_FIELD.findall(match[2]))
            locations[int(match[1])] = (int(fields["line"]), int(fields.get("column", 0)))
    return locations


def linked(text: str, place: Place | None, final: FinalListing | None) -> Line:
    """Link a line of code to the loop IR at its debug location."""
    row = final.row_at(place) if final is not None and place is not None and place[0] > 0 else None
    if row is None:
        return Line(text)
    start = len(text) - len(text.lstrip())
    return Line(text, [row], [Region(start, len(text), [row])])


def _without_blank_runs(lines: list[Line]) -> list[Line]:
    result: list[Line] = []
    for line in lines:
        if line.text.strip() or (result and result[-1].text.strip()):
            result.append(line)
    while result and not result[-1].text.strip():
        result.pop()
    return result
