"""Schedules of sketches compute what the definitions say; records are read back and applied to models."""

import json
import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.classic import auto_scheduler
from compiler.classic.auto_scheduler import task_scheduler, utils
from compiler.classic.contrib import graph_executor
from compiler.ir.error import ArgumentError

_QUICK = auto_scheduler.LocalRunner(number=1, min_repeat_ms=0)


@auto_scheduler.register_workload
def scheduled_product(n, m, length):
    a, b = te.placeholder((n, length), name="A"), te.placeholder((length, m), name="B")
    c = te.placeholder((n, m), name="C")
    k = te.reduce_axis((0, length), name="k")
    product = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="product")
    return [a, b, c, te.compute((n, m), lambda i, j: product[i, j] + c[i, j], name="D")]


def _windows():
    a = te.placeholder((3, 12), name="A")
    k = te.reduce_axis((0, 3), name="k")
    padded = te.compute((3, 14), lambda i, j: te.if_then_else(te.any(j < 1, j > 12), 0.0, a[i, j - 1]), name="padded")
    return [a, te.compute((3, 12), lambda i, j: te.sum(padded[i, j + k], axis=k), name="B")]


def _softmax():
    a = te.placeholder((4, 6), name="A")
    return [a, tvm.topi.nn.softmax(a)]


def _sum_of_neighbours(a):
    wide = np.pad(a, ((0, 0), (1, 1)))
    return wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]


_WORKLOADS = {
    "product": (lambda: scheduled_product(6, 8, 4), lambda a, b, c: a @ b + c),
    "windows": (_windows, _sum_of_neighbours),
    "softmax": (_softmax, lambda a: np.exp(a) / np.exp(a).sum(1, keepdims=True)),
}


@pytest.mark.parametrize("name", _WORKLOADS)
def test_random_schedules_compute_what_the_definitions_say(name):
    define, expected = _WORKLOADS[name]
    dag = auto_scheduler.ComputeDAG(define())
    rng, numbers = random.Random(1), np.random.default_rng(0)
    first, second = dag.sketch.sample(rng), dag.sketch.sample(rng)
    for state in (first, dag.sketch.mutated(dag.sketch.crossed(first, second, rng), rng)):
        schedule, tensors = dag.apply_steps_from_state(state)
        arrays = [numbers.normal(size=[int(e) for e in t.shape]).astype("float32") for t in tensors]
        tvm.build(schedule, tensors, "llvm")(*arrays)
        np.testing.assert_allclose(arrays[-1], expected(*arrays[:-1]), rtol=1e-4, atol=1e-6)


def test_a_task_is_searched_and_its_best_record_applied(tmp_path, capsys):
    log = tmp_path / "records.json"
    task = auto_scheduler.SearchTask(func=scheduled_product, args=(8, 16, 4), target="llvm")
    task.tune(
        auto_scheduler.TuningOptions(
            num_measure_trials=4,
            num_measures_per_round=2,
            runner=_QUICK,
            measure_callbacks=[auto_scheduler.RecordToFile(log)],
        )
    )
    assert "4 measured, 0 of 2 failed" in capsys.readouterr().out
    records = list(auto_scheduler.load_records(log))
    assert len({inp.state for inp, _ in records}) == 4
    fastest = min(records, key=lambda record: sum(record[1].costs))
    best, _ = auto_scheduler.load_best_record(log, task.workload_key, task.target)
    assert best.state == fastest[0].state
    schedule, tensors = task.apply_best(log)
    code = task.print_best(log)
    assert "s[product].compute_at(s[D], " in code
    assert len(code.splitlines()) == len(schedule.primitives)
    assert tensors == task.compute_dag.tensors
    again = auto_scheduler.SketchPolicy(
        task,
        auto_scheduler.XGBModel(),
        verbose=0,
        init_search_callbacks=[auto_scheduler.PreloadMeasuredStates(str(log))],
    )
    assert again.search(auto_scheduler.TuningOptions()) == fastest[0].state


