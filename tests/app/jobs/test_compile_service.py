"""Compiling: merged snapshots, the cache, replaced requests, and every way that a job can end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from flask import Flask

from app.artifacts import Answer, Console, Options, Problem, Workspace
from app.errors import InvalidBody, Superseded, Unavailable
from app.jobs import compile_service
from app.jobs.answers import StoredAnswer
from app.jobs.clients import Client
from app.sandbox import Outcome
from app.services import EXTENSION, Services
from tests.app.runners import Script, ScriptedRunner, broken, listing, snapshot, wait_until

ME = Client("192.0.2.1", "tab")


@pytest.fixture
def services(app: Flask) -> Services:
    found: Services = app.extensions[EXTENSION]
    return found


def compile_(services: Services, script: str, seq: int | None = None, client: Client = ME) -> Answer:
    return decoded(services.compiler.compile(Workspace(script=script), client, seq))


def decoded(answer: StoredAnswer) -> Answer:
    return msgspec.json.decode(answer.json(), type=Answer)


def test_listings_add_up_and_of_the_rest_the_last_counts(services: Services, runner: ScriptedRunner) -> None:
    first, second = listing("a"), listing("b")
    runner.scripts["s"] = Script([snapshot(3, first, milliseconds=1.0), snapshot(None, second, milliseconds=2.0)])
    answer = compile_(services, "s")
    assert answer.listings == {first.key: first, second.key: second}
    assert answer.milliseconds == 2.0
    assert (answer.status, answer.problems) == ("ok", [])


def test_the_same_content_is_worked_on_once(services: Services, runner: ScriptedRunner) -> None:
    first = compile_(services, "s")
    assert decoded(services.compiler.compile(Workspace(script="s", options=Options(threads=1)), ME)) == first
    assert len(runner.jobs) == 1
    services.compiler.compile(Workspace(script="s", options=Options(threads=2)), ME)
    services.compiler.compile(Workspace(script="s", files={"a": b""}), ME)
    assert len(runner.jobs) == 3


def test_a_script_s_own_mistakes_are_kept_but_not_what_was_stopped(services: Services, runner: ScriptedRunner) -> None:
    wrong = Problem(kind="NameError", message="name 'x' is not defined", line=1)
    runner.scripts["wrong"] = Script([snapshot(status="error", problems=[wrong])])
    runner.scripts["slow"] = Script([snapshot(status="timeout", problems=[wrong])])
    runner.scripts["hurried"] = Script([snapshot(hurried=True)])
    for script in ("wrong", "wrong", "slow", "slow", "hurried", "hurried"):
        compile_(services, script)
    assert [request.script for request in runner.requests] == ["wrong", "slow", "slow", "hurried", "hurried"]


def test_a_tab_s_last_run_is_known_whatever_is_shown_of_its_workspace(
    services: Services, runner: ScriptedRunner
) -> None:
    ran = services.compiler.run(Workspace(script="s"), ME)
    for options in (Options(kernel="dense"), Options(assembly="x86-64-sse2"), Options(llvm_passes=True)):
        assert services.compiler.measured(Workspace(script="s", options=options), ME) == ran
    assert services.compiler.measured(Workspace(script="s", options=Options(threads=2)), ME) is None
    assert services.compiler.measured(Workspace(script="t"), ME) is None
    assert services.compiler.measured(Workspace(script="s"), Client(ME.address, "another")) is None
    runner.scripts["s"] = Script([snapshot(status="timeout")])
    services.compiler.run(Workspace(script="s"), ME)
    assert services.compiler.measured(Workspace(script="s"), ME) == ran


ENDS = [
    ("timeout", "timeout", "Timeout", "line 7 ran native code"),
    ("memory", "limit", "MemoryLimit", "more memory"),
    ("output", "limit", "OutputLimit", "too large to show"),
    ("crash", "crash", "Crash", "SIGSEGV"),
]


@pytest.mark.parametrize(("ended", "status", "kind", "words"), ENDS)
def test_what_was_seen_stays_when_a_job_ends_badly(
    services: Services, runner: ScriptedRunner, ended: str, status: str, kind: str, words: str
) -> None:
    outcome = msgspec.convert({"status": ended, "detail": "SIGSEGV", "wall_seconds": 12.0}, Outcome)
    runner.scripts["s"] = Script([snapshot(7, listing())], outcome)
    answer = compile_(services, "s")
    assert answer.status == status
    assert list(answer.listings) == [listing().key]
    [problem] = answer.problems
    assert problem.kind == kind
    assert words in problem.message
    assert problem.line == 7
    compile_(services, "s")
    assert len(runner.jobs) == 2, "another try may get further"


def test_a_job_that_says_nothing_still_has_an_answer(services: Services, runner: ScriptedRunner) -> None:
    runner.scripts["s"] = Script([], Outcome(status="crash", detail="exit code 1", console="native words"))
    answer = compile_(services, "s")
    assert answer.status == "crash"
    assert answer.console == [Console("stdout", "native words")]


def test_a_failure_of_the_explorer_itself_shows_no_traceback(services: Services, runner: ScriptedRunner) -> None:
    traceback = 'Traceback (most recent call last):\n  File "/srv/strata/app/recorder/x.py"\nKeyError: 1'
    runner.scripts["s"] = Script([snapshot(2, listing())], Outcome(status="crash", exit_code=70, console=traceback))
    answer = compile_(services, "s")
    assert answer.console == []
    [problem] = answer.problems
    assert (problem.kind, problem.line) == ("InternalError", 2)
    assert problem.message.endswith("failed on the script: KeyError: 1")


def test_walls_that_cannot_be_built(services: Services, runner: ScriptedRunner) -> None:
    runner.scripts["s"] = Script([], Outcome(status="setup", detail="seccomp: EINVAL"))
    with pytest.raises(Unavailable):
        compile_(services, "s")
    runner.refuses = broken
    with pytest.raises(Unavailable) as refused:
        compile_(services, "t")
    assert refused.value.retry_after is not None


def test_names_of_files_that_are_not_plain(services: Services, runner: ScriptedRunner) -> None:
    with pytest.raises(InvalidBody, match="plain file name") as refused:
        services.compiler.compile(Workspace(script="s", files={"../x": b""}), ME)
    assert refused.value.field == "$.files"
    assert runner.jobs == []


FORGERIES = [
    b"not JSON",
    b'{"type": "snapshot"}',
    b'{"type": "snapshot", "answer": {"mode": "\xff"}}',
    b'{"type": "snapshot", "answer": {"units": ' + b"[" * 100_000,
    b'{"type": "unheard of"}',
    msgspec.json.encode({"type": "snapshot", "answer": {"status": "great"}}),
    msgspec.json.encode({"type": "snapshot", "answer": {"milliseconds": "<script>"}}),
    msgspec.json.encode(snapshot(None, msgspec.structs.replace(listing(), name="another"))),
    msgspec.json.encode(msgspec.structs.replace(snapshot(), answer=Answer(listings={"0" * 24: listing()}))),
]


@pytest.mark.parametrize("forged", FORGERIES, ids=range(len(FORGERIES)))
def test_what_a_child_forges_is_dropped(services: Services, runner: ScriptedRunner, forged: bytes) -> None:
    runner.scripts["s"] = Script([snapshot(None, listing()), forged])
    answer = compile_(services, "s")
    assert answer.status == "crash"
    assert "is not an answer" in answer.problems[-1].message
    assert set(answer.listings) <= {listing().key}


def test_a_newer_request_of_a_tab_takes_the_place_of_an_older_one(services: Services, runner: ScriptedRunner) -> None:
    runner.scripts["endless"] = Script(until=threading.Event())
    with ThreadPoolExecutor() as pool:
        older = pool.submit(compile_, services, "endless", 1)
        wait_until(lambda: bool(runner.jobs))
        assert compile_(services, "new", 2).status == "ok"
        with pytest.raises(Superseded):
            older.result(10)
    assert runner.jobs[0].cancelled.is_set()
    with pytest.raises(Superseded):
        compile_(services, "late", 1)
    assert services.compiling.held == 0


def test_who_edits_on_does_not_wait_for_a_run(services: Services, runner: ScriptedRunner) -> None:
    runner.scripts["long"] = Script(until=threading.Event())
    with ThreadPoolExecutor() as pool:
        running = pool.submit(services.compiler.run, Workspace(script="long"), ME, 1)
        wait_until(lambda: bool(runner.jobs))
        waiting = pool.submit(services.compiler.run, Workspace(script="long"), Client("192.0.2.5", "t"), 1)
        wait_until(lambda: services.measuring.waiting == 1)
        services.compiler.compile(Workspace(script="edited"), Client("192.0.2.5", "t"), 2)
        with pytest.raises(Superseded):
            waiting.result(10)
        assert (services.measuring.held, services.measuring.waiting) == (1, 0)
        compile_(services, "edited too", 2)
        with pytest.raises(Superseded):
            running.result(10)
    assert services.measuring.held == 0


def test_a_flood_of_snapshots_is_few_updates(
    services: Services, runner: ScriptedRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_service, "UPDATE_SECONDS", 3600.0)
    runner.scripts["flood"] = Script([snapshot(number, listing()) for number in range(500)])
    run = services.compiler.follow(Workspace(script="flood"), ME, 1)
    updates = list(run)
    assert [update.snapshot for update in updates if update.snapshot is not None] == []
    assert updates[-1].answer is not None


def test_a_run_that_nobody_follows_any_more_ends(
    services: Services, runner: ScriptedRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_service, "HEARTBEAT_SECONDS", 0.01)
    runner.scripts["long"] = Script([snapshot(3, listing())], until=threading.Event())
    run = services.compiler.follow(Workspace(script="long"), ME, 1)
    standings = [next(run) for _ in range(6)]
    assert standings[-1] == standings[-2], "the same is told again"
    assert standings[-1].snapshot is not None
    assert b'"running_line":3' in standings[-1].snapshot
    assert standings[-1].answer is None
    run.close()
    assert runner.jobs[0].cancelled.is_set()
    assert services.measuring.held == 0


def test_tabs_do_not_replace_each_other(services: Services, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts["slow"] = Script(until=end)
    with ThreadPoolExecutor() as pool:
        mine = pool.submit(compile_, services, "slow", 1)
        wait_until(lambda: bool(runner.jobs))
        compile_(services, "new", 2, Client(ME.address, "another tab"))
        compile_(services, "new", 2, Client("192.0.2.2", ME.tab))
        end.set()
        assert mine.result(10).status == "ok"


def test_the_same_content_at_the_same_time_is_worked_on_once(services: Services, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts["popular"] = Script([snapshot(None, listing(), status="timeout")], until=end)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(compile_, services, "popular", 1, Client(f"192.0.2.{n}", "t")) for n in range(8)]
        wait_until(lambda: bool(runner.jobs))
        end.set()
        assert {answer.result(10).status for answer in answers} == {"timeout"}
    assert len(runner.jobs) < 8


def test_who_leads_may_be_replaced_and_the_others_still_get_an_answer(
    services: Services, runner: ScriptedRunner
) -> None:
    end = threading.Event()
    runner.scripts["popular"] = Script(until=end)
    with ThreadPoolExecutor() as pool:
        leader = pool.submit(compile_, services, "popular", 1)
        wait_until(lambda: len(runner.jobs) == 1)
        other = pool.submit(compile_, services, "popular", 1, Client("192.0.2.9", "t"))
        compile_(services, "another", 2)
        with pytest.raises(Superseded):
            leader.result(10)
        wait_until(lambda: sum(request.script == "popular" for request in runner.requests) == 2)
        end.set()
        assert other.result(10).status == "ok"


def test_runs_measure_one_at_a_time(services: Services, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts["measure"] = Script(until=end)
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(services.compiler.run, Workspace(script="measure"), ME) for _ in range(3)]
        wait_until(lambda: services.measuring.waiting == 2)
        assert len(runner.jobs) == 1
        assert services.measuring.places_of(ME.address) == [1, 2]
        assert services.measuring.places_of("192.0.2.2") == []
        assert compile_(services, "meanwhile").status == "ok"
        end.set()
        assert [run.result(10).status for run in runs] == ["ok"] * 3
    assert {request.mode for request in runner.requests if request.script == "measure"} == {"run"}
    assert len(runner.jobs) == 4, "a run is never answered from the cache"
