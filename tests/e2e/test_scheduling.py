"""Schedules by hand: loops and stages are dragged, or take what their menus offer; the script writes itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.recorder.proposals.test_proposer import BLUR
from tests.e2e.steps import MATMUL, settled, violations, write

MENU = "#proposals"


def grip(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=f"What can be applied to {name} next", exact=True)


def script(page: Page) -> str:
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def hover_over(page: Page, name: str, row: str, share: float = 0.1) -> None:
    """Drag a handle over a row of the schedule, to a share of its height, and stay there."""
    start, box = grip(page, name).bounding_box(), page.locator("#pane-schedule p", has=grip(page, row)).bounding_box()
    assert start
    assert box
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(start["x"] + 30, start["y"] + 5, steps=3)
    page.wait_for_selector(":is(.takes, .refuses)")
    page.mouse.move(box["x"] + 40, box["y"] + share * box["height"], steps=4)


def over_place(page: Page, name: str, place: str) -> Locator:
    """Drag a handle onto a place of the shelf, and stay there; returns what is said of it."""
    hover_over(page, name, name)
    box = page.locator("#drop-shelf").get_by_text(place, exact=True).bounding_box()
    assert box
    page.mouse.move(box["x"] + 5, box["y"] + 5, steps=4)
    return page.locator("#drop-tip")


@pytest.fixture
def matmul(explorer: str, open_page: Callable[..., Page]) -> Page:
    return open_page(explorer, script=MATMUL)


def test_a_loop_is_dragged_to_another_place_and_undo_takes_it_back(matmul: Page) -> None:
    page = matmul
    before = script(page)
    hover_over(page, "loop k of C", "loop i of C")
    expect(page.locator("#drop-tip")).to_contain_text("s[C].reorder(k, i, jo, ji)")
    page.mouse.up()
    settled(page)
    assert "s[C].reorder(k, i, jo, ji)" in script(page)
    assert script(page).count("reorder") == 1
    expect(page.locator("#pane-schedule .axis")).to_have_text(["k", "i", "j.outer", "j.inner"])
    page.click(".cm-content")
    page.keyboard.press("Control+z")
    settled(page)
    assert script(page) == before
    page.keyboard.press("Control+y")
    settled(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert "s[C].reorder(k, i, jo, ji)" in script(page)


@pytest.mark.long
def test_the_menu_splits_by_keyboard(matmul: Page) -> None:
    page = matmul
    grip(page, "loop i of C").focus()
    page.keyboard.press("Enter")
    expect(page.locator(MENU)).to_contain_text("no loop of C is parallel")
    assert violations(page) == []
    page.locator(f"{MENU} input").fill("8")
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_contain_text("io, ii = s[C].split(i, factor=8)")
    settled(page)
    expect(page.locator("#pane-schedule .axis")).to_have_text(["i.outer", "i.inner", "j.outer", "k", "j.inner"])
    grip(page, "loop i.outer of C").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{MENU} li button")
    expect(page.locator(f"{MENU} li button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(MENU)).to_be_hidden()
    expect(grip(page, "loop i.outer of C")).to_be_focused()


@pytest.mark.long
def test_an_illegal_drop_says_why_before_it_is_made(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    unrolled = "ko, ki = s[C].split(k, factor=4)\ns[C].reorder(i, jo, ko, ki, ji)\ns[C].unroll(ki)"
    write(page, MATMUL.replace("s[C].reorder(i, jo, k, ji)", unrolled).replace("n = 64", "n = 256"))
    before = script(page)
    hover_over(page, "loop k.inner of C", "loop i of C")
    expect(page.locator("#drop-tip.refusal")).to_contain_text("unroll fewer loops")
    page.mouse.up()
    expect(page.locator("#toast")).to_contain_text("Cannot move outside of i")
    assert script(page) == before


@pytest.mark.long
def test_a_neighbour_is_fused_by_dropping_onto_its_middle(matmul: Page) -> None:
    page = matmul
    hover_over(page, "loop i of C", "loop j.outer of C", share=0.5)
    expect(page.locator("#drop-tip")).to_contain_text("s[C].fuse(i, jo)")
    page.keyboard.press("Escape")
    expect(page.locator("#drop-tip")).to_be_hidden()
    page.mouse.up()
    assert "fuse" not in script(page)


@pytest.mark.long
def test_a_stage_is_dragged_into_a_loop(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=BLUR)
    hover_over(page, "stage across", "loop y of blur", share=0.5)
    page.mouse.up()
    expect(page.locator(".cm-content")).to_contain_text("compute_at")
    assert "y, x = s[blur].op.axis\ns[across].compute_at(s[blur], y)" in script(page)
    expect(page.locator("#pane-schedule h3 small").first).to_have_text("at blur, y")


@pytest.mark.long
def test_a_loop_becomes_what_it_is_dropped_on_beside_the_schedule(matmul: Page) -> None:
    page = matmul
    before = script(page)
    written = ["io, ii = s[C].split(i, factor=8)", "s[C].unroll(ii)", "s[C].parallel(io)"]
    for axis, place, line in zip(("i", "i.inner", "i.outer"), ("8", "unroll", "parallel"), written, strict=True):
        expect(over_place(page, f"loop {axis} of C", place)).to_contain_text(line)
        page.mouse.up()
        settled(page)
    assert [line for line in written if line in script(page)] == written
    refusal = over_place(page, "loop k of C", "vectorize")
    expect(refusal).to_contain_text("Cannot vectorize: axis 'k' of stage 'C' is a reduction axis")
    page.mouse.up()
    expect(page.locator("#toast")).to_contain_text("Cannot vectorize")
    over_place(page, "loop k of C", "…")
    page.mouse.up()
    expect(page.locator(f"{MENU} input")).to_be_focused()
    page.keyboard.press("Escape")
    page.click(".cm-content")
    for _ in written:
        page.keyboard.press("Control+z")
    settled(page)
    assert script(page) == before


@pytest.mark.long
def test_loops_are_bound_to_the_threads_of_a_gpu_by_dragging(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    blocks = 's[C].bind(i, te.thread_axis("blockIdx.x"))'
    write(page, MATMUL.replace("s[C].vectorize(ji)", blocks).replace("llvm", "cuda"))
    expect(over_place(page, "loop j.inner of C", "parallel")).to_contain_text("has no parallel CPU loops")
    page.keyboard.press("Escape")
    expect(page.locator("#drop-shelf")).to_be_hidden()
    page.mouse.up()
    over_place(page, "loop j.inner of C", "threadIdx.x")
    page.mouse.up()
    expect(page.locator("#pane-schedule q")).to_have_text(["blockIdx.x", "threadIdx.x"])
    assert 's[C].bind(ji, te.thread_axis("threadIdx.x"))' in script(page)


@pytest.mark.long
def test_a_quick_drop_waits_for_what_can_be_dropped(matmul: Page) -> None:
    page, held = matmul, []
    page.route("**/api/proposals", lambda route: held.append(route))
    start, box = (page.locator("#pane-schedule p", has=grip(page, f"loop {axis} of C")).bounding_box() for axis in "ki")
    assert start
    assert box
    page.mouse.move(start["x"] + 12, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] + 2, steps=4)
    page.mouse.up()
    assert "s[C].reorder(i, jo, k, ji)" in script(page)
    held[0].continue_()
    expect(page.locator(".cm-content")).to_contain_text("s[C].reorder(k, i, jo, ji)")


@pytest.mark.long
def test_a_finger_opens_the_menu(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 390, 800, has_touch=True, script=MATMUL)
    page.locator("#tabs button", has_text="Schedule").click()
    grip(page, "loop i of C").tap()
    page.locator(f"{MENU} button", has_text="parallel").first.tap()
    expect(page.locator(".cm-content")).to_contain_text("s[C].parallel(i)")


PACKED = """\
import tvm
from tvm import te

