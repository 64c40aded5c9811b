"""A class in several browsers: a teacher presents, students follow and leave, the board fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from app import create_app
from app.lessons import classes
from app.live import sessions
from tests.e2e.conftest import Console, serving
from tests.e2e.steps import MATMUL, refuse, settled, violations, write

CHOSEN_PRIMITIVE = "#strip .schedule [aria-pressed=true]"


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    app = create_app({"DATA_DIR": tmp_path_factory.mktemp("data"), "RATE_LIMIT": 0})
    with serving(app) as address:
        yield address
    app.extensions["strata"].runner.close()


def check_until_it_passes(page: Page) -> None:
    """Predict what was measured before; the load of a machine decides how often that takes."""
    guess = "0.05"
    for _ in range(10):
        page.fill("[data-prediction]:visible", guess)
        page.click("#lesson-check")
        expect(page.locator("#lesson-check")).to_be_enabled()
        if not page.locator(".checks:visible :is(.failed, .unsure)").count():
            return
        guess = page.locator(".checks:visible :is(.failed, .unsure) small").inner_text().rpartition(" ")[2]


@pytest.fixture
def teacher(school: str, open_page: Callable[..., Page]) -> Page:
    """A teacher's page, just after he made a class."""
    page = open_page(f"{school}/learn/measuring")
    page.click("#teach")
    page.wait_for_selector("#class-present")
    return page


@pytest.fixture
def join(teacher: Page, open_page: Callable[..., Page]) -> Callable[..., Page]:
    """Open the students' link in a browser of its own."""

    def open_(**options: object) -> Page:
        page = open_page(teacher.url.partition("#")[0], **options)
        expect(page.locator("#class-seat")).to_contain_text("You are ")
        return page

    return open_


@pytest.mark.long
def test_the_secret_stays_in_the_fragment(teacher: Page) -> None:
    asked: list[str] = []
    teacher.on("request", lambda request: asked.append(request.url))
    secret = teacher.url.partition("#teacher=")[2]
    assert len(secret) >= 20
    teacher.reload()
    teacher.wait_for_selector("#class-present")
    teacher.click("#class-link")
    assert secret not in teacher.evaluate("navigator.clipboard.readText()")
    assert asked
    assert all(secret not in address for address in asked)


@pytest.mark.long
def test_a_class_goes_on_when_its_server_was_away_behind_a_proxy(
    school: str, open_page: Callable[..., Page], console: Console
) -> None:
    page = open_page(f"{school}/learn/split")
    made = page.request.post(f"{school}/api/classes", data={"lesson": "split"}).json()
    refuse(page, "**/events", 502, times=2)
    page.goto(f"{school}/learn/split?class={made['id']}")
    secret = {"X-Class-Secret": made["secret"]}
    state = {"step": 2, "script": MATMUL}
    page.request.put(f"{school}/api/classes/{made['id']}/presented", data=state, headers=secret)
    expect(page.locator("#class-following")).to_be_visible()
    expect(page.locator("#toast")).not_to_contain_text("ended")
    assert not [said for said in console.said if "502" not in said]
    console.said.clear()


def test_students_see_what_the_teacher_does_and_leave_with_one_key(teacher: Page, join: Callable[..., Page]) -> None:
    student, phone = join(), join(width=390, height=844)
    write(student, "mine = 1")
    teacher.click("#class-present")
    expect(student.locator("#class-following")).to_be_visible()
    write(teacher, "theirs = 2")
    for page in (student, phone):
        expect(page.locator(".cm-content")).to_have_text("theirs = 2")
        expect(page.locator(".cm-content")).to_be_visible()
        expect(page.locator("#class-following")).to_be_visible()
    assert violations(phone) == []
    phone.click("#class-leave")
    expect(phone.locator(".cm-content")).not_to_have_text("theirs = 2")
    phone.click("#class-follow")
    expect(phone.locator(".cm-content")).to_have_text("theirs = 2")
    teacher.click("[data-lesson-step='2']")
    expect(student.locator("article:visible h3")).to_have_text("State what you expect")
    assert violations(student) == []
    assert violations(teacher) == []
    student.locator("#lesson-body").press("Escape")
    expect(student.locator(".cm-content")).to_have_text("mine = 1")
    expect(student.locator("article:visible h3")).to_have_text("Repeated runs")
    write(teacher, "theirs = 3")
    settled(student)
    expect(student.locator(".cm-content")).to_have_text("mine = 1")
    student.click("#class-follow")
    expect(student.locator(".cm-content")).to_have_text("theirs = 3")
    teacher.click("#class-present")
    expect(student.locator(".cm-content")).to_have_text("mine = 1")


