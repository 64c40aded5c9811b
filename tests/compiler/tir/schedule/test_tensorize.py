"""Blocks that an intrinsic computes."""

from __future__ import annotations

from typing import Any

import pytest

from compiler import tir
from compiler.ir.error import ArgumentError
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.schedule import ScheduleError
from compiler.tir.schedule.facts.matching import DescriptionMatcher
from compiler.tir.script import tir as T
from compiler.tir.script.functions import from_source
from compiler.tir.statements.stmt_functor import post_order_visit
from tests.compiler.tir.schedule.programs import MATMUL

# mypy: disable-error-code="valid-type,no-untyped-def,attr-defined"


@T.prim_func
def _update(
    A: T.Buffer((4,), offset_factor=1), B: T.Buffer((4, 2), offset_factor=1), C: T.Buffer((2,), offset_factor=1)
):
    with T.block("root"):
        T.reads(C[0:2], A[0:4], B[0:4, 0:2])
        T.writes(C[0:2])
        for j, k in T.grid(2, 4):
            with T.block("update"):
                vj, vk = T.axis.remap("SR", [j, k])
                C[vj] = C[vj] + A[vk] * B[vk, vj]


@T.prim_func
def _from_behind(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), offset_factor=1)
    B = T.match_buffer(b, (4, 2), strides=["s0", "s1"], offset_factor=1)
    C = T.match_buffer(c, (2,), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:2], A[0:4], B[0:4, 0:2])
        T.writes(C[0:2])
        for k in T.serial(4):
            for j in T.unroll(2):
                C[1 - j] = C[1 - j] + A[3 - k] * B[3 - k, 1 - j]


TensorIntrin.register("test.from_behind", _update, _from_behind, override=True)


def tiled() -> tuple[Any, Any]:
    sch = MATMUL.schedule()
    i, j, k = sch.get_loops("C")
    j_0, j_1 = sch.split(j, factors=[None, 2])
    k_0, k_1 = sch.split(k, factors=[None, 4])
    sch.reorder(i, j_0, k_0, j_1, k_1)
    sch.decompose_reduction("C", k_0)
    return sch, j_1


def test_an_intrinsic_computes_tiles() -> None:
    sch, loop = tiled()
    sch.tensorize(loop, "test.from_behind")
    MATMUL.check(sch)
    blocks: list[tir.Block] = []
    post_order_visit(sch.mod["main"].body, lambda n: blocks.append(n) if isinstance(n, tir.Block) else None)
    (block,) = [block for block in blocks if block.name_hint == "C_update_o"]
    assert [match.buffer.name for match in block.match_buffers] == ["A", "B", "C"]
    assert [[int(r.extent) for r in match.source.region] for match in block.match_buffers] == [[1, 4], [4, 2], [1, 2]]


def test_each_use_of_an_intrinsic_has_variables_of_its_own() -> None:
    sch, loop = tiled()
    sch.tensorize(loop, "test.from_behind")
    again = MATMUL.schedule()
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    assert tir.analysis.verify_ssa(again.mod["main"])
    both: set[Any] = set()
    for mod in (sch.mod, again.mod):
        loops: set[Any] = set()
        post_order_visit(
            mod["main"].body, lambda n, loops=loops: loops.add(n.loop_var) if isinstance(n, tir.For) else None
        )
        inner = {var for var in loops if var.name in ("j", "k")}
        assert not both & inner
        both |= inner


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (lambda sch, i, j, k: sch.tensorize(k, "test.from_behind"), "a For stands where|loop|axis|initial"),
        (lambda sch, i, j, k: sch.tensorize(i, "test.from_behind"), "both set initial values"),
    ],
)
def test_what_an_intrinsic_does_not_describe_is_refused(steps: Any, message: str) -> None:
    sch = MATMUL.schedule()
    before = sch.mod
    with pytest.raises(ScheduleError, match=message):
        steps(sch, *sch.get_loops("C"))
    assert sch.mod is before
    sch.split(sch.get_loops("C")[0], factors=[None, 2])


DESCRIPTION = """@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4, 2)), C: T.Buffer((2,)), D: T.Buffer((4, 2))):
    for j, k in T.grid(2, 4):
        with T.block("update"):
            vj = T.axis.spatial(2, j)
            vk = T.axis.reduce((0, 4), k)
            T.where(j + k < 5)
            C[vj] = C[vj] + T.Cast("float32", T.Cast("int32", A[vk])) * B[vk, vj] + B[vk, vj]
"""
SUMMED = 'C[vj] + T.Cast("float32", T.Cast("int32", A[vk]))'


@pytest.mark.parametrize(
    ("described", "own", "difference"),
    [
        ("j + k < 5", "j + k < 4", "block 'update' has another condition"),
        ("T.axis.spatial(2, j)", "T.axis.reduce(2, j)", "axis 'vj' is another one than 'vj'"),
        ("(0, 4), k", "(0, 5), k", "axis 'vk' is another one than 'vk'"),
        ("(0, 4), k", "(1, 5), k", "axis 'vk' is another one than 'vk'"),
        ("+ B[vk, vj]", "+ D[vk, vj]", "buffer 'D' cannot stand for 'B'"),
        ('(4,), "float32"', '(4,), "float64"', "buffer 'A' cannot stand for 'A'"),
        ('T.Cast("int32", A', 'T.Cast("int64", A', ""),
        (") * B", ") - B", f"{SUMMED} - B[vk, vj] stands where {SUMMED} * B[vk, vj] is described"),
        ("", "", None),
    ],
)
def test_each_difference_from_a_description_is_one(described: str, own: str, difference: str | None) -> None:
    matcher = DescriptionMatcher()
    changed = from_source(DESCRIPTION.replace(described, own))
    assert matcher.matches(changed.body.block.body, from_source(DESCRIPTION).body.block.body) is (difference is None)
    assert matcher.difference == (difference or "")


def test_tiles_of_another_size_are_refused() -> None:
    sch = MATMUL.schedule()
    i, j, k = sch.get_loops("C")
    j_0, j_1 = sch.split(j, factors=[None, 3])
    k_0, k_1 = sch.split(k, factors=[None, 4])
    sch.reorder(i, j_0, k_0, j_1, k_1)
    sch.decompose_reduction("C", k_0)
    with pytest.raises(ScheduleError, match="loop j_1 has 3 iterations, not 2"):
        sch.tensorize(j_1, "test.from_behind")


def test_names_of_intrinsics_are_given_once() -> None:
    with pytest.raises(ArgumentError, match="already been registered"):
        TensorIntrin.register("test.from_behind", _update, _from_behind)
    with pytest.raises(ArgumentError, match="is not registered"):
        TensorIntrin.get("test.nothing")
    assert TensorIntrin.get("test.nothing", allow_missing=True) is None
    with pytest.raises(ArgumentError, match="same shapes and types"):
        TensorIntrin(_update, MATMUL.func)
