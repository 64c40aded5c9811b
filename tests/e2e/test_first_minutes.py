"""A newcomer's first minutes: see it compiled, change it, make a mistake, follow a line, share it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import MATMUL, SPLIT_LINE, lines, settled, violations, write

IS_SHOWN = """([pane, kind, text]) => {
  const { top, bottom } = document.querySelector(`#body-${pane}`).getBoundingClientRect();
  const isShown = (box) => box.top >= top && box.bottom <= bottom;
  const wanted = [...document.querySelectorAll(`#body-${pane} ${kind}`)].filter((line) => line.textContent.match(text));
  return wanted.some((line) => isShown(line.getBoundingClientRect()));
}"""
"""Whether a line of some kind, with some text, is in sight."""
ARITHMETIC = "fmadd|mulps|fmla"


def shows(page: Page, pane: str, kind: str = ".l", text: str = "") -> None:
    """Wait until a line is in sight."""
    page.wait_for_function(IS_SHOWN, arg=[pane, kind, text])


def test_the_first_page_shows_the_matmul_at_every_level(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    expect(page.locator(".cm-content")).to_contain_text("te.create_schedule")
    assert any("T.Broadcast" in line for line in lines(page, "loops"))
    assert any(re.search(r"<(16|64) x float>", line) for line in lines(page, "llvm"))
    assert any(re.search(ARITHMETIC, line) for line in lines(page, "asm"))
    chips = page.locator("#strip .chip").all_inner_texts()
    assert [chip.split("\n")[0] for chip in chips] == [
        *("default", "split", "vectorize", "reorder", "split", "reorder"),
        *("Loops", "Flat memory", "Vectors", "Clean-up"),
        *("as emitted", "optimised"),
    ]
    expect(page.locator("#pane-schedule")).to_contain_text("vectorize")
    assert violations(page) == []


def test_a_change_of_the_schedule_changes_every_pane(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    before = {pane: lines(page, pane) for pane in ("loops", "llvm", "asm")}
    nest = page.locator("#pane-schedule .nest").inner_text()
    write(page, MATMUL.replace("factor=16", "factor=8"))
    for pane, old in before.items():
        assert lines(page, pane) != old, pane
    assert page.locator("#pane-schedule .nest").inner_text() != nest


def test_a_mistake_stands_at_its_line_and_the_panes_stay(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    good = lines(page, "asm")
    write(page, MATMUL.replace("factor=16", "factor=-4"))
    expect(page.locator("#state")).to_contain_text(f"at line {SPLIT_LINE}")
    expect(page.locator(f".cm-line:nth-child({SPLIT_LINE}) .cm-lintRange-error").first).to_be_visible()
    expect(page.locator("#pane-console .problem")).to_contain_text("factor")
    assert lines(page, "asm") == good
    expect(page.locator("#pane-asm")).to_have_class("pane listing stale")
    page.hover(f".cm-line:nth-child({SPLIT_LINE}) .cm-lintRange-error")
    expect(page.locator(".cm-tooltip .cm-diagnostic").first).to_contain_text("factor")
    page.mouse.move(0, 0)  # the tooltip with its remedies may cover the middle of the editor
    expect(page.locator(".cm-tooltip .cm-diagnostic")).to_have_count(0)
    write(page, MATMUL)
    expect(page.locator(".stale:not(#pane-bench)")).to_have_count(0)
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)


def test_pointing_at_a_line_lights_up_what_belongs_to_it(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.locator("#body-asm .l", has_text=re.compile(ARITHMETIC)).first.hover()
    compute = 1 + next(n for n, line in enumerate(MATMUL.splitlines()) if "te.compute" in line)
    expect(page.locator(f".cm-line:nth-child({compute})")).to_have_class(re.compile("related"))
    for pane in ("loops", "llvm", "asm"):
        assert page.locator(f"#body-{pane} .l.related").count() > 0, pane
    page.mouse.move(5, 5)
    expect(page.locator(".related")).to_have_count(0)
    page.hover(f".cm-line:nth-child({compute})")
    expect(page.locator("#body-llvm .l.related").first).to_be_attached()


@pytest.mark.long
def test_a_pinned_line_stays_until_escape_and_brings_its_counterparts(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, height=640)
    for pane in ("llvm", "asm"):
        page.evaluate("(pane) => { document.querySelector(`#body-${pane}`).scrollTop = 0; }", pane)
    page.locator("#body-loops .l:has-text('cse_var_1 + ')").last.click()
    page.mouse.move(5, 5)
    for pane in ("llvm", "asm"):
        shows(page, pane, ".l.related")
    page.keyboard.press("Escape")
    expect(page.locator(".related")).to_have_count(0)


def test_a_clicked_line_of_the_script_stays_until_it_is_edited(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    settled(page)
    line = page.locator(".cm-line", has_text="s[C].vectorize(ji)")
    for end in ("Escape", "End", "comment"):
        line.click()
        page.mouse.move(5, 5)
        shows(page, "asm", ".l.related")
        if end == "comment":
            page.locator(".cm-line", has_text="# 1.").click()
        else:
            page.keyboard.press(end)
        if end == "End":
            expect(page.locator("#body-asm .l.related").first).to_be_attached()
            page.keyboard.type(" ")
        page.mouse.move(5, 6)
        expect(page.locator(".related")).to_have_count(0)


@pytest.mark.long
def test_a_pinned_line_is_followed_from_tab_to_tab_on_a_phone(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, width=390, height=700)
    page.click("#tabs button:has-text('Assembly')")
    shows(page, "asm", text=ARITHMETIC)
    page.click("#tabs button:has-text('Loop')")
    page.locator("#body-loops .l", has_text="T.Broadcast").first.click()
    page.click("#tabs button:has-text('LLVM')")
    shows(page, "llvm", ".l.related")
    page.click("#run-button")
    expect(page.locator("#pane-bench")).to_be_visible()


@pytest.mark.long
def test_a_step_of_the_schedule_shows_the_program_up_to_it(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.click("#strip .chip:has-text('reorder')")
    settled(page)
    expect(page.locator("#strip .chip:has-text('reorder')")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#strip .chip:has-text('vectorize')")).to_have_class("chip dim")
    assert not any("T.Ramp" in line or ": 16]" in line for line in lines(page, "loops"))
    expect(page.locator("#pane-schedule .nest")).not_to_contain_text("vectorize")
    page.click("#primitives summary")
    page.hover(".primitive:has-text('split(')")
    expect(page.locator(f".cm-line:nth-child({SPLIT_LINE})")).to_have_class(re.compile("related"))
    page.click(".primitive:has-text('vectorize(')")
    settled(page)
    expect(page.locator("#primitives")).to_have_attribute("open", "")
    expect(page.locator("#pane-schedule .nest")).to_contain_text("vectorize")


@pytest.mark.long
def test_passes_can_be_walked_and_compared(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.click("#strip .chip:has-text('Loops')")
    expect(page.locator("#strip .chip:has-text('Loops')")).to_have_attribute("aria-pressed", "true")
    page.focus("#body-loops")
    page.keyboard.press("]")
    page.keyboard.press("d")
    expect(page.locator("#body-loops .l.added").first).to_be_visible()
    expect(page.locator("#facts-loops")).to_contain_text("→")
    page.keyboard.press("d")
    expect(page.locator("#body-loops .l.added")).to_have_count(0)


@pytest.mark.long
def test_a_text_is_kept_and_compared_with_whatever_comes(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.select_option("#against-asm", "keep")
    expect(page.locator("#toast")).to_contain_text("Kept")
    page.click("#strip .chip[data-prefix='1']")
    settled(page)
    expect(page.locator("#body-asm .l.removed").first).to_be_visible()
    expect(page.locator("#body-asm .l.added").first).to_be_visible()
    expect(page.locator("#facts-asm")).to_contain_text("whole schedule · as built → up to ")
    page.click("#strip .chip[data-prefix='3']")
    settled(page)
    expect(page.locator("#facts-asm")).to_contain_text("no difference")
    page.select_option("#against-asm", "")
    expect(page.locator("#body-asm .diff")).to_have_count(0)
    page.select_option("#against-llvm", "previous")
    expect(page.locator("#facts-llvm")).to_contain_text("as emitted → optimised")
    expect(page.locator("#body-llvm .l.added").first).to_be_visible()


@pytest.mark.long
def test_an_axis_lights_its_own_loop(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    for axis, loop in (("i", "i"), ("j.outer", "j_outer"), ("k", "k")):
        page.locator("#pane-schedule p[data-origins]", has=page.locator(f".axis:text-is('{axis}')")).first.hover()
        expect(page.locator("#body-loops .l.related")).to_have_count(1)
        expect(page.locator("#body-loops .l.related")).to_contain_text(f"{loop}")
        expect(page.locator("#body-loops .l.related")).to_contain_text("for ")
        assert 0 < page.locator("#body-asm .l.related").count() < page.locator("#body-asm .l").count() / 2
    page.locator("#pane-schedule p[data-origins]", has=page.locator(".axis:text-is('j.inner')")).first.hover()
    expect(page.locator(".cm-line.related")).to_have_text(["s[C].vectorize(ji)"])


@pytest.mark.long
def test_llvm_before_and_after_its_optimiser(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    after = lines(page, "llvm")
    page.click("#strip .chip:has-text('as emitted')")
    expect(page.locator("#strip .chip:has-text('as emitted')")).to_have_attribute("aria-pressed", "true")
    assert lines(page, "llvm") != after


@pytest.mark.long
def test_assembly_of_other_machines(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.select_option("#assembly", "aarch64-neon")
    settled(page)
    assert any("fmla" in line or "fmul" in line for line in lines(page, "asm"))
    page.locator("#body-asm .l .k:text-is('ret')").first.hover()
    expect(page.locator("#tip")).to_contain_text("Return")


def test_a_link_opens_exactly_what_was_shared(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, script=MATMUL)
    page.click("#strip .chip:has-text('Flat memory')")
    expect(page.locator("#strip .chip:has-text('Flat memory')")).to_have_attribute("aria-pressed", "true")
    shown = lines(page, "loops")
    page.evaluate("navigator.clipboard.writeText('mine')")
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    assert page.evaluate("navigator.clipboard.readText()") == "mine"  # nobody asked for a copy yet
    page.click("[data-copy='shared-link']")
    expect(page.locator("#toast")).to_contain_text("Copied")
    address = page.evaluate("navigator.clipboard.readText()")
    assert address == page.url
    other = open_page(address)
    settled(other)
    assert lines(other, "loops") == shown
    shows(other, "asm", text=ARITHMETIC)
    assert "".join(other.locator(".cm-line").all_inner_texts()) == "".join(page.locator(".cm-line").all_inner_texts())


@pytest.mark.long
def test_an_example_of_the_gallery_opens(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    page.click("#open-gallery")
    expect(page.locator("#gallery-search")).to_be_focused()
    expect(page.locator("#gallery")).not_to_contain_text("`")
    assert page.locator(".card").count() >= 10
    assert page.locator("#gallery h3").all_inner_texts() == ["Loops on a CPU", "GPU", "Graphs", "Models", "TensorIR"]
    page.fill("#gallery-search", "GPU race")
    expect(page.locator(".card:visible")).to_have_count(1)
    page.fill("#gallery-search", "no such example")
    expect(page.locator("#gallery-none")).to_be_visible()
    page.fill("#gallery-search", "vector add")
    page.click(".card:visible:has-text('vector')")
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    assert lines(page, "loops")


@pytest.mark.long
def test_the_editor_completes_and_explains_the_api(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.keyboard.press("Control+End")
    page.keyboard.type("s[C].unr", delay=20)
    expect(page.locator(".cm-tooltip-autocomplete li").first).to_contain_text("unroll")
    page.keyboard.press("Escape")
    page.locator(f".cm-line:nth-child({SPLIT_LINE}) .f").hover()
    expect(page.locator(".documentation")).to_contain_text("factor")


def tab_to(page: Page, name: str, kind: str = "button", key: str = "Tab") -> None:
    """Press a key until a control of some name has the focus, where its ring shows that it has."""
    control = page.get_by_role(kind, name=name, exact=True).first  # type: ignore[arg-type]
    for _ in range(120):
        page.keyboard.press(key)
        if control.evaluate("control => control === document.activeElement"):
            assert control.evaluate("control => getComputedStyle(control).outlineStyle") == "solid", name
            expect(control).to_be_in_viewport()
            return
    raise AssertionError(f"{key} does not lead to {name}")


def test_the_main_path_is_walked_by_keys_alone(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800)
    press = page.keyboard.press
    press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    press("Enter")
    expect(page.locator(".cm-content")).to_be_focused()
    press("Control+a")
    page.keyboard.insert_text(MATMUL)
    settled(page)
    press("Control+Enter")
    expect(page.locator("#state")).to_contain_text("ran")
    press("Control+Shift+Enter")
    expect(page.locator("#ladder-button")).to_have_text("Stop")
    press("Control+Shift+Enter")
    expect(page.locator("#ladder-button")).to_have_text("Ladder")
    expect(page.locator(".cm-content")).to_be_focused()
    press("Escape")
    tab_to(page, "Why?")
    press("Enter")
    expect(page.locator("#why")).to_be_focused()
    press("Escape")
    expect(page.locator("#why-button")).to_be_focused()
    tab_to(page, "What can be applied to loop i of C next")
    press("Enter")
    expect(page.locator("#proposals li button").first).to_be_focused()
    press("Enter")
    expect(page.locator(".cm-content")).to_contain_text("parallel(i)")
    settled(page)
    press("Alt+2")
    for _ in range(9):
        press("ArrowDown")
    press("Enter")
    expect(page.locator(".cm-line.related").first).to_be_attached()
    press("m")
    expect(page.locator(".pane:visible")).to_have_count(1)
    press("m")
    expect(page.locator("#body-loops")).to_be_focused()
    press("Escape")
    tab_to(page, "Assembly", "tab")
    press("ArrowLeft")
    expect(page.locator("#tab-llvm")).to_be_focused()
    expect(page.locator("#pane-llvm")).to_be_visible()
    with page.context.expect_page() as opened:
        press("o")
    window = opened.value
    expect(window.locator("#body-llvm")).to_be_focused()
    window.evaluate("setTimeout(close)")
    expect(page.locator("#tab-llvm")).to_be_focused()
    press("Alt+1")
    press("Escape")
    press("Control+s")
    expect(page.locator("#shared-link")).to_be_focused()
    press("Escape")
    expect(page.locator("#editor")).to_be_focused()
    page.on("filechooser", lambda _: None)  # from when somebody listens, the browser tells, but not at once
    tab_to(page, "+ File", key="Shift+Tab")
    with page.expect_file_chooser():
        press("Enter")
    tab_to(page, "Lessons", "link", "Shift+Tab")
    press("Enter")
    page.wait_for_url("**/learn")
