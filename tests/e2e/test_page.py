"""The page by itself, over hand-made answers: order of answers, long texts, keyboard, layout, accessibility."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from app.artifacts import Answer, Step, Unit
from app.protocol import Request, Snapshot
from app.sandbox import Job, Limits, Runner
from tests.app.fixtures import FixedRunner, full_answer, listing
from tests.app.runners import Script, ScriptedRunner, wait_until
from tests.e2e.conftest import Console
from tests.e2e.steps import lines, refuse, reload, settled, violations, write


@pytest.mark.parametrize(
    ("width", "theme"), [pytest.param(1440, "light", marks=pytest.mark.long), (1440, "dark"), (390, "dark")]
)
def test_the_page_is_accessible(fixed: str, open_page: Callable[..., Page], theme: str, width: int) -> None:
    page = open_page(fixed, width=width, color_scheme=theme)
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    assert violations(page) == []


OPENERS = (
    "#open-help",
    "#open-gallery",
    "#options summary",
    "#panes-menu summary",
    "#share-button",
    "[data-save='loops']",
)


@pytest.mark.long
def test_what_opens_is_accessible(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    for opener in OPENERS:
        page.click(opener)
        assert violations(page) == [], opener
        reload(page)


@pytest.mark.long
def test_an_error_is_accessible(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, "raise X")
    expect(page.locator(".problem")).to_be_visible()
    page.wait_for_timeout(250)  # shades fade in
    assert violations(page) == []


def test_a_page_of_an_error_says_what_is_wrong(fixed: str, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{fixed}/z/bcdfghjk")
    expect(page.locator("h1")).to_have_text("Nothing here")
    expect(page.locator("main")).to_contain_text("bcdfghjk")
    assert violations(page) == []
    page.close()


def test_nothing_sticks_out(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        reload(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for control in ("#run-button", "#ladder-button", "#share-button"):
            box = page.locator(control).bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width
        page.click("#panes-menu summary")
        menu = page.locator("#panes-form").bounding_box()
        assert menu is not None
        assert menu["x"] >= 0
        assert menu["x"] + menu["width"] <= width
        assert menu["y"] + menu["height"] <= 900
        page.keyboard.press("Escape")


@pytest.mark.long
def test_a_narrow_page_shows_one_pane_at_a_time(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed, width=390, height=800)
    expect(page.locator(".pane:visible")).to_have_count(1)
    page.click("#tabs button:has-text('Assembly')")
    expect(page.locator("#body-asm")).to_be_visible()
    expect(page.locator("#pane-source")).to_be_hidden()
    box = page.locator("#pane-asm").bounding_box()
    assert box is not None
    assert box["width"] == 390


@pytest.mark.long
def test_everything_works_by_keyboard(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.keyboard.press("Alt+4")
    expect(page.locator("#body-asm")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#announce")).to_contain_text("vfmadd231ps")
    expect(page.locator("#tip")).to_contain_text("Fused multiply-add of 16 × float32")
    expect(page.locator("#tip dt").last).to_have_text("%zmm0")
    expect(page.locator("#body-asm")).to_have_attribute("aria-describedby", "tip")
    assert violations(page) == []
    expect(page.locator("#body-loops .l.related")).to_have_count(2)
    page.keyboard.press("Enter")
    page.keyboard.press("Home")
    expect(page.locator("#body-loops .l.related")).to_have_count(2)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#body-loops .l.related")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    expect(page.locator("#tip")).to_contain_text("vmovaps")
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()
    expect(page.locator("#body-asm")).not_to_have_attribute("aria-describedby", "tip")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("Control+s")
    expect(page.locator("#shared-link")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#body-asm")).to_be_focused()


@pytest.mark.long
def test_a_pane_can_have_the_whole_room(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.click("#title-llvm .heading")
    expect(page.locator(".pane:visible")).to_have_count(1)
    box = page.locator("#pane-llvm").bounding_box()
    assert box is not None
    assert box["width"] == 1440
    page.keyboard.press("Alt+2")
    expect(page.locator(".pane:visible")).to_have_attribute("id", "pane-loops")
    page.keyboard.press("m")
    expect(page.locator(".pane:visible")).to_have_count(7)


def open_panes(page: Page) -> list[str]:
    """Return the panes that can be seen, in the order of the document."""
    names: list[str] = page.locator(".pane:visible").evaluate_all("panes => panes.map((pane) => pane.dataset.pane)")
    return names


def close(page: Page, pane: str) -> None:
    """Close a pane by its button, which shows under the pointer."""
    page.hover(f"#pane-{pane}")
    page.click(f"#pane-{pane} .close")
    expect(page.locator(f"#pane-{pane}")).to_be_hidden()


def width(page: Page, pane: str) -> float:
    """Return how wide a pane is."""
    box = page.locator(f"#pane-{pane}").bounding_box()
    assert box is not None
    return box["width"]


@pytest.mark.long
def test_panes_close_and_come_back_as_they_were(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    everything = open_panes(page)
    page.locator(".gutter[data-split='upper']").first.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    before = {pane: width(page, pane) for pane in ("loops", "llvm", "asm")}
    close(page, "llvm")
    assert width(page, "loops") + width(page, "asm") == pytest.approx(sum(before.values()), abs=3)
    assert width(page, "loops") / width(page, "asm") == pytest.approx(before["loops"] / before["asm"], rel=0.02)
    for pane in ("bench", "schedule", "console"):
        close(page, pane)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert open_panes(page) == ["source", "loops", "asm"]
    write(page, "another answer")
    assert open_panes(page) == ["source", "loops", "asm"], "an answer opens nothing"
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+3")
    expect(page.locator("#body-llvm")).to_be_focused()
    page.click("#panes-menu summary")
    for name in ("Benchmark", "Schedule", "Console"):
        page.get_by_role("checkbox", name=name).check()
    page.keyboard.press("Escape")
    assert open_panes(page) == everything
    assert {pane: width(page, pane) for pane in before} == pytest.approx(before, abs=3)


@pytest.mark.long
def test_one_pane_stays_open(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    for pane in ("source", "console", "loops", "llvm", "asm", "bench"):
        close(page, pane)
    assert width(page, "schedule") == pytest.approx(1440, abs=3)
    page.focus("#pane-schedule .nest")
    page.keyboard.press("x")
    expect(page.locator("#toast")).to_contain_text("must stay open")
    assert open_panes(page) == ["schedule"]


@pytest.mark.long
@pytest.mark.parametrize("wide", [1280, 390])
def test_titles_are_not_cut_short(fixed: str, open_page: Callable[..., Page], wide: int) -> None:
    page = open_page(fixed, width=wide)
    for tab in ("Loop IR", "LLVM IR", "Assembly"):
        if wide < 900:
            page.click(f"#tabs button:has-text('{tab}')")
        cut = page.locator(".pane:visible .pane-head h2, .pane:visible .facts span").evaluate_all(
            "all => all.filter((n) => n.clientWidth && n.scrollWidth > n.clientWidth + 1).map((n) => n.textContent)"
        )
        assert cut == []
    expect(page.locator("#facts-asm")).to_contain_text("1 FMA · 0 spills")
    assert page.locator("#facts-asm span").evaluate_all(
        "all => { const top = all[0].offsetTop; return all.slice(0, 2).every((fact) => fact.offsetTop === top); }"
    ), "the most telling facts are on the line that shows"


def test_paper_is_light(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(14, 18, 24)"
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(246, 247, 249)"
    page.emulate_media(media="screen")


@pytest.mark.long
def test_a_line_that_maps_to_nothing_says_why(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.locator("#body-asm .l", has_text="retq").click()
    expect(page.locator("#toast")).to_contain_text("leaves the function")
    expect(page.locator(".related")).to_have_count(0)


@pytest.mark.long
def test_panes_keep_their_sizes_and_the_theme(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed, color_scheme="light")
    bar = page.locator(".gutter[data-split='columns']")
    before = page.locator("#left").bounding_box()
    bar.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.click("#theme-button")
    after = page.locator("#left").bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"] + 50
    page.reload()
    page.wait_for_selector("html[data-ready]")
    console = page.locator("#pane-console").bounding_box()
    write(page, "another answer")
    assert page.locator("#pane-console").bounding_box() == console
    kept = page.locator("#left").bounding_box()
    assert kept is not None
    assert kept["width"] == pytest.approx(after["width"], abs=2)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_files_are_attached_by_name(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    page.set_input_files("#attach", [{"name": "data.npy", "mimeType": "application/octet-stream", "buffer": b"\0\1"}])
    expect(page.locator(".file")).to_contain_text("data.npy")
    settled(page)
    page.click("#share-button")
    expect(page).to_have_url(re.compile(r"/z/\w+"))
    other = open_page(page.url)
    expect(other.locator(".file")).to_contain_text("data.npy")
    other.click(".file button")
    expect(other.locator(".file")).to_have_count(0)


@pytest.mark.long
def test_a_file_of_a_long_name_can_be_taken_away_and_one_that_is_too_long_is_refused(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(fixed)
    for length in (121, 120):
        page.set_input_files("#attach", [{"name": "n" * length, "mimeType": "text/plain", "buffer": b"x"}])
    expect(page.locator("#toast")).to_have_text("A file name may have at most 120 characters")
    expect(page.locator(".file")).to_have_text("n" * 120 + "✕")
    page.click(".file button")
    expect(page.locator(".file")).to_have_count(0)


@pytest.mark.long
def test_files_can_be_dropped_on_the_page(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    drop = """(name, text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        const at = document.querySelector("#pane-asm");
        for (const kind of ["dragenter", "dragover", "drop"]) {
            at.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
        }
    }"""
    page.evaluate(f"([name, text]) => ({drop})(name, text)", ["weights.npz", "x"])
    expect(page.locator(".file")).to_contain_text("weights.npz")
    expect(page.locator("#drop")).to_be_hidden()
    page.evaluate(f"([name, text]) => ({drop})(name, text)", ["other.py", '"""Dropped"""'])
    expect(page.locator("#title")).to_have_text("Dropped")


def test_what_was_typed_survives_a_reload(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    write(page, '"""My own"""\nraise X')
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("My own")
    expect(page.locator("#title")).to_have_text("My own")
    expect(page.locator("#state")).to_contain_text("ValueError")
    expect(page.locator("#restore")).to_be_hidden()
    page.goto(fixed)
    expect(page.locator(".cm-content")).not_to_contain_text("My own")
    page.click("#restore")
    expect(page.locator(".cm-content")).to_contain_text("My own")
    expect(page.locator("#restore")).to_be_hidden()


@pytest.mark.long
def test_a_browser_that_remembers_nothing_is_enough(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    refuse = "Object.defineProperty(window, '{}', {{ get() {{ throw new DOMException('no', 'SecurityError'); }} }});"
    page.add_init_script(refuse.format("localStorage") + refuse.format("sessionStorage"))
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.click("#theme-button")
    write(page, "raise X")
    expect(page.locator("#state")).to_contain_text("ValueError")


class SlowRunner(FixedRunner):
    """Holds back the answer to scripts that say ``slow``; each answer tells its script in the console."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def start(self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> Job:
        asked = msgspec.json.decode(request, type=Request)
        if "slow" in asked.script:
            self.go.wait(20)
        return super().start(request, files, limits)


