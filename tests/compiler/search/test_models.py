"""Models are built with what a search over their kernels has decided, which is never slower than what was there."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.driver.relay.build import BuiltGraph, build_graph
from compiler.driver.relay.kernels import clear_cache
from compiler.ir.error import ArgumentError
from compiler.ir.instrument import instrumented
from compiler.ir.module import IRModule
from compiler.runtime.parallel.threads import set_num_threads
from compiler.search import Database, Evolution, Machine, Pairing, Patience, Record, ScheduleSpace
from compiler.search.choices import Picker, Wishes
from compiler.search.features import NAMES, features
from compiler.search.ledger import Ledger
from compiler.search.measurer import Build, Measurement
from compiler.search.models import AppliedLog, KernelTask, ModelTuning, numbers_of, with_numbers
from compiler.search.tuning import Tuning, workload_of
from compiler.target.target import Target

TARGET = Target("llvm -mcpu=native")


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (("_PER_ROUND", 2), ("_EVOLUTION", Evolution(2))):
        monkeypatch.setattr(f"compiler.search.models.{name}", value)
    set_num_threads(1)
    yield
    set_num_threads(None)


class _Always:
    """Says of every candidate that it takes so much of the default's time."""

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio

    def expect(self, build: Build) -> Measurement:
        return Measurement()

    def refer(self, build: Build) -> None:
        pass

    def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        for _ in builds:
            yield Measurement(pairing=Pairing(self._ratio, 1e-3, self._ratio, 1.0, (self._ratio,) * 4), compared=0.5)


def _model(rng: random.Random) -> tuple[IRModule, dict[str, Any]]:
    """Return two products of matrices, each with something on top."""
    n, m, wide = rng.sample([2, 3, 4, 6], 3)
    shapes = {"x": (n, 5), "w": (m, 5), "v": (wide, m)}
    x, w, v = (relay.var(name, shape=shape) for name, shape in shapes.items())
    y = relay.tanh(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), v))
    numpy = np.random.default_rng(n)
    params = {name: numpy.normal(size=shapes[name]).astype("float32") for name in "wv"}
    return IRModule.from_expr(relay.Function([x, w, v], y)), params


def _result(built: BuiltGraph) -> Any:
    executor = built["default"](tvm.cpu(0))
    shape = executor.get_input("x").shape
    executor.set_input("x", np.random.default_rng(1).normal(size=shape).astype("float32"))
    executor.run()
    return executor.get_output(0).numpy()


def _decided(usual: BuiltGraph, way: str, rng: random.Random) -> Database:
    """Return a log that has some program for each kernel, found in one of both ways where it has both."""
    log = Database()
    for kernel in usual.kernels.values():
        definition = kernel.usual
        func, numbers = definition.blocks(), numbers_of(definition)
        space = ScheduleSpace(func, Machine.of(TARGET, 1), Wishes({"way": way} if numbers else {}), numbers)
        loops = definition.lowered("main").script()
        drawn = (space.sample(rng) for _ in range(20))
        found = next((c for c in drawn if tvm.lower(space.program(c)).script() != loops), None)
        if found is not None:
            log.add([Record(workload_of(func, TARGET, 1), "", found, "ok", 1.0, is_decision=True)])
    return log


@pytest.mark.parametrize("way", ["rules", "numbers"])
def test_a_model_with_what_a_log_decided_computes_the_same(way: str) -> None:
    rng = random.Random(way)
    module, params = _model(rng)
    with tvm.transform.PassContext(opt_level=3):
        usual = build_graph(module, TARGET, params)
        log = _decided(usual, way, rng)
        with instrumented(AppliedLog(log)):
            built = build_graph(module, TARGET, params)
    np.testing.assert_allclose(_result(built), _result(usual), rtol=1e-4, atol=1e-4)
    loops = {name: kernel.prim_func.script() for name, kernel in usual.kernels.items()}
    others = [name for name, kernel in built.kernels.items() if kernel.prim_func.script() != loops[name]]
    assert len(others) == len(log) >= 1


def test_a_candidate_by_numbers_has_the_loops_of_its_schedule_and_lowers_to_the_kernel_that_is_built() -> None:
    """To write out its loops takes longer than all else, and is for the process that builds it."""
    rng = random.Random(5)
    (kernel,) = build_graph(*_convolution()[:1], TARGET).kernels.values()
    numbers = numbers_of(kernel.usual)
    assert numbers is not None
    space = ScheduleSpace(kernel.usual.blocks(), Machine.of(TARGET, 1), Wishes({"way": "numbers"}), numbers)
    for candidate in {space.sample(rng) for _ in range(3)}:
        program = space.program(candidate)
        built = with_numbers(kernel.usual, Picker(rng, dict(candidate))).lowered("main")
        assert tvm.lower(program).script() == built.script()
        unrolled, written_out = (features(each, space.machine)[NAMES.index("unrolled")] for each in (program, built))
        assert unrolled > written_out, "of the rules' candidates loops are read before they are written out, too"


