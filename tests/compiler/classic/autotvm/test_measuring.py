"""Builders and runners of a program's own, counted operations, and records by workload."""

import logging
import math
import os
import signal
import time
from pathlib import Path

import pytest

from compiler import te
from compiler.classic import autotvm
from compiler.classic.alias import install
from compiler.classic.autotvm.callback import log_to_file
from compiler.classic.autotvm.measure import MeasureErrorNo, MeasureResult, Runner
from compiler.classic.autotvm.task.record import decode, encode, load_from_file, measure_str_key, split_workload
from compiler.classic.autotvm.task.task import FlopCalculationError, compute_flop
from compiler.classic.contrib import cc
from compiler.ir.error import ArgumentError, show
from tests.compiler.classic.autotvm.tasks import DummyRunner, get_sample_records, get_sample_task

install()


class Counting(Runner):
    """Says that each candidate took as long as its number, and that odd ones failed."""

    def run(self, measure_inputs, build_results):
        assert all(built.error is None and Path(built.filename).suffix == ".tar" for built in build_results)
        return [MeasureResult((1.0 + i.config.index,), i.config.index % 2, 0.1, 0.0) for i in measure_inputs]


def test_a_runner_of_a_program_measures():
    task, _ = get_sample_task(16)
    runner = Counting()
    tuner = autotvm.tuner.GridSearchTuner(task, range_idx=(4, 7))
    tuner.tune(n_trial=10, measure_option=autotvm.measure_option(autotvm.LocalBuilder(), runner))
    assert runner.task is task
    assert tuner.best_config.index == 4
    assert tuner.best_flops == pytest.approx(2 * 16**3 / 5)


class Ending(autotvm.LocalRunner):
    """Its first candidate crashes, its second one never ends, its third one takes a second."""

    def seconds(self, filename, arg_info):
        at = self.measured.index(filename)
        if at == 0:
            os.kill(os.getpid(), signal.SIGSEGV)
        while at == 1:
            pass
        return (1.0,)

    def run(self, measure_inputs, build_results):
        self.measured = [built.filename for built in build_results]
        return super().run(measure_inputs, build_results)


def test_candidates_that_crash_or_hang_are_records():
    task, _ = get_sample_task(16)
    made = []
    option = autotvm.measure_option("local", Ending(timeout=0.5))
    tuner = autotvm.tuner.GridSearchTuner(task)
    tuner.tune(n_trial=3, measure_option=option, callbacks=[lambda tuner, inputs, results: made.extend(results)])
    wanted = [MeasureErrorNo.RUNTIME_DEVICE, MeasureErrorNo.RUN_TIMEOUT, MeasureErrorNo.NO_ERROR]
    assert [result.error_no for result in made] == wanted
    assert "SIGSEGV" in str(made[0].costs[0])
    assert made[2].costs == (1.0,)


@autotvm.template("test_measuring.raises")
def _raises_later(n):
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    config = autotvm.get_config()
    config.define_knob("wrong", [0, 1])
    return (te.create_schedule(b.op), [a, b]) if config["wrong"].val == 0 else {}["none"]


def test_what_a_template_raises_for_one_configuration_is_a_record():
    task = autotvm.task.create("test_measuring.raises", args=(8,), target="llvm")
    made = []
    option = autotvm.measure_option("local", autotvm.LocalRunner(number=1, repeat=1))
    tuner = autotvm.tuner.GridSearchTuner(task)
    tuner.tune(n_trial=2, measure_option=option, callbacks=[lambda tuner, inputs, results: made.extend(results)])
    assert [result.error_no for result in made] == [MeasureErrorNo.NO_ERROR, MeasureErrorNo.COMPILE_HOST]
    assert str(made[1].costs[0]) == "LocalBuilder: refused: KeyError: 'none'"


def test_a_tuner_without_candidates_ends():
    task, _ = get_sample_task(16)
    tuner = autotvm.tuner.GridSearchTuner(task)
    tuner.next_batch = lambda count: []
    tuner.tune(n_trial=3, measure_option=autotvm.measure_option("local", Counting()))
    assert tuner.best_config is None