def test_what_a_model_learned_from_records_is_saved_for_other_tasks(tmp_path):
    log, path = tmp_path / "records.json", str(tmp_path / "model")
    task = auto_scheduler.SearchTask(func=scheduled_product, args=(8, 16, 4), target="llvm")
    rng = random.Random(2)
    states = [task.compute_dag.sketch.sample(rng) for _ in range(12)]
    results = [auto_scheduler.MeasureResult((1.0 + at,), 0, "", 0.0, 0.0) for at in range(12)]
    auto_scheduler.save_records(log, [auto_scheduler.MeasureInput(task, state) for state in states], results)
    model = auto_scheduler.XGBModel()
    model.update_from_file(str(log))
    model.save(path)
    other = auto_scheduler.SearchTask(func=scheduled_product, args=(16, 16, 16), target="llvm")
    ahead = [other.compute_dag.sketch.sample(rng) for _ in range(6)]
    read = auto_scheduler.XGBModel(model_file=path)
    assert read.predict(other, ahead) == read.predict(other, ahead)
    assert [len(rows) for rows in json.loads(Path(path).read_text()).values()] == [12]
    model.load(path)
    model.save(path)
    assert [len(rows) for rows in json.loads(Path(path).read_text()).values()] == [24], "what was read, and measured"
    with pytest.raises(ArgumentError, match="the cost model 'nowhere' cannot be read"):
        auto_scheduler.TaskScheduler([other], load_model_file="nowhere")


@pytest.mark.parametrize("runner", [auto_scheduler.LocalRunner, partial(auto_scheduler.RPCRunner, "key", "host", 1)])
def test_runners_say_what_measurements_there_cannot_be(runner):
    for name, value in (("number", "many"), ("repeat", 0), ("min_repeat_ms", -1)):
        with pytest.raises(ArgumentError, match=f"Runner: {name} must be an int of at least"):
            runner(**{name: value})


def test_the_model_expects_most_of_states_like_the_fast_ones():
    task = auto_scheduler.SearchTask(func=scheduled_product, args=(64, 64, 64), target="llvm")
    rng, model = random.Random(0), auto_scheduler.XGBModel()
    states = [task.compute_dag.sketch.sample(rng) for _ in range(60)]
    costs = {state: 1.0 + sum(state.decisions[2][:6]) for state in states}  # small tiles are fast
    inputs = [auto_scheduler.MeasureInput(task, state) for state in states[:40]]
    results = [auto_scheduler.MeasureResult((costs[inp.state],), 0, "", 0.0, 0.0) for inp in inputs]
    model.update(inputs, results)
    scores = model.predict(task, states[40:])
    ranked = [costs[state] for _, state in sorted(zip(scores, states[40:], strict=True), key=lambda pair: -pair[0])]
    assert np.mean(ranked[:10]) < np.mean(ranked[10:])


def test_models_are_built_by_records(tmp_path):
    log = tmp_path / "records.json"
    x = relay.var("x", shape=(4, 6))
    weight = relay.const(np.random.default_rng(0).normal(size=(8, 6)).astype("float32"))
    module = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.dense(x, weight))))
    tasks, weights = auto_scheduler.extract_tasks(module["main"], {}, "llvm")
    assert weights == [1]
    tuning = auto_scheduler.TuningOptions(2, verbose=0, runner=_QUICK)
    tuning.measure_callbacks = [auto_scheduler.RecordToFile(log)]
    auto_scheduler.TaskScheduler(tasks, weights).tune(tuning)
    found = list(auto_scheduler.load_records(log))
    (default,) = [record for record in found if record[0].state == auto_scheduler.State(())]
    found.remove(default)
    faster = (default[0], auto_scheduler.MeasureResult((1e-12,), 0, "", 0.0, 0.0))
    with auto_scheduler.ApplyHistoryBest([*found, faster]), tvm.transform.PassContext(opt_level=3):
        assert next(iter(relay.build(module, "llvm").kernels.values())).replaced is None
    with auto_scheduler.ApplyHistoryBest(found), tvm.transform.PassContext(opt_level=3):
        searched = relay.build(module, "llvm")
    with tvm.transform.PassContext(opt_level=3):
        usual = relay.build(module, "llvm")
    kernels = [next(iter(built.kernels.values())) for built in (searched, usual)]
    assert [kernel.replaced is not None for kernel in kernels] == [True, False]
    data, results = np.random.default_rng(1).normal(size=(4, 6)).astype("float32"), []
    for built in (searched, usual):
        executor = graph_executor.GraphModule(built["default"](tvm.cpu(0)))
        executor.run(x=data)
        results.append(executor.get_output(0).numpy())
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)


