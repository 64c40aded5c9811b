"""The text builder keeps lines, their regions, and where each node was first written."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Var
from compiler.ir.printing.text import TextBuilder

a, b, c = Var("a"), Var("b"), Var("c")


def test_regions_nest_inner_ones_first() -> None:
    out = TextBuilder()
    with out.at(a):
        out.write("(")
        with out.at(b):
            out.write("xy")
        out.write(")")
    out.newline()
    (line,) = out.lines
    assert line.text == "(xy)"
    assert [(r.start, r.end, r.node.name) for r in line.regions] == [(1, 3, "b"), (0, 4, "a")]  # type: ignore[attr-defined]
    assert out.positions == {a: (1, 1), b: (1, 2)}


def test_a_header_does_not_own_its_indented_block() -> None:
    out = TextBuilder(indent="  ")
    with out.at(a):
        out.write("head:")
        out.newline()
        with out.indented():
            with out.at(b):
                out.write("body")
            out.newline()
    assert out.text() == "head:\n  body"
    assert [[r.node for r in line.regions] for line in out.lines] == [[a], [b]]
    assert out.lines[1].regions[0][:2] == (2, 6)
    assert out.positions[b] == (2, 3)


def test_a_node_over_several_lines_has_a_region_in_each() -> None:
    out = TextBuilder()
    with out.at(a):
        out.line("one")
        out.line("two")
    assert [line.regions[0].node for line in out.lines] == [a, a]
    assert out.positions[a] == (1, 1)


def test_empty_regions_and_lines() -> None:
    out = TextBuilder()
    with out.at(c):
        pass
    out.newline()
    assert [(line.text, line.regions) for line in out.lines] == [("", ())]