@pytest.mark.long
def test_an_older_answer_never_overwrites_a_newer_one(
    serve: Callable[[Runner], str], open_page: Callable[..., Page]
) -> None:
    runner = SlowRunner()
    page = open_page(serve(runner))
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("raise slow")
    expect(page.locator("body")).to_contain_class("pending")
    assert lines(page, "asm"), "the panes stay while the next answer is on its way"
    expect(page.locator("#state")).to_have_text("compiling …")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("quick")
    settled(page)
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    runner.go.set()
    page.wait_for_timeout(500)
    expect(page.locator("#state")).to_contain_text("✓ compiled")
    expect(page.locator(".problem")).to_have_count(0)


def test_a_server_that_is_gone_is_told_everywhere_and_asked_until_it_is_back(
    fixed: str, open_page: Callable[..., Page], console: Console
) -> None:
    page = open_page(fixed)
    page.context.set_offline(True)
    write(page, "x = 1")
    expect(page.locator("#state")).to_have_text("✗ the server is not responding")
    for button in ("#ladder-button", "#share-button"):
        page.evaluate("document.querySelector('#toast').textContent = ''")
        page.click(button)
        expect(page.locator("#toast")).to_have_text("the server is not responding")
    expect(page.locator("#shared")).to_be_hidden()
    assert not [said for said in console.said if "ERR_INTERNET_DISCONNECTED" not in said]
    console.said.clear()
    page.context.set_offline(False)
    expect(page.locator("#state")).to_contain_text("✓ compiled")


