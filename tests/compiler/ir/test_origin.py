"""Origins are minted only while somebody records, and know their ancestors."""

from __future__ import annotations

import pickle
from pathlib import Path

from compiler.ir.expr.primexpr import Var
from compiler.ir.origin import NO_SPAN, OriginTable, current_span, derived_from, mint, mint_source, recording


def test_nothing_is_minted_without_a_table() -> None:
    assert mint_source("line") == NO_SPAN
    assert mint("loop", "x", NO_SPAN) == NO_SPAN
    assert Var("i").span == NO_SPAN


def test_a_span_that_is_missing_names_no_source() -> None:
    assert (NO_SPAN.source_name.name, NO_SPAN.line, NO_SPAN.end_column) == ("", 0, 0)
    assert pickle.loads(pickle.dumps(NO_SPAN)) is NO_SPAN


def test_a_source_origin_names_the_users_expression() -> None:
    with recording(OriginTable()) as table:
        span = mint_source("here")
    (row,) = table.rows
    assert span == {row.id}
    assert row.location is not None
    assert row.location.file == __file__
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[row.location.line - 1]
    assert line[row.location.column : row.location.end_column] == 'mint_source("here")'


def test_ancestors_reach_the_roots() -> None:
    with recording(OriginTable()) as table:
        root = table.mint("source", "root", None, NO_SPAN)
        other = table.mint("source", "other", None, NO_SPAN)
        middle = mint("loop", "middle", root)
        leaf = mint("llvm", "leaf", middle | other)
    assert table.ancestors(leaf) == leaf | middle | root | other
    assert table.ancestors(middle) == middle | root


def test_nodes_inherit_the_span_around() -> None:
    span = frozenset((1, 2))
    with derived_from(span):
        assert current_span() == span
        with derived_from(frozenset((3,))):
            inner = Var("inner")
        outer = Var("outer")
    assert (inner.span, outer.span, current_span()) == ({3}, {1, 2}, NO_SPAN)
