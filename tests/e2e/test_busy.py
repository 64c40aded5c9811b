"""A busy server: the page says so, tries again by itself, and fails nobody for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec
import pytest
from playwright.sync_api import Page, Route, expect

from app.artifacts import Problem
from app.protocol import Request, Snapshot
from app.sandbox import Job, Limits, Runner, SandboxError
from tests.app.fixtures import FixedRunner, full_answer
from tests.e2e.conftest import Console

STILL_TRYING = "the server is busy; still trying …"


class BusyRunner(FixedRunner):
    """Has no process for the next scripts, or starves them, as often as a test says."""

    refusals = 0
    starved = 0

    def start(self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> Job:
        if self.refusals:
            self.refusals -= 1
            raise SandboxError("no process")
        if not self.starved:
            return super().start(request, files, limits)
        self.starved -= 1
        stopped = Problem(kind="Timeout", message="the server is busy", cut_short=True, starved=True)
        answer = msgspec.structs.replace(full_answer(stopped), mode=msgspec.json.decode(request, type=Request).mode)
        return self.job(msgspec.json.encode(Snapshot(answer=msgspec.structs.replace(answer, status="timeout"))))


@pytest.mark.long
def test_what_a_busy_server_has_no_time_for_is_tried_again(
    serve: Callable[[Runner], str], open_page: Callable[..., Page], console: Console
) -> None:
    runner = BusyRunner()
    page = open_page(serve(runner))
    state = page.locator("#state")
    runner.refusals = 1
    page.click(".cm-content")
    page.keyboard.insert_text("x = 1\n")
    expect(state).to_have_text(STILL_TRYING)
    expect(state).to_have_class("state waiting")
    expect(state).to_have_text(re.compile("^✓ compiled"))
    runner.starved = 1
    page.keyboard.insert_text("x = 2\n")
    expect(state).to_have_text(STILL_TRYING)
    expect(state).to_have_text(re.compile("^✓ compiled"))
    runner.refusals = 1
    page.click("#run-button")
    expect(state).to_have_text(STILL_TRYING)
    expect(state).to_have_text(re.compile("^✓ ran"))
    assert len(console.said) == 1, "the browser itself reports a refused request, and nothing else"
    assert "503" in console.said.pop()


@pytest.mark.long
def test_a_script_that_may_have_no_end_is_tried_twice_again_and_then_told(
    serve: Callable[[Runner], str], open_page: Callable[..., Page]
) -> None:
    runner = BusyRunner()
    page = open_page(serve(runner))
    runner.starved = 99
    page.click(".cm-content")
    page.keyboard.insert_text("while True: pass\n")
    expect(page.locator("#state")).to_have_text(STILL_TRYING)
    expect(page.locator("#state")).to_have_text(re.compile("^✗"), timeout=30_000)
    assert runner.starved == 96


@pytest.mark.long
def test_a_lesson_measures_again_what_a_busy_machine_could_not_judge(
    fixed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{fixed}/learn/split")
    count = page.locator(".checks:visible li").count()
    answers = [{"passed": False, "unsure": True}, {"passed": True}]

    def judge(route: Route) -> None:
        verdict = {"words": "", "passed": True, "detail": "predicted 1, measured 9", "unsure": False} | answers.pop(0)
        route.fulfill(json={"passed": verdict["passed"], "verdicts": [verdict] * count})

    page.route("**/check", judge)
    page.click("#lesson-check")
    expect(page.locator("#lesson-verdict")).to_have_text("The machine is too busy to judge this: measuring again …")
    expect(page.locator(".checks:visible .unsure")).to_have_count(count)
    expect(page.locator("#lesson-verdict")).to_have_text(re.compile("^Done"))
    assert answers == []


SLOW_ANSWERS = """() => {
  window.pauses = [];
  let late = 0;
  const { fetch, setTimeout } = window;
  const now = performance.now.bind(performance);
  performance.now = () => now() + late;
  window.fetch = async (address, ...rest) => {
    const response = await fetch(address, ...rest);
    if (address === "/panes") late += window.takes;
    return response;
  };
  window.setTimeout = (act, milliseconds, ...rest) => {
    if (act.name === "compile") window.pauses.push(milliseconds);
    return setTimeout(act, milliseconds, ...rest);
  };
}"""
"""Lets answers take ``takes`` milliseconds by the page's clock, and notes how long it waits before it compiles."""


def test_the_busier_the_server_the_longer_the_page_waits_for_more_keys(
    serve: Callable[[Runner], str], open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(FixedRunner()))
    page.evaluate(SLOW_ANSWERS)
    page.click(".cm-content")
    for takes, least, most in ((4_000, 500, 999), (60_000, 1000, 1000)):
        page.evaluate("takes => { window.takes = takes; window.pauses.length = 0; }", takes)
        for edit in range(2):
            page.keyboard.insert_text(f"x = {edit + takes}\n")
            page.wait_for_selector("body.pending")
            page.wait_for_selector("body:not(.pending)")
        assert least <= page.evaluate("window.pauses[1]") <= most
