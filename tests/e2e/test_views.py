"""What leaves the page: files, frames of other sites, notebooks; and what is kept in links and across tabs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app import notebook
from tests.e2e.steps import MATMUL, SPLIT_LINE, lines, settled, violations, write

HOSTILE = MATMUL + '# </script><script>document.title = "broken"</script><img src=x onerror="alert(1)">\n'


def saved_page(page: Page, folder: Path) -> Path:
    """Save what a page shows as one file."""
    page.click("#share-button")
    with page.expect_download() as download:
        page.click("#save-page")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.fixture
def offline(browser: Browser) -> Callable[..., tuple[Page, list[str]]]:
    """Open a file in a browser without a network; also returns what its console says."""

    def open_(path: Path, width: int = 1440, height: int = 900, theme: str = "light") -> tuple[Page, list[str]]:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, offline=True)  # type: ignore[arg-type]
        page, said = context.new_page(), []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page, said

    return open_


def test_a_saved_page_links_its_lines_without_a_server(
    explorer: str, open_page: Callable[..., Page], offline: Callable[..., tuple[Page, list[str]]], tmp_path: Path
) -> None:
    page = open_page(explorer, script=HOSTILE)
    page.focus("#body-asm")
    page.keyboard.press("t")
    shown = {pane: lines(page, pane) for pane in ("loops", "asm")}
    page.click("#pane-asm button:has-text('Control flow')")
    expect(page.locator("#pane-flow")).to_be_visible()
    path = saved_page(page, tmp_path)
    page, said = offline(path)
    assert lines(page, "loops") == shown["loops"]
    assert lines(page, "asm")[: len(shown["asm"])] == shown["asm"]
    assert HOSTILE.rstrip("\n").split("\n") == [line.rstrip("\n") for line in lines(page, "source")]
    expect(page).to_have_title("Strata")
    assert not page.locator("#facts-loops").inner_text().strip().endswith("·"), "of what is not there no sign is left"
    assert page.locator("button.grip:visible, .pane-head button:not([data-step], .heading):visible").count() == 0
    assert "This step is not in the file" in (page.locator("#strip .chip:disabled").first.get_attribute("title") or "")
    # Panes stand as they stood, in groups too.
    expect(page.get_by_role("tab")).to_have_text(["LLVM IR", "Assembly"])
    expect(page.locator("#pane-llvm")).to_be_visible()  # in the place of what was in front, which is not in the file
    page.get_by_role("tab", name="LLVM IR").click()
    expect(page.locator("#pane-asm")).to_be_hidden()
    page.get_by_role("tab", name="Assembly").click()
    expect(page.locator("#pane-llvm")).to_be_hidden()
    # Pointing and pinning light up what belongs together.
    page.locator("#body-asm .l", has_text="fmadd").first.click()
    assert page.locator("#body-loops .l.related").count() == 1
    assert page.locator("#body-source .l.related").count() >= 1
    page.keyboard.press("Escape")
    assert page.locator(".l.related").count() == 0
    page.locator("#body-source .l").nth(SPLIT_LINE - 1).hover()
    assert page.locator("#body-loops .l.related").count() >= 1
    assert violations(page) == []
    assert said == []


@pytest.mark.long
def test_a_saved_page_steps_through_the_passes_and_keeps_its_script(
    explorer: str, open_page: Callable[..., Page], offline: Callable[..., tuple[Page, list[str]]], tmp_path: Path
) -> None:
    page = open_page(f"{explorer}/?example=residual-block")
    settled(page)
    page, said = offline(saved_page(page, tmp_path))
    expect(page.locator("#graph .node").first).to_be_visible()
    last = lines(page, "graph")
    page.select_option("#step-graph", index=0)
    first = lines(page, "graph")
    assert first != last
    count = page.locator("#step-graph option").count()
    page.select_option("#step-graph", index=count - 1)
    assert lines(page, "graph") == last
    page.locator("#strip .group.graph .chip").first.click()
    assert page.locator("#strip .chip[aria-pressed='true']").count() >= 1
    with page.expect_download() as download:
        page.click("#save-script")
    assert "relay" in download.value.path().read_text()
    assert said == []


@pytest.mark.long
@pytest.mark.parametrize(("width", "height", "theme"), [(1440, 900, "dark"), (390, 844, "light")])
def test_a_saved_page_fits(
    fixed: str,
    open_page: Callable[..., Page],
    offline: Callable[..., tuple[Page, list[str]]],
    tmp_path: Path,
    width: int,
    height: int,
    theme: str,
) -> None:
    page, said = offline(saved_page(open_page(fixed), tmp_path), width, height, theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []
    assert said == []


@pytest.mark.long
def test_the_texts_of_the_panes_are_saved_as_files(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.click("#share-button")
    for title, suffix, words in (
        ("Loop IR", ".py", "T.prim_func"),
        ("LLVM IR", ".ll", "define"),
        ("Assembly", ".s", "ret"),
    ):
        with page.expect_download() as download:
            page.locator("#save-texts").get_by_text(title, exact=True).click()
        assert download.value.suggested_filename.endswith(suffix)
        assert words in download.value.path().read_text()
    page.click("#copy-script")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.endswith(MATMUL)
    compile(copied, "script.py", "exec")


@pytest.mark.long
def test_a_notebook_shows_a_script_in_a_frame(fixed: str, browser: Browser, tmp_path: Path) -> None:
    shown = notebook.show(MATMUL, server=fixed, height=500, view={"closed": "llvm"})
    assert re.fullmatch(re.escape(fixed) + r"/z/\w+", shown.url)
    site = tmp_path / "slide.html"
    site.write_text(f"<!doctype html><body>{shown._repr_html_()}")
    page = browser.new_page()
    page.goto(site.as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("#body-loops .chunk > div .l").first).to_be_visible()
    expect(frame.locator("#pane-llvm")).to_be_hidden()
    expect(frame.locator("#run-button")).to_be_hidden()
    # One pane alone, by the element for other sites.
    shows = f'<strata-view src="{shown.url}" pane="asm" caption="The code"></strata-view>'
    wrong = '<strata-view src="x"></strata-view>'
    site.write_text(f'<!doctype html><body><script src="{fixed}/embed.js"></script>{shows}{wrong}')
    page.goto(site.as_uri())
    expect(page.locator("figcaption")).to_have_text("The code")
    expect(page.locator("strata-view:last-of-type figure")).to_contain_text("src must be a link")
    expect(frame.locator("#body-asm .l").first).to_be_visible()
    expect(frame.locator("#pane-loops")).to_be_hidden()
    # Only the embedded view can be framed.
    site.write_text(f'<!doctype html><body><iframe src="{shown.url}"></iframe>')
    page.goto(site.as_uri())
    page.wait_for_timeout(300)
    assert page.frame_locator("iframe").locator("#panes").count() == 0


@pytest.mark.long
def test_a_notebook_is_told_what_is_wrong(fixed: str) -> None:
    with pytest.raises(ValueError, match="threads"):
        notebook.show("", server=fixed, options={"threads": 0})
    with pytest.raises(ConnectionError, match="python -m app"):
        notebook.show("", server="http://127.0.0.1:9")
    with pytest.raises(ValueError, match="address of a server"):
        notebook.show("", server="file:///etc")


@pytest.mark.parametrize(
    "place", ["#body-asm .l:has-text('fmadd')", pytest.param("#pane-schedule p[data-origins]", marks=pytest.mark.long)]
)
def test_a_link_keeps_what_is_pinned_and_the_sizes(explorer: str, open_page: Callable[..., Page], place: str) -> None:
    page = open_page(explorer)
    page.click("#intro-close")  # a link has none
    write(page, MATMUL)
    page.focus(".gutter[data-split='columns']")
    page.keyboard.press("ArrowRight")
    page.locator(place).first.click()
    related = page.locator("#body-loops .l.related").all_inner_texts()
    assert related
    width = page.locator("#left").bounding_box()
    page.keyboard.press("Control+s")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    other = open_page(page.locator("#shared-link").input_value())
    settled(other)
    assert other.locator("#body-loops .l.related").all_inner_texts() == related
    assert other.locator("#left").bounding_box() == width
    other.keyboard.press("Escape")
    assert other.locator(".l.related").count() == 0


CHAIN = f"""\
import tvm
from tvm import te

