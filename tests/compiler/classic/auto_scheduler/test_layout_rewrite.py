"""Layout-free placeholders are packed as the loops of a schedule read them: as TVM 0.19 prints and NumPy computes."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic import auto_scheduler
from compiler.classic.auto_scheduler.loop_state import State
from compiler.runtime.numpy_types import NumPyArray

Option = auto_scheduler.LayoutRewriteOption
_LINES = (Path(__file__).parent / "data" / "layouts_of_classic_tvm.json").read_text().splitlines()
EVERY = (Option.NO_REWRITE, Option.INSERT_TRANSFORM_STAGE, Option.REWRITE_FOR_PRE_TRANSFORMED)


@auto_scheduler.register_workload
def free_product(n: int, depth: int, m: int) -> list[te.Tensor]:
    a, b, c = (
        te.placeholder((n, depth), name="A"),
        te.placeholder((depth, m), name="B"),
        te.placeholder((n, m), name="C"),
    )
    k = te.reduce_axis((0, depth), name="k")
    product = te.compute(
        (n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="matmul",
        attrs={"layout_free_placeholders": [b]},
    )  # fmt: skip
    return [a, b, c, te.compute((n, m), lambda i, j: product[i, j] + c[i, j], name="out")]


def stage(s: State, name: str) -> Any:
    return next(op for op in s.stage_ops if op.name == name)


def tiled(s: State, rows: Any, columns: Any, depth: Any, name: str = "matmul") -> State:
    op = stage(s, name)
    i, j, k = s[op].iters
    at = len(s.transform_steps)
    (i_0, i_1, i_2, i_3), (j_0, j_1, j_2, j_3) = s.split(op, i, rows), s.split(op, j, columns)
    k_0, k_1 = s.split(op, k, depth)
    s.reorder(op, [i_0, j_0, i_1, j_1, k_0, i_2, j_2, k_1, i_3, j_3])
    assert at == len(s.transform_steps) - 4
    return s


def is_near(s: State, *tiles: Any) -> State:
    """Tile the product in the tiles of the sum, whose outer loops are one."""
    at, out = len(s.transform_steps), stage(tiled(s, *tiles), "out")
    i, j = s[out].iters
    (i_0, i_1, i_2), (j_0, j_1, j_2) = s.follow_split(out, i, at, 2), s.follow_split(out, j, at + 1, 2)
    s.reorder(out, [i_0, j_0, i_1, j_1, i_2, j_2])
    s.compute_at(stage(s, "matmul"), out, s[out].iters[3])
    s.parallel(out, s.fuse(out, s[out].iters[:3]))
    return s


def cached(s: State, *tiles: Any) -> State:
    s.cache_write(stage(s, "matmul"), "local")
    return tiled(s, *tiles, name="matmul.local")


def computed(dag: Any, state: Any, option: int, arrays: list[NumPyArray]) -> NumPyArray:
    schedule, tensors = dag.apply_steps_from_state(state, layout_rewrite=option)
    out = tvm.nd.array(np.full([int(n) for n in tensors[-1].shape], np.nan, "float32"))
    tvm.build(schedule, tensors, "llvm")(*map(tvm.nd.array, arrays), out)
    return out.numpy()


def numbers(*shapes: tuple[int, ...]) -> list[NumPyArray]:
    rng = np.random.default_rng(3)
    return [rng.random(shape, "float32") for shape in shapes]


@pytest.mark.parametrize("make", [tiled, cached])
def test_dimensions_are_the_loops_that_run_over_the_placeholder(make: Any) -> None:
    """The line of the product, the shape and the loops of the copy are those that TVM 0.19 prints."""
    dag = auto_scheduler.ComputeDAG(free_product(32, 32, 32))
    state = make(dag.get_init_state(), [2, 2, 4], [2, 2, 8], [4])
    assert "B = PLACEHOLDER [1, 2, 8, 2, 4, 8]\n" in (text := str(dag.rewrite_layout_from_state(state)))
    assert (
        "B[0, floormod(floordiv(j, 16), 2), floormod(floordiv(k, 4), 8), floormod(floordiv(j, 8), 2), floormod(k, 4), "
        "floormod(j, 8)]"
    ) in text
    schedule, tensors = dag.apply_steps_from_state(state, layout_rewrite=Option.INSERT_TRANSFORM_STAGE)
    assert [tuple(map(int, t.shape)) for t in tensors] == [(32, 32)] * 4
    lowered = str(tvm.lower(schedule, tensors, simple_mode=True))
    assert "parallel (ax0_ax1_fused_ax2_fused, 0, 16) {" in lowered
    assert (
        "auto_scheduler_layout_transform[ax0_ax1_fused_ax2_fused*64 + ax3*32 + ax4*8 + ax5] = "
        "B[floormod(ax0_ax1_fused_ax2_fused, 8)*128 + ax4*32 + floordiv(ax0_ax1_fused_ax2_fused, 8)*16 + ax3*8 + ax5]"
    ) in lowered


@pytest.mark.parametrize("line", _LINES)
def test_states_that_tvm_found_have_the_layouts_that_it_gives_them(line: str) -> None:
    """The records, and the shapes that their schedules give the placeholder, were written by TVM 0.19."""
    record, shape = json.loads(line)
    inp, _ = auto_scheduler.load_record_from_string(json.dumps(record))
    n, depth, m = json.loads(inp.task.workload_key)[1:]
    dag = auto_scheduler.ComputeDAG(free_product(n, depth, m))
    assert list(map(int, dag.apply_steps_from_state(inp.state, EVERY[2])[1][1].shape)) == shape
    a, b, c = numbers((n, depth), (depth, m), (n, m))
    np.testing.assert_allclose(computed(dag, inp.state, EVERY[1], [a, b, c]), a @ b + c, rtol=1e-4)


def test_loops_of_the_stage_around_count_and_those_that_are_one_are_taken_apart() -> None:
    dag = auto_scheduler.ComputeDAG(free_product(32, 32, 32))
    state = is_near(dag.get_init_state(), [2, 2, 4], [2, 2, 8], [4])
    assert "B = PLACEHOLDER [1, 2, 1, 1, 8, 2, 4, 8]\n" in str(dag.rewrite_layout_from_state(state))


@pytest.mark.sample(2)
@pytest.mark.parametrize("make", [tiled, cached, is_near])
@pytest.mark.parametrize("seed", range(4))
def test_any_tiles_compute_the_product(make: Any, seed: int) -> None:
    """Sizes need not be multiples of the tiles: what a layout has besides is zero, in the copy and in the test's."""
    rng = random.Random(f"{make.__name__} {seed}")
    rows, columns = ([rng.randint(1, 3) for _ in range(3)] for _ in range(2))
    inner = [rng.randint(1, 4)]
    n, depth, m = (rng.randint(math.prod(sizes), 30) for sizes in (rows, inner, columns))
    dag = auto_scheduler.ComputeDAG(free_product(n, depth, m))
    state = make(dag.get_init_state(), rows, columns, inner)
    a, b, c = numbers((n, depth), (depth, m), (n, m))
    for option in EVERY[:2]:
        np.testing.assert_allclose(computed(dag, state, option, [a, b, c]), a @ b + c, rtol=1e-4)
    packed = b
    if make is not is_near:
        shape = [-(-depth // inner[0]), *inner, -(-m // math.prod(columns)), *columns]
        padded = np.zeros((shape[0] * shape[1], math.prod(shape[2:])), "float32")
        padded[:depth, :m] = b
        packed = padded.reshape(shape).transpose(2, 3, 0, 4, 1, 5)
        packed = np.ascontiguousarray(packed)
        np.testing.assert_allclose(computed(dag, state, EVERY[2], [a, packed, c]), a @ b + c, rtol=1e-4)


def convolution(operands: tuple[int, ...] = ()) -> list[te.Tensor]:
    x, w = te.placeholder((1, 10, 10, 8), name="X"), te.placeholder((3, 3, 8, 16), name="W")
    kh, kw, ci = te.reduce_axis((0, 3), name="kh"), te.reduce_axis((0, 3), name="kw"), te.reduce_axis((0, 8), name="ci")
    y = te.compute(
        (1, 8, 8, 16), lambda n, h, v, c: te.sum(x[n, h + kh, v + kw, ci] * w[kh, kw, ci, c], axis=[kh, kw, ci]),
        name="conv", attrs={"layout_free_placeholders": [(x, w)[at] for at in operands]},
    )  # fmt: skip
    return [x, w, y]


def test_a_filter_is_packed_and_what_is_read_by_sums_of_axes_is_not() -> None:
    dag = auto_scheduler.ComputeDAG(convolution((0, 1)))
    s = dag.get_init_state()
    op = stage(s, "conv")
    n, h, w, c, kh, kw, ci = s[op].iters
    (c_0, c_1), (ci_0, ci_1) = s.split(op, c, [8]), s.split(op, ci, [2])
    s.reorder(op, [n, h, c_0, ci_0, kh, kw, w, ci_1, c_1])
    text = str(dag.rewrite_layout_from_state(s))
    assert "X = PLACEHOLDER [1, 10, 10, 8]\nW = PLACEHOLDER [2, 4, 3, 3, 2, 8]\n" in text
    x, f = numbers((1, 10, 10, 8), (3, 3, 8, 16))
    wanted = sum(x[:, a : a + 8, b : b + 8] @ f[a, b] for a in range(3) for b in range(3))
    np.testing.assert_allclose(computed(dag, s, EVERY[1], [x, f]), wanted, rtol=1e-4)
    packed = np.ascontiguousarray(f.reshape(3, 3, 4, 2, 2, 8).transpose(4, 2, 0, 1, 3, 5))
    np.testing.assert_allclose(computed(dag, s, EVERY[2], [x, packed]), wanted, rtol=1e-4)


def test_all_reads_of_a_placeholder_are_of_the_layout_of_the_first() -> None:
    """TVM 0.19 refuses a placeholder that is read twice, by one stage or by two."""
    a, b = te.placeholder((12, 12), name="A"), te.placeholder((12, 12), name="B")
    free = {"layout_free_placeholders": [b]}
    k, k_2 = te.reduce_axis((0, 12), name="k"), te.reduce_axis((0, 12), name="k2")
    m = te.compute((12, 12), lambda i, j: te.sum(a[i, k] * (b[k, j] + b[j, k]), axis=k), name="matmul", attrs=free)
    y = te.compute((12, 12), lambda i, j: te.sum(m[i, k_2] * b[k_2, j], axis=k_2), name="Y", attrs=free)
    dag = auto_scheduler.ComputeDAG([a, b, y])
    s = tiled(dag.get_init_state(), [1, 1, 1], [1, 2, 2], [3])
    x, w = numbers((12, 12), (12, 12))
    np.testing.assert_allclose(computed(dag, s, EVERY[1], [x, w]), x @ (w + w.T) @ w, rtol=1e-4)
    assert tuple(map(int, dag.apply_steps_from_state(s, EVERY[2])[1][1].shape)) == (3, 1, 4, 2, 3, 2)


def test_what_is_asked_for_follows_from_the_target_unless_it_is_said() -> None:
    assert [Option.get_target_default("llvm", at) for at in (False, True)] == list(EVERY[1:])
    assert Option.get_target_default("cuda", True) == Option.NO_REWRITE
    args = (free_product, (8, 8, 8))
    assert auto_scheduler.SearchTask(*args, target="llvm").layout_rewrite_option == EVERY[1]
    for option in EVERY:
        assert (
            auto_scheduler.SearchTask(*args, target="llvm", layout_rewrite_option=option).layout_rewrite_option
            == option
        )


def test_a_searched_program_packs_its_constant_and_the_best_is_applied_each_way(tmp_path: Path) -> None:
    task, log = auto_scheduler.SearchTask(free_product, (16, 16, 16), target="llvm"), tmp_path / "log.json"
    options = auto_scheduler.TuningOptions(
        num_measure_trials=4, num_measures_per_round=4, measure_callbacks=[auto_scheduler.RecordToFile(log)], verbose=0,
        runner=auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0),
    )  # fmt: skip
    policy = auto_scheduler.SketchPolicy(task, seed=1, verbose=0)
    task.tune(options, policy)
    found = [(i.state, r) for i, r in auto_scheduler.load_records(log) if i.state.decisions]
    assert found
    assert not any(result.error_no for _, result in found)
    a, b, c = numbers((16, 16), (16, 16), (16, 16))
    for state, _ in found:
        text = str(task.compute_dag.lowered(state, EVERY[1]))
        assert "auto_scheduler_layout_transform" in text
        np.testing.assert_allclose(computed(task.compute_dag, state, EVERY[1], [a, b, c]), a @ b + c, rtol=1e-4)
    log.write_text("".join(line + "\n" for line in log.read_text().splitlines() if "[[], []]" not in line))
    names = [[s.op.name for s in task.apply_best(log, False, option)[0].stages] for option in (None, *EVERY)]
    assert ["auto_scheduler_layout_transform" in each for each in names] == [True, False, True, False]
    assert len(task.apply_best(log, layout_rewrite_option=EVERY[2])[1][1].shape) > 2
    assert "layout_transform" not in task.print_best(log)


def test_what_has_no_free_layout_is_lowered_once_whatever_is_asked_for() -> None:
    a = te.placeholder((8, 8), name="A")
    dag = auto_scheduler.ComputeDAG([a, te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")])
    state = dag.get_init_state().state_object
    assert dag.lowered(state, EVERY[1]) is dag.lowered(state)
    free = auto_scheduler.ComputeDAG(free_product(8, 8, 8))
    assert free.lowered(state, EVERY[1]) is not free.lowered(state)
