"""A program's own rules, postprocessors, mutators, cost models and strategies decide what is searched."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic import meta_schedule as ms
from compiler.classic.meta_schedule.schedule_rule import (
    AddRFactor,
    ApplyCustomRule,
    AutoBind,
    AutoInline,
    CrossThreadReduction,
    MultiLevelTiling,
    MultiLevelTilingWithIntrin,
    ParallelizeVectorizeUnroll,
    RandomComputeLocation,
)
from compiler.classic.meta_schedule.space_generator import GeneratedSpace, PostOrderApply
from compiler.classic.tir.intrinsics.x86 import VNNI_DOT_16x4_INTRIN
from compiler.ir.error import ArgumentError
from compiler.runtime.modules.packed_func import register_func
from compiler.search.machine import Machine
from compiler.target.target import host_attributes
from compiler.tir.schedule.random_variables import BlockRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.trace import Trace
from compiler.tir.statements.function import PrimFunc

SIZE = 16
INLINE = AutoInline(False, True, True, True, True, True)


def layer(attrs: dict[str, Any] | None = None) -> PrimFunc:
    """Return a product, of twice its first operand, and a sum on single elements."""
    a, b, k = te.placeholder((SIZE, SIZE), name="A"), te.placeholder((SIZE, SIZE), name="B"), te.reduce_axis((0, SIZE))
    twice = te.compute((SIZE, SIZE), lambda i, j: a[i, j] * 2.0, name="twice")
    c = te.compute((SIZE, SIZE), lambda i, j: te.sum(twice[i, k] * b[k, j], axis=k), name="C", attrs=attrs)
    return te.create_prim_func([a, b, te.compute((SIZE, SIZE), lambda i, j: c[i, j] + 1.0, name="D")])


class Measured(ms.runner.PyRunner):
    """Notes what is measured, and takes each for as fast as a function of its text says."""

    def __init__(self, folder: Path, seconds: Callable[[str], float] = len) -> None:
        self.texts: list[str] = []
        self._seconds = seconds
        self.builder = _Texts(folder)

    def run(self, runner_inputs: Sequence[ms.runner.RunnerInput]) -> list[ms.runner.RunnerFuture]:
        texts = [Path(given.artifact_path).read_text() for given in runner_inputs]
        self.texts += texts
        return [ms.runner.LocalRunnerFuture(res=[self._seconds(text)]) for text in texts]

    def tune(self, space: Any, trials: int = 12, **options: Any) -> ms.Database:
        options = {"func": layer(), "num_trials_per_iter": 4, "seed": 1, **options}
        folder = self.builder.folder
        return ms.tune_tir(
            options.pop("func"), "llvm", folder / "log", trials, space=space, runner=self, builder=self.builder,
            num_tuning_cores=1, **options,
        )  # fmt: skip


class _Texts(ms.builder.PyBuilder):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(self, build_inputs: Sequence[ms.builder.BuilderInput]) -> list[ms.builder.BuilderResult]:
        paths = [self.folder / f"{at}-{random.random()}.txt" for at in range(len(build_inputs))]
        for path, given in zip(paths, build_inputs, strict=True):
            path.write_text(given.mod.script())
        return [ms.builder.BuilderResult(str(path), None) for path in paths]


@ms.derived_object
class Tiles(ms.schedule_rule.PyScheduleRule):
    """Splits the rows of C by a number that is sampled, and by 5 columns or not."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self.seen = seen

    def _initialize_with_tune_context(self, context: ms.TuneContext) -> None:
        self.seen.append(f"told {context.task_name}")

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        name = sch.get_sref(block).block.name_hint
        self.seen.append(name)
        if name != "C":
            return [sch]
        row, column, _ = sch.get_loops(block)
        sch.split(row, sch.sample_perfect_tile(row, n=2, max_innermost_factor=8))
        other = sch.copy()
        other.split(column, [None, 5])
        return [sch, other]

    def clone(self) -> Tiles:
        return Tiles(self.seen)


def rows(text: str) -> int:
    """Return how many rows an inner tile of C has in a program's text."""
    found = re.search(r"i_0 \* (\d+) \+ i_1", text)
    return int(found[1]) if found else 1


def space_of(*rules: Any, postprocs: Any = (), mutators: Any = None) -> PostOrderApply:
    return PostOrderApply(sch_rules=list(rules), postprocs=list(postprocs), mutator_probs=mutators or "from-target")