@pytest.mark.long
def test_a_teacher_looks_into_a_workspace_and_hands_it_back(
    teacher: Page, join: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "RESTING_SECONDS", 0.0)
    student = join()
    write(student, "mine = 1")
    student.once("dialog", lambda dialog: dialog.accept("<b>Mary</b>"))
    student.click("#class-name")
    expect(student.locator("#class-seat")).to_have_text("You are <b>Mary</b>")
    teacher.click("#class-open")
    expect(teacher.locator("#class-room-body")).to_contain_text("<b>Mary</b>")
    above, below = teacher.locator("#class-csv").bounding_box(), teacher.locator("#class-room caption").bounding_box()
    assert above
    assert below
    assert below["y"] - above["y"] - above["height"] >= 6, "buttons stand apart from the table"
    assert violations(teacher) == []
    teacher.get_by_role("button", name="Ask to look").click()
    student.click("#class-let-in")
    expect(student.locator("#live-lay")).to_be_visible()
    with teacher.context.expect_page() as opened:
        teacher.get_by_role("link", name="Open", exact=True).click()
    looking = opened.value
    looking.wait_for_selector("html[data-ready]")
    expect(looking.locator(".cm-content")).to_have_text("mine = 1")
    expect(looking.locator(".live-people")).to_contain_text("<b>Mary</b> writes")
    expect(student.locator(".live-people")).to_contain_text("Teacher")
    looking.click("#live-take")
    expect(looking.locator("#live-lay")).to_be_visible()
    write(looking, "mine = 2  # better")
    expect(student.locator(".cm-content")).to_have_text("mine = 2  # better")
    assert violations(student) == []
    looking.click("#live-menu summary")
    looking.click("#live-leave")
    expect(student.locator("#live-bar")).to_be_hidden()
    expect(student.locator("#toast")).to_contain_text("handed the workspace back")
    write(student, "mine = 3")
    expect(looking.locator(".cm-content")).to_have_text("mine = 2  # better")
    asked: list[str] = []
    student.on("request", lambda request: asked.append(request.url))
    student.click("[data-lesson-step='2']")
    expect(student.locator("[data-lesson-step='2']")).to_have_attribute("aria-current", "step")
    settled(student)
    assert not [address for address in asked if "/api/live/" in address], "what was handed back is not left again"


@pytest.mark.long
def test_a_teacher_ends_the_class(
    teacher: Page, join: Callable[..., Page], open_page: Callable[..., Page], console: Console
) -> None:
    student = join()
    write(student, "mine = 1")
    teacher.click("#class-present")
    expect(student.locator("#class-following")).to_be_visible()
    teacher.once("dialog", lambda dialog: dialog.dismiss())
    teacher.click("#class-end")
    teacher.once("dialog", lambda dialog: dialog.accept())
    teacher.click("#class-end")
    late = open_page(student.url)
    for page in (teacher, student, late):
        expect(page.locator("#class-ended")).to_have_text("This class has ended")
        expect(page.locator("#class-bar button")).to_have_text(["Board"])
    expect(student.locator(".cm-content")).to_have_text("mine = 1")
    assert violations(student) == []
    assert not [said for said in console.said if "404" not in said]
    console.said.clear()


@pytest.mark.long
def test_the_steps_that_a_teacher_chooses_are_followed_and_left_again(teacher: Page, join: Callable[..., Page]) -> None:
    student = join()
    for page in (teacher, student):
        write(page, MATMUL)
        expect(page.locator(CHOSEN_PRIMITIVE)).to_contain_text("vectorize")
    teacher.click("#class-present")
    teacher.locator("#strip .schedule button", has_text="split").click()
    expect(student.locator(CHOSEN_PRIMITIVE)).to_contain_text("split")
    student.locator("#lesson-body").press("Escape")
    expect(student.locator(CHOSEN_PRIMITIVE)).to_contain_text("vectorize")
    student.click("#class-follow")
    expect(student.locator(CHOSEN_PRIMITIVE)).to_contain_text("split")
    teacher.locator("#strip .schedule button", has_text="vectorize").click()
    expect(student.locator(CHOSEN_PRIMITIVE)).to_contain_text("vectorize")


@pytest.mark.long
def test_a_teacher_goes_on_presenting_after_a_reload(teacher: Page, join: Callable[..., Page]) -> None:
    student = join()
    teacher.click("#class-present")
    teacher.click("[data-lesson-step='2']")
    expect(student.locator("[data-lesson-step='2']")).to_have_attribute("aria-current", "step")
    teacher.reload()
    expect(teacher.locator("#class-present")).to_have_text("Stop presenting")
    write(teacher, "theirs = 4")
    expect(student.locator(".cm-content")).to_have_text("theirs = 4")
    student.click("#lesson-check")
    expect(student.locator("#class-follow")).to_be_visible()
    expect(student.locator("[data-lesson-step='1']")).to_have_attribute("aria-current", "step")


@pytest.mark.long
def test_back_and_next_go_from_the_step_that_is_shown(teacher: Page, join: Callable[..., Page]) -> None:
    student = join()
    first, second = (student.locator(f"[data-lesson-step='{number}']") for number in (1, 2))
    back = student.locator("#lesson-previous")
    expect(back).to_be_disabled()
    teacher.click("#class-present")
    teacher.click("[data-lesson-step='2']")
    expect(second).to_have_attribute("aria-current", "step")
    back.click()
    expect(first).to_have_attribute("aria-current", "step")
    second.click()
    teacher.click("[data-lesson-step='1']")
    student.click("#class-follow")
    expect(first).to_have_attribute("aria-current", "step")
    expect(back).to_be_disabled()
    student.click("#lesson-next")
    expect(second).to_have_attribute("aria-current", "step")