def test_what_cannot_be_searched_is_refused(tmp_path):
    (tmp_path / "noise.json").write_text("noise\n")
    task = auto_scheduler.SearchTask(func=scheduled_product, args=(4, 4, 4), target="llvm")
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    for refused in (
        lambda: auto_scheduler.SearchTask(func="nothing", args=()),
        lambda: auto_scheduler.SearchTask(target="llvm"),
        lambda: auto_scheduler.register_workload("scheduled_product", list),
        lambda: auto_scheduler.ComputeDAG([]),
        lambda: auto_scheduler.ComputeDAG([a, te.compute((n,), lambda i: a[i] + 1)]).sketch.schedule(
            auto_scheduler.State(())
        ),
        lambda: auto_scheduler.TuningOptions(runner="noise"),
        lambda: task.apply_best(tmp_path / "noise.json"),
        lambda: task.print_best(tmp_path / "noise.json", print_mode="cuda"),
        lambda: auto_scheduler.TaskScheduler([task], strategy="noise"),
        lambda: auto_scheduler.workload_key_to_tensors("noise"),
    ):
        with pytest.raises(ArgumentError):
            refused()


def test_keys_of_workloads_have_numbers() -> None:
    x = te.placeholder((2, 3), name="x")
    dag = auto_scheduler.ComputeDAG([x, te.compute((2, 3), lambda i, j: x[i, j] + 1.0, name="y")])
    name, shapes = utils.decode_workload_key(dag.workload_key())
    assert shapes == (2, 3, 2, 3)
    larger, smaller = (name, (4, 3, 4, 3)), (name, shapes)
    assert utils.calc_workload_dis_factor(larger, smaller) == 4
    for other in (("else", (4, 3, 4, 3)), (name, (5, 3, 5, 3)), (name, (4, 3)), (name, None)):
        assert utils.calc_workload_dis_factor(other, smaller) == float("inf")
    assert utils.decode_workload_key("no json") == ("no json", None)
    assert utils.list_to_tuple([1, [2, [3]]]) == (1, (2, (3,)))
    assert utils.to_str_round([1.5, 2.25, "x", 3], 2) == "[1.50, 2.25, x, 3]"
    assert utils.array_mean([1, 3]) == 2
    assert utils.get_func_name(utils.array_mean) == "array_mean"


def test_callbacks_follow_the_search_and_records_are_distilled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = te.placeholder((16, 16), name="x")
    k = te.reduce_axis((0, 16), name="k")
    y = te.compute((16, 16), lambda i, j: te.sum(x[i, k] * x[k, j], axis=k), name="y")
    auto_scheduler.register_workload("tests.followed", lambda: [x, y], override=True)
    task = auto_scheduler.SearchTask(func="tests.followed", args=(), target="llvm")
    called = []

    class Follows(task_scheduler.TaskSchedulerCallback):
        def post_tune(self, task_scheduler: object, task_id: int) -> None:
            called.append(task_id)

    log, records = tmp_path / "latency.tsv", tmp_path / "records.json"
    callbacks = [task_scheduler.PrintTableInfo(), task_scheduler.LogEstimatedLatency(log), Follows()]
    search = auto_scheduler.TaskScheduler([task], callbacks=callbacks)
    tuning = auto_scheduler.TuningOptions(
        num_measure_trials=3, measure_callbacks=[auto_scheduler.RecordToFile(records)], verbose=0
    )
    search.tune(tuning)
    assert called
    assert set(called) == {0}
    assert search.task_cts == [len(records.read_text().splitlines())]
    assert f"Trials\t{search.task_cts[0]}" in log.read_text().splitlines()[-1]
    assert "Latency" in capsys.readouterr().out
    auto_scheduler.distill_record_file(records, tmp_path / "best.json")
    (line,) = (tmp_path / "best.json").read_text().splitlines(keepends=True)
    best, _ = auto_scheduler.load_best_record(records)
    read, result = auto_scheduler.load_record_from_string(line)
    assert best is not None
    assert read.state == best.state
    assert auto_scheduler.dump_record_to_string(auto_scheduler.MeasureInput(task, read.state), result) == line


