"""A search returns what is faster than the default, or the default."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.driver.templates import BlockTemplate
from compiler.ir.error import ArgumentError
from compiler.search import Database, Evolution, Machine, Pairing, Patience, Search, Wishes, filled, tune
from compiler.search.measurer import Build, Measurement
from compiler.search.pairing import paired
from compiler.search.space import ScheduleSpace
from compiler.search.tuning import Tuning
from compiler.tir.schedule.schedule import Schedule
from tests.compiler.search.workloads import matrices, product


class _Clocked:
    """Measures by a clock that each program sets forward by what a function says of it."""

    def __init__(self, seconds: Callable[[Any], float]) -> None:
        self._seconds, self._reference, self.seen = seconds, 0.0, list[str]()

    def expect(self, build: Build) -> Measurement:
        self.refer(build)
        return Measurement()

    def refer(self, build: Build) -> None:
        self._reference = self._seconds(build())

    def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        for build in builds:
            program = build()
            self.seen.append(str(program))
            yield Measurement(pairing=self._paired(self._seconds(program)))

    def _paired(self, seconds: float) -> Pairing:
        now = [0.0]

        def kernel(step: float) -> Callable[[], None]:
            return lambda: now.__setitem__(0, now[0] + step)

        return paired(kernel(seconds), kernel(self._reference), Patience(turn=0, seconds=1e9), lambda: now[0])


class _Numbers:
    """Candidates that are three numbers, for programs that bear their names."""

    def __init__(self) -> None:
        self._func, _ = product(random.Random(3))

    def sample(self, rng: random.Random) -> tuple[int, ...]:
        return tuple(rng.randrange(8) for _ in range(3))

    def mutated(self, candidate: tuple[int, ...], rng: random.Random) -> tuple[int, ...]:
        at = rng.randrange(3)
        return (*candidate[:at], rng.randrange(8), *candidate[at + 1 :])

    def crossed(self, first: tuple[int, ...], second: tuple[int, ...], rng: random.Random) -> tuple[int, ...]:
        return tuple(rng.choice(pair) for pair in zip(first, second, strict=True))

    def program(self, candidate: tuple[int, ...]) -> Any:
        return self._func.with_attr("candidate", str(candidate))


def _search(measuring: _Clocked, seed: int = 0, **options: Any) -> Search[Any]:
    def build(program: Any) -> Any:
        return program.attrs["candidate"]

    return Search(_Numbers(), build, measuring, Machine(), default=lambda: "default", seed=seed, **options)


def _by_text(program: Any) -> float:
    """Return a time for each program, shorter and longer than the default's."""
    return 1.0 if program == "default" else 0.5 + random.Random(str(program)).random()


def test_the_winner_is_faster_than_the_default_by_what_was_measured() -> None:
    for seed in range(3):
        search = _search(_Clocked(_by_text), seed)
        for _ in range(2):
            search.round(6)
        fastest = min(search.trials, key=lambda trial: trial.seconds)
        winner = search.finish()
        if fastest.seconds < 0.999:
            assert winner is not None
            assert winner.candidate == fastest.candidate
            assert winner.seconds == pytest.approx(_by_text(str(winner.candidate)))
        else:
            assert winner is None


def test_a_default_that_nothing_beats_stays() -> None:
    search = _search(_Clocked(lambda program: 1.0))
    search.round(6)
    assert search.finish() is None
    assert search.default_seconds == pytest.approx(1.0)


def test_where_winners_fail_at_last_the_next_best_is_taken_and_no_trial_forgotten() -> None:
    search = _search(_Clocked(lambda program: 1.0 if program == "default" else 0.5))
    made = search.round(6)
    tried: list[Any] = []
    assert search.finish(lambda candidate: bool(tried.append(candidate))) is None
    assert sorted(tried) == sorted(trial.candidate for trial in made)
    assert len(search.trials) == len(made)
    next_best = search.finish(lambda candidate: candidate != tried[0])
    assert next_best is not None
    assert next_best.candidate in tried[1:]


@pytest.mark.parametrize(("at_last", "others", "measured"), [(1.0, 1.1, 0), (2.0, 0.6, 1)])
def test_at_last_none_is_measured_that_was_not_faster_nor_after_one_that_is_not_any_more(
    at_last: float, others: float, measured: int
) -> None:
    slower, best = [1.0], (0, 0, 0)  # the clock shows the candidates other times at last

    def seconds(text: Any) -> float:
        return 1.0 if text == "default" else slower[0] * (0.5 if text == str(best) else others)

    search = _search(measuring := _Clocked(seconds))
    search.round(6, [best])
    before, slower[0] = len(measuring.seen), at_last
    assert search.finish(lambda candidate: others < 1 or candidate != best) is None
    assert len(measuring.seen) - before == measured