def checked(mod: tvm.IRModule) -> None:
    arrays = [np.random.default_rng(0).random((SIZE, SIZE), "float32") for _ in range(3)]
    tvm.build(mod, target="llvm")(*arrays)
    np.testing.assert_allclose(arrays[2], 2 * arrays[0] @ arrays[1] + 1, rtol=1e-4)


def test_what_a_rule_returns_is_measured_and_computes_the_definition(tmp_path: Path) -> None:
    seen: list[str] = []
    space, runner = space_of(Tiles(seen)), Measured(tmp_path, lambda text: 9.0 - rows(text) if "i_1" in text else 9.0)
    database = runner.tune(space, trials=16)
    texts = {text for text in runner.texts if "i_1" in text}
    assert {rows(text) for text in texts} == {1, 2, 4, 8}
    assert {"T.where" in text for text in texts} == {True, False}, "of both schedules that the rule returns"
    assert len(texts) == 8
    assert seen[:6] == ["told main", "told main", "root", "D", "C", "twice"], "a clone is asked, from the last block on"
    (record,) = database.get_all_tuning_records()
    assert record.run_secs == [1.0]
    assert rows(record.schedule().mod.script()) == 8
    for schedule in space.generate_design_space(layer()):
        checked(schedule.mod)
    assert len(space.generate_design_space(layer())) == 2


def test_a_postprocessor_changes_or_refuses_candidates(tmp_path: Path) -> None:
    class Parallel(ms.postproc.PyPostproc):
        def apply(self, sch: Schedule) -> bool:
            loops = sch.get_loops(sch.get_block("C"))
            sch.parallel(loops[0])
            return int(sch.get_sref(loops[1]).loop.extent) != 4

    runner = Measured(tmp_path)
    runner.tune(space_of(Tiles([]), postprocs=[Parallel()]))
    assert {rows(text) for text in runner.texts[1:]} == {1, 2, 8}
    assert all("T.parallel" in text for text in runner.texts[1:])

    class Never(ms.postproc.PyPostproc):
        def apply(self, sch: Schedule) -> bool:
            return False

    with pytest.raises(ArgumentError, match=r"no schedule could be derived: \d+ × Never\.apply: the schedule is"):
        Measured(tmp_path).tune(space_of(Tiles([]), postprocs=[Never()]))


def test_a_mutator_changes_decisions_and_nothing_else() -> None:
    class One(ms.mutator.PyMutator):
        def apply(self, trace: Trace, _: int = 0) -> Trace | None:
            (inst,) = trace.decisions
            return trace.with_decision(inst, [SIZE, 1], remove_postproc=True)

    class Other(ms.mutator.PyMutator):
        def apply(self, trace: Trace, _: int = 0) -> Trace | None:
            return Trace(trace.insts[1:], trace.decisions)

    class Lazy(ms.mutator.PyMutator):
        def apply(self, trace: Trace) -> Trace | None:  # type: ignore[override]
            return None

    def space(mutator: ms.Mutator) -> GeneratedSpace:
        return GeneratedSpace(layer(), Machine(), space_of(Tiles([]), mutators={mutator: 1.0}))

    rng = random.Random(0)
    candidate = next(c for c in iter(lambda: space(One()).sample(rng), None) if rows(str(space(One()).program(c))) == 4)
    assert rows(str(space(One()).program(space(One()).mutated(candidate, rng)))) == 1
    assert space(Lazy()).mutated(candidate, rng) == candidate
    with pytest.raises(ArgumentError, match=r"Other\.apply: decisions can be others, the steps must be the same"):
        space(Other()).mutated(candidate, rng)
    sizes = space(ms.mutator.MutateTileSize())
    changed = {rows(str(sizes.program(sizes.mutated(candidate, rng)))) for _ in range(20)}
    assert changed == {1, 2, 8}
    assert space(ms.mutator.MutateComputeLocation()).mutated(candidate, rng) == candidate


class Preference(ms.cost_model.PyCostModel):
    """Expects most of the widest tiles, and learns what was measured."""

    def __init__(self) -> None:
        self.learned: list[tuple[int, float]] = []

    def predict(self, context: ms.TuneContext, candidates: Sequence[ms.MeasureCandidate]) -> np.ndarray[Any, Any]:
        assert all(tuple(candidates[0].args_info[0].shape) == (SIZE, SIZE) for _ in candidates)
        return np.array([rows(candidate.sch.mod.script()) for candidate in candidates])

    def update(
        self, context: ms.TuneContext, candidates: Sequence[ms.MeasureCandidate], results: Sequence[Any]
    ) -> None:
        for candidate, result in zip(candidates, results, strict=True):
            self.learned.append((rows(candidate.sch.mod.script()), result.run_secs[0]))