{"# what is scheduled below" + chr(10) * 40}
A = te.placeholder((64, 64), name="A")
stages = [te.compute((64, 64), lambda i, j: A[i, j] * 2, name="first")]
for step in range(30):
    before = stages[-1]
    stages.append(te.compute((64, 64), lambda i, j: before[i, j] + step, name="step"))
k = te.reduce_axis((0, 64), name="k")
last = te.compute((64, 64), lambda i, j: te.sum(stages[-1][i, k] * A[k, j], axis=k), name="last")
s = te.create_schedule(last.op)
s[stages[15]].vectorize(stages[15].op.axis[1])
f = tvm.build(s, [A, last], target="llvm")
"""
IN_SIGHT = """(pane) => {
  const box = document.querySelector(pane).getBoundingClientRect();
  return [...document.querySelectorAll(`${pane} .related`)].some((line) => {
    const { top, bottom } = line.getBoundingClientRect();
    return top >= box.top && bottom <= box.bottom;
  });
}"""


def test_what_a_link_had_pinned_is_in_sight_in_every_pane(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, CHAIN)
    page.locator(".cm-line", has_text="vectorize").click()
    page.keyboard.press("Control+s")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    other = open_page(page.locator("#shared-link").input_value())
    settled(other)
    for pane in ("#pane-source .cm-scroller", "#body-loops", "#body-asm"):
        assert other.evaluate(IN_SIGHT, pane), pane


@pytest.mark.long
def test_two_tabs_keep_their_own_work(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, '"""First"""')
    other = page.context.new_page()
    other.goto(fixed)
    other.wait_for_selector("html[data-ready]")
    write(other, '"""Second"""')
    for tab, title in ((page, "First"), (other, "Second")):
        tab.reload()
        expect(tab.locator("#title")).to_have_text(title)
    third = page.context.new_page()
    third.goto(fixed)
    third.wait_for_selector("html[data-ready]")
    third.click("#restore")
    expect(third.locator("#title")).to_have_text("Second")
    third.click("#restore")
    expect(third.locator("#title")).to_have_text("First")
    expect(third.locator("#restore")).to_be_hidden()


@pytest.mark.long
def test_options_survive_a_reload(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    write(page, MATMUL)
    page.click("#options summary")
    page.select_option("#options-form [name='opt_level']", "1")
    page.keyboard.press("Escape")
    page.select_option("#assembly", "x86-64-sse2")
    settled(page)
    instructions = lines(page, "asm")
    page.reload()
    settled(page)
    expect(page.locator("#options-summary")).to_contain_text("O1")
    expect(page.locator("#options-form [name='opt_level']")).to_have_value("1")
    expect(page.locator("#assembly")).to_have_value("x86-64-sse2")
    assert lines(page, "asm") == instructions
