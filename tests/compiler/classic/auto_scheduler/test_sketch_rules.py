"""Sketches that a program's own rules make are measured, recorded and applied."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic import auto_scheduler
from compiler.classic.auto_scheduler.loop_state import State
from compiler.classic.auto_scheduler.transform_steps import StepState
from compiler.ir.error import ArgumentError

SIZE = 24
Rule = auto_scheduler.PreloadCustomSketchRule


@auto_scheduler.register_workload
def ruled_layer(size: int) -> list[te.Tensor]:
    a, b = te.placeholder((size, size), name="A"), te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), name="k")
    twice = te.compute((size, size), lambda i, j: a[i, j] * 2.0, name="twice")
    c = te.compute((size, size), lambda i, j: te.sum(twice[i, k] * b[k, j], axis=k), name="C", tag="product")
    return [a, b, te.compute((size, size), lambda i, j: c[i, j] + 1.0, name="D")]


def is_product(policy: Any, state: StepState, stage_id: int) -> int:
    stages = State(state, policy.search_task.compute_dag).stages
    return Rule.APPLY_AND_SKIP_REST if stages[stage_id].op.tag == "product" else Rule.PASS


def tiled(policy: Any, state: StepState, stage_id: int) -> list[Any]:
    """Tile the product, its columns by eights, where it is and in the loops of what reads it."""
    made = []
    for is_near in (False, True):
        s = State(state, policy.search_task.compute_dag)
        op, reader = s.stages[stage_id].op, s.stages[stage_id + 1].op
        i, j, k = s[op].iters
        (i_0, i_1), (j_0, j_1, j_2) = s.split(op, i, [None]), s.split(op, j, [None, 8])
        s.reorder(op, [i_0, j_0, k, i_1, j_1, j_2])
        s.vectorize(op, j_2)
        if is_near:
            row, _ = s[reader].iters
            outer, _ = s.split(reader, row, [4])
            s.compute_at(op, reader, outer)
        made.append([s.state_object, stage_id - 1])
    return made


def policy_of(*rules: Any, model: Any = None) -> auto_scheduler.SketchPolicy:
    task = auto_scheduler.SearchTask(func=ruled_layer, args=(SIZE,), target="llvm")
    return auto_scheduler.SketchPolicy(task, model, seed=1, verbose=0, init_search_callbacks=list(rules))


def checked(schedule: Any, tensors: list[te.Tensor]) -> None:
    arrays = [np.random.default_rng(0).random((SIZE, SIZE), "float32") for _ in range(3)]
    tvm.build(schedule, tensors, "llvm")(*arrays)
    np.testing.assert_allclose(arrays[2], 2 * arrays[0] @ arrays[1] + 1, rtol=1e-4)


def test_rules_make_sketches_whose_open_lengths_are_searched() -> None:
    policy = policy_of(Rule(is_product, tiled, "tiles"))
    near, apart = policy.generate_sketches()
    assert [step[0] for step in near.transform_steps] == ["SP", "SP", "RE", "AN", "SP", "CA", "CI"]
    assert [step[0] for step in apart.transform_steps] == ["SP", "SP", "RE", "AN", "CI"], "twice is inlined"
    states, rng = policy.sample_initial_population(), random.Random(0)
    assert {any(step[0] == "CA" for step in state.steps) for state in states} == {True, False}
    sketch = policy._sketch
    for state in states[:6]:
        child = sketch.crossed(sketch.mutated(state, rng), states[0], rng)
        splits = [step for step in child.steps if step[0] == "SP"]
        assert all(SIZE % np.prod(step[4]) == 0 for step in splits), "extents are divided"
        assert splits[1][4][1] == 8
        checked(*policy.task.compute_dag.apply_steps_from_state(child))


def test_a_search_by_rules_measures_and_records_their_schedules_only(tmp_path: Path) -> None:
    log, model = tmp_path / "log.json", auto_scheduler.XGBModel(num_warmup_sample=2, seed=1)
    policy = policy_of(Rule(is_product, tiled), model=model)
    options = auto_scheduler.TuningOptions(
        num_measure_trials=4, num_measures_per_round=2, measure_callbacks=[auto_scheduler.RecordToFile(log)], verbose=0,
        runner=auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0),
    )  # fmt: skip
    policy.task.tune(options, policy)
    records = list(auto_scheduler.load_records(log))
    assert len(records) == 4
    assert all(isinstance(inp.state, StepState) and not res.error_no for inp, res in records)
    assert all(("AN", 3, 5, 2) in inp.state.steps for inp, _ in records), "the vectors of the rule"
    checked(*policy.task.apply_best(log))
    again = policy_of(Rule(is_product, tiled), auto_scheduler.PreloadMeasuredStates(log))
    assert again.best_cost == min(np.mean(res.costs) for _, res in records)


def test_states_are_changed_step_by_step_as_schedules_are() -> None:
    dag = auto_scheduler.ComputeDAG(ruled_layer(SIZE))
    s = dag.get_init_state()
    c, d = dag.ops[3], dag.ops[4]
    cached = s.cache_write(c, "local")
    i, j = s[c].iters
    fused = s.fuse(c, [i, j])
    assert fused.range is not None
    assert int(fused.range.extent) == SIZE * SIZE
    outer, inner = s.split(c, fused, [SIZE])
    assert (outer.extent, inner.extent) == (SIZE, SIZE)
    s.compute_at(cached, c, outer)
    s.unroll(c, inner, max_unroll=8)
    s.pragma(c, outer, "auto_unroll_max_step$16")
    s.parallel(d, s[d].iters[0])
    s.compute_inline(s.stage_ops[1])
    twin = s.copy()
    twin.vectorize(d, s[d].iters[1])
    assert len(twin.transform_steps) == len(s.transform_steps) + 1
    assert [step[0] for step in s.transform_steps] == ["CHW", "FU", "SP", "CA", "PR", "AN", "CI"]
    for state in (s, twin):
        checked(*dag.apply_steps_from_state(state))
    with pytest.raises(ArgumentError, match=r"i.j.fused is no loop of stage 5"):
        s.split(d, fused, [2])


def test_a_rule_may_return_one_state_and_what_an_external_function_reads_is_not_inlined() -> None:
    a = te.placeholder((SIZE,), name="A")
    twice = te.compute((SIZE,), lambda i: a[i] * 2.0, name="twice")
    copied = te.extern((SIZE,), [twice], lambda ins, outs: _copied(ins[0], outs[0]), name="copied", dtype="float32")
    dag = auto_scheduler.ComputeDAG([a, te.compute((SIZE,), lambda i: copied[i] + 1.0, name="out")])
    task = auto_scheduler.SearchTask(compute_dag=dag, target="llvm")
    rule = Rule(lambda *given: Rule.APPLY_AND_SKIP_REST, lambda policy, state, stage: [state, -1])
    ruled = auto_scheduler.SketchPolicy(task, seed=1, verbose=0, init_search_callbacks=[rule])
    passed = auto_scheduler.SketchPolicy(
        task, seed=1, verbose=0, init_search_callbacks=[Rule(lambda *given: Rule.PASS, rule.apply)]
    )  # fmt: skip
    for policy in (ruled, passed, auto_scheduler.SketchPolicy(task, seed=1, verbose=0)):
        for state in policy.sample_initial_population()[:4]:
            values, result = np.arange(SIZE, dtype="float32"), np.zeros(SIZE, "float32")
            tvm.build(*dag.apply_steps_from_state(state), "llvm")(values, result)
            np.testing.assert_array_equal(result, 2 * values + 1)


def _copied(source: Any, target: Any) -> Any:
    builder = tvm.tir.ir_builder.create()
    read, written = builder.buffer_ptr(source), builder.buffer_ptr(target)
    with builder.for_range(0, SIZE) as i:
        written[i] = read[i]
    return builder.get()


def test_a_rule_that_returns_something_else_is_told(tmp_path: Path) -> None:
    def wrong(policy: Any, state: StepState, stage_id: int) -> list[Any]:
        return [["a state", -1]]

    with pytest.raises(
        ArgumentError, match="PreloadCustomSketchRule 'wrong': its states must be states, got 'a state'"
    ):
        policy_of(Rule(is_product, wrong, "wrong"))