def test_candidates_are_measured_as_the_programs_model_expects_them_and_it_learns_of_all(tmp_path: Path) -> None:
    model, runner = Preference(), Measured(tmp_path, lambda text: 1.0 + rows(text) if "i_1" in text else 3.0)
    strategy = ms.search_strategy.EvolutionarySearch(population_size=32, genetic_num_iters=2, eps_greedy=0.0)
    runner.tune(space_of(Tiles([])), trials=8, num_trials_per_iter=8, cost_model=model, strategy=strategy)
    order = [tile for tile, _ in model.learned]
    assert order == sorted(order, reverse=True)
    assert len(set(order)) == 4
    assert all(seconds == pytest.approx(1.0 + tile) for tile, seconds in model.learned)
    assert ms.runner.config.EvaluatorConfig is ms.runner.EvaluatorConfig
    assert isinstance(ms.runner.create("rpc", ms.runner.RPCConfig()), ms.runner.RPCRunner)
    with pytest.raises(ArgumentError, match="kind must be of local, rpc, got 'far'"):
        ms.runner.create("far")
    assert isinstance(ms.CostModel.create("random"), ms.cost_model.RandomModel)
    with pytest.raises(ArgumentError, match="kind must be of xgb, random, none, got 'mlp'"):
        ms.CostModel.create("mlp")


def test_built_in_rules_do_what_they_are_for_and_those_left_out_do_not(tmp_path: Path) -> None:
    def texts(*rules: Any, postprocs: Any = "from-target") -> list[str]:
        space = GeneratedSpace(
            layer(), Machine(cores=2), PostOrderApply(sch_rules=list(rules), postprocs=postprocs)
        )  # fmt: skip
        rng = random.Random(2)
        made = [space.sample(rng) for _ in range(4)]
        for candidate in made[:2]:
            checked(space.program(candidate))
        return [space.program(candidate).script() for candidate in made]

    assert all('T.block("twice")' in text for text in texts())
    assert not any('T.block("twice")' in text for text in texts(INLINE))
    assert all('T.block("twice")' in text for text in texts(AutoInline(False, False, True, True, True, True)))
    assert any("T.unroll" in text for text in texts(MultiLevelTiling("SSRSRS")))
    assert not any("T.unroll" in text for text in texts(MultiLevelTiling("SSRSRS", filter_fn=lambda sch, rv: False)))
    assert not any("T.unroll" in text for text in texts(AddRFactor()))
    annotated = ParallelizeVectorizeUnroll(16, -1, [64], True)
    assert all("T.parallel" in text and "auto_unroll_max_step" in text for text in texts(annotated))
    assert not any("T.vectorized" in text or "meta_schedule." in text for text in texts(annotated))
    assert all("meta_schedule.parallel" in text for text in texts(annotated, postprocs=[]))
    assert all("C_init" in text for text in texts()), "sums begin outside their loops"
    assert not any("C_init" in text for text in texts(postprocs=[]))
    assert all("T.grid(16, 4, 16, 4, 1)" in text or "i_1, j_1" in text for text in texts(MultiLevelTiling("SRS")))
    with pytest.raises(ArgumentError, match="tile_binds must be left out, a processor has no threads"):
        MultiLevelTiling("SSSRRSRS", ["blockIdx.x", "vthread.x", "threadIdx.x"])
    with pytest.raises(ArgumentError, match=r"AutoBind: target llvm.* has no threads"):
        ms.TuneContext(layer(), target="llvm", space_generator=space_of(AutoBind()))
    with pytest.warns(UserWarning, match="CrossThreadReduction: the target has no threads"):
        ms.TuneContext(layer(), target="llvm", space_generator=space_of(CrossThreadReduction([4])))
    (near,) = RandomComputeLocation().apply(sch := Schedule(layer(), seed=0), sch.get_block("twice"))
    checked(near.mod)
    runner = Measured(tmp_path)
    runner.tune(PostOrderApply(sch_rules=ms.ScheduleRule.create("llvm"), f_block_filter=lambda b: b.name_hint != "C"))
    assert len(runner.texts) > 1
    assert not any("C_init" in text and "i_1" in text for text in runner.texts[1:]), "no tiles of what is filtered out"


