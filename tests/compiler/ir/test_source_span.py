"""Places that programs name themselves: kept on expressions and what passes make of them, and shown in texts."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from compiler import relay
from compiler.ir import IRModule, SequentialSpan, SourceName, Span, load_json, save_json
from compiler.ir.origin import NO_SPAN, OriginTable, recording
from compiler.relay.inference.errors import TypeInferenceError


@pytest.fixture(autouse=True)
def table() -> Iterator[OriginTable]:
    with recording(OriginTable()) as recorded:
        yield recorded


def test_a_span_has_the_range_that_it_was_given() -> None:
    span = relay.Span(relay.SourceName("model"), 1, 2, 3, 4)
    assert (span.line, span.end_line, span.column, span.end_column) == (1, 2, 3, 4)
    assert span.source_name is SourceName("model")
    assert span.source_name.name == "model"
    assert str(span) == "Span(SourceName('model'), 1, 2, 3, 4)"
    assert span.same_as(span)
    assert isinstance(span, relay.base.Span)
    assert relay.Span(None, 1, 2, 3, 4).source_name is None


def test_spans_of_one_place_are_equal() -> None:
    first, second = (Span(SourceName("a"), 1, 1, 2, 3) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert not first.same_as(second)
    for other in (Span(SourceName("b"), 1, 1, 2, 3), Span(SourceName("a"), 1, 1, 2, 4), Span(None, 1, 1, 2, 3)):
        assert first != other


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_are_the_same_place(again: Callable[[Span], Span]) -> None:
    span = Span(SourceName("a"), 5, 6, 7, 8)
    assert again(span) == span


def test_expressions_keep_the_span_and_show_it() -> None:
    span, other = (Span(SourceName(name), 3, 3, 7, 9) for name in ("layer/add", "input"))
    x = relay.var("x", shape=(2,), span=other)
    call = relay.Call(relay.op.get("add"), [x, x], span=span)
    assert call.span is span
    assert x.span is other
    assert "add(%x, %x) /* span=layer/add:3:7 */" in call.astext()
    assert "span=" not in relay.nn.relu(relay.Var("y", span=Span(None, 1, 1, 1, 1))).astext()


def test_what_passes_make_of_an_expression_comes_from_its_span() -> None:
    x = relay.var("x", shape=(4, 4))
    call = relay.Call(relay.op.get("nn.relu"), [x], span=Span(SourceName("activation"), 0, 0, 0, 0))
    mod = relay.transform.InferType()(relay.transform.ToMixedPrecision()(_module(relay.Function([x], call))))
    fused = relay.transform.FuseOps(2)(mod)
    assert "span=activation:0:0" in mod.astext()
    assert "span=activation:0:0" in fused.astext()


def _module(func: relay.Function) -> IRModule:
    return relay.transform.InferType()(IRModule.from_expr(func))


def test_naming_a_span_starts_tableing() -> None:
    program = (
        "from compiler import relay\n"
        "x = relay.var('x', shape=(2,))\n"
        "relu = relay.Call(relay.op.get('nn.relu'), [x], span=relay.Span(relay.SourceName('a'), 1, 1, 2, 2))\n"
        "print(relu)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "span=a:1:2" in run.stdout


def test_the_line_that_names_a_span_is_not_lost(table: OriginTable) -> None:
    call = relay.Call(relay.op.get("add"), [relay.var("x", shape=(2,))] * 2, span=Span(SourceName("a"), 0, 0, 0, 0))
    locations = [table.rows[row].location for row in table.ancestors(call.span)]
    assert sorted(location.file for location in locations if location is not None) == sorted(["a", __file__])
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(4, 5))
    wrong = relay.Call(relay.op.get("add"), [x, y], span=Span(SourceName("b"), 1, 1, 1, 1))
    with pytest.raises(TypeInferenceError) as raised:
        _module(relay.Function([x, y], wrong))
    places = [d.location.file for d in raised.value.diagnostics if d.location is not None]
    assert places == [__file__]


def test_what_has_no_span_compares_equal_to_none() -> None:
    span = NO_SPAN
    assert span == None  # noqa: E711
    assert span == frozenset()
    assert pickle.loads(pickle.dumps(span)) is span


def test_spans_are_written_and_read() -> None:
    span = relay.Span(relay.SourceName("conv1"), 1, 2, 3, 4)
    back = load_json(save_json(span))
    assert (back.source_name, back.line, back.end_line, back.column, back.end_column) == (span.source_name, 1, 2, 3, 4)


def test_spans_in_sequence_are_flat() -> None:
    a, b, c = (relay.Span(relay.SourceName(name), 1, 2, 3, 4) for name in "abc")
    sequence = SequentialSpan([SequentialSpan([a, b]), c])
    assert sequence.spans == (a, b, c)
    assert sequence == a | b | c
    assert str(sequence) == f"SequentialSpan([{a}, {b}, {c}])"
