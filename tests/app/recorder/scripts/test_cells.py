"""Cells run in order in one session; each keeps its results, whatever happens behind it."""

from __future__ import annotations

import pytest

from app.artifacts import MAX_CELLS, Answer, Problem
from app.panes import table
from app.panes.page import page
from app.panes.results import ConsoleContent
from app.panes.selection import View
from app.protocol import Request, Snapshot
from app.recorder.scripts.cells import cells_of
from tests.app.recorder.serving import served

CELLS = """\
from __future__ import annotations
# %% Sizes
from tvm import te
n = 64
print("size", n)
#%%
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
B.shape
# %% Loops
s = te.create_schedule(B.op)
loops = tvm.lower(s, [A, B], simple_mode=True)
loops;
# %% Behind
def f(x: unknown): ...
f.__annotations__
"""


def run(script: str) -> Answer:
    snapshots = [message for message in served(Request(mode="compile", script=script)) if isinstance(message, Snapshot)]
    return snapshots[-1].answer


def console(answer: Answer) -> list[tuple[int | None, str, str]]:
    return [(entry.cell, entry.stream, entry.text) for entry in answer.console]


def test_lines_of_cells_are_those_of_python_and_of_editors() -> None:
    answer = run("\x0c# a page\r\n#%% One\r\nx = '\u2028é'\r\nx; \r\n# %% Two\r\n'é\x0c'\r\n1 / 0\r\n")
    assert [(c.title, c.line, c.end_line, c.state) for c in answer.cells] == [
        ("", 1, 1, "ran"),
        ("One", 2, 4, "ran"),
        ("Two", 5, 7, "failed"),
    ]
    assert (console(answer), answer.problems[0].line) == ([], 7)
    assert answer.problems[0].trace == ["line 7, in <module>: 1 / 0"]


def test_an_error_names_its_cell_and_keeps_the_results_of_the_others() -> None:
    answer = run(CELLS)
    assert [(c.title, c.line, c.end_line, c.state) for c in answer.cells] == [
        ("", 1, 1, "ran"),
        ("Sizes", 2, 5, "ran"),
        ("", 6, 9, "ran"),
        ("Loops", 10, 13, "failed"),
        ("Behind", 14, 16, "ran"),
    ]
    assert console(answer) == [(1, "stdout", "size 64\n"), (2, "value", "(64,)\n"), (4, "value", "{'x': 'unknown'}\n")]
    [problem] = answer.problems
    assert (problem.line, problem.message) == (
        12,
        "name 'tvm' is not defined; 'import tvm' is missing above (in cell 4 Loops)",
    )
    assert [fix.edits[0].line for fix in problem.fixes] == [4]
    [function] = answer.units
    assert (function.name, function.built) == ("main", True)


def test_cells_behind_an_error_run_unless_they_need_what_it_did_not_make() -> None:
    answer = run(
        "# %% 1\nx = 1 / 0\n# %% 2\ny = x + 1\n# %% 3\nprint(y)\n# %% 4\nx = 2\nx\n# %% 5\nx + 1\nraise KeyError(x)\n"
    )
    assert [cell.state for cell in answer.cells] == ["failed", "waiting", "waiting", "ran", "failed"]
    assert [(at, text) for at, _, text in console(answer)] == [
        (1, "it needs x, which a cell above did not come to make"),
        (2, "it needs y, which a cell above did not come to make"),
        (3, "2\n"),
    ]
    assert [(problem.kind, problem.line) for problem in answer.problems] == [("ZeroDivisionError", 2), ("KeyError", 12)]
    assert answer.problems[1].message == "2 (in cell 5 5)"


def test_an_exit_ends_all_cells() -> None:
    answer = run("# %% 1\nimport sys\nsys.exit(3)\n# %% 2\nprint(1)\n")
    assert [cell.state for cell in answer.cells] == ["failed", "waiting"]
    assert answer.problems[0].message == "the script ended at line 3 with status 3 (in cell 1 1)"


def test_all_cells_share_their_names_and_what_they_import_from_the_future() -> None:
    answer = run(CELLS.replace("import te", "import te\nimport tvm"))
    assert {cell.state for cell in answer.cells} == {"ran"}
    assert console(answer)[-1] == (4, "value", "{'x': 'unknown'}\n")
    assert [unit.line for unit in answer.units] == [13]  # where it was lowered
    assert not any(cell == 3 for cell, _, _ in console(answer))  # a semicolon shows no value


def test_a_cell_that_is_no_python_does_not_keep_those_before_it_from_running() -> None:
    answer = run("# %% a\nprint(1)\n# %% b\nfor x in y\n")
    assert console(answer) == [(0, "stdout", "1\n")]
    assert (answer.problems[0].kind, answer.problems[0].line) == ("SyntaxError", 4)


def test_a_value_without_a_representation_is_shown_as_text() -> None:
    shown = run("# %%\nimport tvm\nfrom tvm import relay\ntvm.IRModule.from_expr(relay.var('x', shape=(2,)))\n")
    assert "def @main(%x" in console(shown)[0][2]


@pytest.mark.parametrize(
    "script",
    ["x = 1\n", "s = '''\n# %% a\n'''\n", "f(\n# %% a\n)\n", "# %%\n" * (MAX_CELLS + 1), "if x:\n    # %% a\n    y\n"],
)
def test_what_has_no_headings_has_no_cells(script: str) -> None:
    assert cells_of(script) == []


def test_what_stands_before_the_first_heading_is_a_cell_unless_it_is_empty() -> None:
    assert [cell.line for cell in cells_of("\n# %% a\nx\n")] == [2]
    assert [cell.line for cell in cells_of("import x\n# %% a\nx\n")] == [1, 2]


def test_the_console_has_each_cells_results_below_its_heading() -> None:
    answer = run(CELLS)
    content = page(answer, View()).contents["console"]
    assert isinstance(content, ConsoleContent)
    assert [result.number for result in content.results] == [1, 2, 3, 4, 5]
    assert [[entry.text for entry in result.console] for result in content.results[:3]] == [
        [],
        ["size 64\n"],
        ["(64,)\n"],
    ]
    assert [[problem.line for _, problem in result.problems] for result in content.results[3:]] == [[12], []]
    mended = page(run(CELLS.replace("import te", "import te\nimport tvm")), View()).contents["console"]
    assert isinstance(mended, ConsoleContent)
    assert [[made.unit.name for made in result.units] for result in mended.results[3:]] == [["main"], []]


def test_what_belongs_to_no_cell_stands_behind_them() -> None:
    forged = Answer(cells=run(CELLS).cells, problems=[Problem(kind="Crash", message="x")])
    content = page(forged, View()).contents["console"]
    assert isinstance(content, ConsoleContent)
    assert [(r.cell is None, len(r.problems)) for r in content.results[-1:]] == [(True, 1)]
    assert page(Answer(), View()).contents["console"].results == []  # type: ignore[union-attr]
    assert table.find("console") is not None
