"""Schedules that ``tune_tir`` finds are in its database, also when it is opened again."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.classic import meta_schedule
from compiler.classic.contrib import graph_executor
from compiler.ir.error import ArgumentError, show
from compiler.search import Database as Log


def _tensors() -> list[te.Tensor]:
    a, b, k = te.placeholder((16, 8), name="A"), te.placeholder((8, 32), name="B"), te.reduce_axis((0, 8), "k")
    return [a, b, te.compute((16, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def test_a_function_is_tuned_and_its_schedule_computes_what_the_function_does(tmp_path: Path) -> None:
    func = te.create_prim_func(_tensors())
    database = meta_schedule.tune_tir(
        func, "llvm", tmp_path, 2, num_trials_per_iter=2, seed=1, num_tuning_cores=1
    )  # fmt: skip
    schedule = meta_schedule.tir_integration.compile_tir(database, func, "llvm")
    assert schedule is not None
    arrays = [np.random.default_rng(0).random(shape, "float32") for shape in ((16, 8), (8, 32), (16, 32))]
    tvm.build(schedule.mod, target="llvm")(*arrays)
    np.testing.assert_allclose(arrays[2], arrays[0] @ arrays[1], rtol=1e-5)
    (tmp_path / "database_tuning_record.json").write_bytes(
        (tmp_path / "database_tuning_record.json").read_bytes() + b"[0, [[["
    )  # as a process that was killed leaves it
    with pytest.warns(UserWarning, match="line 2 of a log was cut off"):
        opened = meta_schedule.database.JSONDatabase(work_dir=tmp_path)
    found = opened.query_ir_module(func, "llvm")
    assert tvm.ir.structural_equal(found, schedule.mod)
    assert opened.has_workload(func)
    assert len(opened) == len(opened.get_all_tuning_records()) == 1
    assert opened.query_schedule(func, "llvm -mcpu=haswell") is None
    with opened:
        assert meta_schedule.Database.current() is opened
    assert meta_schedule.Database.current() is None


def test_a_configuration_in_place_of_options_returns_a_schedule(tmp_path: Path) -> None:
    """As releases 0.9 and 0.10 have it, and programs of courses of that time."""
    func, config = te.create_prim_func(_tensors()), meta_schedule.TuneConfig(max_trials_global=2, num_trials_per_iter=2)
    named = meta_schedule.tune_tir(
        mod=func, target="llvm", config=config, work_dir=tmp_path / "a", task_name="product", seed=1
    )
    third = meta_schedule.tune_tir(func, "llvm", config, tmp_path / "b", seed=1)
    of_tensors = meta_schedule.tune_te(_tensors(), "llvm", config=config, work_dir=tmp_path / "c", seed=1)
    for schedule in (named, third, of_tensors):
        assert isinstance(schedule, tvm.tir.Schedule)
        arrays = [np.random.default_rng(0).random(shape, "float32") for shape in ((16, 8), (8, 32), (16, 32))]
        tvm.build(schedule.mod, target="llvm")(*arrays)
        np.testing.assert_allclose(arrays[2], arrays[0] @ arrays[1], rtol=1e-5)
    with pytest.raises(ArgumentError, match="tune_tir: config must be a TuneConfig, got 4"):
        meta_schedule.tune_tir(func, "llvm", config=4, work_dir=tmp_path)


def _copied(rows: int) -> list[te.Tensor]:
    a = te.placeholder((rows,), name="a")
    return [a, te.compute((rows,), lambda i: a[i] + 1.0)]


_MADE_FOR = "llvm -num-cores=2 -mtriple=x86_64-linux-gnu"
"""TVM writes the triple of its host, which programs leave out."""


def test_a_database_is_in_tvms_form_and_says_which_line_is_no_record(tmp_path: Path) -> None:
    func = te.create_prim_func(_tensors())
    first, second = (meta_schedule.database.JSONDatabase(work_dir=tmp_path) for _ in range(2))  # two searches at once
    for database, rows in ((first, 8), (second, 16)):
        func = te.create_prim_func(_copied(rows))
        schedule = tvm.tir.Schedule(func)
        schedule.parallel(schedule.get_loops(schedule.get_block("compute"))[0])
        workload = database.commit_workload(func)
        info = meta_schedule.runner.ArgInfo.from_prim_func(func)
        record = meta_schedule.database.TuningRecord(schedule.trace, workload, [0.5], _MADE_FOR, info)
        database.commit_tuning_record(record)
        assert database.get_all_tuning_records()[0].as_measure_candidate().args_info == info
    with pytest.raises(ArgumentError, match="the workload must be one that commit_workload gave"):
        first.commit_tuning_record(record)
    programs, file = (tmp_path / f"database_{name}.json" for name in ("workload", "tuning_record"))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [place for place, _ in rows] == [0, 1]
    steps, seconds, target, told = rows[1][1]
    assert ([kind for kind, *_ in steps[0]], seconds) == (["GetBlock", "GetLoops", "Parallel"], [0.5])
    assert (target["kind"], target["num-cores"]) == ("llvm", 2)
    assert told == [["TENSOR", "float32", [16]], ["TENSOR", "float32", [16]]]
    stored = base64.b64decode(json.loads(programs.read_text().splitlines()[1])[1])
    assert int.from_bytes(stored[:8], "little") == len(stored) - 8  # as TVM writes strings
    opened = meta_schedule.database.JSONDatabase(work_dir=tmp_path)
    assert "T.parallel(16)" in opened.query_ir_module(func, "llvm -num-cores=2").script()
    for line in (
        "[]",
        "[7, [[], [1.0], null, null]]",
        "{}",
        "null",
        '[0, [[[["Nope", [], [], []]], []], [1], null, null]]',
    ):
        (tmp_path / "spoilt").write_text(line + "\n")
        with pytest.raises(ArgumentError, match="spoilt has a line that is no record"):
            meta_schedule.database.JSONDatabase(programs, tmp_path / "spoilt")


def test_tensors_are_tuned_and_unknown_options_refused(tmp_path: Path) -> None:
    schedule = meta_schedule.tune_te(
        _tensors(), "llvm", tmp_path, 1, num_trials_per_iter=1, database="memory", num_tuning_cores=1
    )  # fmt: skip
    assert schedule is not None
    assert not (tmp_path / "database_workload.json").exists()
    with pytest.raises(ArgumentError, match="kind must be of evolutionary, replay-trace, replay-func, got 'best'"):
        meta_schedule.tune_tir(schedule.mod, "llvm", tmp_path, 1, strategy="best")


class _Counted(meta_schedule.runner.PyRunner):
    """Says that programs with vectors take half of what others do."""

    def __init__(self) -> None:
        self.seen: list[meta_schedule.runner.RunnerInput] = []

    def run(self, runner_inputs: Sequence[meta_schedule.runner.RunnerInput]) -> list[meta_schedule.runner.RunnerFuture]:
        self.seen += runner_inputs
        return [_Future(0.5 if "vectorized" in Path(i.artifact_path).read_text() else 1.0) for i in runner_inputs]


class _Faster(_Counted):
    """Says that each program is faster than those before."""

    def run(self, runner_inputs: Sequence[meta_schedule.runner.RunnerInput]) -> list[meta_schedule.runner.RunnerFuture]:
        self.seen += runner_inputs
        return [_Future(1 / (len(self.seen) + at)) for at in range(len(runner_inputs))]


class _Future(meta_schedule.runner.PyRunnerFuture):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def result(self) -> meta_schedule.runner.RunnerResult:
        return meta_schedule.runner.RunnerResult([self._seconds] * 3, None)


class _Texts(meta_schedule.builder.PyBuilder):
    """Writes programs as texts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def build(
        self, build_inputs: Sequence[meta_schedule.builder.BuilderInput]
    ) -> list[meta_schedule.builder.BuilderResult]:
        made = []
        for given in build_inputs:
            path = self._folder / f"{len(list(self._folder.iterdir()))}.txt"
            path.write_text(given.mod.script())
            made.append(meta_schedule.builder.BuilderResult(str(path), None))
        return made


