"""Candidates that crash, hang or compute something else are records, and the others have times."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import te
from compiler.ir.error import ArgumentError
from compiler.runtime.modules import native_code
from compiler.search import measurer
from compiler.search.measurer import Kernel, Limits, Measurer, Place, apart, difference
from compiler.search.pairing import Pairing, Patience, paired

_QUICK = Patience(turn=1e-5, most=4, seconds=0.1)


def _double(a: Any, b: Any) -> None:
    np.multiply(a, 2, out=b)


def _wrong(a: Any, b: Any) -> None:
    np.multiply(a, 2.01, out=b)


def _crash(a: Any, b: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _sleep(a: Any, b: Any) -> None:
    time.sleep(60)


def _refused() -> Kernel:
    raise ArgumentError("there is no such loop")


def _measurer(**options: Any) -> Measurer:
    arrays = [np.arange(8, dtype="float32"), np.zeros(8, "float32")]
    return Measurer(arrays, limits=Limits(build=5, run=5, clock=5), patience=_QUICK, **options)


@pytest.mark.parametrize("parallel", [pytest.param(1, marks=pytest.mark.long), 3])
def test_what_fails_is_a_record_and_the_others_are_measured_in_order(parallel: int) -> None:
    measurer = _measurer(parallel=parallel)
    assert measurer.expect(lambda: _double).kind == "ok"
    builds = [lambda: _double, lambda: _wrong, lambda: _crash, lambda: _sleep, _refused, lambda: _double]
    found = list(measurer.measure(builds))
    assert [m.kind for m in found] == ["ok", "wrong", "crashed", "hung", "refused", "ok"]
    assert [m.pairing is not None for m in found] == [True, False, False, False, False, True]
    assert "SIGSEGV" in found[2].message
    assert "no such loop" in found[4].message


def test_a_default_that_crashes_does_not_end_the_search() -> None:
    assert _measurer().expect(lambda: _crash).kind == "crashed"


def test_in_a_program_kernels_run_on_its_arrays_each_call_after_the_rest_of_it() -> None:
    order: list[Any] = []

    def kernel(a: Any, b: Any) -> None:
        _double(a, b)
        order.append(b is there[1])

    there = [np.arange(8, dtype="float32"), np.zeros(8, "float32")]
    measurer = _measurer(place=Place(lambda: order.append("rest"), there), is_apart=False)
    measurer.expect(lambda: kernel)
    (found,) = measurer.measure([lambda: kernel])
    assert found.pairing is not None
    timed = order[order.index("rest") :]
    assert timed == ["rest", True] * (len(timed) // 2)
    assert order.count(False) == 2, "its results are checked on other arrays, where nothing has written them before"


def test_machine_code_is_called_without_looking_at_its_arguments_again(monkeypatch: pytest.MonkeyPatch) -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2, name="B")
    built, calls = compiler.build(te.create_schedule(b.op), [a, b], "llvm"), list[Any]()
    monkeypatch.setattr(type(built), "__call__", lambda self, *args: calls.append(args) or self.entry_func(*args))
    measurer = _measurer(is_apart=False)
    measurer.expect(lambda: built)
    (found,) = measurer.measure([lambda: built])
    assert found.pairing is not None
    assert found.pairing.turns > 2
    assert len(calls) == 2, "one for what is expected, one for the check of a candidate"


def test_processor_time_ends_a_loop_that_a_patient_clock_would_wait_for() -> None:
    def spin(a: Any, b: Any) -> None:
        while True:
            pass

    measurer = _measurer()
    measurer.expect(lambda: _double)
    measurer.limits = Limits(build=0.1, run=0.1, clock=60)
    (found,) = measurer.measure([lambda: spin], _QUICK)
    assert (found.kind, found.message) == ("hung", "it took too much processor time")


def test_a_candidate_may_take_a_few_times_as_long_to_build_as_the_default() -> None:
    def slow() -> Kernel:
        while True:
            pass

    measurer = _measurer()
    measurer.limits = Limits(build=60, run=60)
    measurer.expect(lambda: _double)
    began = time.monotonic()
    (found,) = measurer.measure([slow], _QUICK)
    assert (found.kind, found.message) == ("hung", "it took too much processor time")
    assert time.monotonic() - began < 50


def _children(of: int) -> dict[int, str]:
    """The processes that one has started, those that ended and were not waited for among them, and their states."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, parent, *_ = path.read_text().rpartition(")")[2].split()
            if int(parent) == of:
                found[int(path.parent.name)] = state
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells the processes")
def test_no_child_is_left_behind_where_nobody_waits_for_the_rest() -> None:
    before = set(_children(os.getpid()))  # those of other tests of this session
    measurer = _measurer(parallel=2)
    measurer.expect(lambda: _double)
    measuring = measurer.measure([lambda: _double, lambda: _sleep, lambda: _sleep])
    next(measuring)
    assert set(_children(os.getpid())) - before
    measuring.close()  # type: ignore[attr-defined]
    assert set(_children(os.getpid())) <= before


