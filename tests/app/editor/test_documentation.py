"""Documentation of public names: signatures without noise, docstrings taken apart, nothing unescaped."""

from __future__ import annotations

from typing import Literal

import pytest
from flask.testing import FlaskClient

from app.editor.documentation import Block, blocks, call_text, documentation
from app.views.editor import inline_markup


def test_a_primitive_is_documented_with_its_parameters_and_errors() -> None:
    split = documentation("tvm.te.Stage.split")
    assert split is not None
    assert split.call.startswith("(parent: IterVar, factor: ")
    assert [section.title for section in split.sections] == ["Parameters", "Raises"]
    parameters, raises = split.sections
    assert "factor" in [entry.name for entry in parameters.entries]
    assert [entry.type for entry in raises.entries] == ["ArgumentError", "ScheduleError"]
    assert raises.entries[1].blocks == [Block("If ``parent`` is not a loop of this stage.")]
    assert not any("Raises" in block.text for block in split.blocks)
    assert any(block.verbatim and "i_outer" in block.text for block in split.blocks)


@pytest.mark.parametrize(
    ("name", "errors"), [("tvm.tir.SeqStmt", "DTypeError, InternalError"), ("tvm.tir.PrimFunc", "DTypeError")]
)
def test_errors_are_listed_after_any_sentence_also_several_of_one_reason(name: str, errors: str) -> None:
    described = documentation(name)
    assert described is not None
    [raises] = [section for section in described.sections if section.title == "Raises"]
    assert [entry.type for entry in raises.entries] == [errors]
    assert not any("Raises" in block.text for block in described.blocks)


def test_a_result_is_described_where_its_type_does_not_say_everything() -> None:
    partial = documentation("tvm.te.Schedule.rfactor")
    assert partial is not None
    returns = next(section for section in partial.sections if section.title == "Returns")
    assert [entry.type for entry in returns.entries] == ["Tensor or list of Tensor"]


@pytest.mark.parametrize("name", ["tvm.relay.nn.conv2d", "tvm.relay.reshape", "tvm.transform.PassContext", "tvm.lower"])
def test_what_programs_use_has_a_signature_and_a_summary(name: str) -> None:
    described = documentation(name)
    assert described is not None
    assert described.call.startswith("(")
    assert described.blocks
    assert "Parameters" in [section.title for section in described.sections]


def test_a_module_is_described_and_not_called() -> None:
    described = documentation("tvm.te")
    assert described is not None
    assert described.call == ""
    assert described.blocks


def test_a_signature_is_written_as_in_the_source() -> None:
    def f(self: object, a: int | None = None, *, b: Literal["x"] = "x") -> list[int]: ...

    assert call_text(f) == "(a=None, *, b='x')"
    assert call_text(f, with_result=True) == "(a: int | None = None, *, b: Literal['x'] = 'x') -> list[int]"
    assert call_text(3) is None


def test_a_text_is_taken_apart_into_paragraphs_and_code() -> None:
    text = "It splits\na loop::\n\n    for i:\n\n        for j:\n\nDone. ::\n\n    x\n\n>>> y = 1"
    assert list(blocks(text)) == [
        Block("It splits a loop:"),
        Block("for i:\n\n    for j:", verbatim=True),
        Block("Done."),
        Block("x", verbatim=True),
        Block(">>> y = 1", verbatim=True),
    ]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("``a < b`` & c", "<code>a &lt; b</code> &amp; c"),
        (":func:`~tvm.lower` it", "<code>tvm.lower</code> it"),
        ("<script>", "&lt;script&gt;"),
        ("`x`", "<code>x</code>"),
    ],
)
def test_code_within_a_sentence_is_marked_and_everything_is_escaped(text: str, html: str) -> None:
    assert inline_markup(text) == html


def test_the_editor_asks_for_names_and_documentation_one_by_one(client: FlaskClient) -> None:
    names = client.get("/completions/tvm.relay.nn")
    assert {"label": "conv2d", "type": "function"}.items() <= next(
        name for name in names.get_json() if name["label"] == "conv2d"
    ).items()
    assert "max-age" in names.headers["Cache-Control"]
    article = client.get("/documentation/tvm.te.Stage.split")
    assert 'data-name="tvm.te.Stage.split"' in article.text
    assert "<h3>Parameters</h3>" in article.text
    assert "<script" not in article.text
    assert client.get("/documentation/tvm.te.nothing").status_code == 404