def test_a_programs_own_builder_and_runner_say_what_is_fast(tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    runner = meta_schedule.derived_object(_Counted)()
    func = te.create_prim_func(_tensors())
    database = meta_schedule.tune_tir(
        func, "llvm", tmp_path, 8, num_trials_per_iter=4, builder=_Texts(tmp_path / "built"), runner=runner, seed=1,
        num_tuning_cores=1, database="memory",
    )  # fmt: skip
    (record,) = database.get_all_tuning_records()
    assert record.run_secs == [0.5]
    assert "vectorized" in record.schedule().mod.script()
    assert len(runner.seen) >= 8
    assert {(info.dtype, *info.shape) for info in runner.seen[0].args_info} == {
        ("float32", 16, 8), ("float32", 8, 32), ("float32", 16, 32),
    }  # fmt: skip
    with pytest.raises(ArgumentError, match="builder='local' builds"):
        meta_schedule.tune_tir(
            func, "llvm", tmp_path, 1, builder=_Texts(tmp_path), runner=meta_schedule.runner.RPCRunner()
        )  # fmt: skip
    (found,) = meta_schedule.builder.LocalBuilder().build(
        [meta_schedule.builder.BuilderInput(tvm.IRModule({"main": func}), tvm.target.Target("llvm"))]
    )
    assert found.artifact_path is not None
    assert found.error_msg is None
    local = meta_schedule.runner.LocalRunner(
        evaluator_config=meta_schedule.runner.EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0)
    )
    given = runner.seen[0]._replace(artifact_path=found.artifact_path)
    (future,) = local.run([given])
    assert future.done()
    times = future.result().run_secs
    assert times is not None
    assert len(times) == 2
    assert min(times) > 0
    (future,) = local.run([given._replace(artifact_path="/nowhere.tar")])
    assert "nowhere" in str(future.result().error_msg)


