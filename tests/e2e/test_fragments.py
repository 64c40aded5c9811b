"""Blocks of a course, pasted one by one: what they lack is a button beside the error, and what they define is shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import settled, violations, write

DEFINED = """\
A = te.placeholder((M, 48), name="A")
k = te.reduce_axis((0, 48), name="k")
B = te.compute((M,), lambda i: te.sum(A[i, k], axis=k), name="B")
for tensor in (A, B):
print(tensor.shape)
"""
CELLS = """\
# %% Sizes
import tvm
from tvm import relay, te
print("first", 64)
x = relay.exp(relay.var("x", shape=(2,)))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(x))
# %% Definition
A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], "llvm", name="double")
B.shape
# %% Mistake
D = C + 1
# %% Never
print(D)
"""


@pytest.mark.long
def test_a_pasted_definition_is_mended_by_its_buttons_and_shows_its_loops(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, 1280, 800, script=DEFINED)
    message = page.locator(".line-message")
    expect(message).to_contain_text("expected an indented block")
    message.get_by_role("button", name="Indent line 5 anew").click()
    settled(page)
    expect(message).to_contain_text("name 'te' is not defined")
    page.keyboard.press("Control+.")  # the editor has the focus again
    settled(page)
    expect(message).to_contain_text("name 'M' is not defined")
    page.locator("#pane-console").get_by_role("button", name="Add M = 64").click()
    settled(page)
    expect(message).to_have_count(0)
    expect(page.locator("#state")).to_contain_text("compiled")
    expect(page.locator("#pane-console .console")).to_contain_text("B: nothing is scheduled yet")
    expect(page.locator("#body-loops .l")).not_to_have_count(0)
    expect(page.locator("#body-asm .l")).not_to_have_count(0)
    page.keyboard.press("Control+z")
    settled(page)
    expect(message).to_contain_text("name 'M' is not defined")
    assert violations(page) == []
    # cells: each with its results; one that needs what another did not make does not run
    write(page, CELLS)
    results = page.locator("#pane-console .cell")
    expect(results).to_have_text(
        ["Sizes ✓ graph main", "Definition ✓ function double", "Mistake ✗ failed", "Never did not run"]
    )
    console = page.locator("#pane-console .console")
    expect(console).to_contain_text("first 64")
    expect(console).to_contain_text("(64,)")
    expect(console).to_contain_text("it needs D, which a cell above did not come to make")
    expect(message).to_contain_text("name 'C' is not defined (in cell 3 Mistake)")
    results.get_by_role("button", name="function double").click()
    expect(page.locator("#body-loops .l")).not_to_have_count(0)
    expect(page.locator("#pane-loops")).to_be_visible()
    results.get_by_role("button", name="graph main").click()
    expect(page.locator("#pane-graph")).to_be_visible()
    results.get_by_role("button", name="Definition").click()
    expect(page.locator(".cm-activeLineGutter")).to_have_text("7")
    assert violations(page) == []