W = te.placeholder((48, 64), "int8", name="W")
packed = te.compute((3, 16, 16, 4), lambda n, k, lane, q: W[n * 16 + lane, k * 4 + q], name="packed")
f = tvm.build(te.create_schedule(packed.op), [W, packed], target="llvm")
"""
BEYOND = """() => {
  const right = (each) => each.getBoundingClientRect().right;
  const edge = right(document.querySelector(".nest"));
  return [...document.querySelectorAll(".layouts p, .layout p")].filter((each) => right(each) > edge).length;
}"""


@pytest.mark.long
def test_the_layout_of_a_packed_stage_is_drawn_and_follows_an_edit(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer)
    write(page, PACKED)
    page.click("[data-layout]")
    words = page.locator("#layout-words")
    page.locator("#layout-grids figure").first.locator("[data-place='70']").hover()
    expect(words).to_have_text("W[1, 6] is at packed[0, 1, 1, 2]: place 70, byte 70, cache line 1.")
    expect(page.locator("#layout-grids .lit")).to_have_count(2)
    assert page.evaluate(BEYOND) == 0, "lines break at the pane's edge"
    write(page, PACKED.replace("(3, 16, 16, 4)", "(6, 16, 8, 4)").replace("n * 16", "n * 8"))
    expect(page.locator("#layout-facts")).to_contain_text("6 × 16 × 8 × 4 int8, strides 512, 32, 4, 1")
    page.focus("#layout-place")
    page.keyboard.press("End")
    expect(words).to_contain_text("is at packed[1, 15, 7, 3]: place 1023")
    assert violations(page) == []
    write(page, PACKED.replace("W[n * 16 + lane, k * 4 + q]", "W[n, k] + 1"))
    expect(page.locator("#layout")).to_have_count(0)