def test_unions_of_databases_answer_with_the_fastest_or_the_first_record() -> None:
    func = te.create_prim_func(_tensors())
    databases = [meta_schedule.database.create("memory") for _ in range(3)]
    for database, seconds in zip(databases[1:], (2.0, 1.0), strict=True):
        workload = database.commit_workload(func)
        trace = tvm.tir.Schedule(func).trace
        assert trace is not None
        database.commit_tuning_record(meta_schedule.database.TuningRecord(trace, workload, [seconds], "llvm"))
    union = meta_schedule.database.create("union", *databases)
    ordered = meta_schedule.database.OrderedUnionDatabase(*databases)
    fastest, first = (each.query_tuning_record(func, "llvm") for each in (union, ordered))
    assert fastest is not None
    assert first is not None
    assert (fastest.seconds, first.seconds) == (1.0, 2.0)
    assert union.has_workload(func)
    assert len(union) == len(union.get_all_tuning_records()) == 2
    assert union.query_ir_module(func, "cuda") is None
    with pytest.raises(ArgumentError, match="one of its databases"):
        union.commit_workload(func)
    with pytest.raises(ArgumentError, match="kind must be of json, memory, union, ordered_union"):
        meta_schedule.database.create("redis")


def test_a_model_is_tuned_and_built_with_what_was_faster(tmp_path: Path) -> None:
    x, w = relay.var("x", shape=(4, 8)), np.random.default_rng(0).random((16, 8), "float32")
    first = relay.nn.relu(relay.nn.dense(x, relay.var("w", shape=(16, 8))))
    y = relay.nn.relu(relay.nn.dense(first, relay.var("v", shape=(16, 16))))
    params = {"w": w, "v": np.random.default_rng(1).random((16, 16), "float32")}
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y))
    tasks = meta_schedule.relay_integration.extract_tasks(mod, "llvm", params)
    assert sum(task.weight for task in tasks) == 2
    (tmp_path / "built").mkdir()
    database = meta_schedule.relay_integration.tune_relay(
        mod, params, "llvm", tmp_path, 4, num_trials_per_iter=2, builder=_Texts(tmp_path / "built"),
        runner=_Faster(), seed=1, num_tuning_cores=1, task_scheduler="round-robin",
    )  # fmt: skip
    data, results, loops = np.random.default_rng(2).random((4, 8), "float32"), [], []
    scheduled = meta_schedule.database.ScheduleFnDatabase(_vectors)
    for known in (scheduled, database, meta_schedule.database.MemoryDatabase()):
        built = meta_schedule.relay_integration.compile_relay(known, mod, "llvm", params)
        model = graph_executor.GraphModule(built["default"](tvm.cpu()))
        model.run(x=data)
        results.append(model.get_output(0).numpy())
        loops.append([kernel.prim_func.script() for kernel in built.kernels.values()])
    expected = np.maximum(np.maximum(data @ w.T, 0) @ params["v"].T, 0)
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-5)
    assert loops[0] != loops[2] != loops[1]
    assert len(database) == 2, "a record of each kernel, which was faster than its default"
    with scheduled, tvm.transform.PassContext(opt_level=3):
        assert [k.prim_func.script() for k in relay.build(mod, "llvm", params=params).kernels.values()] == loops[2]
    with pytest.raises(ArgumentError, match="backend must be 'graph'"):
        meta_schedule.relay_integration.compile_relay(database, mod, "llvm", params, backend="vm")


