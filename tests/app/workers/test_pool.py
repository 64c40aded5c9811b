"""Workers: what takes too much is refused and costs a process, which is replaced; everybody else goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from app import patience
from app.artifacts import Answer, Console, Line, Listing, Options, Problem, Step, Unit, listing_key
from app.errors import Busy, NotFound, Overrun, Superseded, TooLarge
from app.jobs.answers import StoredAnswer, pack
from app.jobs.callers import Caller, calling
from app.panes.listings import CHUNK_LINES
from app.panes.selection import View
from app.protocol import Snapshot
from app.sandbox import Outcome
from app.workers import pool
from app.workers.frames import MAX_CALL, MAX_RESULT
from app.workers.pool import RenderWorkers, count_of_workers
from app.workers.tasks import (
    Assemble,
    Compared,
    CompareTexts,
    Html,
    InferType,
    Packed,
    RenderChunk,
    RenderPanes,
    RenderText,
    RenderUpdate,
    TextChoice,
    TypeName,
    Update,
)
from tests.app.fixtures import full_answer
from tests.app.runners import wait_until

PANES = RenderPanes(View(), Options())
OK = Outcome(status="ok")
MEMORY_BYTES = 260 << 20


@pytest.fixture(scope="module")
def two() -> Iterator[RenderWorkers]:
    """Two workers with little memory, and a fifth of a second for a task."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "CPU_SECONDS", 0.2)
        workers = RenderWorkers(2, MEMORY_BYTES)
    yield workers
    workers.close()


def drawn(workers: RenderWorkers, answer: StoredAnswer | None = None, client: str = "someone") -> str:
    return workers.perform(PANES, Html, [answer or pack(full_answer())], client).html


def work_for_long(workers: RenderWorkers) -> Html:
    """Perform a task that takes half a second of processor time: lexers are stopped no earlier than that."""
    lines = [Line(f"%{'a' * 10} = {'<' * 3_900}{number}") for number in range(2 * CHUNK_LINES)]
    listing = Listing(key="", level="llvm", name="x", language="llvm", lines=lines)
    listing = msgspec.structs.replace(listing, key=listing_key(listing))
    unit = Unit(name="x", steps=[Step(group="llvm", name="x", listing=listing.key)])
    return workers.perform(PANES, Html, [pack(Answer(units=[unit], listings={listing.key: listing}))], "me")


def test_an_answer_is_assembled_and_drawn(two: RenderWorkers) -> None:
    sent = [msgspec.json.encode(Snapshot(answer=full_answer()))]
    answer = two.perform(Assemble(sent, OK), Packed).answer
    assert msgspec.json.decode(answer.json(), type=Answer) == full_answer()
    assert (answer.status, answer.listings) == ("ok", list(full_answer().listings))
    assert "vfmadd231ps" in drawn(two, answer)


def test_a_worker_that_has_not_the_answer_is_sent_it(two: RenderWorkers) -> None:
    answers = [pack(msgspec.structs.replace(full_answer(), milliseconds=float(number))) for number in range(40)]
    for answer in (*answers, *answers):
        assert "vfmadd231ps" in drawn(two, answer)


def test_texts_of_two_answers_are_compared(two: RenderWorkers) -> None:
    whole = full_answer()
    keys = list(whole.listings)
    parts = [pack(msgspec.structs.replace(whole, listings={key: whole.listings[key]})) for key in keys[:2]]
    task = RenderText(pane="loops", listing=keys[1], before=keys[0])
    assert two.perform(task, Html, parts, "me").html.count(" added") == 1


def test_answers_keep_their_order_and_may_be_one_twice(two: RenderWorkers) -> None:
    first, second = (
        pack(Answer(status="error", problems=[Problem(kind="Error", message=f"number {number}")]))
        for number in range(2)
    )
    task = CompareTexts(TextChoice(), [Options(), Options()])
    two.perform(task, Compared, [second, second], "me")
    for pair in ([first, second], [second, first], [first, first]):
        told = two.perform(task, Compared, pair, "me").problems
        assert told == [msgspec.json.decode(answer.json(), type=Answer).problems for answer in pair]
    whole = pack(full_answer())
    assert two.perform(task, Compared, [whole, whole], "me").equal


def test_what_is_not_there_is_not_found(two: RenderWorkers) -> None:
    with pytest.raises(NotFound, match="expired"):
        two.perform(RenderChunk("unknown", 0), Html, [pack(full_answer())], "me")


def test_what_takes_too_long_costs_one_process(two: RenderWorkers) -> None:
    drawn(two)
    with pytest.raises(Overrun, match=r"0\.2 s of processor time"):
        work_for_long(two)
    assert "vfmadd231ps" in drawn(two)


def test_what_takes_too_much_memory_is_refused(two: RenderWorkers) -> None:
    text = msgspec.json.encode("é" * 8_000_000 + "😀")  # four bytes a letter, once decoded
    message = b'{"type":"snapshot","answer":{"console":[["stdout",' + text + b'],["stdout",' + text + b"]]}}"
    with pytest.raises((TooLarge, Overrun)):
        two.perform(Assemble([message] * 3, OK), Packed, client="me")
    assert "vfmadd231ps" in drawn(two)


def test_a_killed_worker_is_replaced_unnoticed(two: RenderWorkers) -> None:
    drawn(two)
    killed = two.pids[1:]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: all(state_of(pid) in "ZX" for pid in killed))
    for _ in range(4):
        assert "vfmadd231ps" in drawn(two)


