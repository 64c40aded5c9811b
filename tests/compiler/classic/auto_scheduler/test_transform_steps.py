"""Records of classic TVM are read, and their steps make schedules that compute what the definitions say.

``data/records_of_classic_tvm.json`` was written by TVM 0.19: four states that use every kind of step, and six that its
search found.
"""

import json
import random
from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic import auto_scheduler
from compiler.classic.auto_scheduler.transform_steps import StepState
from compiler.ir.error import ArgumentError

_LINES = (Path(__file__).parent / "data" / "records_of_classic_tvm.json").read_text().splitlines()


@auto_scheduler.register_workload
def mm_bias(n):
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    d, k = te.placeholder((n,), name="D"), te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    e = te.compute((n, n), lambda i, j: c[i, j] + d[j], name="E")
    return [a, b, d, te.compute((n, n), lambda i, j: tvm.tir.max(e[i, j], tvm.tir.const(0, "float32")), name="F")]


@auto_scheduler.register_workload
def norm(n, m):
    a, k = te.placeholder((n, m), name="A"), te.reduce_axis((0, m), "k")
    c = te.compute((n,), lambda i: te.sum(a[i, k] * a[i, k], axis=k), name="C")
    return [a, te.compute((n,), lambda i: te.sqrt(c[i]), name="D")]


_WANTED = {"mm_bias": lambda a, b, d: np.maximum(a @ b + d, 0), "norm": lambda a: np.sqrt((a * a).sum(1))}


def _built(dag, state, target="llvm"):
    schedule, args = dag.apply_steps_from_state(state)
    return tvm.build(schedule, args, target), args


