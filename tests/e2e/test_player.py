"""The player: the loops step by step in a small size, with modelled caches beside them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.app.recorder.test_tir_schedules import SCHEDULED
from tests.e2e.steps import MATMUL, violations, write

TILED = MATMUL.replace("n = 64", "n = 512").replace(
    "s[C].vectorize(ji)\n", "io, ii = s[C].split(i, factor=8)\ns[C].vectorize(ji)\ns[C].parallel(io)\n"
)


IN_SIGHT = """(pane) => {
  const body = document.querySelector(`#body-${pane}`).getBoundingClientRect();
  return [...document.querySelectorAll(`#body-${pane} .l.related`)].some((line) => {
    const box = line.getBoundingClientRect();
    return box.top >= body.top && box.bottom <= body.bottom;
  });
}"""
"""Whether a lit line of a listing is in sight."""


def play(page: Page, script: str = TILED) -> None:
    """Open the player on a script's last function."""
    write(page, script)
    page.click("#pane-loops [data-open='player']")
    expect(page.locator("#player-parts")).to_be_visible()


def step(page: Page) -> tuple[int, int]:
    """Return the step that is shown, and how many there are."""
    match = re.match(r"step (\d+) of (\d+)", page.locator("#player-now").inner_text())
    assert match
    return int(match[1]), int(match[2])


@pytest.mark.long
def test_a_tiled_matmul_plays_in_a_small_size_step_by_step(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    play(page)
    expect(page.locator("#facts-player")).to_contain_text("a smaller computation under the same schedule")
    captions = page.locator("#player-grids figcaption").all_inner_texts()
    assert [caption.split()[0] for caption in captions] == ["A", "B", "C"]
    assert all("in place of 512 × 512" in caption for caption in captions)
    assert step(page)[0] == 1
    expect(page.locator("#player-now")).to_contain_text("writes C[0, 0 and 3 more]")
    expect(page.locator("#player-grids canvas").nth(2)).to_have_attribute(
        "aria-label", re.compile(r"writes \[0, 0\] \[0, 1\]")
    )
    line = page.locator("#player-lines li[aria-current]")
    expect(line).to_have_count(1)
    assert "C_1[" in line.inner_text()
    page.focus("#body-player")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert step(page)[0] == 3
    page.keyboard.press("End")
    now, last = step(page)
    assert now == last > 100
    counts = page.locator("#player-live table").nth(0).locator("td:nth-child(3)").all_inner_texts()
    served, *missed = [int(count.replace(",", "")) for count in counts]
    assert served > sum(missed) > 0
    page.wait_for_function(IN_SIGHT, arg="asm")


@pytest.mark.long
def test_the_keyboard_steps_plays_and_pauses(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    play(page)
    page.focus("#body-player")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert step(page)[0] == 3
    page.keyboard.press("ArrowLeft")
    assert step(page)[0] == 2
    page.keyboard.press("End")
    now, last = step(page)
    assert now == last > 100
    page.keyboard.press("Home")
    page.select_option("#player-speed", "40")
    page.focus("#body-player")
    page.keyboard.press(" ")
    expect(page.locator("#player-toggle")).to_have_text("Pause")
    expect(page.locator("#player-now")).not_to_contain_text("step 1 of")
    page.keyboard.press(" ")
    expect(page.locator("#player-toggle")).to_have_text("Play")
    stopped = step(page)
    page.wait_for_timeout(200)
    assert step(page) == stopped


@pytest.mark.long
def test_the_caches_count_what_was_accessed(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    play(page)
    page.focus("#body-player")
    page.keyboard.press("End")
    for model in ("0", "1"):
        page.select_option("#player-model", model)
        counts = page.locator("#player-live table").nth(0).locator("td:nth-child(3)").all_inner_texts()
        served = [int(count.replace(",", "")) for count in counts]
        misses = page.locator("#player-live table").nth(1).locator("td:nth-child(3)").all_inner_texts()
        assert sum(served[1:]) == sum(int(count.replace(",", "")) for count in misses)
        assert served[0] > 0
    expect(page.locator("#player-cache")).to_contain_text("Simulated, not measured")


@pytest.mark.long
def test_the_line_that_runs_lights_its_instructions(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    play(page)
    page.focus("#body-player")
    page.keyboard.press("End")
    for pane in ("loops", "asm"):
        page.wait_for_function(IN_SIGHT, arg=pane)
    page.keyboard.press("Home")
    page.wait_for_function(IN_SIGHT, arg="asm")


@pytest.mark.long
def test_an_edit_makes_what_is_played_stale(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    play(page)
    write(page, TILED.replace("factor=8", "factor=4"))
    expect(page.locator("#pane-player")).to_have_class(re.compile("stale"))
    page.click("#player-load")
    expect(page.locator("#pane-player")).not_to_have_class(re.compile("stale"))


@pytest.mark.long
def test_what_cannot_be_played_says_why(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL.replace("n = 64", 'n = te.var("n")'))
    page.click("#pane-loops [data-open='player']")
    expect(page.locator("#player-empty")).to_contain_text("needs constant shapes")


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_the_player_is_accessible(explorer: str, open_page: Callable[..., Page], scheme: str) -> None:
    page = open_page(explorer, color_scheme=scheme, reduced_motion="reduce")
    play(page)
    page.keyboard.press("Escape")
    assert violations(page) == []


@pytest.mark.long
def test_the_player_fits_a_phone(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, width=390, height=844, color_scheme="dark", reduced_motion="reduce")
    page.click("#tabs [data-tab=loops]")
    page.click("#pane-loops [data-open=player]")
    expect(page.locator("#player-parts")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#body-player").evaluate("node => node.scrollWidth <= node.clientWidth")
    facts = page.locator("#facts-player")
    expect(facts).to_contain_text("a smaller computation")
    assert facts.evaluate("node => node.scrollHeight <= node.clientHeight")
    assert violations(page) == []


@pytest.mark.long
def test_a_tensorir_schedule_plays_in_a_small_size(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    play(page, SCHEDULED.replace("32, 32", "512, 512").replace("(32,", "(512,"))
    expect(page.locator("#facts-player")).to_contain_text("a smaller computation under the same schedule")
    expect(page.locator("#player-grids figcaption").first).to_contain_text("in place of 512 × 512")
    expect(page.locator("#player-loops")).to_contain_text("j_0 = 0")
    page.focus("#body-player")
    page.keyboard.press("End")
    expect(page.locator("#player-now")).to_contain_text("writes C[")
    expect(page.locator("#player-lines li[aria-current]")).to_contain_text("C_1[")
    expect(page.locator("#body-loops .l.related").first).to_be_attached()
    expect(page.locator("#body-asm .l.related").first).to_be_attached()
