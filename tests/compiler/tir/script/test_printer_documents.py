"""Documents as Python text, against Python's own parser."""

from __future__ import annotations

import ast
import random

import pytest

from compiler.classic.tir.script_printer import to_python_script
from compiler.classic.tir.script_printer.doc import (
    AssertDoc,
    AssignDoc,
    CallDoc,
    ClassDoc,
    CommentDoc,
    Doc,
    ExprDoc,
    ExprStmtDoc,
    ForDoc,
    FunctionDoc,
    IdDoc,
    IfDoc,
    LambdaDoc,
    ListDoc,
    LiteralDoc,
    OperationDoc,
    OperationKind,
    ReturnDoc,
    ScopeDoc,
    SliceDoc,
    StmtBlockDoc,
    StmtDoc,
    TupleDoc,
    WhileDoc,
)
from compiler.ir.error import ArgumentError
from compiler.ir.object_path import ObjectPath

UNARY = {OperationKind.USub: "-", OperationKind.Invert: "~", OperationKind.Not: "not "}
BINARY = {
    OperationKind.Add: "+",
    OperationKind.Sub: "-",
    OperationKind.Mult: "*",
    OperationKind.Div: "/",
    OperationKind.FloorDiv: "//",
    OperationKind.Mod: "%",
    OperationKind.Pow: "**",
    OperationKind.LShift: "<<",
    OperationKind.RShift: ">>",
    OperationKind.BitAnd: "&",
    OperationKind.BitOr: "|",
    OperationKind.BitXor: "^",
}


def random_expression(rng: random.Random, depth: int) -> tuple[ExprDoc, str]:
    """Return an expression, and what it means, with parentheses around every part."""
    form = rng.randrange(8) if depth else 0
    parts = [random_expression(rng, depth - 1) for _ in range(3)] if form else []
    docs, texts = [doc for doc, _ in parts], [f"({text})" for _, text in parts]
    if form == 0:
        name = rng.choice("abc")
        return IdDoc(name), name
    if form == 1:
        unary = rng.choice(list(UNARY))
        return OperationDoc(unary, docs[:1]), UNARY[unary] + texts[0]
    if form in (2, 3):
        kind = rng.choice(list(BINARY))
        return OperationDoc(kind, docs[:2]), f"{texts[0]} {BINARY[kind]} {texts[1]}"
    if form == 4:
        return OperationDoc(OperationKind.IfThenElse, docs), f"{texts[1]} if {texts[0]} else {texts[2]}"
    if form == 5:
        return LambdaDoc([IdDoc("x")], docs[0]), f"lambda x: {texts[0]}"
    if form == 6:
        sliced = docs[0][SliceDoc(docs[1], None, docs[2]), TupleDoc(docs[:1])]
        return sliced, f"{texts[0]}[{texts[1]}::{texts[2]}, ({texts[0]},)]"
    call = CallDoc(docs[0].attr("f"), ListDoc(docs[1:2]), k=docs[2])
    return call, f"{texts[0]}.f([{texts[1]}], k={texts[2]})"


@pytest.mark.parametrize("seed", range(60))
def test_parentheses_stand_where_python_needs_them(seed: int) -> None:
    doc, meaning = random_expression(random.Random(seed), 4)
    assert ast.dump(ast.parse(to_python_script(doc))) == ast.dump(ast.parse(meaning))


