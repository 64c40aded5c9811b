"""``%%strata`` in a notebook: a cell is shown, or printed as one of its texts; faults are sentences."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import nbformat
import pytest
from flask.testing import FlaskClient
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

import app
from app.artifacts import EXAMPLE, Measurement
from app.notebook import drawings, showing
from app.notebook.showing import MeasuredLadder
from tests.app.serving.served import served


@pytest.fixture
def server(explorer: FlaskClient) -> Iterator[str]:
    with served(explorer.application) as running:
        yield running.address.removesuffix("/")


@pytest.fixture
def magic(server: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Any]:
    """Return ``%%strata`` as IPython's own shell calls it."""
    monkeypatch.setenv("STRATA_SERVER", server)
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
        ("--threads 0 --emit loops", ValueError, "`int` >= 1"),
        ("--threads 0 --ladder", ValueError, "`int` >= 1"),
        ("--device abacus --ladder", ValueError, "cuda"),
        ("--target abacus --emit loops", ValueError, "unknown kind 'abacus'"),
        ("--server ftp://x", ValueError, "expected the address of a server"),
        ("--server http://127.0.0.1:1", ConnectionError, "no server answers at http://127.0.0.1:1"),
    ],
)
def test_what_a_cell_cannot_be_shown_for(
    magic: Callable[[str, str], Any], line: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        magic(line, EXAMPLE)


def test_what_is_no_text_is_not_shown() -> None:
    with pytest.raises(TypeError, match="expected the text of a script, got bytes"):
        showing.show(b"x")  # type: ignore[arg-type]


def test_another_program_at_the_address_is_named(magic: Callable[[str, str], Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        other = Thread(target=answer)
        other.start()
        with pytest.raises(ConnectionError, match="does not answer as a server of Strata"):
            magic(f"--emit loops --server http://127.0.0.1:{listening.getsockname()[1]}", EXAMPLE)
        other.join()


def test_the_example_runs_and_is_drawn(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_SERVER", server)
    folder = Path(app.__file__).parent
    monkeypatch.setenv("PYTHONPATH", str(folder.parent))
    notebook = nbformat.read(folder / "notebook" / "example.ipynb", as_version=4)
    assert [cell.outputs for cell in notebook.cells if cell.cell_type == "code" and cell.outputs] == []
    notebook.cells = [cell for cell in notebook.cells if "measures" not in cell.metadata.get("tags", [])]
    NotebookClient(notebook, timeout=120).execute()
    drawn = [
        output.data["text/html"] for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output
    ]
    loops, program, code, graph, frame = drawn
    assert re.findall(r'<div class="loop (\w*)"[^>]*>([\w.]+) <', loops) == [
        ("", "i"), ("", "j.outer"), ("reduce", "k"), ("", "j.inner"),
    ]  # fmt: skip
    assert '<i class="k">for</i>' in program
    assert "<summary>Assembly</summary>" in code
    assert "nn.softmax" in graph
    assert frame.startswith("<iframe")
    printed = [output.text for cell in notebook.cells for output in cell.get("outputs", ()) if "text" in output]
    assert "ymm" in printed[0]
    assert "zmm" not in printed[0]


def test_a_ladder_is_a_table_with_bars_and_a_text() -> None:
    rungs = [Measurement(kind="prefix", name=n, seconds=s, gflops=g, checked=c, error=0.5)
             for n, s, g, c in (("default", 2e-3, 1.0, "ok"), ("split<b>", 1e-3, 2.0, "wrong"))]  # fmt: skip
    shown = MeasuredLadder(rungs)
    assert "split<b>" in repr(shown)
    html = shown._repr_html_()
    assert re.findall(r'class="bar" style="width: ([\d.]+)em', html) == ["6.00", "12.00"]
    assert "split&lt;b&gt;" in html
    assert '<td class="bad">WRONG' in html


def test_what_is_drawn_has_the_colours_of_both_themes() -> None:
    html = drawings.text("x = 1", "python")
    light, dark = re.findall(r"--panel: (#\w+);", html)
    assert light != dark
    assert "prefers-color-scheme: dark" in html
    assert drawings.text("\n" * 5000 + "x", "python").count("\n") < 3000