def _convolution() -> tuple[IRModule, dict[str, Any]]:
    """Return a convolution that can be computed on transformed tiles, and is not usually."""
    weight = np.random.default_rng(1).normal(size=(16, 16, 3, 3)).astype("float32")
    x = relay.var("x", shape=(1, 16, 7, 7))
    y = relay.nn.relu(relay.nn.conv2d(x, relay.const(weight), padding=1))
    return IRModule.from_expr(relay.Function([x], y)), {}


@pytest.mark.parametrize("is_faster", [True, False])
def test_another_way_to_compute_an_operator_stays_where_the_model_is_faster(
    is_faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seconds(self: ModelTuning, models: Sequence[Any], turns: int) -> list[dict[str, list[float]]]:
        return [{name: [0.5 if "winograd" in name else 1.0] * 3 for _, name in model.calls()} for model in models]

    monkeypatch.setattr(ModelTuning, "_kernel_seconds", seconds)
    ratio = 0.8 if is_faster else 1.1
    monkeypatch.setattr("compiler.search.models.paired", lambda *_: Pairing(ratio, 1e-3, ratio, 1.0, (ratio,) * 4))
    module, params = _convolution()
    log = Database()
    with tvm.transform.PassContext(opt_level=3):
        usual = build_graph(module, TARGET, params)
        tuning = ModelTuning(module, TARGET, params, log=log, measuring=lambda *_: _Always(1.5))
        assert not any("winograd" in name for task in tuning.tasks for name in task.names)
        doing: list[str] = []
        found = tuning.run(0, doing=doing.append)
        assert doing[0] == "trying nn.contrib_conv2d_NCHWc as transformed tiles, 1 of 1 other ways"
        assert any("winograd" in name for task in tuning.tasks for name in task.names), "searched is what was faster"
        assert found.seconds == (0.8 if is_faster else 1.0), "in the whole model it may be slower"
        assert ("transformed tiles: nn.contrib_conv2d" in found.table()) is is_faster
        with instrumented(AppliedLog(log)):
            built = build_graph(module, TARGET, params)
    assert not any("winograd" in name for name in usual.kernels)
    assert any("winograd" in name for name in built.kernels) is is_faster
    np.testing.assert_allclose(_result(built), _result(usual), rtol=1e-4, atol=1e-4)


def test_a_model_keeps_its_kernels_where_nothing_is_faster_and_its_log_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    module, params = _model(random.Random(1))
    found = ModelTuning(module, TARGET, params, log=Database(log), measuring=lambda *_: _Always(1.5)).run(3)
    assert sum(task.trials for task in found.tasks) == 3
    assert found.seconds == found.default
    assert {task.choices for task in found.tasks} == {None}
    searched = [task for task in found.tasks if task.trials]
    assert all(Database(log).decision(task.tuning.workload).choices is None for task in searched)
    assert sum(task.ledger.seconds["measuring"] for task in found.tasks) == 1.5, "three comparisons of half a second"
    rows = [float(re.findall(r"\d+\.\d", row)[-1]) for row in found.table().splitlines()[1:]]  # before any trouble
    assert rows[-1] == pytest.approx(sum(rows[:-1]), abs=0.2), "the last row has all of the others"


def test_what_is_faster_beside_its_default_only_does_not_stay_in_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    module, params = _model(random.Random(2))
    tuning = ModelTuning(module, TARGET, params, log=Database(), measuring=lambda *_: _Always(0.5))
    times = {name: [1.0] * 3 for task in tuning.tasks for name in task.names}
    slower = {name: [1.1] * 3 for name in times}
    monkeypatch.setattr(tuning, "_kernel_seconds", lambda *_: [times, slower])
    found = tuning.run(2)
    assert {task.choices for task in found.tasks} == {None}


def test_what_is_faster_everywhere_is_kept_and_built(monkeypatch: pytest.MonkeyPatch) -> None:
    module, params = _model(random.Random(2))
    log = Database()
    tuning = ModelTuning(module, TARGET, params, log=log, measuring=lambda *_: _Always(0.5))
    times = {name: [1.0] * 3 for task in tuning.tasks for name in task.names}
    monkeypatch.setattr(tuning, "_kernel_seconds", lambda *_: [times, {name: [0.6] * 3 for name in times}])
    monkeypatch.setattr("compiler.search.models.paired", lambda *_: Pairing(0.75, 1e-3, 1.5, 2.0, (1.5,) * 4))
    found = tuning.run(1)
    (kept,) = (task for task in found.tasks if task.choices is not None)
    assert (found.seconds, found.default) == (1.5, 2.0)
    assert kept.best == pytest.approx(0.6 * kept.default)
    decision = log.decision(kept.tuning.workload)
    assert decision is not None
    assert decision.choices == kept.choices
    usual = build_graph(module, TARGET, params)
    with instrumented(AppliedLog(log)):
        built = build_graph(module, TARGET, params)
    np.testing.assert_allclose(_result(built), _result(usual), rtol=1e-4, atol=1e-4)
    loops = {name: kernel.prim_func.script() for name, kernel in usual.kernels.items()}
    assert {name for name, k in built.kernels.items() if k.prim_func.script() != loops[name]} <= set(kept.names)


def test_a_search_goes_on_from_its_log_and_keeps_what_it_had_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, params = _model(random.Random(2))

    def tuning(ratio: float) -> ModelTuning:
        log = Database(tmp_path / "log.jsonl")
        made = ModelTuning(module, TARGET, params, log=log, measuring=lambda *_: _Always(ratio))
        times = {name: [1.0] * 3 for task in made.tasks for name in task.names}
        faster = {name: [0.6] * 3 for name in times}
        monkeypatch.setattr(made, "_kernel_seconds", lambda *_: [times, faster])
        return made

    monkeypatch.setattr("compiler.search.models.paired", lambda *_: Pairing(0.75, 1e-3, 1.5, 2.0, (1.5,) * 4))
    begun = tuning(0.5)
    (first,) = (task for task in begun.run(1).tasks if task.choices is not None)
    (ended,) = (task for task in begun.tasks if not task.trials)
    ended.search(1)
    again = tuning(1.5)
    (same,) = (task for task in again.tasks if task.names == first.names)
    assert same.choices == first.choices
    assert [task.names for task in again.tasks if task.hope == 1.0] == [ended.names], "it was not decided"
    same.search(1)
    assert [trial.candidate for trial in same.tuning.search.trials] == [first.choices], "the best has to win again"
    again.run(0)
    assert same.choices == first.choices, "it is not faster beside the default today, but in the model it is"
    decision = Database(tmp_path / "log.jsonl").decision(same.tuning.workload)
    assert decision is not None
    assert decision.choices == first.choices


def test_what_is_banned_of_a_kernel_is_neither_tried_nor_kept_from_the_log() -> None:
    module, params = _model(random.Random(2))
    log = Database()

    def tuning(**wishes: Wishes) -> ModelTuning:
        given = {f"{name} {TARGET} threads=1": each for name, each in wishes.items()}
        return ModelTuning(module, TARGET, params, log=log, seed=0, measuring=lambda *_: _Always(1.5), wishes=given)

    first, other = tuning().tasks
    (name, value), *_ = first.tuning.space.sample(random.Random(0))
    log.add(
        [Record(each.tuning.workload, "", ((name, value),), "ok", 1.0, is_decision=True) for each in (first, other)]
    )
    searched = tuning(**{first.tuning.workload.partition(" ")[0]: Wishes(banned=[(name, value)])})
    wished = next(task for task in searched.tasks if task.names == first.names)
    free = next(task for task in searched.tasks if task.names == other.names)
    assert (wished.choices, free.choices) == (None, ((name, value),))
    for task in (wished, free):
        task.search(20)
    assert (name, value) not in {made for trial in wished.tuning.search.trials for made in trial.candidate}
    assert (name, value) in {made for trial in free.tuning.search.trials for made in trial.candidate}
    searched.run(0)
    assert log.decision(wished.tuning.workload).choices is None, "the model is built without what is banned"


def test_an_interrupted_search_keeps_and_decides_what_was_measured(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    module, params = _model(random.Random(3))
    tuning = ModelTuning(module, TARGET, params, log=Database(log), measuring=lambda *_: _Always(1.5))

    def told(task: KernelTask) -> None:
        raise KeyboardInterrupt

    found = tuning.run(100, told)
    assert found.is_interrupted
    (task,) = (task for task in found.tasks if task.trials)
    assert len(Database(log).of(task.tuning.workload)) == task.trials + 1, "the trials and the decision"


def test_a_search_goes_where_a_second_gains_most() -> None:
    def task(seconds: float, calls: int, ratios: Sequence[float]) -> KernelTask:
        search = SimpleNamespace(ledger=Ledger(), best=None, default_seconds=1.0, trials=[])

        def measured(count: int) -> list[int]:
            search.ledger.seconds["measuring"] += 1.0
            search.best = SimpleNamespace(seconds=ratios[len(search.trials)])
            search.trials.append(None)
            return [count]

        tuning = SimpleNamespace(search=search, begin=lambda: None, round=measured, workload="")
        return KernelTask(["k"], calls, seconds, cast(Tuning, tuning))

    slow, quick = task(1.0, 1, [1.0] * 9), task(0.1, 3, [0.8, 0.6, 0.5, 0.4])
    order = []
    for _ in range(6):
        order.append(max((slow, quick), key=lambda each: each.gain(1.0)))
        order[-1].search(8)
    assert order[:1] == [slow], "what takes most of the time comes first"
    assert order.count(quick) >= 2, "and makes way where its rounds bring nothing"
    assert quick.best == pytest.approx(0.1 * [1.0, 0.8, 0.6, 0.5, 0.4][quick.trials])


def test_the_time_is_for_ways_of_operators_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(self: ModelTuning, models: Sequence[Any], turns: int) -> list[dict[str, list[float]]]:
        return [{name: [0.5 if "winograd" in name else 1.0] * 3 for _, name in model.calls()} for model in models]

    monkeypatch.setattr(ModelTuning, "_kernel_seconds", seconds)
    module, params = _convolution()

    def tuning(*times: float) -> ModelTuning:
        """Return a search by a clock that shows these times, and the last one from then on."""
        left = list(times)
        return ModelTuning(
            module, TARGET, params, log=Database(), measuring=lambda *_: _Always(1.5), seconds=100,
            clock=lambda: left.pop(0) if len(left) > 1 else left[0],
        )  # fmt: skip

    with tvm.transform.PassContext(opt_level=3):
        doing: list[str] = []
        tuning(0, 50, 95).run(doing=doing.append)
        assert not any("trying" in words for words in doing), "no other way when two fifths of the time are over"
        clear_cache()
        rounds: list[KernelTask] = []
        found = tuning(0, 30, 95).run(told=rounds.append, doing=doing.append)
        assert any("trying" in words for words in doing)
    assert len(rounds) == 1, "no second round begins"
    (row,) = (row for row in found.table().splitlines() if row.startswith("ways of operators"))
    assert float(row.split()[-2]) > 0, "the model was built in each way"


def test_the_kernels_of_a_model_are_searched_in_turns_if_that_is_asked_for() -> None:
    module, params = _model(random.Random(1))
    tuning = ModelTuning(module, TARGET, params, log=Database(), measuring=lambda *_: _Always(1.5))
    slow, quick = tuning.tasks
    slow.default = 1e9
    rounds: list[KernelTask] = []
    tuning.run(4, rounds.append, "round-robin")
    assert rounds == [slow, quick]
    tuning.run(4, rounds.append)
    assert rounds[2] is slow
    with pytest.raises(ArgumentError, match="scheduler must be 'gradient' or 'round-robin', got 'first'"):
        tuning.run(4, scheduler="first")


@pytest.mark.parametrize(
    ("dtype", "reached", "hope"), [("float32", "float32", 0.002), ("float32", "int32", 0.5), ("int32", "int32", 0.002)]
)
def test_little_is_hoped_of_kernels_at_the_peak_of_what_they_multiply(
    dtype: str, reached: str, hope: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a peak that everything exceeds, beside others that nothing comes near."""
    monkeypatch.setattr("compiler.search.models.measure_peak", lambda of, threads: 1e-9 if of == reached else 1e18)
    x = relay.var("x", shape=(2, 4), dtype=dtype)
    module = IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(np.ones((3, 4), dtype)))))
    (task,) = ModelTuning(module, TARGET, {}, log=Database(), measuring=lambda *_: _Always(1.5)).tasks
    assert task.hope == pytest.approx(hope)


def test_a_schedule_without_numbers_leaves_none_to_choose() -> None:
    x = relay.var("x", shape=(2, 4))
    (kernel,) = build_graph(IRModule.from_expr(relay.Function([x], relay.exp(x))), TARGET).kernels.values()
    assert numbers_of(kernel.usual) is None