NAME = IdDoc("x")
PASS: list[StmtDoc] = []
STATEMENTS: dict[str, StmtDoc] = {
    "x: x = x": AssignDoc(NAME, NAME, NAME),
    "x, x = x, x": AssignDoc(TupleDoc([NAME, NAME]), TupleDoc([NAME, NAME])),
    "if x:\n    x\nelse:\n    return x": IfDoc(NAME, [ExprStmtDoc(NAME)], [ReturnDoc(NAME)]),
    "if x:\n    pass\nelse:\n    x": IfDoc(NAME, [], [ExprStmtDoc(NAME)]),
    "while x:\n    pass": WhileDoc(NAME, PASS),
    "for x, x in x:\n    assert x, 'y'": ForDoc(TupleDoc([NAME, NAME]), NAME, [AssertDoc(NAME, LiteralDoc("y"))]),
    "with x as x:\n    pass": ScopeDoc(NAME, NAME, PASS),
    "@x\ndef x(x: x, x=1.5) -> x:\n    pass": FunctionDoc(
        NAME, [AssignDoc(NAME, None, NAME), AssignDoc(NAME, LiteralDoc(1.5))], [NAME], NAME, PASS
    ),
    "@x\nclass x:\n    x = None\n    x = True": ClassDoc(
        NAME, [NAME], [AssignDoc(NAME, LiteralDoc(None)), AssignDoc(NAME, LiteralDoc(True))]
    ),
}


@pytest.mark.parametrize("source", STATEMENTS)
def test_statements(source: str) -> None:
    assert ast.dump(ast.parse(to_python_script(STATEMENTS[source]))) == ast.dump(ast.parse(source))


def test_comments() -> None:
    assign, loop, function = AssignDoc(NAME, NAME), WhileDoc(NAME, PASS), FunctionDoc(NAME, [], [], None, PASS)
    assign.comment, loop.comment, function.comment = "why", "how\noften", "What."
    block = StmtBlockDoc([assign, loop, CommentDoc("end"), function])
    assert to_python_script(block, indent_spaces=2) == (
        'x = x  # why\n# how\n# often\nwhile x:\n  pass\n# end\ndef x():\n  """\n  What.\n  """\n  pass'
    )
    assign.comment = "two\nlines"
    with pytest.raises(ArgumentError, match="comment of AssignDoc cannot have several lines"):
        to_python_script(assign)


def lines_from(places: dict[int, str]) -> StmtBlockDoc:
    stmts: list[StmtDoc] = []
    for number in range(12):
        name = IdDoc(f"line{number}")
        name.source_paths = [ObjectPath.root().attr(places[number])] if number in places else []
        stmts.append(ExprStmtDoc(name))
    return StmtBlockDoc(stmts)


def test_underlined_lines_and_their_context() -> None:
    text = to_python_script(
        lines_from({3: "a", 7: "b"}), True, True, 1, [ObjectPath.root().attr(name) for name in ("a", "b")]
    )
    assert text.splitlines() == [
        "(... 2 lines skipped ...)",
        " 3 line2",
        " 4 line3",
        "   ^^^^^",
        " 5 line4",
        " 6 line5",
        " 7 line6",
        " 8 line7",
        "   ^^^^^",
        " 9 line8",
        "(... 3 lines skipped ...)",
    ]


def test_the_nearest_place_above_is_underlined() -> None:
    doc = lines_from({1: "a"})
    text = to_python_script(doc, num_context_lines=0, path_to_underline=[ObjectPath.root().attr("a").attr("deeper")])
    assert text.splitlines() == ["line0", "line1", "^^^^^", "(... 10 lines skipped ...)"]
    assert "^" not in to_python_script(doc, path_to_underline=[ObjectPath.root().attr("b")])


def test_what_is_no_document() -> None:
    with pytest.raises(ArgumentError, match="a document"):
        to_python_script("x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="2 operands"):
        to_python_script(OperationDoc(OperationKind.Add, [NAME]))
    with pytest.raises(ArgumentError, match="rhs or annotation"):
        AssignDoc(NAME)
    with pytest.raises(ArgumentError, match="then_branch or else_branch"):
        IfDoc(NAME, [], [])


def test_source_paths_can_be_set() -> None:
    doc: Doc = LiteralDoc(1, ObjectPath.root())
    assert doc.source_paths == [ObjectPath.root()]
    doc.source_paths = []
    assert doc.source_paths == []