def test_what_is_no_template_or_no_record_is_said():
    with pytest.raises(ArgumentError, match=r"no template 'test_measuring.raise' is registered.*; did you mean"):
        autotvm.task.create("test_measuring.raise", args=(8,), target="llvm")
    autotvm.template("test_measuring.none", lambda n: None)
    with pytest.raises(ArgumentError, match=r"what the template .* returns must be a schedule and a list of tensors"):
        autotvm.task.create("test_measuring.none", args=(8,), target="llvm")
    whole = encode(*next(iter(get_sample_records(1))))
    for line in (
        "[]",
        "null",
        "garbage",
        whole.replace('"entity"', '"entities"'),
        whole.replace('"result": [[', '"result": [null, ['),
    ):
        with pytest.raises(ArgumentError, match="autotvm: this line is not a record"):
            decode(line)


def test_the_log_says_all_after_too_many_errors(caplog):
    task, _ = get_sample_task(16)
    logger = logging.getLogger("autotvm")
    before = logger.level
    try:
        for threshold, most in ((1, logging.DEBUG), (2, before)):
            logger.setLevel(before)
            tuner = autotvm.tuner.GridSearchTuner(task, range_idx=(0, 3))
            tuner.set_error_threshold(threshold)
            tuner.tune(n_trial=4, measure_option=autotvm.measure_option("local", Counting()))
            assert logger.level == most
    finally:
        logger.setLevel(before)
    assert [row.message[:15] for row in caplog.records] == ["Too many errors"]


def test_made_up_measurements():
    task, _target = get_sample_task()
    results = DummyRunner().run([inp for inp, _ in get_sample_records(3)], [])
    assert len(results) == 3
    assert not any(r.error_no for r in results)
    records = get_sample_records(5)
    assert [res.costs[0] for _, res in records] == [1, 2, 3, 4, 5]
    tuner = autotvm.tuner.RandomTuner(task)
    tuner.load_history(records)
    rest = tuner.next_batch(1000)
    assert len(rest) == len(task.config_space) - 5
    assert all(config.index >= 5 for config in rest)


@pytest.mark.parametrize(("dtype", "acc"), [("float32", "float32"), ("float16", "float32"), ("int8", "int32")])
def test_operations_are_counted(dtype, acc):
    a, b = (te.placeholder((6, 7), name=name, dtype=dtype) for name in "ab")
    k = te.reduce_axis((0, 7), "k")
    c = te.compute((6, 6), lambda i, j: te.sum(a[i, k].astype(acc) * b[j, k].astype(acc), axis=k))
    assert compute_flop(te.create_schedule(c.op)) == 2 * 6 * 6 * 7
    largest = te.compute((6,), lambda i: te.max(a[i, k], axis=k))
    assert compute_flop(te.create_schedule(largest.op)) == 6 * 7
    moved = te.compute((7, 6), lambda i, j: a[j, i])
    with pytest.raises(FlopCalculationError, match="Cannot find float number operation"):
        compute_flop(te.create_schedule(moved.op))
    assert issubclass(FlopCalculationError, RuntimeError)


def test_records_of_each_workload(tmp_path):
    log = tmp_path / "log"
    first, second = get_sample_records(3), list(get_sample_records(1))
    other, _target = get_sample_task(32)
    mixed = [*first, (second[0][0]._replace(task=other), second[0][1]), *second]
    log.write_text("".join(encode(*record) + "\n" for record in mixed))
    split_workload(log)
    files = [list(load_from_file(f"{log}.{at:03d}.wkl")) for at in (0, 1)]
    assert [len(rows) for rows in files] == [3, 1]
    assert {rows[0][0].task.args[0] for rows in files} == {128, 32}
    split_workload(log, clean=False)
    rows = list(load_from_file(f"{log}.000.wkl"))
    assert len(rows) == 4
    assert len({measure_str_key(inp) for inp, _ in rows}) == 3


def test_a_record_that_was_cut_off_is_left_out_and_the_next_has_a_line_of_its_own(tmp_path):
    log = tmp_path / "log"
    records = list(get_sample_records(3))
    write = log_to_file(log)
    write(None, *zip(*records[:2], strict=True))
    log.write_bytes(log.read_bytes()[:-9])
    write(None, *zip(*records[2:], strict=True))
    with pytest.warns(UserWarning, match="line 2 of a log was cut off"):
        read = list(load_from_file(log))
    assert [inp.config.index for inp, _ in read] == [records[at][0].config.index for at in (0, 2)]


@autotvm.template("test_measuring.ends")
def _ends(n):
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    config = autotvm.get_config()
    config.define_knob("way", [0, 1, 2, 3])
    if config["way"].val == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    while config["way"].val == 2:
        pass
    if config["way"].val == 3:
        raise autotvm.task.space.InstantiationError("it does not fit")
    return te.create_schedule(b.op), [a, b]


