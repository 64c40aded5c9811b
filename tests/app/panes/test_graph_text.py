"""Graphs in a form that fusion leaves alone: lines keep their values when they move into the body of a function."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.panes.differences import Diff, diff
from app.panes.graph_text import canonical, computed
from compiler import relay
from compiler.ir.module import IRModule
from tests.app.fixtures import listing

PLAIN = ["def @main(%x: float32) {", "  %0 = exp(%x);", "  %1 = log(%0);", "  abs(%1)", "}"]
FUSED = [
    "def @main(%x: float32) {",
    "  %1 = fn (%p0: float32, Primitive=1) -> float32 {",
    "    %0 = exp(%p0);",
    "    log(%0)",
    "  } /* ty=fn (float32) -> float32 */;",
    "  %2 = %1(%x);",
    "  abs(%2)",
    "}",
]


def difference(before: list[str], after: list[str]) -> Diff:
    return diff(*(listing("graph", "relay", "\n".join(text), {}) for text in (before, after)))


def marked(merged: Diff, signs: str) -> list[str]:
    lines = [(line.mark, re.sub(r"<[^>]*>", "", line.html).strip()) for line in merged.lines]
    return [text for mark, text in lines if mark and mark in signs]


def test_a_parameter_is_its_argument_and_a_call_the_last_line_of_the_body() -> None:
    assert [line for line in canonical(FUSED) if line.startswith("%")] == [
        "%@1 = fn (%x: float32, Primitive=1) -> float32 {",
        "%@2 = exp(%x)",
        "%@3 = log(%@2)",
        "%@5 = %@1(%x)",
        "%@6 = abs(%@3)",
    ]


def test_of_a_fused_graph_only_the_functions_are_new() -> None:
    merged = difference(PLAIN, FUSED)
    assert marked(merged, "-") == []
    assert [text.split(" ")[0] for text in marked(merged, "+")] == ["%1", "}", "%2"]
    assert marked(merged, "~") == ["%0 = exp(%p0);", "log(%0)"]
    assert (merged.added, merged.removed, merged.moved) == (3, 0, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [("%0 = exp(%p0)", "%0 = sin(%p0)"), ("log(%0)", "log(%p0)"), ("%1(%x)", "%1(%y)"), ("abs(%2)", "abs(%x)")],
)
def test_what_a_fused_graph_computes_otherwise_is_a_difference(old: str, new: str) -> None:
    assert difference(PLAIN, [line.replace(old, new) for line in FUSED]).removed > 0


@pytest.mark.parametrize(
    "text",
    [
        ["%1 = fn (%p0) {", "  exp(%p0)", "};", "%2 = %1(%x);", "%1(%2)"],
        ["%1 = fn (%p0) {", "  exp(%p0)", "};", "%2 = %1(%x, %y);", "%2"],
        ["%1 = fn (%p0) {", "  exp(%p0)", "};", "%3 = fn (%p0) {", "  log(%p0)", "};", "(%1(%x), %3(%x))"],
    ],
    ids=["called twice", "with too many arguments", "two parameters of one name"],
)
def test_functions_of_unclear_parameters_are_left_alone(text: list[str]) -> None:
    assert "%@1 = exp(%p0)" in canonical(text)


def test_circles_of_names_come_to_an_end() -> None:
    text = ["%1 = fn (%a) {", "  %2(%a)", "};", "%2 = fn (%b) {", "  %1(%b)", "};", "%3 = %3(%a.1)"]
    assert len(canonical(text)) == len(text)


def test_commas_and_brackets_of_strings_and_types_do_not_end_an_argument() -> None:
    call = '%2 = %1(%x, meta[relay.Constant][0] /* ty=Tensor[(1, 2), float32] span="a)," */);'
    head, first, *_ = canonical(["%1 = fn (%p0: Tensor[(1, 2), float32], %p1) {", "  add(%p0, %p1)", "};", call])
    assert head.startswith("%@0 = fn (%x: Tensor[(1, 2), float32], meta")
    assert first == '%@1 = add(%x, meta[relay.Constant][0] /* ty=Tensor[(1, 2), float32] span="a)," */)'


def test_lines_that_compute_the_same_have_one_number() -> None:
    known: dict[str, int] = {}
    before = computed(canonical(["%0 = exp(%x);", "%1 = log(%x);", "add(%0, %1)"]), known)
    after = computed(canonical(["%0 = log(%x);", "%1 = exp(%x);", "add(%1, %0)", "add(%0, %1)"]), known)
    assert [after[1], after[0], after[2]] == before
    assert after[3] not in before


def test_lines_that_only_moved_are_no_difference() -> None:
    merged = difference(["%0 = exp(%x);", "%1 = log(%y);", "(%0, %1)"], ["%0 = log(%y);", "%1 = exp(%x);", "(%1, %0)"])
    assert (merged.added, merged.removed, merged.moved) == (0, 0, 1)
    assert len(marked(merged, "<")) == len(marked(merged, ">")) == 1


def test_constants_that_are_exchanged_are_a_difference() -> None:
    first, second = ("meta[relay.Constant][0]", "meta[relay.Constant][1]")
    before = [f"%0 = add(%x, {first});", f"%1 = add(%y, {second});", f"(%0, %1, {first})"]
    assert difference(before, before).removed == 0
    assert difference(before, [*before[:2], f"(%0, %1, {second})"]).removed == 1


OPERATORS = st.lists(st.tuples(st.sampled_from(["exp", "tanh", "nn.relu", "add"]), st.integers(1, 4)), max_size=7)


@settings(max_examples=20, deadline=None)
@given(operators=OPERATORS)
def test_what_the_fusion_pass_prints_adds_functions_and_removes_nothing(operators: list[tuple[str, int]]) -> None:
    x = relay.var("x", shape=(4, 5))
    values: list[relay.Expr] = [x, relay.exp(x)]
    for name, back in operators:
        value = values[max(0, len(values) - back)]
        values.append(relay.add(value, values[-1]) if name == "add" else relay.Call(relay.op.get(name), [value]))
    mod = relay.transform.InferType()(IRModule.from_expr(relay.Tuple(values)))
    fused = relay.transform.FuseOps(2)(mod)
    before, after = (m.astext(show_meta_data=False).rstrip().split("\n") for m in (mod, fused))
    functions = sum("= fn (" in line for line in after)
    merged = difference(before, after)
    assert (merged.removed, merged.added) == (0, 3 * functions)