def test_a_graph_is_printed_a_line_for_each_value():
    dag = auto_scheduler.ComputeDAG(scheduled_product(8, 8, 4))
    assert str(dag).splitlines() == [
        "A = PLACEHOLDER [8, 4]",
        "B = PLACEHOLDER [4, 8]",
        "product(i, j) += A[i, k] * B[k, j]",
        "C = PLACEHOLDER [8, 8]",
        "D(i, j) = product[i, j] + C[i, j]",
    ]
    assert dag.flop_ct == 2 * 8 * 8 * 4 + 8 * 8
    a, k = te.placeholder((4, 6), name="A"), te.reduce_axis((0, 6), name="k")
    largest = te.compute((4,), lambda i: te.max(a[i, k], axis=k, where=k < 3), name="largest")
    both = te.compute((4,), lambda i: (largest[i], largest[i] * 2.0), name="both")
    assert str(auto_scheduler.ComputeDAG([a, *both])).splitlines()[1:] == [
        "largest(i) max= A[i, k] where k < 3",
        "both.v0(i) = largest[i]",
        "both.v1(i) = largest[i] * 2f",
    ]


def test_keys_of_workloads_tell_data_types_apart():
    def doubled(dtype):
        a = te.placeholder((4,), dtype, name="A")
        return auto_scheduler.ComputeDAG([a, te.compute((4,), lambda i: a[i] + a[i], name="B")])

    assert str(doubled("int8")) == str(doubled("float32"))
    assert doubled("int8").workload_key() != doubled("float32").workload_key()


@pytest.mark.parametrize("model", [auto_scheduler.RandomModel, auto_scheduler.XGBModel])
def test_a_search_with_a_seed_chooses_the_same_schedules_each_time(model):
    task = auto_scheduler.SearchTask(func=scheduled_product, args=(64, 64, 64), target="llvm")

    def chosen(seed):
        policy = auto_scheduler.SketchPolicy(task, model(), seed=seed)
        return policy.evolutionary_search(policy.sample_initial_population(), 8)

    assert chosen(7) == chosen(7)
    assert chosen(7) != chosen(8)


def test_a_record_that_was_cut_off_is_left_out_and_the_next_has_a_line_of_its_own(tmp_path):
    log = tmp_path / "records.json"
    task = auto_scheduler.SearchTask(func=scheduled_product, args=(4, 4, 4), target="llvm")
    states = [task.compute_dag.sketch.sample(random.Random(seed)) for seed in range(3)]
    inputs = [auto_scheduler.MeasureInput(task, state) for state in states]
    results = [auto_scheduler.MeasureResult((0.1,), 0, "", 0.2, 0.3) for _ in states]
    auto_scheduler.save_records(log, inputs[:2], results[:2])
    log.write_bytes(log.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="line 2 of a log was cut off"):
        assert [inp.state for inp, _ in auto_scheduler.load_records(log)] == states[:1]
    auto_scheduler.save_records(log, inputs[2:], results[2:])
    with pytest.warns(UserWarning, match="line 2 of a log was cut off"):
        assert [inp.state for inp, _ in auto_scheduler.load_records(log)] == [states[0], states[2]]
    log.write_text("no record\n")
    with pytest.raises(ArgumentError, match="this line is not a record"):
        list(auto_scheduler.load_records(log))


def test_a_workload_returns_a_list_of_tensors():
    a = te.placeholder((3,), name="a")
    auto_scheduler.register_workload("test_auto_scheduler.single", lambda: a)
    with pytest.raises(ArgumentError, match=r"what the workload .* returns must be a list"):
        auto_scheduler.SearchTask(func="test_auto_scheduler.single", target="llvm")
    with pytest.raises(ArgumentError, match="compute_or_sche must be a list of tensors"):
        auto_scheduler.ComputeDAG(a)


def test_models_and_callbacks_of_a_program_are_told_of_measurements():
    told = []

    class Model(auto_scheduler.cost_model.PythonBasedModel):
        def update(self, inputs, results):
            told.append(("model", len(inputs)))

        def predict(self, task, states):
            return [float(at) for at, _ in enumerate(states)]

    class Callback(auto_scheduler.measure.PythonBasedMeasureCallback):
        def callback(self, policy, inputs, results):
            told.append((policy, len(results)))

    a = te.placeholder((8,), name="a")
    dag = auto_scheduler.ComputeDAG([a, te.compute((8,), lambda i: a[i] + 1.0)])
    task = auto_scheduler.SearchTask(compute_dag=dag, target="llvm")
    policy = auto_scheduler.SketchPolicy(task, Model(), verbose=0)
    runner = auto_scheduler.LocalRunner(number=1, min_repeat_ms=0)
    task.tune(auto_scheduler.TuningOptions(1, runner=runner, measure_callbacks=[Callback()], verbose=0), policy)
    assert told == [("model", 1), (policy, 1)]