def _check(dag, state, wanted):
    function, args = _built(dag, state)
    arrays = [np.random.default_rng(7).normal(size=[int(e) for e in t.shape]).astype("float32") for t in args]
    given = [tvm.nd.array(a) for a in arrays]
    function(*given)
    np.testing.assert_allclose(given[-1].numpy(), wanted(*arrays[:-1]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("line", _LINES)
def test_steps_of_classic_tvm_compute_what_the_definitions_say(line):
    inp, result = auto_scheduler.load_record_from_string(line)
    assert result.costs[0] == json.loads(line)["r"][0][0]
    task = auto_scheduler.SearchTask(workload_key=inp.task.workload_key, target=inp.task.target)
    _check(task.compute_dag, inp.state, _WANTED[json.loads(inp.task.workload_key)[0]])


def test_every_kind_of_step_is_tried():
    tried = {step[0] for line in _LINES for step in json.loads(line)["i"][1][1]}
    assert tried == {"AN", "CA", "CHR", "CHW", "CI", "CR", "FFSP", "FSP", "FU", "PR", "RE", "RF", "SA", "SP"}


@pytest.mark.parametrize("line", _LINES[:4])
def test_a_record_of_classic_tvm_is_written_as_it_was_read(line):
    again = json.loads(auto_scheduler.dump_record_to_string(*auto_scheduler.load_record_from_string(line)))
    wanted = json.loads(line)
    wanted["i"][0][1] = wanted["i"][0][1].replace("-keys=cpu ", "")  # cpu is what llvm is known by anyway
    assert again == wanted


def test_the_best_record_of_a_file_is_applied_though_it_names_the_triple_of_its_host(tmp_path):
    file = tmp_path / "log.json"
    file.write_text("\n".join(_LINES) + "\n")
    task = auto_scheduler.SearchTask(func=mm_bias, args=(32,), target="llvm")
    assert "parallel" in task.print_best(file)
    _check(task.compute_dag, auto_scheduler.load_best_record(file, task.workload_key)[0].state, _WANTED["mm_bias"])
    elsewhere = auto_scheduler.SearchTask(func=mm_bias, args=(32,), target="llvm -mtriple=aarch64-linux-gnu")
    with pytest.raises(ArgumentError, match="Cannot find any valid schedule"):
        elsewhere.apply_best(file)


def test_a_search_goes_on_without_the_steps_of_classic_tvm(tmp_path):
    file = tmp_path / "log.json"
    file.write_text("\n".join(_LINES) + "\n")
    task = auto_scheduler.SearchTask(func=norm, args=(8, 16), target="llvm")
    callbacks = [auto_scheduler.PreloadMeasuredStates(str(file))]
    policy = auto_scheduler.SketchPolicy(task, verbose=0, seed=1, init_search_callbacks=callbacks)
    runner = auto_scheduler.LocalRunner(number=1, min_repeat_ms=0)
    options = auto_scheduler.TuningOptions(num_measure_trials=2, runner=runner, verbose=0)
    assert not isinstance(policy.search(options), StepState)


def test_threads_are_bound_by_their_numbers():
    names = ["vthread", "blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z"]
    steps = (("SP", 1, 0, 256, (2, 2, 2, 2, 2, 2), 1), *(("AN", 1, i, 4 + i) for i in range(7)))
    a = te.placeholder((256,), name="A")
    dag = auto_scheduler.ComputeDAG([a, te.compute((256,), lambda i: a[i] + 1.0, name="B")])
    bound = [line for line in dag.print_python_code_from_state(StepState(steps)).splitlines() if ".bind(" in line]
    assert len(bound) == 7
    assert all(name.replace(".", "_") in line.replace(".", "_") for name, line in zip(names, bound, strict=True))


def _random_steps(rng, dag):
    """Return steps that fit a graph of elementwise operations and their sums, and follow how records count."""
    steps, loops = [], {}
    for stage, op in enumerate(dag.ops):
        if op.input_tensors:
            loops[stage] = [int(axis.dom.extent) for axis in (*op.axis, *op.reduce_axis)]
    for stage in loops:
        for _ in range(rng.randint(1, 4)):
            extents = loops[stage]
            at = rng.randrange(len(extents))
            lengths = [rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(1, 2))]
            outer = -(-extents[at] // int(np.prod(lengths)))
            from_inside = rng.random() < 0.5
            steps.append(("SP", stage, at, extents[at], tuple(lengths), int(from_inside)))
            extents[at : at + 1] = [outer, *lengths] if from_inside else [*lengths, outer]
        order = rng.sample(range(len(loops[stage])), len(loops[stage]))
        steps.append(("RE", stage, tuple(order)))
        steps.append(("PR", stage, 0, f"auto_unroll_max_step${rng.choice([0, 16])}"))
    return StepState(tuple(steps))


@pytest.mark.parametrize("seed", range(6))
def test_random_steps_compute_what_the_definitions_say(seed):
    rng = random.Random(seed)
    dag = auto_scheduler.ComputeDAG(mm_bias(rng.choice([5, 8, 12])))
    _check(dag, _random_steps(rng, dag), _WANTED["mm_bias"])


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (["XX", 1], "there is no such step"),
        (["SP", 9, 0, 8, [2], 1], "does not fit the workload"),
        (["SP", -1, 0, 8, [2], 1], "counted from 0"),
        (["RE", 1, [0]], "has 2 loops"),
        (["FSP", 1, 0, 0, 1], "is no split"),
        (["CA", 1, 2], "does not fit the workload"),
    ],
)
def test_a_step_that_does_not_fit_is_named(step, problem):
    line = {
        "i": [['["norm", 8, 16]', "llvm", [1], "", 0, []], [[], [["CR", 1], step]]],
        "r": [[1.0], 0, 1.0, 1.0],
        "v": "v0.6",
    }
    inp, _ = auto_scheduler.load_record_from_string(json.dumps(line))
    with pytest.raises(ArgumentError, match=rf"step 1 of the record.*{problem}"):
        auto_scheduler.ComputeDAG(norm(8, 16)).apply_steps_from_state(inp.state)