def test_a_run_says_how_long_it_goes_on(serve: Callable[[Runner], str], open_page: Callable[..., Page]) -> None:
    runner = ScriptedRunner()
    page = open_page(serve(runner))
    write(page, "x = 1")
    settled(page)
    end = threading.Event()
    runner.scripts["x = 1"] = Script(until=end)
    page.click("#run-button")
    expect(page.locator("#state")).to_have_text(re.compile(r"running … [1-9]\d* s"))
    end.set()
    expect(page.locator("#run-label")).to_have_text("Run")


@pytest.mark.long
def test_a_key_ends_the_job_of_the_text_before(serve: Callable[[Runner], str], open_page: Callable[..., Page]) -> None:
    runner = ScriptedRunner()
    runner.scripts["endless"] = Script(until=threading.Event())
    page = open_page(serve(runner))
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("endless")
    wait_until(lambda: runner.requests[-1].script == "endless")
    job = runner.jobs[-1]
    assert not job.cancelled.is_set()
    page.keyboard.press("!")
    wait_until(job.cancelled.is_set)
    settled(page)
    assert runner.requests[-1].script == "endless!"


class LongRunner(FixedRunner):
    """Answers with a loop IR of 30,000 lines."""

    def start(self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> Job:
        text = listing("loop", "python", "\n".join(f"x = {n}" for n in range(30_000)), {29_990: [0]})
        step = Step(group="lowering", name="Unroll", phase=1, listing=text.key)
        answer = Answer(
            units=[Unit(name="long", steps=[step])], listings={text.key: text}, origins=full_answer().origins
        )
        return self.job(msgspec.json.encode(Snapshot(answer=answer)))


@pytest.mark.long
def test_a_long_text_arrives_where_one_looks(serve: Callable[[Runner], str], open_page: Callable[..., Page]) -> None:
    page = open_page(serve(LongRunner()))
    assert page.locator("#body-loops .l").count() < 2000
    page.hover(".cm-line:nth-child(3)")
    page.click(".cm-line:nth-child(3)")
    page.keyboard.press("Alt+Enter")
    expect(page.locator("#body-loops .l.related")).to_have_text("29990x = 29989")
    expect(page.locator("#body-loops .l.related")).to_be_in_viewport()


LAID_OUT = """() => [...document.querySelectorAll("#body-loops .l")]
  .filter((line) => line.checkVisibility({ contentVisibilityAuto: true })).map(({ dataset }) => Number(dataset.i))"""
BELOW_THE_FIRST = """(line) => {
  const [top, first] = [line, document.querySelector("#body-loops .l")].map((one) => one.getBoundingClientRect().top);
  return (top - first) / parseFloat(getComputedStyle(line).height);
}"""


@pytest.mark.long
def test_lines_out_of_sight_cost_nothing_and_are_where_one_looks(
    serve: Callable[[Runner], str], open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(LongRunner()))
    body = page.locator("#body-loops")
    page.wait_for_function(f"() => ({LAID_OUT})()[0] === 0")
    assert len(page.evaluate(LAID_OUT)) < body.locator(".l").count() / 2
    assert body.locator('.l[data-i="399"]').evaluate(BELOW_THE_FIRST) == pytest.approx(399, abs=0.1)
    body.evaluate("body => { body.scrollTop = 350 * parseFloat(getComputedStyle(body.querySelector('.l')).height); }")
    page.wait_for_function(f"() => ({LAID_OUT})().includes(355)")
    expect(body.locator('.l[data-i="355"]')).to_be_in_viewport()


class WideRunner(FixedRunner):
    """Answers with two steps of long lines; one far below is the longest, and ends with a name of its own."""

    def start(self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> Job:
        texts = [
            listing(
                "loop",
                "python",
                "\n".join(f"x = {n} + {name * (900 if n == 280 else 300)}e{n}" for n in range(300)),
                {},
            )
            for name in "yz"
        ]
        steps = [Step(group="lowering", name="Unroll", phase=1, listing=text.key) for text in texts]
        answer = Answer(
            units=[Unit(name="wide", steps=steps)],
            listings={text.key: text for text in texts},
            origins=full_answer().origins,
        )
        return self.job(msgspec.json.encode(Snapshot(answer=answer)))


@pytest.mark.long
def test_a_text_that_the_server_forgot_comes_back(
    serve: Callable[[Runner], str], open_page: Callable[..., Page], console: Console
) -> None:
    page = open_page(serve(LongRunner()))
    refuse(page, "**/listings/**", 404, times=1)
    page.locator("#body-loops").evaluate("body => { body.scrollTop = body.scrollHeight / 2; }")
    expect(page.locator("#body-loops .chunk.waiting[data-asked]")).to_have_count(0)
    expect(page.locator("#body-loops .l", has_text="x = 15000").first).to_be_attached()
    assert all("404" in said for said in console.said)
    console.said.clear()


def shared(page: Page) -> str:
    """Share what a page shows; returns the link's address."""
    page.click("#share-button")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    return page.locator("#shared-link").input_value()


@pytest.mark.long
def test_a_link_keeps_which_panes_are_open(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    for pane in ("llvm", "bench"):
        close(page, pane)
    other = open_page(shared(page))
    assert open_panes(other) == open_panes(page)
    assert "llvm" not in open_panes(other)


@pytest.mark.long
@pytest.mark.parametrize(("view", "size"), [("read", 17), ("embed", 12)])
def test_a_link_can_be_read_without_an_editor_s_tools(
    fixed: str, open_page: Callable[..., Page], view: str, size: int
) -> None:
    page = open_page(shared(open_page(fixed)) + f"?view={view}")
    settled(page)
    for tool in ("#run-button", "#share-button", "#open-gallery", "#options", "#attach"):
        expect(page.locator(tool)).to_be_hidden()
    assert page.locator("#body-asm .l").first.evaluate("line => getComputedStyle(line).fontSize") == f"{size}px"
    page.locator("#body-asm .l", has_text="vfmadd231ps").hover()
    expect(page.locator("#body-loops .l.related").first).to_be_visible()
    before = page.locator(".cm-content").inner_text()
    page.click(".cm-content")
    page.keyboard.type("changed")
    assert page.locator(".cm-content").inner_text() == before
    assert "view=" not in (page.locator("#edit-link").get_attribute("href") or "view=")
    assert violations(page) == []


@pytest.mark.long
def test_the_forms_of_a_link_and_its_deletion(fixed: str, open_page: Callable[..., Page], browser: Browser) -> None:
    page = open_page(fixed)
    address = shared(page)
    assert page.locator("#shared-read").input_value() == f"{address}?view=read"
    assert f'<iframe src="{address}?view=embed"' in page.locator("#shared-embed").input_value()
    page.click("[data-copy='shared-code']")
    expect(page.locator("#toast")).to_contain_text("/code")
    assert page.evaluate("navigator.clipboard.readText()") == f"{address}/code"
    page.click("#shared-delete")
    expect(page.locator("#toast")).to_contain_text("deleted")
    assert "/z/" not in page.url
    gone = browser.new_page().goto(address)
    assert gone is not None
    assert gone.status == 404


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"outputs": '{"Loop IR": "0", "Assembly": "1"}'}, "output differs in Loop IR, Assembly"),
        ({"compiler": "0.0.1"}, "the same output"),
        ({"cpu": "Another CPU", "outputs": "{}"}, "created elsewhere"),
        ({}, ""),
    ],
)
def test_an_opened_link_says_whether_it_shows_the_same(
    fixed: str, open_page: Callable[..., Page], tmp_path: Path, made: dict[str, str], words: str
) -> None:
    address = shared(open_page(fixed))
    with sqlite3.connect(tmp_path / "strata.sqlite3") as database:
        for column, value in made.items():
            database.execute(f"UPDATE links SET {column} = ?", (value,))
    page = open_page(address)
    settled(page)
    if not words:
        expect(page.locator("#remade")).to_be_hidden()
        return
    expect(page.locator("#remade")).to_contain_text(words)
    assert violations(page) == []
    write(page, "something else")
    expect(page.locator("#remade")).to_be_hidden()


