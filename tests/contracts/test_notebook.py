"""``%%strata`` in a notebook: a cell is shown, or printed as one of its texts; faults are sentences."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import notebook
from app.artifacts import EXAMPLE
from tests.app.serving.served import served


@pytest.fixture
def server(explorer: FlaskClient) -> Iterator[str]:
    with served(explorer.application) as running:
        yield running.address.removesuffix("/")


@pytest.fixture
def magic(server: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Any]:
    """Return ``%%strata`` as a notebook calls it: IPython's own shell does where it is installed."""
    monkeypatch.setenv("STRATA_SERVER", server)
    try:
        from IPython.core.interactiveshell import InteractiveShell
    except ImportError:
        registered: dict[str, Any] = {}

        class Shell:
            def register_magic_function(self, function: Any, kind: str) -> None:
                registered[f"{kind} {function.__name__}"] = function

        notebook.load_ipython_extension(Shell())
        magic: Callable[[str, str], Any] = registered["cell strata"]
        return magic
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which a shell takes the place of
    shell = InteractiveShell.instance()
    shell.extension_manager.load_extension("app.notebook")
    return lambda line, cell: shell.run_cell_magic("strata", line, cell)


def test_a_cell_is_shown_or_printed(
    magic: Callable[[str, str], Any], server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = magic("--height 300 --threads 2", EXAMPLE)
    assert shown.url.startswith(f"{server}/z/")
    assert 'height="300"' in shown._repr_html_()
    assert magic('--emit loops --target "llvm -mcpu=haswell"', EXAMPLE) is None
    assert "for i_outer in range(64)" in capsys.readouterr().out
    magic("--emit asm", "x = 1 / 0")
    assert "cell:1: error: ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        ("--emitt loops", ValueError, "unrecognized arguments: --emitt"),
        ("--threads many", ValueError, "invalid int value"),
        ("--emit lops", ValueError, "there is no text 'lops'"),
        ("--server ftp://x", ValueError, "expected the address of a server"),
        ("--server http://127.0.0.1:1", ConnectionError, "no server answers at http://127.0.0.1:1"),
    ],
)
def test_what_a_cell_cannot_be_shown_for(
    magic: Callable[[str, str], Any], line: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        magic(line, EXAMPLE)