def test_outputs_come_in_the_order_in_which_records_number_them():
    p = [te.placeholder((4,), name=f"P{i}") for i in range(2)]
    first = te.compute((4,), lambda i: p[0][i] + 1.0, name="C0")
    second = te.compute((4,), lambda i: p[1][i] * 2.0, name="C1")
    third = te.compute((4,), lambda i: p[1][i] + p[0][i], name="C2")
    # As TVM 0.19 orders them.
    for tensors, names in (
        ([*p, first, second, third], ["P1", "C1", "P0", "C0", "C2"]),
        ([third, first, p[1], second, p[0]], ["P1", "C1", "P0", "C2", "C0"]),
    ):
        assert [op.name for op in auto_scheduler.ComputeDAG(tensors).ops] == names


def _product_and_sum():
    a, b = (te.placeholder((16, 16), name=name) for name in "AB")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    dag = auto_scheduler.ComputeDAG([a, b, te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")])
    state = dag.get_init_state()
    return dag, state, *state.stage_ops[2:]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (lambda s, c, d: s.split(d, "i", [2]), "a loop must be an iterator, as state.op..iters has them, got 'i'"),
        (lambda s, c, d: s.unroll(d, "i", 8), "a loop must be an iterator"),
        (lambda s, c, d: s.compute_at(c, d, "i"), "a loop must be an iterator"),
        (lambda s, c, d: s.reorder(d, "ij"), "the loops must be a list of iterators, got 'ij'"),
        (lambda s, c, d: s.reorder(d, ["i", "j"]), "a loop must be an iterator"),
        (lambda s, c, d: s.split(d, s[d].iters[0], ["x"]), "split: a length must be an int of at least 1, got 'x'"),
        (lambda s, c, d: s.split(d, s[d].iters[0], [0]), "split: a length must be an int of at least 1, got 0"),
        (lambda s, c, d: s.split(d, s[d].iters[0], 4), "split: lengths must be a list, got 4"),
        (lambda s, c, d: s.fuse(d, []), "fuse: iters must be a list of one iterator at least"),
        (lambda s, c, d: s.fuse(d, s[d].iters[::-1]), "only neighbouring loops are fused, from the outermost on"),
        (lambda s, c, d: s.bind(d, s[d].iters[0], "threadIdx.q"), "thread_name must be one of vthread, blockIdx.x, "),
        (lambda s, c, d: s.pragma(d, s[d].iters[0], 3), r"step 0 of the record, \['PR', 3, 0, 3\], does not fit"),
        (lambda s, c, d: s[99], "it has no stage of 99"),
        (lambda s, c, d: s.cache_read(c, "local", d), "reader_stages must be a list of stages"),
        (lambda s, c, d: s.follow_fused_split(d, s[d].iters[0], 0, 0, True), "src_step_ids must be a list of ints"),
        (lambda s, c, d: s.compute_dag.apply_steps_from_state("x"), "ComputeDAG: state must be a state, got 'x'"),
    ],
)
def test_a_step_of_a_program_that_is_none_is_told_and_changes_nothing(step, problem):
    _dag, state, c, d = _product_and_sum()
    with pytest.raises(ArgumentError, match=problem):
        step(state, c, d)
    state.split(d, state[d].iters[0], [4])
    with pytest.raises(ArgumentError, match="step 0, which it follows, has 1 lengths"):
        state.follow_split(d, state[d].iters[2], 0, 2)
    state.follow_split(d, state[d].iters[2], 0, 1)
    assert [loop.extent for loop in state[d].iters[:2]] == [4, 4]


def test_extents_are_inferred_as_tvm_infers_them():
    dag, state, c, d = _product_and_sum()
    state.split(d, state[d].iters[0], [2, 4])
    state.split(c, state[c].iters[0], [8])
    state.compute_at(c, d, state[d].iters[1])
    for given in (state, state.state_object):
        inferred = dag.infer_bound_from_state(given)
        assert [int(loop.range.extent) for loop in inferred.stages[2].iters] == [1, 4, 16, 16]  # by TVM 0.19
        assert [int(loop.range.extent) for loop in inferred.stages[3].iters] == [2, 2, 4, 16]
        assert inferred.transform_steps == state.transform_steps
    state.split(d, state[d].iters[3], [None])
    with pytest.raises(ArgumentError, match="all lengths of splits must be chosen, some are None"):
        dag.infer_bound_from_state(state)