@pytest.mark.long
def test_an_edit_leaves_too(teacher: Page, join: Callable[..., Page]) -> None:
    student = join()
    write(student, "mine = 1")
    teacher.click("#class-present")
    expect(student.locator("#class-following")).to_be_visible()
    student.click(".cm-content")
    student.keyboard.insert_text("x")
    expect(student.locator("#class-follow")).to_be_visible()
    expect(student.locator(".cm-content")).to_have_text("mine = 1")


@pytest.mark.long
def test_the_teacher_sees_who_is_where_and_all_see_the_board(teacher: Page, join: Callable[..., Page]) -> None:
    student = join()
    name = student.locator("#class-seat").inner_text().removeprefix("You are ")
    expect(teacher.locator("#class-count")).to_have_text("1 student")
    student.click("[data-lesson-step='2']")
    answer = student.locator("article:visible")
    answer.get_by_text("Answer", exact=True).click()
    answer.get_by_role("button", name="Put it into the editor").click()
    settled(student)
    check_until_it_passes(student)
    expect(student.locator("#lesson-verdict")).to_contain_text("Done")
    for page in (teacher, student):
        page.click("#class-open")
        board = page.get_by_role("table").filter(has_text="Board")
        expect(board).to_contain_text(name)
        expect(board).to_contain_text("ms")
    row = teacher.get_by_role("table").filter(has_text="Students").get_by_role("row").nth(1)
    expect(row).to_have_text(f"{name}21hereAsk to look")
    assert violations(teacher) == []


@pytest.mark.long
def test_a_renewed_link_admits_who_has_it_and_nobody_else(
    teacher: Page, join: Callable[..., Page], open_page: Callable[..., Page], console: Console
) -> None:
    student = join()
    old = student.url
    teacher.click("#class-open")
    teacher.once("dialog", lambda dialog: dialog.accept())
    teacher.click("#class-renew")
    expect(teacher.locator("#toast")).to_contain_text("join=")
    new = teacher.evaluate("navigator.clipboard.readText()")
    assert new.startswith(f"{old}&join=")
    with teacher.context.expect_page() as opened:
        teacher.click("#class-board")
    expect(opened.value.locator("#class-join")).to_have_text(new)
    late = open_page(old)
    expect(late.locator("#class-seat")).to_contain_text("ask your teacher for the new one")
    assert violations(late) == []
    expect(open_page(new).locator("#class-seat")).to_contain_text("You are ")
    student.reload()
    expect(student.locator("#class-seat")).to_contain_text("You are ")
    console.said.clear()


@pytest.mark.long
def test_a_class_is_cleared_of_who_has_no_result(teacher: Page, join: Callable[..., Page], console: Console) -> None:
    student = join()
    expect(teacher.locator("#class-count")).to_have_text("1 student")
    teacher.click("#class-open")
    teacher.once("dialog", lambda dialog: dialog.dismiss())
    teacher.click("#class-clear")
    expect(teacher.locator("#class-count")).to_have_text("1 student")
    teacher.once("dialog", lambda dialog: dialog.accept())
    teacher.click("#class-clear")
    expect(teacher.locator("#class-count")).to_have_text("0 students")
    assert violations(teacher) == []
    student.click("[data-lesson-step='2']")  # tells the server where the student is
    expect(student.locator("#class-seat")).to_contain_text("was renewed")
    console.said.clear()


@pytest.mark.long
def test_a_crowd_from_one_address_waits_until_the_teacher_lets_it_in(
    teacher: Page,
    join: Callable[..., Page],
    open_page: Callable[..., Page],
    console: Console,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(classes, "MAX_PER_ADDRESS", 1)
    join()
    waiting = open_page(teacher.url.partition("#")[0])
    expect(waiting.locator("#class-seat")).to_contain_text("your teacher can let more in")
    expect(teacher.locator("#class-waiting")).to_have_text("Students wait: 1 came from one address")
    assert violations(teacher) == []
    teacher.click("#class-admit")
    expect(teacher.locator("#class-waiting")).to_have_count(0)
    waiting.click("[data-lesson-step='2']")
    expect(waiting.locator("#class-seat")).to_contain_text("You are ")
    console.said.clear()


@pytest.mark.long
@pytest.mark.parametrize(("width", "height", "theme"), [(1280, 800, "dark"), (360, 740, "light")])
def test_a_class_fits(teacher: Page, join: Callable[..., Page], width: int, height: int, theme: str) -> None:
    student = join(width=width, height=height, color_scheme=theme)
    teacher.click("#class-present")
    expect(student.locator("#class-leave")).to_be_attached()
    lesson = student.get_by_role("navigation", name="Lesson or workspace").get_by_role("button", name="Lesson")
    if lesson.is_visible():  # a small screen shows one of both
        lesson.click()
    expect(student.locator("#class-leave")).to_be_visible()
    assert student.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(student) == []
