"""Kernels for GPUs on a server without one: their code, what their warps do to memory, their check and their faults."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from app.gallery import load_gallery
from tests.e2e.steps import violations, write

OPENED = ("gpu-threads", "gpu-reduction", "gpu-softmax", "gpu-conv2d")
"""Examples of kernels that compile in a moment; tests/app/test_gpu_gallery.py has them all."""
SHARED = "matmul-shared"
HIDDEN_LANES = """(box) => {
  const [seen, cells] = [box.getBoundingClientRect(), [...box.querySelectorAll(".cell.one")]];
  const places = cells.map((cell) => cell.getBoundingClientRect());
  return places.filter(({ left, right }) => left < seen.left - 1 || right > seen.right + 1).length;
}"""
TRANSPOSED = 'B = te.compute((n, n), lambda i, j: A[j, i], name="B")'


def smaller(name: str) -> str:
    """Return an example's script with matrices that the sanitizer can check as a whole."""
    example = load_gallery().find(f"gpu-{name}")
    assert example is not None
    return example.script.replace("n = 512", "n = 32").replace("n, tile, padding = 512", "n, tile, padding = 64")


def run(page: Page) -> None:
    """Run the script, and wait for the end."""
    page.click("#run-button")
    expect(page.locator("#run-label")).to_have_text("Stop")
    expect(page.locator("#run-label")).to_have_text("Run")


def access(page: Page, what: str) -> Locator:
    """Return the row of an access."""
    return page.locator("#pane-gpu tbody tr").filter(has=page.locator("th", has_text=what))


@pytest.mark.parametrize("example", [OPENED[0], *(pytest.param(e, marks=pytest.mark.long) for e in OPENED[1:])])
def test_an_example_shows_its_kernels(explorer: str, open_page: Callable[..., Page], example: str) -> None:
    page = open_page(f"{explorer}/?example={example}")
    expect(page.locator("#body-kernel .l").filter(has_text="__global__").first).to_be_visible()
    expect(page.locator("#pane-gpu h3").first).to_contain_text(re.compile(r"\d blocks? of \d+ threads?"))
    expect(page.locator("#pane-gpu tbody tr").first).to_contain_text("memory")


@pytest.mark.long
def test_a_line_of_cuda_leads_to_its_loop_and_its_line_and_back(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, smaller(SHARED))
    store = page.locator("#body-kernel .l", has_text="A_shared[((int)threadIdx.y)")
    expect(store).to_have_count(2)  # where it is filled, and where it is read
    store.first.hover()
    expect(page.locator("#body-loops .l.related", has_text="A_shared_1[")).to_have_count(1)
    expect(page.locator(".cm-line.related", has_text="cache_read(A")).to_have_count(1)
    page.hover("#pane-console")
    expect(page.locator(".related")).to_have_count(0)
    page.locator(".cm-line", has_text='CL = s.cache_write(C, "local")').click()
    expect(page.locator("#body-kernel .l.related", has_text="C_local[").first).to_be_visible()
    expect(page.locator("#body-loops .l.related", has_text="C_local").first).to_be_visible()


@pytest.mark.long
def test_accesses_are_explained_and_their_lines_opened(explorer: str, open_page: Callable[..., Page]) -> None:
    page, script = open_page(explorer), smaller("transpose")
    write(page, script)
    expect(access(page, "reads A in global memory")).to_contain_text("coalesced")
    conflict = access(page, "reads A.shared in shared memory")
    expect(conflict).to_contain_text("32-way bank conflict")
    expect(conflict.locator(".costly")).to_have_count(1)
    conflict.locator("[data-goto]").click()
    expect(page.locator(".cm-activeLineGutter")).to_have_text(str(1 + script.splitlines().index(TRANSPOSED)))
    write(page, script.replace("64, 32, 0", "64, 32, 1"))
    expect(access(page, "reads A.shared in shared memory")).to_contain_text("no bank conflict")


def test_running_emulates_the_kernels(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=smaller(SHARED))
    verdicts = page.locator("#pane-gpu .verdict")
    expect(verdicts.first).to_contain_text("Not emulated")
    run(page)
    expect(verdicts.first).to_contain_text("✓ Emulated: the results match the definition")
    expect(verdicts.nth(1)).to_contain_text("Sanitizer: no fault so far")


