"""Schedules as templates: with the factors that they have they are themselves, with others they compute the same."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic import alias
from compiler.driver.lower import scheduled_program
from compiler.driver.templates import BlockTemplate, Template, TensorTemplate
from compiler.ir.error import ArgumentError
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule as TensorSchedule
from compiler.tir.schedule.schedule import Schedule

N = 24


def product() -> list[Tensor]:
    a, b = (te.placeholder((N, N), name=name) for name in "AB")
    k = te.reduce_axis((0, N), name="k")
    return [a, b, te.compute((N, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def tiled() -> tuple[TensorSchedule, list[Tensor]]:
    """A tiled product whose sums are in a cache, with each kind of factor: of two axes, of one, of parts, of a part."""
    args = product()
    c = args[-1]
    s = te.create_schedule(c.op)
    cache = s.cache_write(c, "global")
    _, yo, xi, yi = s[c].tile(*c.op.axis, 8, 4)
    s[cache].compute_at(s[c], yo)
    s[c].vectorize(yi)
    s[c].split(xi, nparts=2)
    outer, inner = s[cache].split(s[cache].op.reduce_axis[0], factor=6)
    part, _ = s[cache].split(inner, factor=3)
    s[cache].unroll(part)
    s[cache].reorder(outer, *s[cache].op.axis, part)
    return s, args


def blocks() -> tuple[Schedule, Template]:
    func = te.create_prim_func(product())
    sch = Schedule(func)
    i, j, k = sch.get_loops(sch.get_block("C"))
    io, ii = sch.split(i, [None, 4])
    jo, jm, ji = sch.split(j, [3, 2, 4])
    sch.reorder(io, jo, k, ii, jm, ji)
    sch.vectorize(ji)
    return sch, BlockTemplate(func, sch.trace)


def options_of(template: Template) -> dict[str, Sequence[int]]:
    asked: dict[str, Sequence[int]] = {}

    def choose(name: str, options: Sequence[int]) -> int:
        asked[name] = options
        return options[0]

    template.filled(choose)
    return asked


def other(rng: random.Random) -> Callable[[str, Sequence[int]], int]:
    return lambda name, options: rng.choice(options[1:] or options)


def check(template: Template, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-4, 5, (N, N)).astype("float32") for _ in "ab")
    result = tvm.nd.array(np.full((N, N), np.nan, "float32"))
    made = template.filled(other(random.Random(seed))).loops()
    tvm.build(made, target="llvm")(tvm.nd.array(a), tvm.nd.array(b), result)
    np.testing.assert_array_equal(result.numpy(), a @ b)


def test_factors_may_be_divisors_of_their_loops_near_ones_where_the_code_grows_with_them() -> None:
    s, args = tiled()
    assert options_of(TensorTemplate(s, args)) == {
        "C.i.x_factor": [8, 1, 2, 3, 4, 6, 12, 24],
        "C.j.y_factor": [4, 2, 3, 6, 8],  # vectorized
        "C.i.inner.nparts": [2, 1, 4, 8],
        "C.global.k.factor": [6, 3, 4, 8, 12],  # a part of its inner loop is unrolled
        "C.global.k.inner.factor": [3, 2, 6],
    }
    assert options_of(blocks()[1]) == {
        "i.part1": [4, 1, 2, 3, 6, 8, 12, 24],
        "j.part2": [4, 2, 3, 6, 8],
        "j.part1": [2, 1, 3],  # of what is left of the loop
    }


def test_a_loop_of_few_divisors_is_split_with_a_rest() -> None:
    a = te.placeholder((17,), name="A")
    b = te.compute((17,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=4)
    assert options_of(TensorTemplate(s, [a, b])) == {"B.i.factor": [4, 1, 2, 8, 16, 17]}


def test_loops_that_something_is_bound_to_stay_as_they_are() -> None:
    args = product()
    s = te.create_schedule(args[-1].op)
    outer, _ = s[args[-1]].split(args[-1].op.reduce_axis[0], factor=6)
    s.rfactor(args[-1], outer)
    assert options_of(TensorTemplate(s, args)) == {"C.k.factor": [6]}


def test_with_its_own_factors_a_schedule_is_itself() -> None:
    s, args = tiled()
    own = TensorTemplate(s, args).filled(lambda name, options: options[0]).loops()
    assert tvm.ir.structural_equal(own, scheduled_program(s, args, "main"))
    sch, template = blocks()
    assert tvm.ir.structural_equal(template.filled(lambda name, options: options[0]).loops(), sch.mod)


def test_schedules_of_other_loops_have_other_digests() -> None:
    s, args = tiled()
    before, again = TensorTemplate(s, args).digest, TensorTemplate(*tiled()).digest
    assert before == again
    s[args[-1]].unroll(s[args[-1]].leaf_iter_vars[2])
    assert TensorTemplate(s, args).digest != before


@pytest.mark.parametrize("seed", range(4))
def test_a_schedule_with_other_factors_computes_the_same(seed: int) -> None:
    s, args = tiled()
    check(TensorTemplate(s, args), seed)
    check(blocks()[1], seed)


def test_a_schedule_with_other_factors_is_written_as_a_script_that_makes_it(tmp_path: Path) -> None:
    alias.install()
    for template in (TensorTemplate(*tiled()), blocks()[1]):
        filled = template.filled(other(random.Random(1)))
        (tmp_path / "script.py").write_text(filled.script("llvm", "Found"))
        made = runpy.run_path(str(tmp_path / "script.py"))
        loops = made["sch"].mod if "sch" in made else scheduled_program(made["s"], made["args"], "main")
        assert tvm.ir.structural_equal(loops, filled.loops())


def test_a_step_that_gives_fewer_loops_than_it_did_is_refused() -> None:
    sch = Schedule(te.create_prim_func(product()))
    sch.get_loops(sch.get_block("C"))
    a = te.placeholder((N, N), name="A")
    fewer = Schedule(te.create_prim_func([a, te.compute((N, N), lambda i, j: a[i, j] + 1, name="C")]))
    with pytest.raises(ArgumentError, match="get_loops gives 2 results, expected 3"):
        sch.trace.apply_to_schedule(fewer, remove_postproc=False)