def _stopped(others: Collection[int]) -> list[int]:
    """Wait until the processes that are being built while this one is compared are stopped, and return them."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        states = {pid: state for pid, state in _children(os.getppid()).items() if pid not in {os.getpid(), *others}}
        if set(states.values()) == {"T"}:
            return list(states)
        time.sleep(0.01)
    return []


def _until(told: int) -> Callable[[], Kernel]:
    """Return what is being built until something can be read."""

    def build() -> Kernel:
        select([told], [], [], 60)
        return _double

    return build


_NO_LIMITS = Limits(build=60, run=60, clock=90)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells the processes")
def test_what_is_being_built_stands_still_while_another_one_is_compared() -> None:
    others = _children(os.getpid())
    told, ours = os.pipe()

    def watching(a: Any, b: Any) -> None:
        np.multiply(a, 2, out=b)
        if not select([told], [], [], 0)[0]:
            b[:] = a * 2 if len(_stopped(others)) == 2 else -1
            os.write(ours, b"now")

    measurer = _measurer(parallel=3)
    measurer.limits = _NO_LIMITS
    measurer.expect(lambda: _double)
    builds = [lambda: watching, _until(told), _until(told)]
    assert [m.kind for m in measurer.measure(builds)] == ["ok"] * 3


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells the processes")
def test_no_child_stands_still_for_ever_where_the_search_is_killed() -> None:
    never, _ = os.pipe()
    told, ours = os.pipe()

    def murder(a: Any, b: Any) -> None:
        os.write(ours, f"{_stopped(())[0]}\n".encode())
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)

    if not (search := os.fork()):
        try:
            os.setsid()  # nobody continues what is stopped in a session without a terminal
            measurer = _measurer(parallel=2)
            measurer.limits = _NO_LIMITS
            measurer.expect(lambda: _double)
            list(measurer.measure([lambda: murder, _until(never)]))
        finally:
            os._exit(1)
    os.waitpid(search, 0)
    stopped = Path("/proc", os.read(told, 100).decode().strip())
    until = time.monotonic() + 20
    while stopped.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not stopped.exists()


def test_the_machine_code_of_the_reference_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    linked: list[int] = []

    class Noted(native_code.LinkedCode):
        def __init__(self, *arguments: Any) -> None:
            linked.append(os.getpid())
            super().__init__(*arguments)

    monkeypatch.setattr(native_code, "LinkedCode", Noted)
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2, name="B")
    measurer = _measurer()
    measurer.expect(lambda: compiler.build(te.create_schedule(b.op), [a, b], "llvm"))
    assert linked == [os.getpid()], "here, and not in each child"


def test_differences_are_told_by_size_and_by_what_is_not_a_number() -> None:
    a = np.array([1.0, np.nan, np.inf, 0.0], "float32")
    assert difference(a, a) == 0
    assert difference(a + np.float32(1e-6), a) < 1e-5
    assert difference(np.nan_to_num(a), a) == np.inf
    assert difference(np.array([1, 2]), np.array([1, 3])) == np.inf


class _Clock:
    """A clock that work sets forward, with noise that comes to both kernels alike."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, 0

    def __call__(self) -> float:
        return self.now

    def kernel(self, seconds: float) -> Any:
        def run() -> None:
            self.calls += 1
            self.now += seconds * (1 + 0.5 * (self.calls // 7 % 3))

        return run


def test_kernels_that_take_the_same_time_are_not_faster_and_what_others_are_is_known_by_their_error() -> None:
    for ratio, error, is_faster in ((0.9, 0.01, True), (0.98, 0.01, False), (1.0, 0.0, False), (1.1, 0.01, False)):
        assert Pairing(ratio, error, ratio, 1.0, (ratio,) * 24).is_faster is is_faster


def test_an_error_that_few_turns_tell_is_not_relied_on() -> None:
    assert Pairing(0.9, 0.02, 0.9, 1.0, (0.9,) * 24).is_faster
    assert not Pairing(0.9, 0.02, 0.9, 1.0, (0.9,) * 4).is_faster


@pytest.mark.parametrize("slow", [0, 1])
def test_what_first_calls_take_gives_no_kernel_other_turns_than_the_other(slow: int) -> None:
    now, begun = [0.0], [False, False]
    last = [-1]

    def kernel(which: int) -> Kernel:
        def run() -> None:
            first = which == slow and not begun[which]
            now[0] += 20.0 if first else 1.0 + 0.5 * (last[0] != which)  # it fetches what the other one displaced
            begun[which], last[0] = True, which

        return run

    found = paired(kernel(0), kernel(1), Patience(turn=16, seconds=1e9), lambda: now[0])
    assert found.ratio == pytest.approx(1.0, abs=1e-6)


def test_hardly_any_of_many_kernels_beside_themselves_are_certainly_faster() -> None:
    rng, now = random.Random(0), [0.0]

    def kernel() -> None:
        now[0] += rng.lognormvariate(0, 0.05) * (3 if rng.random() < 0.02 else 1)

    patience = Patience(turn=0, most=32, seconds=1e9, matters=0)
    found = [paired(kernel, kernel, patience, lambda: now[0]) for _ in range(500)]
    assert sum(each.is_faster for each in found) <= 5


@pytest.mark.parametrize(("ratio", "is_faster"), [(0.5, True), (0.97, True), (1.0, False), (1.02, False), (3.0, False)])
def test_turns_tell_the_order_of_kernels_though_the_clock_is_disturbed(ratio: float, is_faster: bool) -> None:
    clock = _Clock()
    found = paired(clock.kernel(ratio), clock.kernel(1.0), Patience(turn=0, most=200, seconds=1e9, matters=0), clock)
    assert found.is_faster is is_faster
    assert found.ratio == pytest.approx(ratio, rel=0.05)


def test_a_kernel_that_is_much_slower_has_few_turns() -> None:
    clock = _Clock()
    assert paired(clock.kernel(10.0), clock.kernel(1.0), Patience(turn=0, seconds=1e9), clock).turns == 3


@pytest.mark.parametrize(("ratio", "is_faster"), [(0.1, True), (0.5, True), (0.9, False), (1.2, False)])
def test_kernels_that_take_as_long_as_there_is_patience_are_called_once(ratio: float, is_faster: bool) -> None:
    now = [0.0]

    def kernel(seconds: float) -> Kernel:
        def run() -> None:
            now[0] += seconds

        return run

    found = paired(kernel(5 * ratio), kernel(5.0), Patience(), lambda: now[0])
    assert (found.turns, found.is_faster) == (1, is_faster)
    assert now[0] == pytest.approx(5 * ratio + 5)  # three turns would be longer than a child may run


def test_a_child_whose_limits_cannot_be_set_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(limits: Limits) -> None:
        raise OSError("no limits here")

    parent = os.getpid()
    monkeypatch.setattr(measurer, "_become_child", fail)
    try:
        (made,) = apart([lambda: 1], 5.0)
    finally:
        if os.getpid() != parent:
            os._exit(3)  # otherwise the child would go on with the tests
    assert made.message == "its process ended with 0"
