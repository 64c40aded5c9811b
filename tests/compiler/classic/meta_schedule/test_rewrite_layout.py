"""Parameters of free layout are packed as the loops that read them go: as TVM 0.19 prints, and NumPy computes."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.classic import meta_schedule as ms
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import RemoveWeightLayoutRewriteBlock

PACKED = "meta_schedule.layout_rewrite_preproc"


def product(n: int, depth: int, m: int, is_free: bool = True) -> PrimFunc:
    a, b, k = (
        te.placeholder((n, depth), name="A"),
        te.placeholder((depth, m), name="B"),
        te.reduce_axis((0, depth), "k"),
    )
    free = {"layout_free_placeholders": [b]} if is_free else None
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C", attrs=free)
    return te.create_prim_func([a, b, te.compute((n, m), lambda i, j: c[i, j] + 1.0, name="D")])


def tiled(func: PrimFunc, columns: Any, depth: Any) -> tir.Schedule:
    sch = tir.Schedule(func)
    i, j, k = sch.get_loops("C")
    j_0, j_1, j_2 = sch.split(j, [None, *columns])
    k_0, k_1 = sch.split(k, [None, depth])
    sch.reorder(j_0, i, k_0, j_1, k_1, j_2)
    return sch


def checked(program: Any, n: int, depth: int, m: int, packing: Any = None) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random((n, depth), "float32"), rng.random((depth, m), "float32")
    given = b if packing is None else np.ascontiguousarray(packing(b))
    out = tvm.nd.array(np.full((n, m), np.nan, "float32"))
    tvm.build(program, target="llvm")(tvm.nd.array(a), tvm.nd.array(given), out)
    np.testing.assert_allclose(out.numpy(), a @ b + 1, rtol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_a_packed_parameter_computes_the_product_and_may_be_packed_before(seed: int) -> None:
    rng = random.Random(seed)
    columns, inner = [rng.randint(2, 3), rng.randint(2, 4)], rng.randint(2, 4)
    counts = rng.randint(2, 3), rng.randint(2, 3)
    n, depth, m = rng.randint(2, 9), counts[1] * inner, counts[0] * math.prod(columns)
    sch = tiled(product(n, depth, m), columns, inner)
    assert ms.postproc.RewriteLayout().apply(sch)
    copy = sch.get_sref(sch.get_block("B_global")).block
    assert copy.annotations[PACKED]
    shape = [int(dim) for dim in copy.writes[0].buffer.shape]
    assert shape == [counts[0], counts[1], columns[0], inner, columns[1]]
    checked(sch.mod, n, depth, m)
    before = RemoveWeightLayoutRewriteBlock()(sch.mod)
    checked(before, n, depth, m, lambda b: b.reshape(counts[1], inner, counts[0], *columns).transpose(2, 0, 3, 1, 4))


def test_the_copy_is_the_one_of_tvm() -> None:
    sch = tiled(product(32, 32, 32), [2, 8], 4)
    ms.postproc.RewriteLayout().apply(sch)
    assert "B_global[v1 // 16, v0 // 4, v1 % 16 // 8, v0 % 4, v1 % 8] = B[v0, v1]" in sch.mod.script()


@pytest.mark.parametrize("case", ["no layout is free", "loops are guarded"])
def test_other_parameters_stay_as_they_are(case: str) -> None:
    sch = tiled(product(8, 7 if "guarded" in case else 8, 16, "guarded" in case), [2, 2], 4)
    before = sch.mod.script()
    assert ms.postproc.RewriteLayout().apply(sch)
    assert sch.mod.script() == before


@pytest.mark.parametrize("is_near", [False, True])
def test_a_copy_that_is_there_is_the_preparation_also_where_it_is_made_tile_by_tile(is_near: bool) -> None:
    sch = tiled(product(8, 8, 16), [2, 2], 4)
    copy = sch.cache_read("C", 1, "global")
    sch.transform_layout("C", ("read", 1), lambda k, j: (j // 4, k, j % 4))
    if is_near:
        sch.compute_at(copy, sch.get_loops("C")[0])
    ms.postproc.RewriteLayout().apply(sch)
    assert sch.mod.script().count("T.alloc_buffer") == 2
    checked(sch.mod, 8, 8, 16)
    before = RemoveWeightLayoutRewriteBlock()(sch.mod)
    checked(before, 8, 8, 16, lambda b: b.reshape(8, 4, 4).transpose(1, 0, 2))


def test_a_search_finds_schedules_that_pack_the_parameter(tmp_path: Path) -> None:
    func = product(16, 16, 32)
    context = ms.TuneContext(func, target="llvm", space_generator="post-order-apply", rand_state=1)
    space = ms.space_generator.GeneratedSpace(func, context.machine, context.space_generator)
    programs = [space.program(space.sample(random.Random(seed))) for seed in range(8)]
    assert {PACKED in program.script() for program in programs} == {True, False}
    for program in programs:
        checked(program, 16, 16, 32)
    found = ms.tune_tir(func, "llvm", tmp_path, 4, num_trials_per_iter=4, seed=1)
    schedule = found.query_schedule(func, "llvm")
    assert schedule is not None
    checked(schedule.mod, 16, 16, 32)
