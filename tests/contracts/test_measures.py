"""What is counted about the code only gets better: types, documentation, sizes, names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.contracts.measures import names, sizes
from tests.contracts.measures.documentation import documented, examine
from tests.contracts.measures.sources import Source, folders
from tests.contracts.measures.types import any_shares, places

PACKAGES = ("compiler", "app")

MAX_ANY_PERCENT = {
    "app/recorder": 0.1,
    "app/sandbox": 2.1,
    "compiler/arith": 0.5,
    "compiler/driver": 0.3,
    "compiler/ir": 3.2,
    "compiler/relay": 3.2,
    "compiler/relay/frontend/shared": 6.2,
    "compiler/relay/frontend/onnx": 2.3,
    "compiler/relay/frontend/pytorch": 46.0,
    "compiler/te": 0.4,
    "compiler/tir": 3.6,
}
"""The largest share of parameters of type ``Any`` in each folder; other folders have none.  Only ever lowered.

Converters of PyTorch's operators take what TorchScript hands them, tensors and numbers alike, without saying which."""


TOP_LEVEL = {"Dockerfile", "README.md", "app", "compiler", "pyproject.toml", "static", "templates", "tests"}
"""All that stands at the top beside dotfiles, a lock file, and what ``.gitignore`` names."""


@pytest.mark.parametrize("folder", folders(*PACKAGES))
def test_parameters_have_types(folder: str) -> None:
    assert any_shares(*PACKAGES)[folder].percent <= MAX_ANY_PERCENT.get(folder, 0) + 0.05, "\n".join(places(folder))


def test_nothing_else_stands_at_the_top() -> None:
    root = Path(__file__).parents[2]
    ignored = [line.strip("/") for line in (root / ".gitignore").read_text().splitlines()]
    found = {path.name for path in root.iterdir() if not any(path.match(pattern) for pattern in [".*", *ignored])}
    assert found == TOP_LEVEL


def test_functions_and_files_can_be_read_at_one_go() -> None:
    assert sizes.long_functions(*PACKAGES) == []
    assert sizes.long_files(*PACKAGES) == []


def test_names_say_something() -> None:
    assert names.empty_names(*PACKAGES) == []
    assert names.odd_limits(*PACKAGES) == []


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
    text = "def f(a: Any, b: int) -> None:\n    found = a\n    CHILDREN_MOST = 3\n"
    source = Source(Path("compiler/x/y.py"), text, ast.parse(text))
    assert source.folder == "compiler/x"
    assert [f.name for f in source.functions()] == ["f"]
    assert names.limits_in(source) == ["compiler/x/y.py:3 CHILDREN_MOST"]
