"""Tuners measure on machines that a tracker lends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compiler as tvm
from compiler import te
from compiler.classic import auto_scheduler, autotvm, meta_schedule
from compiler.classic.autotvm.measure import MeasureErrorNo, MeasureInput
from compiler.classic.autotvm.measure_methods import check_remote, create_measure_batch, request_remote
from compiler.classic.meta_schedule import runner
from compiler.classic.rpc.tracker import Tracker
from compiler.ir.error import ArgumentError, RPCError
from tests.compiler.classic.autotvm.tasks import get_sample_task
from tests.compiler.runtime.rpc.servers import serving


@pytest.fixture(scope="module")
def tracker() -> Iterator[Tracker]:
    """A tracker that lends one server, of the key ``board``."""
    made = Tracker(port=0)
    with serving("board", tracker=(made.host, made.port)):
        yield made
    made.terminate()


@auto_scheduler.register_workload
def measured_on_a_board(n: int) -> list[Any]:
    a = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    return [a, te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")]


def test_autotvm_measures_there(tracker: Tracker) -> None:
    task, target = get_sample_task(16)
    measuring = autotvm.RPCRunner("board", tracker.host, tracker.port, number=2, repeat=3, cooldown_interval=0)
    batch = create_measure_batch(task, autotvm.measure_option("local", measuring))
    inputs = [MeasureInput(target, task, task.config_space.get(index)) for index in (0, 5)]
    for result in batch(inputs):
        assert result.error_no == 0
        assert len(result.costs) == 3
        assert all(isinstance(cost, float) and cost > 0 for cost in result.costs)
    hasty = autotvm.RPCRunner("board", tracker.host, tracker.port, timeout=0.2, min_repeat_ms=60_000)
    (late,) = create_measure_batch(task, autotvm.measure_option("local", hasty))(inputs[:1])
    assert late.error_no == MeasureErrorNo.RUN_TIMEOUT, late
    elsewhere = tvm.target.Target("llvm -mtriple=aarch64-linux-gnu")
    (refused,) = batch([MeasureInput(elsewhere, task, task.config_space.get(0))])
    assert refused.error_no == MeasureErrorNo.RUNTIME_DEVICE
    assert "this module is for aarch64; this server runs" in str(refused.costs[0])


def test_a_machine_is_asked_for(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_TRACKER_HOST", tracker.host)
    monkeypatch.setenv("TVM_TRACKER_PORT", str(tracker.port))
    assert check_remote("llvm", "board")
    assert not check_remote("llvm", "other", timeout=0.2)
    with request_remote("board") as remote:
        assert remote.cpu().exist
        assert not check_remote("llvm", "board", timeout=0.2)


def test_the_auto_scheduler_searches_there(tracker: Tracker) -> None:
    task = auto_scheduler.SearchTask(func=measured_on_a_board, args=(48,), target="llvm")
    seen: list[auto_scheduler.MeasureResult] = []

    class Seen:
        def callback(self, policy: object, inputs: object, results: list[auto_scheduler.MeasureResult]) -> None:
            seen.extend(results)

    there = auto_scheduler.RPCRunner("board", tracker.host, tracker.port, repeat=2, min_repeat_ms=0)
    options = auto_scheduler.TuningOptions(2, runner=there, measure_callbacks=[Seen()], verbose=0)
    auto_scheduler.SketchPolicy(task, verbose=0, seed=1).search(options)
    assert seen
    assert all(result.error_no == 0 and len(result.costs) >= 1 for result in seen), seen
    with pytest.raises(ArgumentError, match="runner must be a LocalRunner, an RPCRunner or 'local'"):
        auto_scheduler.TuningOptions(runner="there")


@pytest.mark.long
def test_meta_schedule_searches_there(tracker: Tracker, tmp_path: Path) -> None:
    func = te.create_prim_func(measured_on_a_board(32))
    there = runner.RPCRunner(
        runner.RPCConfig(tracker.host, tracker.port, "board"), runner.EvaluatorConfig(min_repeat_ms=1)
    )
    found = meta_schedule.tune_tir(func, "llvm", tmp_path, 2, runner=there, num_tuning_cores=1, seed=1)
    assert math.isfinite(found.query_tuning_record(func, tvm.target.Target("llvm")).run_secs[0])


def test_a_tracker_that_does_not_answer(tracker: Tracker) -> None:
    there = autotvm.RPCRunner("board", tracker.host, 1)
    with pytest.raises(RPCError, match=r"lends no free machine 'board'"):
        there.set_task(get_sample_task(16)[0])