def _vectors(sch: tvm.tir.Schedule) -> bool:
    """Let the last block be computed by rows."""
    for block in sch.get_child_blocks(sch.get_block("root"))[-1:]:
        sch.parallel(sch.get_loops(block)[0])
    return True


def test_a_programs_own_function_says_what_is_searched(tmp_path: Path) -> None:
    def tiled(sch: tvm.tir.Schedule) -> None:
        i, j, k = sch.get_loops(sch.get_block("C"))
        width = sch.sample_categorical([2, 4, 8], [0.2, 0.4, 0.4])
        outer, inner = sch.split(j, factors=[None, width])
        sch.reorder(i, outer, k, inner)
        sch.split(i, factors=sch.sample_perfect_tile(i, n=2, max_innermost_factor=4))

    func, runner = te.create_prim_func(_tensors()), _Faster()
    (tmp_path / "built").mkdir()
    space = meta_schedule.space_generator.ScheduleFn(tiled)
    database = meta_schedule.tune_tir(
        func, "llvm", tmp_path, 64, num_trials_per_iter=8, builder=_Texts(tmp_path / "built"), runner=runner, seed=1,
        num_tuning_cores=1, space=space, strategy="replay-trace",
    )  # fmt: skip
    seen = {Path(given.artifact_path).read_text() for given in runner.seen}
    assert len(seen) == 1 + 3 * 3, "the default and all that the function makes, each of three sizes and three tiles"
    found = database.query_schedule(func, "llvm")
    assert found is not None
    assert found.mod.script() in seen
    assert "sample_categorical" in str(found.trace)
    assert len(space.generate_design_space(func)) == 1


def test_a_builder_has_a_name_and_a_runner_a_future_for_each(tmp_path: Path) -> None:
    with pytest.raises(tvm.error.TVMError, match=r"test_tune.nothing"):
        meta_schedule.builder.LocalBuilder(f_build="test_tune.nothing")

    class Runner(meta_schedule.runner.PyRunner):
        def run(self, runner_inputs: Sequence[meta_schedule.runner.RunnerInput]) -> list[object]:
            return []

    with pytest.raises(ArgumentError, match=r"Runner.run: its result must be a list of 1 × RunnerFuture, got 0 of"):
        meta_schedule.tune_tir(te.create_prim_func(_copied(8)), "llvm", tmp_path, 1, runner=Runner())


