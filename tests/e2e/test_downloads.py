"""Files that a script becomes: libraries, object code, C, texts that other tools read."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from compiler.runtime.modules.library import load_module
from tests.e2e.steps import MATMUL, violations, write

LOADS = """
import sys
import numpy as np
from compiler.classic import alias
alias.install()
import tvm
a, b = (np.random.default_rng(seed).random((64, 64), "float32") for seed in (1, 2))
c = tvm.nd.empty((64, 64))
tvm.runtime.load_module(sys.argv[1])["matmul"](tvm.nd.array(a), tvm.nd.array(b), c)
np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)
"""


def saved(page: Page, button: str, folder: Path) -> Path:
    """Press a button that saves a file, and return where the file is."""
    with page.expect_download() as download:
        page.click(button)
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def from_pane(page: Page, pane: str, form: str, folder: Path) -> Path:
    """Save a file by the menu of a pane."""
    page.hover(f"#pane-{pane} .pane-head")
    page.click(f"[data-save='{pane}']")
    return saved(page, f"#save-menu [data-form='{form}']", folder)


def product(function: Callable[..., object]) -> None:
    """Call a product of matrices by pointers, and compare it with NumPy's."""
    a, b = (np.random.default_rng(seed).random((64, 64), "float32") for seed in (1, 2))
    c = np.zeros((64, 64), "float32")
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)))
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="opens libraries of Linux")
def test_a_library_is_saved_and_runs_in_another_process(
    explorer: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    library = from_pane(page, "asm", "so", tmp_path)
    assert library.name == "matmul.so"
    expect(page.locator("#toast")).to_have_text("Saved matmul.so")
    product(ctypes.CDLL(str(library)).matmul)
    done = subprocess.run([sys.executable, "-c", LOADS, str(library)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # The dialog has the same files, and more.
    page.click("#share-button")
    objects = saved(page, "#save-built [data-form='o']", tmp_path)
    assert objects.name == "matmul.o"
    assert objects.read_bytes()[16:18] == b"\x01\x00"
    assert load_module(objects)["matmul"] is not None
    assert violations(page) == []


@pytest.mark.long
def test_texts_are_saved_that_other_tools_read(explorer: str, open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page(explorer, script=MATMUL)
    script = from_pane(page, "loops", "tvmscript", tmp_path)
    assert script.name == "matmul.py"
    assert "def matmul(" in script.read_text()
    source, header = (from_pane(page, "loops", form, tmp_path) for form in ("c", "h"))
    assert (source.name, header.name) == ("matmul.c", "matmul.h")
    if shutil.which("cc"):
        library = tmp_path / "from_c.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-lm"], check=True)
        product(ctypes.CDLL(str(library)).matmul)
    module = from_pane(page, "llvm", "ll", tmp_path)
    assert module.name == "matmul.ll"
    assert load_module(module)["matmul"] is not None


def test_a_script_that_makes_nothing_offers_nothing(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script="x = 1\n")
    expect(page.locator("#body-asm .empty")).to_be_visible()
    page.hover("#pane-asm .pane-head")
    page.click("[data-save='asm']")
    expect(page.locator("#save-menu")).to_have_text("There is nothing to save yet.")