def test_what_an_intrinsic_computes_is_tiled_and_replaced_and_begins_with_vectors() -> None:
    a, b = te.placeholder((8, 32), "uint8", name="A"), te.placeholder((2, 8, 16, 4), "int8", name="B")
    k = te.reduce_axis((0, 32), "k")

    def product(i: Any, j: Any) -> Any:
        return te.sum(a[i, k].astype("int32") * b[j // 16, k // 4, j % 16, k % 4].astype("int32"), axis=k)

    func = te.create_prim_func([a, b, te.compute((8, 32), product, name="C")])
    rule = MultiLevelTilingWithIntrin(VNNI_DOT_16x4_INTRIN, "SSRSRS")
    posts = [ms.postproc.RewriteReductionBlock(), ms.postproc.RewriteTensorize(vectorize_init_loop=True)]
    space, rng = GeneratedSpace(func, Machine(), space_of(rule, postprocs=posts)), random.Random(0)
    candidates = {space.sample(rng) for _ in range(8)}
    assert len(candidates) > 4
    for candidate in candidates:
        text = (program := space.program(candidate)).script()
        assert text.count("vpdpbusd") == text.count("T.vectorized(16)") == 1
        assert "auto_tensorize" not in text
    built = [(GeneratedSpace(func, Machine(), space_of(rule, postprocs=posts[:1])).program(candidate), "llvm")]
    if "+avx512vnni" in host_attributes():
        built.append((program, "llvm -mcpu=native"))
    for each, target in built:
        tvm.build(each, target=target)(*(arrays := _bytes()))
        weights = arrays[1].transpose(1, 3, 0, 2).reshape(32, 32).astype("int32")
        np.testing.assert_array_equal(arrays[2], arrays[0].astype("int32") @ weights)
    unmatched = GeneratedSpace(layer(), Machine(), space_of(rule))
    assert unmatched.sample(rng) == (), "nothing of it is what the intrinsic computes"


def _bytes() -> list[Any]:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 255, (8, 32)).astype("uint8"), rng.integers(-127, 127, (2, 8, 16, 4)).astype("int8")
    return [a, b, np.zeros((8, 32), "int32")]


def test_a_block_with_a_rule_of_its_own_has_no_other(tmp_path: Path) -> None:
    func = layer({"schedule_rule": "halves"})

    def halves(sch: Schedule, block: BlockRV) -> list[Schedule]:
        sch.split(sch.get_loops(block)[1], [2, None])
        return [sch]

    space = space_of(ApplyCustomRule(), Tiles([]))
    with pytest.warns(UserWarning, match=r"no function is registered as meta_schedule.cpu.halves"):
        ms.TuneContext(func, target="llvm", space_generator=space).generate_design_space()
    register_func("meta_schedule.cpu.halves", halves)
    (made,) = ms.TuneContext(func, target="llvm", space_generator=space).generate_design_space()
    assert "j_0 in" in (text := made.mod.script()) or "T.grid(16, 2, 8, 16)" in text
    assert "i_0" not in text


def test_a_program_measures_itself_what_a_context_proposes() -> None:
    context = ms.TuneContext(
        layer(), target="llvm", space_generator=space_of(Tiles([])), search_strategy="replay-trace", rand_state=1,
        num_threads=1,
    )  # fmt: skip
    with pytest.raises(ArgumentError, match="pre_tuning must be called before"):
        context.generate_measure_candidates()
    for given, expected in ((None, 8), (context.generate_design_space()[:1], 4)):
        context.pre_tuning(max_trials=12, num_trials_per_iter=4, design_spaces=given)
        seen: list[str] = []
        while candidates := context.generate_measure_candidates():
            seen += [candidate.sch.mod.script() for candidate in candidates]
            context.notify_runner_results(candidates, [ms.runner.RunnerResult([1.0], None)] * len(candidates))
        assert len(seen) == len(set(seen)) == expected
        context.post_tuning()


class Chooses(ms.search_strategy.PySearchStrategy):
    """Tiles the rows of C by one number after another."""

    def __init__(self, told: list[Any]) -> None:
        self.told = told

    def _initialize_with_tune_context(self, context: ms.TuneContext) -> None:
        self.context = context

    def pre_tuning(
        self, max_trials: int, num_trials_per_iter: int, design_spaces: Any, database: Any, cost_model: Any
    ) -> None:
        self.left = [2, 4, 8, 16][:max_trials]
        self.count = num_trials_per_iter
        assert design_spaces[0].mod.script() == Schedule(self.context.mod).mod.script()

    def generate_measure_candidates(self) -> list[ms.MeasureCandidate] | None:
        chosen, self.left = self.left[: self.count], self.left[self.count :]
        schedules = []
        for factor in chosen:
            schedules.append(sch := Schedule(self.context.mod))
            sch.split(sch.get_loops(sch.get_block("C"))[0], [None, factor])
        info = ms.arg_info.ArgInfo.from_entry_func(self.context.mod)
        return [ms.MeasureCandidate(sch, info) for sch in schedules] or None

    def notify_runner_results(self, measure_candidates: Any, results: Any) -> None:
        self.told.append(
            [(rows(c.sch.mod.script()), r.run_secs) for c, r in zip(measure_candidates, results, strict=True)]
        )

    def post_tuning(self) -> None:
        self.told.append("over")

    def clone(self) -> Chooses:
        return Chooses(self.told)


def test_what_a_strategy_chooses_itself_is_measured_and_the_fastest_noted(tmp_path: Path) -> None:
    told: list[Any] = []
    seconds = {1: 9.0, 2: 4.0, 4: 2.0, 8: 3.0, 16: 5.0}
    runner = Measured(tmp_path, lambda text: seconds[rows(text)])
    found = runner.tune(space_of(), strategy=Chooses(told), num_trials_per_iter=3, trials=12)
    assert told == [[(2, [4.0]), (4, [2.0]), (8, [3.0])], [(16, [5.0])], "over"]
    best = found.query_schedule(layer(), "llvm")
    assert best is not None
    assert rows(best.mod.script()) == 4
    checked(best.mod)


class Told(ms.measure_callback.PyMeasureCallback):
    def __init__(self) -> None:
        self.rounds: list[tuple[int, int]] = []

    def apply(
        self, task_scheduler: Any, task_id: int, measure_candidates: Any, builder_results: Any, runner_results: Any
    ) -> None:
        assert len(measure_candidates) == len(builder_results) == len(runner_results)
        assert all("C[" in candidate.sch.mod.script() for candidate in measure_candidates)
        assert runner_results == task_scheduler.join_running_task(task_id)
        self.rounds.append((task_id, len(measure_candidates)))


def test_callbacks_are_told_of_rounds_and_decide_what_the_database_has(tmp_path: Path) -> None:
    def records(callbacks: Any) -> int:
        (folder := tmp_path / str(random.random())).mkdir()
        database = ms.database.MemoryDatabase()
        options = {"measure_callbacks": callbacks, "database": database, "cost_model": "random"}
        Measured(folder).tune(space_of(Tiles([])), **options)
        return len(database.get_all_tuning_records())

    told = Told()
    assert (records("default"), records(told)) == (1, 0)
    assert told.rounds[0] == (0, 4)
    again = Told()
    assert records([ms.measure_callback.AddToDatabase(), again]) == sum(count for _, count in again.rounds) + 1
    assert [type(each).__name__ for each in ms.MeasureCallback.create("default")] == [
        "AddToDatabase", "RemoveBuildArtifact", "UpdateCostModel",
    ]  # fmt: skip
    with pytest.raises(ArgumentError, match=r"kind must be of default, add-to-database, .*, got 'first'"):
        ms.MeasureCallback.create("first")


def test_a_model_learns_only_where_a_callback_lets_it(tmp_path: Path) -> None:
    class Model(ms.cost_model.RandomModel):
        updates = 0

        def update(self, *_: Any) -> None:
            self.updates += 1

    for at, (callbacks, learns) in enumerate(
        [([Told()], False), ([Told(), ms.measure_callback.UpdateCostModel()], True)]
    ):
        (folder := tmp_path / str(at)).mkdir()
        model = Model()
        Measured(folder).tune(space_of(Tiles([])), measure_callbacks=callbacks, cost_model=model)
        assert bool(model.updates) is learns
        learned = ms.cost_model.XGBModel()
        (folder := tmp_path / f"{at} learned").mkdir()
        Measured(folder).tune(space_of(Tiles([])), measure_callbacks=callbacks, cost_model=learned)
        assert bool(learned.learned.rows) is learns


@pytest.mark.parametrize("runner", [ms.runner.LocalRunner, ms.runner.RPCRunner])
def test_runners_say_what_measurements_there_cannot_be(runner: Callable[..., object]) -> None:
    with pytest.raises(ArgumentError, match="Runner: evaluator_config must be an EvaluatorConfig, got 3"):
        runner(evaluator_config=3)
    with pytest.raises(ArgumentError, match="Runner: repeat must be an int of at least 1, got 0"):
        runner(evaluator_config=ms.runner.EvaluatorConfig(repeat=0))


class Backwards(ms.task_scheduler.PyTaskScheduler):
    """Searches the last task to its end first."""

    def next_task_id(self) -> int:
        going = [at for at, task in enumerate(self._outer().tasks_) if not task.is_terminated]
        for at in going:
            self.touch_task(at)
        return going[-1] if going else -1


class Stubborn(ms.task_scheduler.PyTaskScheduler):
    def next_task_id(self) -> int:
        self.terminate_task(0)
        return 0


def test_a_scheduler_says_whose_round_is_next(tmp_path: Path) -> None:
    def rounds(scheduler: ms.TaskScheduler) -> list[tuple[int, int]]:
        (folder := tmp_path / type(scheduler).__name__).mkdir()
        runner, told = Measured(folder), Told()
        contexts = [
            ms.TuneContext(
                layer(), target="llvm", space_generator=space_of(Tiles([])), search_strategy="replay-trace",
                task_name=name, rand_state=1, num_threads=1,
            )
            for name in "ab"
        ]  # fmt: skip
        scheduler.tune(
            contexts, [1.0, 1.0], 12, 6, 3, runner.builder, runner, [told], None, ms.cost_model.RandomModel()
        )
        assert scheduler.remaining_tasks_ == 0
        return told.rounds

    backwards, in_turn = rounds(Backwards()), rounds(ms.TaskScheduler.create("round-robin"))
    assert backwards[:2] == [(1, 3), (1, 3)]
    assert {task for task, _ in backwards[2:]} == {0}
    assert [task for task, _ in in_turn[:2]] == [0, 1]
    with pytest.raises(ArgumentError, match=r"Stubborn\.next_task_id: task 0 has ended; -1 ends the search"):
        rounds(Stubborn())
    with pytest.raises(ArgumentError, match="kind must be of gradient, round-robin, got 'first'"):
        ms.TaskScheduler.create("first")


def test_a_programs_own_generator_is_searched_by_the_decisions_of_its_schedules(tmp_path: Path) -> None:
    class Made(ms.space_generator.PySpaceGenerator):
        calls = 0

        def generate_design_space(self, mod: tvm.IRModule | PrimFunc) -> list[Schedule]:
            Made.calls += 1
            return list(space_of(Tiles([])).generate_design_space(mod))

    for space in (Made(), ms.space_generator.SpaceGeneratorUnion([Made(), space_of(INLINE)])):
        runner = Measured(tmp_path)
        runner.tune(space, trials=16)
        tiled = {text for text in runner.texts[1:] if "i_0" in text}
        assert {rows(text) for text in tiled} == {1, 2, 4, 8}
        assert ({*runner.texts[1:]} != tiled) is (type(space) is not Made)
    assert Made.calls == 2, "once for each search"


def test_a_profiler_says_where_the_time_of_a_search_goes(tmp_path: Path) -> None:
    with ms.Profiler() as profiler:
        with ms.Profiler.timeit("own"):
            Measured(tmp_path).tune(space_of(Tiles([])), trials=2)
        assert ms.Profiler.current() is profiler
    assert ms.Profiler.current() is None
    seconds = profiler.get()
    assert seconds["Total"] >= seconds["own"] > 0
    assert seconds["deriving"] > 0
    assert [line.split("|")[1].strip() for line in profiler.table().splitlines()[2:]] == list(seconds)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sch_rules": [INLINE, "tile"]}, "PostOrderApply: sch_rules must be objects of the class ScheduleRule, got"),
        ({"sch_rules": 3}, "PostOrderApply: sch_rules must be objects of the class ScheduleRule, got 3"),
        ({"postprocs": [INLINE]}, "PostOrderApply: postprocs must be objects of the class Postproc, got"),
        ({"mutator_probs": {"tile": 0.5}}, "PostOrderApply: mutator_probs must be objects of the class Mutator, got"),
        (
            {"mutator_probs": {ms.mutator.MutateTileSize(): -0.5}},
            "PostOrderApply: mutator_probs must be a number of at least 0 for each mutator, got",
        ),
    ],
)
def test_lists_of_parts_are_of_parts(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        PostOrderApply(**options)
    with pytest.raises(ArgumentError, match="SpaceGeneratorUnion: space_generators must be objects of the class Space"):
        ms.space_generator.SpaceGeneratorUnion([3])  # type: ignore[list-item]