def test_a_build_that_hangs_or_returns_no_module_ends() -> None:
    def build(mod: tvm.IRModule, target: object, params: object) -> object:
        while mod["main"].attrs["hangs"]:
            pass

    funcs = [te.create_prim_func(_copied(8)).with_attr("hangs", hangs) for hangs in (1, 0)]
    inputs = [meta_schedule.builder.BuilderInput(tvm.IRModule({"main": f}), tvm.target.Target("llvm")) for f in funcs]
    builder = meta_schedule.builder.LocalBuilder(f_build=build, timeout_sec=0.5)
    late, none = (each.error_msg or "" for each in builder.build(inputs))
    assert late == "LocalBuilder: hung: it took too long to build"
    assert "what f_build returns must be a built module, got None" in none


class _Numbers(meta_schedule.builder.PyBuilder):
    """Builds nothing: each path is another one."""

    def build(
        self, build_inputs: Sequence[meta_schedule.builder.BuilderInput]
    ) -> list[meta_schedule.builder.BuilderResult]:
        return [meta_schedule.builder.BuilderResult(f"/{at}", None) for at in range(len(build_inputs))]


def _tuned(work_dir: Path, max_trials_global: Any = 2, **options: Any) -> meta_schedule.Database:
    func = options.pop("func", None) or te.create_prim_func(_tensors())
    options = {"num_tuning_cores": 1, "seed": 1, **options}
    return meta_schedule.tune_tir(func, "llvm", work_dir, max_trials_global, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"func": "text"}, "tune_tir: mod must be an IRModule or a PrimFunc, got 'text'"),
        ({"task_name": 5}, "tune_tir: task_name must be a str, got 5"),
        ({"max_trials_global": "many"}, "max_trials_global must be an int of at least 0, got 'many'"),
        ({"max_trials_global": -1}, "max_trials_global must be an int of at least 0, got -1"),
        ({"num_trials_per_iter": "8"}, "num_trials_per_iter must be an int of at least 1, got '8'"),
        ({"num_trials_per_iter": 0}, "num_trials_per_iter must be an int of at least 1, got 0"),
        ({"max_trials_per_task": -3}, "max_trials_per_task must be an int of at least 0, got -3"),
        ({"num_trials_per_iteration": 8}, "tune_tir: there is no option .*; did you mean 'num_trials_per_iter'"),
        ({"task_scheduler": 3}, "TaskScheduler.create: kind must be of gradient, round-robin, got 3"),
        ({"database": "text"}, "tune_tasks: database: kind must be of json, memory, got 'text'"),
        ({"measure_callbacks": [3]}, r"measure_callbacks must be 'default', got \[3\]"),
        ({"cost_model": 3}, "CostModel.create: kind must be of xgb, random, none, got 3"),
        ({"strategy": 3}, "SearchStrategy.create: kind must be of evolutionary, replay-trace, replay-func, got 3"),
        ({"num_tuning_cores": "all"}, "num_threads must be an int of at least 1, got 'all'"),
        ({"seed": "x"}, "rand_state must be an int of at least -1, got 'x'"),
        ({"special_space": 3}, "special_space must be a dict of a space by the function's name, got 3"),
        ({"work_dir": None}, r"work_dir must be a folder that can be written \(.*NoneType.*\), got None"),
        ({"work_dir": __file__}, r"work_dir must be a folder that can be written \(.*File exists.*\), got"),
        ({"space": lambda sch: 3}, "ScheduleFn.sch_fn: its result must be a list of schedules, got 3"),
    ],
)
def test_what_an_option_may_not_be_is_said(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        _tuned(**{"work_dir": tmp_path, **options})


def test_tasks_and_options_of_models_are_held_against_what_there_is(tmp_path: Path) -> None:
    func = te.create_prim_func(_copied(8))
    context = meta_schedule.TuneContext(func, target="llvm", num_threads=1)
    for tasks, weights in (([context], [1, 2]), ([func], [1])):
        with pytest.raises(ArgumentError, match=r"tasks must be as many TuneContexts as there are weights, [12], got"):
            meta_schedule.tune_tasks(tasks, weights, tmp_path, 1)  # type: ignore[arg-type]
    x = relay.var("x", shape=(4, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
    with pytest.raises(ArgumentError, match="tune_relay: there is no option 'sed'; did you mean 'seed'"):
        meta_schedule.relay_integration.tune_relay(mod, {}, "llvm", tmp_path, 1, sed=1)
    with pytest.raises(ArgumentError, match="extracted_tasks_to_tune_contexts: there is no option 'builder'"):
        meta_schedule.relay_integration.extracted_tasks_to_tune_contexts([], tmp_path, builder="local")
    two = tvm.IRModule({"main": func, "other": func})
    with pytest.raises(ArgumentError, match=r"mod must be a module of one PrimFunc, got \['main', 'other'"):
        meta_schedule.tune_tasks([meta_schedule.TuneContext(two, target="llvm", num_threads=1)], [1], tmp_path, 1)


@pytest.mark.parametrize("seconds", [float("nan"), -1.0, 0.0, float("inf"), "fast"])
def test_times_that_are_none_are_failed_records(tmp_path: Path, seconds: Any) -> None:
    class Runner(_Counted):
        def run(
            self, runner_inputs: Sequence[meta_schedule.runner.RunnerInput]
        ) -> list[meta_schedule.runner.RunnerFuture]:
            self.seen += runner_inputs
            is_default = len(self.seen) == 1
            return [_Future(1.0 if is_default else seconds) for _ in runner_inputs]

    database = _tuned(tmp_path, runner=Runner(), builder=_Numbers())
    said = f"Runner.run: times must be finite seconds above 0, got {show(seconds)}"
    failed = [record for record in Log(str(tmp_path / "search.jsonl")) if record.kind != "ok"]
    assert [(record.kind, record.message) for record in failed] == [("refused", said)] * 2
    (record,) = database.get_all_tuning_records()
    assert record.run_secs is None, "nothing is faster than the function as it stands"

    class Never(_Counted):
        def run(
            self, runner_inputs: Sequence[meta_schedule.runner.RunnerInput]
        ) -> list[meta_schedule.runner.RunnerFuture]:
            return [_Future(seconds) for _ in runner_inputs]

    with pytest.raises(ArgumentError, match=f"the default cannot be measured: {said.replace('Runner', 'Never')}"):
        _tuned(tmp_path / "other", runner=Never(), builder=_Numbers())


class _Returning:
    """Has every method of a part, which returns what it is given."""

    def __init__(self, made: object) -> None:
        self.build = self.run = self.predict = lambda *given: made


class _WrongBuilder(_Returning, meta_schedule.builder.PyBuilder):
    pass


class _WrongRunner(_Returning, meta_schedule.runner.PyRunner):
    pass


class _WrongModel(_Returning, meta_schedule.cost_model.PyCostModel):
    pass


_NO_RESULT = [meta_schedule.runner.RunnerFuture(f_result=lambda: 3)]  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"builder": _WrongBuilder(None)}, "_WrongBuilder.build: its result must be a list of 1 × BuilderResult"),
        ({"builder": _WrongBuilder(["x"])}, r"must be a list of 1 × BuilderResult, got 1 of them: \['x'\]"),
        ({"runner": _WrongRunner(3)}, "_WrongRunner.run: its result must be a list of 1 × RunnerFuture, got 3"),
        ({"runner": _WrongRunner([1.0])}, r"its result must be a list of 1 × RunnerFuture, got 1 of them: \[1.0\]"),
        ({"runner": _WrongRunner(_NO_RESULT)}, "RunnerFuture.result: its result must be a list of 1 × RunnerResult"),
        ({"cost_model": _WrongModel([1.0])}, r"_WrongModel.predict: its result must be \d+ numbers, got \[1.0\]"),
        ({"cost_model": _WrongModel(None)}, r"_WrongModel.predict: its result must be \d+ numbers, got None"),
        ({"cost_model": _WrongModel("abc")}, r"_WrongModel.predict: its result must be \d+ numbers, got 'abc'"),
        ({"builder": meta_schedule.builder.PyBuilder()}, "Builder.build: a class that derives from Builder must"),
        ({"runner": meta_schedule.runner.PyRunner()}, "Runner.run: a class that derives from Runner must define it"),
        ({"cost_model": meta_schedule.CostModel()}, "CostModel.predict: a class that derives from CostModel must"),
        ({"space": meta_schedule.SpaceGenerator()}, "SpaceGenerator.generate_design_space: a class that derives"),
    ],
)
@pytest.mark.parametrize("is_of_model", [False, True])
def test_what_a_programs_parts_return_is_said_for_functions_and_models(
    tmp_path: Path, options: dict[str, Any], said: str, is_of_model: bool
) -> None:
    given = {"builder": _Numbers(), "runner": _Faster(), "num_tuning_cores": 1, "seed": 1, **options}
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(16, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    tune_relay = meta_schedule.relay_integration.tune_relay
    tune = partial(tune_relay, mod, {}, "llvm") if is_of_model else _tuned
    with pytest.raises(ArgumentError, match=said):
        tune(work_dir=tmp_path, max_trials_global=2, **given)


def test_a_database_is_asked_by_kind_and_pruned_to_the_fastest_of_each_program(tmp_path: Path) -> None:
    database, funcs = meta_schedule.database.create("memory"), [te.create_prim_func(_copied(n)) for n in (8, 9, 10)]
    rows = [(0, [1.0], "llvm"), (0, [0.5], "llvm -mcpu=haswell"), (1, None, "llvm"), (2, [3.0, 1.0], "llvm")]
    for at, seconds, target in rows:
        schedule = tvm.tir.Schedule(funcs[at])
        schedule.parallel(schedule.get_loops(schedule.get_block("compute"))[0])
        workload = database.commit_workload(funcs[at])
        database.commit_tuning_record(meta_schedule.database.TuningRecord(schedule.trace, workload, seconds, target))
    record = database.query(funcs[0], "llvm", kind="record")
    assert isinstance(record, meta_schedule.database.TuningRecord)
    assert record.run_secs == [1.0]
    assert isinstance(database.query(funcs[0], "llvm"), tvm.tir.Schedule)
    assert isinstance(database.query(funcs[0], "llvm", workload_name="main", kind="ir_module"), tvm.IRModule)
    assert database.query(te.create_prim_func(_tensors()), "llvm") is None
    with pytest.raises(ValueError, match=r"Database.query: kind must be of schedule, record, ir_module, got 'best'"):
        database.query(funcs[0], "llvm", kind="best")
    pruned = meta_schedule.database.JSONDatabase(work_dir=tmp_path)
    database.dump_pruned(pruned)
    opened = meta_schedule.database.JSONDatabase(work_dir=tmp_path)
    assert [row.run_secs for row in opened.get_all_tuning_records()] == [[0.5], [3.0, 1.0]]  # as TVM 0.19 has it
    assert opened.query_ir_module(funcs[2], "llvm") is not None
    with pytest.raises(ArgumentError, match=r"Database\.dump_pruned: destination must be a Database, got 'there'"):
        database.dump_pruned("there")  # type: ignore[arg-type]