@pytest.mark.long
def test_an_answer_leaves_the_lines_that_are_as_they_were(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    shown = lines(page, "asm")
    with page.expect_response("**/panes") as response:
        write(page, "x")
    assert re.search(r'id="body-asm"[^>]*data-omitted', response.value.text())
    expect(page.locator("#state")).to_contain_text("compiled")
    expect(page.locator("[data-omitted]")).to_have_count(0)
    assert lines(page, "asm") == shown
    page.locator("#body-asm .l", has_text="fmadd").first.click()
    expect(page.locator("#body-loops .l.related").first).to_be_visible()


@pytest.mark.long
def test_lines_that_were_left_out_and_are_not_shown_any_more_are_asked_for(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    """As if another step had been chosen while the answer was made."""
    page = open_page(fixed)
    shown = lines(page, "loops")
    page.evaluate("""() => {
      const ask = window.fetch;
      window.fetch = async (...request) => {
        const answer = await ask(...request);
        document.querySelector("#body-loops").dataset.key = "other";
        window.fetch = ask;
        return answer;
      };
    }""")
    write(page, "x")
    expect(page.locator("[data-omitted]")).to_have_count(0)
    expect(page.locator("#body-loops .l")).to_have_count(len(shown))
    assert lines(page, "loops") == shown


@pytest.mark.long
def test_code_has_the_size_that_a_visitor_chooses(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    line = page.locator("#body-asm .l").first
    expect(line).to_have_css("height", "19.5px")
    page.keyboard.press("Alt+Equal")
    page.keyboard.press("Alt+Equal")
    expect(line).to_have_css("height", "22.75px")
    expect(page.locator(".cm-scroller")).to_have_css("font-size", "14px")
    page.reload()
    expect(line).to_have_css("font-size", "14px")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440
    page.click("#panes-menu summary")
    page.click("#text-smaller")
    expect(page.locator("#text-size")).to_have_text("13 px")
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+0")
    expect(line).to_have_css("height", "19.5px")


@pytest.mark.long
def test_a_text_is_copied_whole(fixed: str, open_page: Callable[..., Page]) -> None:
    page = open_page(fixed)
    shown = lines(page, "asm")
    page.hover("#pane-asm .pane-head")
    page.click("[data-save='asm']")
    page.click("#copy-text")
    expect(page.locator("#toast")).to_have_text("Copied Assembly")
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == shown


@pytest.mark.long
def test_lines_that_come_from_no_line_of_the_script_are_shown_with_the_reason(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(fixed, 1680, 980)
    page.get_by_role("button", name="traced to the script").first.click()
    expect(page.locator("#body-loops .l.cursor")).to_have_count(1)
    expect(page.locator("#toast")).to_contain_text("This line does not come from the script")
    expect(page.locator(".l.related")).to_have_count(0)
