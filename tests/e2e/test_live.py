"""A workspace in several browsers: what one writes, selects and pins, the others see."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.live import sessions
from tests.app.fixtures import FixedRunner
from tests.e2e.conftest import Console
from tests.e2e.steps import MATMUL, settled, violations, write

EDITOR = ".cm-content"
HOSTILE = "<b onclick=x>Eve</b>"


@pytest.fixture
def ann(explorer: str, open_page: Callable[..., Page]) -> Page:
    """The page of who made a live workspace, and holds the pen."""
    page = open_page(explorer)
    loaded = page.evaluate("performance.getEntriesByType('resource').map(({name}) => name)")
    assert [name for name in loaded if name.endswith("/js/main.js")]
    assert not [name for name in loaded if "/live/" in name], "who edits alone loads none of it"
    page.click("#share-button")
    page.click("#edit-together")
    page.wait_for_selector("#live-lay")
    return page


def rename(page: Page, name: str) -> None:
    page.click("#live-menu summary")
    page.fill("#live-name", name)
    page.click(".live-rename button")
    expect(page.locator(".live-people")).to_contain_text(f"{name} (you)")
    page.click("#live-menu summary")


@pytest.mark.long
def test_two_people_see_what_each_other_does_and_freeze_it(
    ann: Page, open_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "RESTING_SECONDS", 0.0)
    assert ann.evaluate("navigator.clipboard.readText()") == ann.url
    eve = open_page(ann.url, width=390, height=844)
    expect(eve.locator("#live-take")).to_be_visible()
    write(ann, MATMUL)
    expect(eve.locator(EDITOR)).to_contain_text("s[C].vectorize(ji)")
    eve.locator(EDITOR).press("x")
    expect(eve.locator("#toast")).to_contain_text("holds the pen")
    expect(eve.locator(EDITOR)).not_to_contain_text("x# ")
    rename(eve, HOSTILE)
    expect(ann.locator(".live-people")).to_contain_text(HOSTILE)
    eve.locator(".cm-line", has_text="s[C].vectorize(ji)").click()
    expect(ann.locator(".live-caret.seat-2")).to_have_attribute("data-name", HOSTILE)
    eve.keyboard.press("Alt+Enter")
    expect(ann.locator(".cm-line.live-pin")).to_contain_text("s[C].vectorize(ji)")
    settled(eve)
    assert violations(ann) == []
    assert violations(eve) == []
    eve.click("#live-take")
    expect(eve.locator("#live-lay")).to_be_visible()
    eve.locator(EDITOR).press("Control+Home")
    eve.keyboard.insert_text("# mine\n")
    expect(ann.locator(EDITOR)).to_contain_text("# mine")
    ann.click("#live-take")
    expect(ann.locator("#live-lay")).to_be_visible()
    ann.click("#live-menu summary")
    ann.click("#live-freeze")
    for page in (ann, eve):
        expect(page.locator("#live-bar")).to_be_hidden()
        assert "/z/" in page.url
        expect(page.locator("#saved")).to_contain_text("saved")
    eve.locator(EDITOR).press("Control+Home")
    eve.keyboard.insert_text("# by myself\n")
    expect(eve.locator(EDITOR)).to_contain_text("# by myself")
    settled(ann)
    expect(ann.locator(EDITOR)).not_to_contain_text("# by myself")


@pytest.mark.long
def test_who_was_offline_finds_what_others_wrote_and_their_own_text(
    ann: Page, open_page: Callable[..., Page], console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "RESTING_SECONDS", 0.0)
    bob = open_page(ann.url)
    expect(bob.locator("#live-take")).to_be_visible()
    rename(ann, "Ann")
    write(ann, "x = 1")
    expect(bob.locator(EDITOR)).to_have_text("x = 1")
    ann.route("**/api/live/*/text", lambda route: route.abort())
    write(ann, "x = 2")
    bob.click("#live-take")
    write(bob, "x = 3")
    expect(ann.locator(EDITOR)).to_have_text("x = 3")
    expect(ann.locator("#live-restore")).to_have_text("Copy what I wrote")
    ann.click("#live-restore")
    assert ann.evaluate("navigator.clipboard.readText()") == "x = 2"
    ann.unroute_all(behavior="ignoreErrors")
    bob.click("#live-lay")
    expect(ann.locator(".live-writes")).to_have_count(0)
    ann.click("#live-take")
    write(ann, "x = 4")
    expect(bob.locator(EDITOR)).to_have_text("x = 4")
    ann.reload()
    expect(ann.locator("#live-lay")).to_be_visible()
    expect(ann.locator(".live-people")).to_contain_text("Ann (you)")
    expect(ann.locator(EDITOR)).to_have_text("x = 4")
    assert not [said for said in console.said if "ERR_FAILED" not in said]
    console.said.clear()


@pytest.mark.long
def test_a_server_that_was_away_costs_nothing(
    serve: Callable[..., str], open_page: Callable[..., Page], console: Console
) -> None:
    address = serve(FixedRunner())
    ann = open_page(address)
    ann.click("#share-button")
    ann.click("#edit-together")
    ann.wait_for_selector("#live-lay")
    bob = open_page(ann.url)
    expect(bob.locator("#live-take")).to_be_visible()
    for page in (ann, bob):
        page.route("**/api/live/**", lambda route: route.abort())
    write(ann, "x = 1")
    expect(ann.locator("#live-bar")).to_contain_text("Connection lost")
    assert bob.locator(EDITOR).inner_text() != "x = 1"
    for page in (ann, bob):
        page.unroute_all(behavior="ignoreErrors")
    expect(bob.locator(EDITOR)).to_have_text("x = 1")
    expect(ann.locator("#live-bar")).not_to_contain_text("Connection lost")
    assert not [said for said in console.said if "ERR_FAILED" not in said]
    console.said.clear()


@pytest.mark.long
def test_a_sixth_person_is_let_in_once_somebody_leaves(
    ann: Page, open_page: Callable[..., Page], console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_PEOPLE", 2)
    bob = open_page(ann.url)
    expect(bob.locator("#live-take")).to_be_visible()
    cat = open_page(ann.url)
    expect(cat.locator(".live-problem")).to_contain_text("you are let in once somebody leaves")
    expect(cat.locator("#live-take")).to_have_count(0)
    bob.click("#live-menu summary")
    bob.click("#live-leave")
    expect(cat.locator("#live-take")).to_be_visible()
    expect(cat.locator(".live-problem")).to_have_count(0)
    assert not [said for said in console.said if "429" not in said]
    console.said.clear()


@pytest.mark.long
def test_who_was_taken_for_away_takes_a_seat_again(
    ann: Page, open_page: Callable[..., Page], console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = open_page(ann.url)
    expect(bob.locator("#live-take")).to_be_visible()
    bob.route("**/api/live/*/people", lambda route: route.abort())
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(sessions, "AWAY_SECONDS", 0.0)
        write(ann, "x = 1")
        expect(ann.locator(".live-people li")).to_have_count(1)
    write(ann, "x = 2")
    expect(bob.locator("#live-bar")).to_contain_text("Connection lost")
    expect(bob.locator(EDITOR)).not_to_have_text("x = 2")
    bob.unroute_all(behavior="ignoreErrors")
    expect(bob.locator(EDITOR)).to_have_text("x = 2", timeout=60_000)
    expect(ann.locator(".live-people li")).to_have_count(2)
    assert not [said for said in console.said if "403" not in said and "ERR_FAILED" not in said]
    console.said.clear()


@pytest.mark.long
def test_who_hides_the_page_is_still_there(ann: Page) -> None:
    ann.evaluate("window.setTimeout = () => 0")  # as good as once a minute, as timers of hidden pages run
    for _ in range(3):
        with ann.expect_request("**/api/live/*/people", timeout=60_000):
            pass
