"""Someone drops a model of another format than ONNX: its graph is drawn, its script runs, a damaged one is named."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import settled, violations

DATA = Path(__file__).parent.parent / "compiler" / "classic" / "frontend" / "data"
FORMATS = ("model.pb", "model.zip", "model.tflite", "model.pt", "model.pt2", "model.keras", "model.h5")
OPERATORS = {"zip": "nn.dense", "tflite": "qnn.conv2d"}


def but_long(*names: str) -> list[object]:
    """Return the formats; those that are named run only when all is asked for."""
    return [pytest.param(name, marks=pytest.mark.long) if name in names else name for name in FORMATS]


def keras_content(name: str, directory: Path) -> bytes:
    """Return the file of a small network of Keras."""
    pytest.importorskip("torch")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    layers = [keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(5)]
    path = directory / name
    keras.Sequential([keras.Input((6, 6, 3)), *layers]).save(path)
    return path.read_bytes()


def content_of(name: str, directory: Path) -> bytes:
    """Return the file of a small network."""
    ending = name.rpartition(".")[2]
    if ending == "pb":
        return (DATA / "frozen.pb").read_bytes()
    if ending == "zip":
        return (DATA / "saved_v2.zip").read_bytes()
    if ending == "tflite":
        pytest.importorskip("tflite")
        return (DATA / "quantized.tflite").read_bytes()
    if ending in ("keras", "h5"):
        return keras_content(name, directory)
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 5))
    example, file = torch.zeros(1, 3, 6, 6), io.BytesIO()
    if ending == "pt":
        torch.jit.save(torch.jit.trace(model.eval(), example), file)
    else:
        torch.export.save(torch.export.export(model.eval(), (example,)), file)
    return file.getvalue()


def attach(page: Page, name: str, content: bytes) -> None:
    page.set_input_files("#attach", {"name": name, "mimeType": "application/octet-stream", "buffer": content})
    expect(page.locator(".file")).to_contain_text(name)
    settled(page)


@pytest.mark.long
@pytest.mark.parametrize("name", but_long("model.pb", "model.zip", "model.pt", "model.h5"))
def test_a_dropped_model_is_drawn_and_runs(
    explorer: str, open_page: Callable[..., Page], name: str, tmp_path: Path
) -> None:
    content = content_of(name, tmp_path)
    page = open_page(explorer, 1680, 980)
    attach(page, name, content)
    expect(page.locator(".cm-content")).to_contain_text(f'("{name}")')
    page.click("#run-button")
    expect(page.locator("#state")).to_contain_text("ran in")
    page.select_option("#step-graph", "graph:Graph:0")
    operator = OPERATORS.get(name.rpartition(".")[2], "nn.conv2d")
    expect(page.locator("#graph .node title", has_text=operator).first).to_be_attached()
    expect(page.locator("#pane-console")).to_contain_text("output 0 (1,")
    expect(page.locator("#pane-console .problem")).to_have_count(0)
    assert violations(page) == []


@pytest.mark.parametrize("name", but_long("model.zip", "model.tflite"))
def test_a_truncated_model_is_named_at_the_scripts_line(
    explorer: str, open_page: Callable[..., Page], name: str, tmp_path: Path
) -> None:
    content = content_of(name, tmp_path)
    page = open_page(explorer, 1280, 800)
    page.locator(".cm-scroller").evaluate("scroller => scroller.scrollTo(0, 600)")
    attach(page, name, content[: len(content) // 2])
    expect(page.locator("#state")).to_contain_text("at line")
    expect(page.locator("#pane-console .problem")).to_contain_text("from_")
    expect(page.locator(".cm-lintRange-error").first).to_be_in_viewport()


def test_the_first_problem_of_an_opened_script_is_scrolled_to(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800)
    script = "\n" * 60 + "import tvm\ntvm.te.nothing\n" + "\n" * 60
    page.set_input_files("#attach", {"name": "late.py", "mimeType": "text/x-python", "buffer": script.encode()})
    expect(page.locator("#state")).to_contain_text("at line 62")
    expect(page.locator(".cm-lintRange-error").first).to_be_in_viewport()


def test_an_empty_model_is_refused_in_place(fixed: str, open_page: Callable[..., Page]) -> None:
    """Without a request: a browser would report its failure in the console."""
    page = open_page(fixed)
    page.set_input_files("#attach", {"name": "model.onnx", "mimeType": "application/octet-stream", "buffer": b""})
    expect(page.locator("#toast")).to_have_text("model.onnx is empty")
    expect(page.locator(".console .problem")).to_have_text("model.onnx is empty")
    expect(page.locator(".file")).to_have_count(0)