def state_of(pid: int) -> str:
    """Return the letter of a process's state, X where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return "X"


def test_another_fork_server_takes_the_place_of_one_that_died() -> None:
    workers = RenderWorkers(1, MEMORY_BYTES)
    try:
        drawn(workers)
        killed = workers.pids
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(state_of(pid) in "ZX" for pid in killed))
        assert "vfmadd231ps" in drawn(workers)
        assert not set(killed) & set(workers.pids)
    finally:
        workers.close()


@pytest.fixture
def stopped(two: RenderWorkers) -> Iterator[RenderWorkers]:
    """Return the workers, which do nothing until the test is over."""
    with ThreadPoolExecutor() as threads:
        while len(two.pids) < 3:
            list(threads.map(lambda client: drawn(two, client=client), "abcdef"))
    pids = two.pids[1:]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    yield two
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_one_client_leaves_a_worker_to_the_others(stopped: RenderWorkers) -> None:
    with ThreadPoolExecutor() as threads:
        try:
            greedy = [threads.submit(drawn, stopped, client="greedy") for _ in range(3)]
            wait_until(lambda: len(stopped._places) == 2)
            modest = threads.submit(drawn, stopped, client="modest")
            wait_until(lambda: stopped._held == {"greedy": 1, "modest": 1})
        finally:
            for pid in stopped.pids[1:]:
                os.kill(pid, signal.SIGCONT)
        assert all("vfmadd231ps" in task.result(60) for task in (*greedy, modest))


def test_a_turn_is_waited_for_longer_while_the_workers_lack_a_processor(
    stopped: RenderWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "TURN_SECONDS", 0.5)
    with ThreadPoolExecutor() as threads:
        try:
            working = threads.submit(drawn, stopped, client="me")
            wait_until(lambda: stopped._held == {"me": 1})
            with pytest.raises(Busy):
                drawn(stopped, client="me")
            monkeypatch.setattr(patience, "held_back", lambda before, after, passed: passed)
            waiting = threads.submit(drawn, stopped, client="me")
            time.sleep(1)
            assert not waiting.done()
        finally:
            for pid in stopped.pids[1:]:
                os.kill(pid, signal.SIGCONT)
        assert all("vfmadd231ps" in task.result(60) for task in (working, waiting))


def test_a_client_that_goes_gives_its_worker_back(stopped: RenderWorkers) -> None:
    caller = Caller()

    def ask() -> str:
        with calling(caller):
            return drawn(stopped, client="me")

    with ThreadPoolExecutor() as threads:
        working, waiting = threads.submit(ask), threads.submit(ask)
        wait_until(lambda: len(stopped._places) == 1)
        caller.leave()
        for task in (working, waiting):
            with pytest.raises(Superseded):
                task.result(20)
    assert not stopped._held
    assert not stopped._places


def test_workers_hold_nothing_of_the_server(two: RenderWorkers, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret:
        drawn(two)
        for pid in two.pids:
            held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            assert secret.name not in held
            assert sum(name.startswith("socket:") for name in held) == 1


def test_processes_end_with_the_pool() -> None:
    workers = RenderWorkers(1, MEMORY_BYTES)
    drawn(workers)
    pids = workers.pids
    workers.close()
    wait_until(lambda: all(state_of(pid) in "ZX" for pid in pids))


@pytest.mark.parametrize(("memory", "cores", "count"), [(430, 2, 3), (430, 64, 3), (2_000, 8, 9), (200, 8, 2)])
def test_there_are_as_many_workers_as_cores_and_memory_allow(memory: int, cores: int, count: int) -> None:
    assert count_of_workers(memory << 20, cores) == count


def test_what_is_too_large_to_send_is_refused(renderer: RenderWorkers) -> None:
    with pytest.raises(TooLarge, match="at most 33,554,432"):
        renderer.perform(Assemble([bytes(MAX_CALL + 1)], OK), Packed, client="me")
    message = msgspec.json.encode(Snapshot(answer=Answer(console=[Console("stdout", "x" * (MAX_RESULT + 1))])))
    with pytest.raises(TooLarge, match="at most 12,582,912"):
        renderer.perform(RenderUpdate(message, View(), Options()), Update, client="me")
    assert "vfmadd231ps" in drawn(renderer)


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("stubs"))


def test_what_a_process_reads_of_the_api_does_not_count(stubs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To parse the package takes seconds of the first process that is asked for a type, whatever it is asked."""
    monkeypatch.setattr(pool, "CPU_SECONDS", 1.0)
    workers = RenderWorkers(1, pool.IMPORTED_BYTES + (110 << 20))
    try:
        script = "from tvm import te\nA = te.placeholder((4,))\nA"
        assert workers.perform(InferType(script, "", stubs), TypeName).name == "tvm.te.Tensor"
    finally:
        workers.close()


def test_what_earlier_tasks_left_in_a_process_takes_no_memory_from_the_next(stubs: str) -> None:
    workers = RenderWorkers(1, pool.IMPORTED_BYTES + (110 << 20))
    try:
        for expression in ("te.create_schedule", "np.linalg.norm", "subprocess.Popen", "http.client.HTTPConnection"):
            modules = "import http.client, subprocess\nimport numpy as np\nfrom compiler import te\n"
            workers.perform(InferType(f"{modules}{expression}", "", stubs), TypeName)
        first = workers.pids
        answer = Answer(console=[Console("stdout", "x" * MAX_RESULT)])
        with pytest.raises(TooLarge, match="at most 12,582,912"):
            workers.perform(RenderUpdate(msgspec.json.encode(Snapshot(answer=answer)), View(), Options()), Update)
        assert workers.pids != first
    finally:
        workers.close()