def _measured(option, template="test_measuring.ends", trials=4):
    made = []
    tuner = autotvm.tuner.GridSearchTuner(autotvm.task.create(template, args=(8,), target="llvm"))
    tuner.tune(trials, option, callbacks=[lambda tuner, inputs, results: made.extend(results)])
    return made


def test_templates_that_crash_or_hang_while_they_are_built_are_records():
    builder = autotvm.LocalBuilder(timeout=2, n_parallel=4)
    started = time.monotonic()
    made = _measured(autotvm.measure_option(builder, autotvm.LocalRunner(number=1, repeat=1)))
    assert time.monotonic() - started < 8
    assert [result.error_no for result in made] == [
        MeasureErrorNo.NO_ERROR, MeasureErrorNo.COMPILE_HOST, MeasureErrorNo.BUILD_TIMEOUT,
        MeasureErrorNo.INSTANTIATION_ERROR,
    ]  # fmt: skip
    words = [str(result.costs[0]) for result in made[1:]]
    assert "LocalBuilder: crashed: its process ended with SIGSEGV" in words[0]
    assert "LocalBuilder: hung: it took too long to build" in words[1]
    assert words[2] == "it does not fit"


def test_what_is_no_limit_of_time_is_said():
    for seconds in ("3", -1, math.nan):
        option = autotvm.measure_option(autotvm.LocalBuilder(timeout=seconds), autotvm.LocalRunner())
        with pytest.raises(ArgumentError, match=rf"a limit of time must be seconds, at least 0, got '?{seconds}'?"):
            _measured(option, trials=1)


@pytest.mark.parametrize(("name", "why"), [("/dev/full", "No space left"), ("/nowhere/log", "No such file")])
def test_a_log_that_cannot_be_written_is_named(name, why):
    with pytest.raises(ArgumentError, match=f"the log '{name}' cannot be written: {why}"):
        log_to_file(name)(None, *zip(*get_sample_records(1), strict=True))


def test_a_program_says_how_libraries_are_linked():
    linked = []

    def link(name, objects):
        cc.create_shared(name, objects)
        Path(name + ".seen").write_text(",".join(objects))

    class Seeing(autotvm.LocalRunner):
        def run(self, measure_inputs, build_results):
            linked.extend((Path(b.filename).suffix, Path(b.filename + ".seen").read_text()) for b in build_results)
            return super().run(measure_inputs, build_results)

    option = autotvm.measure_option(autotvm.LocalBuilder(build_func=link), Seeing(number=1, repeat=1))
    (made,) = _measured(option, trials=1)
    assert made.error_no == 0
    assert linked[0][0] == ".so"
    assert linked[0][1].endswith("0.o")
    with pytest.raises(ArgumentError, match="LocalBuilder: build_func must be a function or 'default', got 'ndk'"):
        autotvm.LocalBuilder(build_func="ndk")


@pytest.mark.parametrize("cost", [math.nan, -1.0, 0.0, math.inf, "fast"])
def test_costs_that_no_time_is_are_failures(cost):
    class Wrong(Runner):
        def run(self, measure_inputs, build_results):
            return [MeasureResult((1.0, cost), 0, 0.1, 0.0) for _ in measure_inputs]

    (made,) = _measured(autotvm.measure_option("local", Wrong()), trials=1)
    assert made.error_no == MeasureErrorNo.UNKNOWN_ERROR
    assert str(made.costs[0]) == f"Wrong.run: times must be finite seconds above 0, got {show(cost)}"


def test_what_builders_and_runners_return_is_held_against_the_inputs():
    class Wrong(Runner):
        def run(self, measure_inputs, build_results):
            return self.made

    runner = Wrong()
    for made, got in ((None, "got None"), ([], r"got 0 of them: \[\]"), ([1.0], r"got 1 of them: \[1.0\]")):
        runner.made = made
        with pytest.raises(ArgumentError, match=rf"Wrong.run: its result must be a list of 1 × MeasureResult, {got}"):
            _measured(autotvm.measure_option("local", runner), trials=1)
    with pytest.raises(NotImplementedError, match=r"^Runner.run: a class that derives from Runner must define it$"):
        _measured(autotvm.measure_option("local", Runner()), trials=1)
    task, _ = get_sample_task(16)
    with pytest.raises(NotImplementedError, match=r"^Tuner.next_index: a class that derives from Tuner must define"):
        autotvm.tuner.Tuner(task).next_batch(1)