def test_the_same_seed_measures_the_same_candidates() -> None:
    def seen(seed: int) -> list[str]:
        measuring = _Clocked(_by_text)
        search = _search(measuring, seed)
        for _ in range(2):
            search.round(5)
        return measuring.seen

    assert seen(4) == seen(4)
    assert seen(4) != seen(5)


def test_evolution_without_chance_is_as_expected_and_chance_alone_is_not() -> None:
    told: list[Any] = []

    def expect(candidates: Sequence[Any]) -> list[float]:
        return [float(sum(candidate)) for candidate in candidates]

    def sums(evolution: Evolution) -> list[int]:
        told.clear()
        made = _search(_Clocked(_by_text), expect=expect, told=told.extend, evolution=evolution).round(6)
        assert [trial.candidate for trial in told] == [trial.candidate for trial in made]
        return [sum(trial.candidate) for trial in made]

    evolved, drawn = (
        sums(Evolution(64, generations=3, by_chance=0.0)),
        sums(Evolution(64, generations=0, by_chance=1.0)),
    )
    assert evolved == sorted(evolved)
    assert drawn != sorted(drawn)
    assert sum(evolved) < sum(drawn)


@pytest.mark.parametrize(("slow", "rounds"), [(2.0, 4), (4.0, 2)])
def test_an_algorithm_that_is_underestimated_has_its_turn_and_one_that_is_far_behind_is_given_up(
    slow: float, rounds: int
) -> None:
    def seconds(program: Any) -> float:
        kind, *rest = (9,) if program == "default" else eval(program)
        return 4.0 if program == "default" else slow if kind < 4 else 1.0 + 0.3 * sum(rest)

    def expect(candidates: Sequence[Any]) -> list[float]:
        return [seconds(str(candidate)) + 5.0 * (candidate[0] >= 4) for candidate in candidates]

    def measured(**options: Any) -> list[bool]:
        evolution = Evolution(population=24, by_chance=0.0)
        search = _search(_Clocked(seconds), expect=expect, evolution=evolution, **options)
        return [trial.candidate[0] >= 4 for _ in range(9) for trial in search.round(6)]

    assert not any(measured()), "nothing is measured that is expected to be slow"
    in_turn = measured(algorithm=lambda candidate: candidate[0] >= 4)
    assert in_turn[: 6 * rounds] == [False, True] * 3 * rounds
    assert all(in_turn[6 * rounds :]), "twelve were at least 1.4 times as slow, or four 2.5 times"


def test_no_candidate_is_measured_twice() -> None:
    search = _search(_Clocked(_by_text))
    candidates = [trial.candidate for _ in range(3) for trial in search.round(5)]
    assert len(set(candidates)) == len(candidates)


def test_a_function_is_searched_and_its_log_begins_the_next_search(tmp_path: Path) -> None:
    func, expected = product(random.Random(3))
    log, told = tmp_path / "log.jsonl", []
    found = tune(func, "llvm", trials=2, per_round=1, seed=1, log=log, told=told.append, evolution=Evolution(3))
    assert [progress.trials for progress in told] == [1, 2]
    assert all(trial.measurement.kind == "ok" for trial in found.trials)
    assert found.seconds <= found.default_seconds
    if found.schedule is not None:
        arrays = [np.random.default_rng(0).random(b.shape, "float32") for b in _buffers(func)]
        tvm.build(found.schedule.mod, target="llvm")(*arrays)
        np.testing.assert_allclose(arrays[-1], expected(*arrays[:-1]), rtol=1e-4)
    before = {trial.candidate for trial in found.trials}
    best = {min(Database(log), key=lambda record: record.seconds).choices} - {None}  # which is of the default
    again = tune(func, "llvm", trials=2, per_round=2, seed=2, log=log, evolution=Evolution(3))
    assert before & {trial.candidate for trial in again.trials} == best, "the best has to win again, no other"