@pytest.mark.long
def test_a_race_is_told_with_both_lines_and_both_threads(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{explorer}/?example=gpu-race")
    fault = page.locator("#pane-gpu .fault").first
    expect(fault).to_contain_text("data race")
    sites = fault.locator("li")
    expect(sites).to_have_count(2)
    expect(sites.nth(0)).to_contain_text(re.compile(r"line 16.*threadIdx\.x = \d+"))
    expect(sites.nth(1)).to_contain_text(re.compile(r"line 16.*threadIdx\.x = \d+"))
    threads = [re.findall(r"threadIdx\.x = (\d+)", text) for text in sites.all_inner_texts()]
    assert threads[0] != threads[1]
    sites.nth(0).locator("[data-goto]").click()
    expect(page.locator(".cm-activeLineGutter")).to_have_text("16")


@pytest.mark.long
def test_an_access_is_stepped_through_the_loop(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=smaller(SHARED))
    access(page, "reads B in global memory").locator("[data-warp]").click()
    expect(page.locator("#warp-loops")).to_have_text("k.outer = 0, 1 of 2")
    words, tile = page.locator("#warp-words"), page.locator("#warp-tile-words")
    expect(words).to_have_text(re.compile("32 words in 4 sectors of 32 bytes: lanes 0 to 15 at bytes 0 to 63"))
    expect(tile).to_contain_text("256 elements of 32 × 32: rows 0 to 15, columns 0 to 15; 256 so far")
    page.focus("#warp-drawing")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#warp-loops")).to_have_text("k.outer = 1, 2 of 2")
    expect(tile).to_contain_text("rows 16 to 31, columns 0 to 15; 512 so far")
    page.focus("#warp-number")
    page.keyboard.press("End")
    expect(page.locator("#warp-count")).to_have_text("8 of 8")
    expect(words).to_contain_text(f"lanes 0 to 15 at bytes {30 * 32 * 4} to {30 * 32 * 4 + 63}")
    page.select_option("#warp-block", label="blockIdx.y = 0, blockIdx.x = 1")
    expect(tile).to_contain_text("columns 16 to 31")
    expect(page.locator("#warp-drawing .cell.one")).to_have_count(32)
    expect(page.locator("#warp-drawing .cell.one").first).not_to_have_css("fill", "rgb(0, 0, 0)")
    expect(page.locator("#warp-drawing")).to_have_attribute("aria-describedby", "warp-words")


@pytest.mark.long
def test_the_drawing_scrolls_to_the_lanes_of_each_step(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 390, 844)
    write(page, smaller(SHARED))
    page.click("#tabs button:has-text('On a GPU')")
    access(page, "reads A in global memory").locator("[data-warp]").click()
    drawing = page.locator("#warp-drawing")
    assert drawing.evaluate("box => box.scrollWidth > box.clientWidth")
    for key, loops in (("ArrowRight", "k.outer = 1, 2 of 2"), ("ArrowLeft", "k.outer = 0, 1 of 2")):
        drawing.focus()
        page.keyboard.press(key)
        expect(page.locator("#warp-loops")).to_have_text(loops)
        expect(drawing.locator(".cell.one")).to_have_count(32)
        assert drawing.evaluate(HIDDEN_LANES) == 0


@pytest.mark.long
def test_the_roofline_of_a_chosen_device_is_kept_in_links(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, smaller(SHARED))
    charts = page.locator("#pane-gpu [data-roof]")
    expect(charts).to_have_count(6)
    expect(page.locator("#pane-gpu [data-roof]:visible")).to_have_count(1)
    page.select_option("[data-device]", label="H100 SXM")
    chosen = page.locator("#pane-gpu [data-roof]:visible")
    expect(chosen).to_contain_text("4 blocks on 132 processors")
    expect(chosen).to_contain_text("128 processors idle")
    expect(chosen.locator("svg")).to_have_attribute("aria-label", re.compile("Roofline of the H100 SXM: .*at most"))
    expect(chosen.locator("circle")).to_have_count(3)
    page.click("#share-menu summary")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    again = open_page(page.locator("#shared-link").input_value())
    expect(again.locator("#pane-gpu [data-roof=h100]")).to_be_visible()
    expect(again.locator("[data-device]")).to_have_value("h100")


@pytest.mark.long
@pytest.mark.parametrize(("width", "theme"), [(1680, "dark"), (1280, "light"), (390, "dark")])
def test_the_panes_fit_and_are_accessible(
    explorer: str, open_page: Callable[..., Page], width: int, theme: str
) -> None:
    height = {1680: 980, 1280: 800, 390: 844}[width]
    page = open_page(f"{explorer}/?example=gpu-transpose", width, height, color_scheme=theme, reduced_motion="reduce")
    expect(page.locator("#pane-gpu tbody tr")).not_to_have_count(0)
    if width == 390:
        page.click("#tabs button:has-text('On a GPU')")
    page.locator("#pane-gpu [data-warp]").first.click()
    expect(page.locator("#warp-drawing svg")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


@pytest.mark.long
def test_threads_of_a_matrix_instruction_and_banks_that_follow_an_edit(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=smaller("mma"))
    access(page, "by ldmatrix.x4.trans").locator("[data-warp]").click()
    banks, words = page.locator("#warp-banks-words"), page.locator("#matrix-words")
    expect(banks).to_have_text("4 phases, 4-way conflict: 16 passes instead of 4.")
    page.locator("#matrix-grids [data-cell='37']").first.hover()
    expect(words).to_contain_text("matrix 0, row 4, column 5: thread 22 has it as r0, in its register 0.")
    expect(words).to_contain_text("It is at byte 266 of B_shared, in bank 2.")
    expect(page.locator("#matrix-grids .lit")).to_have_count(8)
    page.focus("#matrix-lane")
    page.keyboard.press("ArrowRight")
    expect(words).to_contain_text("Thread 23 has of matrix 0 r0 (6, 5), r1 (7, 5)")
    write(page, smaller("mma").replace("64, 16, 0", "64, 16, 8"))
    expect(banks).to_have_text(
        "4 phases, no bank conflict; before the edit 4 phases, 4-way conflict: 16 passes instead of 4."
    )
    expect(page.locator("#warp-line")).to_have_text("line 48")
    page.locator("#pane-gpu [data-product]").click()
    expect(page.locator("#matrix-grids figure")).to_have_count(3)
    assert not violations(page)
