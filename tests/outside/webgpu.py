"""Runs kernels for ``webgpu`` in a headless Chromium, whose GPU is the CPU."""

from __future__ import annotations

import base64
import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests import browser

_SCRIPT = Path(__file__).with_name("webgpu.js").read_text().strip().removesuffix(";")
_ARGUMENTS = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--no-sandbox"]
_PAGE = "https://kernels.test/"
"""Answered by the test itself: WebGPU is there for pages of secure origins only."""


def recorded_launches(built, arrays):
    """Return what the page needs for the kernels that a module launches when it is called with some arrays."""
    (kernels,) = built.imported_modules
    memory = {array.view().ctypes.data: array.view() for array in arrays}
    launches = []

    def launch(name, arguments, extents):
        buffers, sizes, views = [], [], []
        for argument, param in zip(arguments, kernels.kernels[name].params, strict=True):
            if isinstance(argument, ctypes.c_void_p):
                views.append(memory[argument.value])
                buffers.append({"data": base64.b64encode(views[-1].tobytes()).decode(), "uniform": False})
            else:
                sizes.append(np.dtype(param.dtype).type(argument).tobytes())
        if sizes:
            filled = b"".join(sizes).ljust(-(-len(sizes) * 4 // 16) * 16, b"\0")
            buffers.append({"data": base64.b64encode(filled).decode(), "uniform": True})
        groups = [extents.get(f"blockIdx.{along}", 1) for along in "xyz"]
        source = kernels.get_source()
        launches.append(({"program": source, "entry": name, "buffers": buffers, "groups": groups}, views))

    kernels.launcher = launch
    built(*arrays)
    return launches


def run_in_chromium(launches):
    """Run recorded launches in one page, and write what they computed into their arrays."""
    with ThreadPoolExecutor(1) as thread:  # other tests of this process may have a browser open, in a loop of its own
        thread.submit(_run_in_chromium, launches).result()


def _run_in_chromium(launches):
    playwright_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (the test extra)")
    path = browser.find()
    if path is None:
        pytest.skip("needs a Chromium")
    with playwright_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            page = chromium.new_page()
            page.route(_PAGE, lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
            page.goto(_PAGE)
            answer = page.evaluate(_SCRIPT, [kernel for kernel, _ in launches])
        finally:
            chromium.close()
    if "missing" in answer:
        pytest.skip(f"this Chromium has {answer['missing']}")
    for (kernel, views), result in zip(launches, answer["answers"], strict=True):
        assert "error" not in result, f"{result['error']}\n{kernel['program']}"
        for view, text in zip(views, result["results"], strict=False):
            view[...] = np.frombuffer(base64.b64decode(text), view.dtype).reshape(view.shape)