def test_a_schedule_that_a_program_has_made_is_a_candidate_and_chosen_where_it_is_best(tmp_path: Path) -> None:
    schedule = Schedule(func := matrices(8, 16, 4))
    schedule.split(schedule.get_loops(schedule.get_block("C"))[0], [None, 4])
    template, log = BlockTemplate(func, schedule.trace), tmp_path / "log.jsonl"
    own = (("way", f"template {template.digest}"), ("i.part1", 4))
    options: dict[str, Any] = {"per_round": 1, "seed": 1, "log": log, "template": template, "evolution": Evolution(3)}
    found = tune(func, "llvm", trials=2, **options)
    assert [trial.candidate == own for trial in found.trials] == [False, True]
    assert found.trials[1].row, "a model learns from it"
    again = tune(func, "llvm", trials=3, **options)
    assert all(trial.candidate != own for trial in again.trials[1:]), "it is known by now"
    wishes = Wishes({own[0][0]: own[0][1]})
    pinned = tune(func, "llvm", trials=2, wishes=wishes, measuring=lambda *_: _Fast(), **options)
    assert {dict(trial.candidate)["way"] for trial in pinned.trials} == {own[0][1]}
    assert pinned.schedule is None
    assert pinned.choices is not None
    size = int(str(dict(pinned.choices)["i.part1"]))
    assert f"T.grid({8 // size}, {size}, " in filled(template, pinned.choices).loops().script()


def test_the_best_of_what_is_pinned_has_to_win_again_though_another_was_faster() -> None:
    schedule = Schedule(func := matrices(8, 16, 4))
    schedule.split(schedule.get_loops(schedule.get_block("C"))[0], [None, 4])
    template, log = BlockTemplate(func, schedule.trace), Database()
    options: dict[str, Any] = {"per_round": 1, "seed": 1, "log": log, "template": template, "evolution": Evolution(3)}
    by_rules, own = (trial.candidate for trial in tune(func, "llvm", trials=2, **options).trials)
    seconds = {by_rules: 1e-9, own: 2e-9}
    log.add([replace(record, seconds=seconds[record.choices]) for record in log if record.choices in seconds])
    wishes = Wishes({"way": f"template {template.digest}"})
    pinned = tune(func, "llvm", trials=1, wishes=wishes, measuring=lambda *_: _Fast(), **options)
    assert [trial.candidate for trial in pinned.trials] == [own]


class _Fast:
    """Finds all candidates twice as fast as the default."""

    def expect(self, build: Build) -> Measurement:
        return Measurement()

    def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        return (Measurement(pairing=Pairing(0.5, 1e-3, 1.0, 2.0, (1.0,) * 4)) for _ in builds)

    def refer(self, build: Build) -> None:
        """Take any reference."""


def test_trials_without_a_time_are_counted() -> None:
    class Refusing:
        def expect(self, build: Build) -> Measurement:
            return Measurement()

        def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
            return (Measurement("refused") for _ in builds)

        def refer(self, build: Build) -> None:
            raise AssertionError("nothing is fast enough")

    func, told = product(random.Random(3))[0], []
    tune(func, "llvm", trials=3, per_round=2, seed=1, told=told.append, measuring=lambda arrays, threads: Refusing())
    assert [(progress.trials, progress.failed) for progress in told] == [(2, 2), (3, 3)]
    assert math.isinf(told[0].best)


def test_a_default_that_cannot_be_run_is_said_before_anything_is_searched() -> None:
    class Crashing(_Clocked):
        def expect(self, build: Build) -> Measurement:
            return Measurement("crashed", "its process ended with SIGSEGV")

    with pytest.raises(ArgumentError, match="default cannot be measured: its process ended with SIGSEGV"):
        tune(matrices(8, 8, 8), "llvm", trials=1, measuring=lambda *_: Crashing(_by_text))


@pytest.mark.parametrize("is_sound", [True, False])
def test_what_is_not_sound_is_not_the_best(is_sound: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScheduleSpace, "is_sound", lambda *_: is_sound)
    quick = _Clocked(lambda built: 1.0 if isinstance(built, str) else 0.5)
    default: Any = lambda: "default"  # noqa: E731
    tuning = Tuning(
        matrices(8, 8, 8), "llvm", Database(), default=default, measuring=lambda *_: quick, evolution=Evolution(2)
    )
    tuning.begin()
    tuning.round(2)
    assert (tuning.best is not None) is is_sound


def _buffers(func: Any) -> list[Any]:
    return [tvm.tir.decl_buffer([int(dim) for dim in func.buffer_map[p].shape]) for p in func.params]


def test_what_cannot_be_measured_is_refused() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    with pytest.raises(ArgumentError, match="constant shape"):
        tune(te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0)]), "llvm", trials=1)
    with pytest.raises(ArgumentError, match="not for cuda"):
        tune(product(random.Random(3))[0], "cuda")
    assert math.isinf(_search(_Clocked(_by_text)).default_seconds)
