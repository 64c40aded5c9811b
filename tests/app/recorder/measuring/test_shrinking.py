"""Schedules of smaller computations: the same loops, with splits that divide where those of the original do."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import compiler as tvm
from app.recorder.measuring.shrinking import NotShrinkable, shrink_blocks, shrink_schedule
from app.recorder.measuring.shrinking.sizes import small_sizes
from compiler import te
from compiler.tir.access_trace import loop_structure
from compiler.tir.statements.function import PrimFunc


def matmul(n: int, tile: tuple[int, int, int]) -> tuple[Any, list[Any]]:
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    io, jo, ii, ji = s[c].tile(*c.op.axis, tile[0], tile[1])
    ko, ki = s[c].split(k, factor=tile[2])
    s[c].reorder(io, jo, ko, ii, ki, ji)
    s[c].parallel(io)
    return s, [a, b, c]


def lowered(schedule: Any, args: Any) -> PrimFunc:
    return tvm.lower(schedule, args)["main"]


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=5), st.integers(2, 5))
def test_small_numbers_keep_their_order_and_what_divides_the_next(values: list[int], ratio: int) -> None:
    small = small_sizes(values, ratio)
    ordered = sorted(set(values))
    assert all(1 <= small[v] <= v for v in ordered)
    for before, after in pairwise(ordered):
        assert small[before] <= small[after]
        if small[before] > 1:
            assert (after % before == 0) == (small[after] % small[before] == 0)


@pytest.mark.parametrize("tile", [(32, 32, 4), (32, 48, 4), (16, 64, 1)])
def test_a_tiled_matmul_keeps_its_loops_and_its_tails(tile: tuple[int, int, int]) -> None:
    schedule, args = matmul(1024, tile)
    small = shrink_schedule(schedule, args, 4)
    func = lowered(small.schedule, small.args)
    assert loop_structure(func) == loop_structure(lowered(schedule, args))
    rows = int(small.args[0].shape[0])
    assert rows < 64
    arrays = [np.random.default_rng(0).random([int(e) for e in t.shape]).astype("float32") for t in small.args]
    tvm.tir.interpreter.interpret(func, arrays)
    np.testing.assert_allclose(arrays[2], arrays[0] @ arrays[1], rtol=1e-5)


def test_stages_that_primitives_make_shrink_with_the_others() -> None:
    n = 512
    a = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=16)
    partial = s.rfactor(b, inner)
    s[partial].compute_at(s[b], s[b].op.axis[0])
    small = shrink_schedule(s, [a, b], 4)
    assert loop_structure(lowered(small.schedule, small.args)) == loop_structure(lowered(s, [a, b]))
    assert int(small.args[0].shape[1]) == 16


def test_what_a_convolution_reads_is_as_long_as_its_windows_need() -> None:
    image = te.placeholder((130, 130), name="image")
    y, x = te.reduce_axis((0, 3), name="y"), te.reduce_axis((0, 3), name="x")
    out = te.compute((128, 128), lambda i, j: te.sum(image[i + y, j + x], axis=[y, x]), name="out")
    s = te.create_schedule(out.op)
    small = shrink_schedule(s, [image, out], 4)
    (rows, window), made = (int(e) for e in small.args[0].shape), [int(e) for e in small.args[1].shape]
    assert rows == window == made[0] + 2
    func = lowered(small.schedule, small.args)
    assert loop_structure(func) == loop_structure(lowered(s, [image, out]))


def test_an_axis_in_a_condition_keeps_its_extent() -> None:
    a = te.placeholder((100, 64), name="A")
    b = te.compute((100, 64), lambda i, j: tvm.tir.if_then_else(i < 50, a[i, j], 0.0), name="B")
    small = shrink_schedule(te.create_schedule(b.op), [a, b], 4)
    assert [int(e) for e in small.args[1].shape] == [100, 8]


def test_a_symbolic_shape_is_refused() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    with pytest.raises(NotShrinkable, match="not constant"):
        shrink_schedule(te.create_schedule(b.op), [a, b], 4)


def block_matmul(n: int, factors: tuple[int, ...] = (4,)) -> Any:
    """Return a TensorIR schedule of a matrix multiplication."""
    _, args = matmul(n, (8, 8, 4))
    sch = tvm.tir.Schedule(te.create_prim_func(args))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    *rows, row = sch.split(i, factors=[None, *factors])
    j_0, j_1 = sch.split(j, factors=[None, 32])
    sch.reorder(*rows, j_0, k, row, j_1)
    sch.parallel(rows[0])
    sch.vectorize(j_1)
    tile = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(tile, j_0)
    sch.decompose_reduction(block, k)
    return sch, te.create_prim_func(args)


LOOPS_OF_C = [["GetBlock", [], ["C", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]]]


@pytest.mark.parametrize("factors", [(4,), (8, 4)])
def test_a_trace_is_replayed_on_a_smaller_program(factors: tuple[int, ...]) -> None:
    sch, original = block_matmul(512, factors)
    small = shrink_blocks(original, json.dumps(sch.trace.as_json()), 3)
    func = tvm.lower(small)["main"]
    assert loop_structure(func) == loop_structure(tvm.lower(sch.mod)["main"])
    shapes = [tuple(int(e) for e in func.buffer_map[param].shape) for param in func.params]
    assert max(extent for shape in shapes for extent in shape) < 100
    random = np.random.default_rng(0)
    a, b, c = (random.random(shape).astype("float32") for shape in shapes)
    result = tvm.nd.array(c)
    tvm.build(small, target="llvm")(tvm.nd.array(a), tvm.nd.array(b), result)
    np.testing.assert_allclose(result.numpy(), a @ b, rtol=1e-4)


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        ("", "was not recorded"),
        ("[", "cannot be read"),
        ("[]", "cannot be read"),
        ("[[1], []]", "cannot be read"),
        ('[[["Tensorize", [], [], []]], []]', "Tensorize depends on the size of the program"),
        ("[[], [[0, 1]]]", "sampling depends on the size of the program"),
        ('[[["GetBlock", [], [], []]], []]', "cannot be applied"),
        ('[[["Split", ["l1", "None", -4], [], ["l2"]]], []]', "of a loop that is not part of an axis"),
        (json.dumps([[*LOOPS_OF_C, ["Split", ["l1", "None", -4], [], ["l4"]]], []]), "or by no number"),
        (json.dumps([[*LOOPS_OF_C, ["Split", ["l9", "None", 4], [], ["l4"]]], []]), "not part of an axis"),
        ('[[["Parallel", ["l1"], [], []]], []]', "cannot be applied"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_trace_that_means_nothing_is_refused(trace: str, words: str) -> None:
    _, original = block_matmul(64)
    with pytest.raises(NotShrinkable, match=words):
        shrink_blocks(original, trace, 3)
