"""What stands at the top, what docstrings say, and how the code is counted."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from compiler.tir import const
from tests.contracts.measures.__main__ import print_executed
from tests.contracts.measures.documentation import documented, examine
from tests.contracts.measures.executed import calls_of, function_lines
from tests.contracts.measures.lines import count
from tests.contracts.measures.sources import PARTS, Source

TOP_LEVEL = {
    "Dockerfile",
    "README.md",
    "app",
    "compiler",
    "constraints.txt",
    "pyproject.toml",
    "static",
    "templates",
    "tests",
}
"""All that stands at the top beside dotfiles, a lock file, and what ``.gitignore`` names."""


def test_nothing_else_stands_at_the_top() -> None:
    root = Path(__file__).parents[2]
    ignored = [line.strip("/") for line in (root / ".gitignore").read_text().splitlines()]
    found = {path.name for path in root.iterdir() if not any(path.match(pattern) for pattern in [".*", *ignored])}
    assert found == TOP_LEVEL


@pytest.mark.parametrize("methods", [False, True])
def test_docstrings_say_what_signatures_do_not(methods: bool) -> None:
    faulty = [f"{row.name} ({row.place}): {', '.join(row.faults)}" for row in documented(methods) if row.faults]
    assert faulty == []


def test_a_docstring_is_held_against_signature_and_code() -> None:
    def told(a: int, b: int, *rest: int) -> int:
        """Add whole numbers.

        Parameters
        ----------
        a
            At least 0.

        Raises
        ------
        ValueError
            If ``a`` is negative.
        """
        if a < 0:
            raise ValueError
        return a + b + sum(rest)

    def stated(a: int) -> int:
        """Return a number that is not negative.  Raises ValueError for others."""
        if a < 0:
            raise ValueError
        return a

    def repeated(a: int, b: int) -> int:
        """Add.

        Parameters
        ----------
        a : int
        c : int
            The second.

        Returns
        -------
        int
        """
        if a < 0:
            raise ValueError
        return a + b

    def silent(a: int) -> None: ...

    assert examine("f", told).faults == ()
    assert examine("f", stated).faults == ()
    assert examine("f", repeated).faults == (
        "no Raises",
        "a: only the type",
        "Returns: only the type",
        "c: no such parameter",
    )
    assert examine("f", silent).faults == ("no summary",)


def test_the_public_api_is_walked() -> None:
    names_of = {row.name for row in documented()}
    assert {"tvm.lower", "tvm.te.compute", "tvm.relay.nn.conv2d", "tvm.topi.add"} <= names_of


def test_the_counts_count() -> None:
    text = '"""A file."""\n\nimport re\n# why\n\n\ndef f(a: Any, b: int) -> None:\n    """F."""\n    return a\n'
    source = Source(Path("compiler/x/y.py"), text, ast.parse(text))
    assert source.folder == "compiler/x"
    assert [f.name for f in source.functions()] == ["f"]
    counted = {"code": 2, "imports": 1, "docstrings": 2, "comments": 1, "blank": 3, "Any": 1, "ignored": 0}
    assert count(source) == counted


def test_functions_that_a_program_calls_are_told_from_those_it_does_not(capfd: pytest.CaptureFixture[str]) -> None:
    def program() -> None:
        const(1)

    print_executed([("tiny", program)])
    rows = [line.split() for line in capfd.readouterr().out.splitlines()[1:]]
    assert [" ".join(row[:-3]) for row in rows] == [f"{u} of the {p}" for p in PARTS for u in ("functions", "lines")]
    assert all(0 < int(row[-2]) < int(row[-3]) for row in rows[:2])
    assert [row[-2] for row in rows[2:]] == ["0", "0"], "nothing is imported, and nothing else is in the annex"
    with pytest.raises(RuntimeError, match="broken failed"):
        calls_of("broken", lambda: 1 // 0)


def test_lines_belong_to_the_innermost_function() -> None:
    text = '@a\ndef f():\n    """F."""\n    def g():\n        return 1\n    return g\n'
    lines = function_lines(Source(Path("compiler/x.py"), text, ast.parse(text)))
    assert {first: count for (_, first), count in lines.items()} == {1: 2, 4: 2}
