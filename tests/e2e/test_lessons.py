"""Lessons in the browser: steps, checks, hints, answers, progress, a teacher's own file, every size and theme."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import create_app
from tests.e2e.conftest import Console, serving
from tests.e2e.steps import settled, violations, write

FENCE = "```"
OWN = f"""\
+++
title = "Twice"
summary = "Doubling."
minutes = 1
panes = ["source", "loops"]
+++

## First

Double **it**.

{FENCE}python start
import tvm
from tvm import te
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], "llvm")
{FENCE}

{FENCE}python answer
import tvm
from tvm import te
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], "llvm")
{FENCE}

{FENCE}hint
Times *two*.
{FENCE}

{FENCE}checks
[[check]]
kind = "contains"
pane = "loops"
text = "\\\\* T.float32"
{FENCE}

## Second

{FENCE}checks
[[check]]
kind = "right"

[[check]]
kind = "prediction"
name = "ms"
ask = "Milliseconds"
of = "milliseconds"
within = 1e9
{FENCE}

{FENCE}python answer
import tvm
{FENCE}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lessons")


@pytest.fixture(scope="module")
def school(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an explorer with a lesson of a teacher's own, over its real sandbox."""
    (folder / "01_twice.md").write_text(OWN, encoding="utf-8")
    app = create_app({"DATA_DIR": tmp_path_factory.mktemp("data"), "RATE_LIMIT": 0, "LESSONS_DIR": folder})
    with serving(app) as address:
        yield address
    app.extensions["strata"].runner.close()


def check(page: Page) -> None:
    page.click("#lesson-check")
    expect(page.locator("#lesson-check")).to_be_enabled()


def test_a_step_is_checked_on_the_students_own_result(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    expect(page.locator(".pane:visible")).to_have_count(2)
    expect(page.locator("article:visible strong")).to_have_text("it")
    check(page)
    expect(page.locator(".checks:visible .failed small")).to_have_text("not found")
    expect(page.locator("#lesson-verdict")).to_have_text("Not yet.")
    expect(page.get_by_text("Times two.")).to_be_hidden()
    page.get_by_text("Hint", exact=True).click()
    expect(page.get_by_text("Times two.")).to_be_visible()
    write(page, page.locator("#script").input_value().replace("te.create", "tem.create"))
    expect(page.locator(".line-message")).to_contain_text("name 'tem' is not defined; did you mean 'te'?")
    expect(page.locator(".line-message")).to_be_in_viewport()  # no pane of this lesson has a console
    expect(page.locator("#announce")).to_contain_text("did you mean 'te'?")
    write(page, page.locator("#script").input_value().replace("+ 1.0", "* 3.0"))
    check(page)
    expect(page.locator(".checks:visible .passed")).to_have_count(1)
    expect(page.locator("[data-lesson-step='1']")).to_have_class(re.compile("done"))


@pytest.mark.long
def test_an_error_of_the_script_is_what_a_check_says(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    write(page, "x = 1\ny = z")
    check(page)
    expect(page.locator(".checks:visible .failed small")).to_have_text("the script fails: name 'z' is not defined")


@pytest.mark.long
def test_the_answer_is_hidden_until_it_is_asked_for(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    take = page.get_by_role("button", name="Put it into the editor")
    expect(take).to_be_hidden()
    page.locator("article:visible").get_by_text("Answer", exact=True).click()
    take.click()
    settled(page)
    check(page)
    expect(page.locator("#lesson-verdict")).to_have_text(re.compile("^Done"))


@pytest.mark.long
def test_progress_and_scripts_survive_a_reload(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    write(page, page.locator("#script").input_value().replace("+ 1.0", "* 5.0"))
    check(page)
    page.click("#lesson-next")
    expect(page.locator("article:visible h3")).to_have_text("Second")
    expect(page.locator(".cm-content")).to_contain_text("* 5.0")
    page.goto(f"{school}/learn/twice")
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("article:visible h3")).to_have_text("Second")
    expect(page.locator(".cm-content")).to_contain_text("* 5.0")
    page.goto(f"{school}/learn")
    expect(page.locator("[data-lesson='twice'] .lesson-progress")).to_have_text("1 done")
    page.goto(f"{school}/learn/twice")
    page.click("[data-lesson-step='1']")
    page.click("#lesson-reset")
    expect(page.locator(".cm-content")).to_contain_text("+ 1.0")


@pytest.mark.long
def test_a_lesson_says_at_its_end_what_is_left_and_what_comes_next(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    last = page.locator("[data-lesson-step]").count()
    page.click(f"[data-lesson-step='{last}']")
    page.click("#lesson-next")
    expect(page.locator("#lesson-verdict")).to_contain_text("Not done yet: step 1")
    expect(page.locator("#lesson-next")).to_have_text("Leave")
    progress = {"step": last, "done": list(range(1, last + 1)), "scripts": {}}
    page.evaluate(
        "kept => import(document.getElementById('entry').src.replace('main.js', 'memory.js'))"
        ".then(({ remember }) => remember('lesson.twice', JSON.stringify(kept)))",
        progress,
    )
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.click("#lesson-next")
    expect(page.locator(".lesson-finished")).to_contain_text("You have done")
    expect(page.locator(".lesson-finished a")).to_have_attribute("href", re.compile("/learn/"))


@pytest.mark.long
def test_what_a_step_measures_is_measured_by_the_server(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    page.click("[data-lesson-step='2']")
    expect(page.locator("#lesson-check")).to_have_text("Measure")
    tops = page.locator(".lesson-foot button").evaluate_all("buttons => buttons.map((button) => button.offsetTop)")
    assert len(set(tops)) == 1, "all in one row"
    page.fill("[data-prediction]:visible", "1,000")
    page.press("[data-prediction]:visible", "Enter")
    expect(page.locator("#lesson-check")).to_be_enabled()
    verdicts = page.locator(".checks:visible li small")
    expect(verdicts.nth(0)).to_have_text("checked on random inputs: ok")
    expect(verdicts.nth(1)).to_contain_text("predicted 1,000, measured ")
    expect(page.locator("#lesson-verdict")).to_have_text(re.compile("^Done"))


@pytest.mark.long
def test_nothing_is_measured_before_the_prediction(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    page.click("[data-lesson-step='2']")
    for typed, told in (("", "Type a number first, then it is measured."), ("fast", "“fast” is not a number.")):
        page.fill("[data-prediction]:visible", typed)
        page.click("#lesson-check")
        expect(page.locator("#lesson-verdict")).to_have_text(told)
        expect(page.locator("[data-prediction]:visible")).to_be_focused()
        expect(page.locator(".checks:visible small").first).to_be_empty()


TYPED = {
    "1000000": 1e6,
    "1,000,000": 1e6,
    "1 000 000": 1e6,
    "1_000_000": 1e6,
    "1,008": 1008,
    "1,234.5": 1234.5,
    "0.05": 0.05,
    "0,05": 0.05,
    "0,050": 0.05,
    ".5": 0.5,
    "5e-2": 0.05,
    " 7 ": 7,
    "−2": -2,
    "12,5": 12.5,
    "": None,
    "fast": None,
    "1,00,000": None,
    "1.2.3": None,
    "0x10": None,
    "Infinity": None,
    "1e999": None,
}


@pytest.mark.long
def test_numbers_are_read_as_people_write_them(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    main = page.locator("script[type=module][src$='js/main.js']").evaluate("script => script.src")
    read = "async ([module, texts]) => texts.map((await import(module)).typedNumber)"
    numbers = page.evaluate(read, [main.replace("main.js", "typed-number.js"), list(TYPED)])
    assert dict(zip(TYPED, numbers, strict=True)) == TYPED


@pytest.mark.long
def test_a_teacher_sees_what_he_saves(
    school: str, folder: Path, open_page: Callable[..., Page], console: Console
) -> None:
    path = folder / "02_draft.md"
    path.write_text(OWN, encoding="utf-8")
    page = open_page(f"{school}/learn/draft")
    expect(page.locator("article:visible strong")).to_have_text("it")
    path.write_text(OWN.replace("**it**", "**everything**"), encoding="utf-8")
    expect(page.locator("article:visible strong")).to_have_text("everything")
    path.write_text(OWN.replace('"Twice"', ""), encoding="utf-8")
    expect(page.locator("#lesson-problem")).to_contain_text("02_draft.md: line 1:")
    path.unlink()
    expect(page.locator("#lesson-problem")).to_contain_text("The file of this lesson is gone")
    assert not [said for said in console.said if "404" not in said]
    console.said.clear()


@pytest.mark.long
@pytest.mark.parametrize(("width", "height", "theme"), [(1280, 800, "light"), (1920, 1080, "dark"), (360, 740, "dark")])
def test_a_lesson_fits_and_is_accessible(
    school: str, open_page: Callable[..., Page], width: int, height: int, theme: str
) -> None:
    for path in ("/learn", "/learn/first-compute"):
        page = open_page(school + path, width, height, color_scheme=theme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page) == []
    check(page)
    expect(page.locator(".checks:visible .failed")).to_be_visible()
    for button in page.locator(".lesson-foot button:visible").all():
        box = button.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height


@pytest.mark.long
def test_on_a_phone_the_text_and_the_workspace_take_turns(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice", 360, 740)
    expect(page.locator("#lesson")).to_be_visible()
    expect(page.locator("#panes")).to_be_hidden()
    page.get_by_role("button", name="Workspace").click()
    expect(page.locator("#lesson")).to_be_hidden()
    expect(page.locator("#pane-source")).to_be_visible()
    page.locator("#tabs").get_by_role("button", name="Loop IR").click()
    expect(page.locator("#body-loops")).to_be_visible()
    page.get_by_role("button", name="Lesson", exact=True).click()
    expect(page.locator("#lesson")).to_be_visible()


@pytest.mark.long
def test_sharing_stays_in_the_lesson(school: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{school}/learn/twice")
    page.click("#share-button")
    expect(page.locator("#shared-link")).to_have_value(re.compile(r"/z/\w{8,}$"))
    assert page.url == f"{school}/learn/twice"
