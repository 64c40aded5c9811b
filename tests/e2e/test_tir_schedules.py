"""A TensorIR schedule in the page: its primitives are steps whose programs are shown, compared and linked."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.app.recorder.proposals.test_block_trials import NAMED
from tests.app.recorder.test_tir_schedules import SCHEDULED, UPDATE, VECTORIZE
from tests.e2e.steps import lines, settled, violations, write
from tests.e2e.test_scheduling import grip, hover_over


def test_a_primitive_shows_its_program_the_code_of_its_prefix_and_what_it_changed(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=SCHEDULED)
    page.click("#strip .chip[data-prefix='1']")
    settled(page)
    expect(page.locator("#step-loops option:checked")).to_contain_text("split")
    assert "    for i, j_0, j_1, k in T.grid(32, 4, 8, 32):" in [line[4:] for line in lines(page, "loops")]
    expect(page.locator("#pane-schedule .stage")).to_have_count(1)
    assert page.locator("#pane-schedule .axis").all_inner_texts() == ["i", "j_0", "j_1", "k"]
    page.keyboard.press("Escape")
    page.locator("#body-loops .l", has_text="for i, j_0").hover()
    expect(page.locator(".cm-line.related", has_text="sch.split(j")).to_have_count(1)
    page.locator("#body-loops .l", has_text="C[vi, vj] + A").hover()
    expect(page.locator("#body-asm .l.related").first).to_be_attached()
    page.select_option("#against-loops", "previous")
    expect(page.locator("#body-loops .l.removed", has_text="T.grid(32, 32, 32)")).to_have_count(1)
    expect(page.locator("#body-loops .l.added", has_text="T.grid(32, 4, 8, 32)")).to_have_count(1)
    page.click("#strip .chip[data-prefix='4']")
    settled(page)
    expect(page.locator("#body-loops .l.added", has_text="C_init")).to_have_count(1)
    expect(page.locator("#pane-schedule .stage")).to_have_count(2)


@pytest.mark.long
def test_a_link_opens_the_same_prefix_at_its_program(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, SCHEDULED)
    page.click("#strip .chip[data-prefix='3']")
    settled(page)
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    other = open_page(page.url)
    settled(other)
    expect(other.locator("#step-loops option:checked")).to_contain_text("vectorize")
    expect(other.locator("#strip .chip[aria-pressed='true'][data-prefix]")).to_contain_text("vectorize")
    assert lines(other, "loops") == lines(page, "loops")


@pytest.mark.long
def test_a_refused_primitive_is_drawn_where_it_stands(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(
        explorer, width=1280, height=800, script=SCHEDULED.replace("sch.vectorize(j_1)", "sch.parallel(k)")
    )
    refused = page.locator("#strip .chip.refused")
    expect(refused).to_contain_text("✗ parallel")
    expect(refused).to_contain_text(f"line {VECTORIZE}")
    expect(refused).to_have_attribute("title", re.compile("✗ parallel: The block 'C' has axis 'vk'"))
    expect(page.locator("#body-loops .l", has_text="# tir.For#0")).to_have_count(1)
    expect(page.locator("#body-loops .l i.w", has_text="^^^").first).to_be_visible()
    expect(page.locator("#strip .chip[aria-pressed='true'][data-prefix]")).to_contain_text("reorder")
    assert violations(page) == []
    assert lines(page, "asm")


@pytest.mark.long
def test_the_links_of_a_program_written_by_hand(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    program = SCHEDULED.split("sch = ")[0]
    write(page, program + 'f = tvm.build(matmul, target="llvm")\n')
    expect(page.locator("#strip .group.schedule")).to_have_count(0)
    assert page.locator("#pane-schedule .axis").all_inner_texts() == ["i", "j", "k"]
    page.locator(".cm-line", has_text=program.splitlines()[UPDATE - 1].strip()).hover()
    expect(page.locator("#body-asm .l.related").first).to_be_attached()


@pytest.mark.long
def test_a_program_that_is_only_defined_is_shown_down_to_its_instructions(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer)
    program = SCHEDULED.split("sch = ")[0]
    write(page, program)
    assert page.locator("#pane-schedule .axis").all_inner_texts() == ["i", "j", "k"]
    page.locator(".cm-line", has_text=program.splitlines()[UPDATE - 1].strip()).hover()
    expect(page.locator("#body-asm .l.related").first).to_be_attached()


@pytest.mark.long
def test_a_loop_of_a_block_is_dragged_and_lights_its_own_loop(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, NAMED)
    page.locator("#pane-schedule p", has=grip(page, "loop k of C")).hover()
    expect(page.locator("#body-loops .l.related")).to_have_count(1)
    hover_over(page, "loop k of C", "loop j of C")
    expect(page.locator("#drop-tip")).to_contain_text("sch.reorder(k, j)")
    page.mouse.up()
    expect(page.locator(".cm-content")).to_contain_text("sch.reorder(k, j)")
    expect(page.locator("#pane-schedule .axis")).to_have_text(["i", "k", "j"])
    hover_over(page, "loop k of C", "loop i of C", share=0.5)
    expect(page.locator("#drop-tip")).to_contain_text("sch.fuse(i, k)")
    page.keyboard.press("Escape")
    page.mouse.up()
    grip(page, "loop k of C").click()
    expect(page.locator("#proposals")).to_contain_text("Not possible")
    expect(page.locator("#proposals")).to_contain_text("The block 'C' has axis 'vk'")
    page.keyboard.press("Escape")
    page.click(".cm-content")
    page.keyboard.press("Control+z")
    expect(page.locator("#pane-schedule .axis")).to_have_text(["i", "j", "k"])
