"""What a check just lets pass keeps the result, and what is next to it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.arith import Analyzer
from compiler.arith.int_set import IntervalSet
from compiler.driver.build import build
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Var, const
from compiler.runtime.arrays.ndarray import array
from compiler.tir.schedule import InstructionKind, Schedule, Trace
from compiler.tir.schedule.analysis import get_auto_tensorize_mapping_info
from compiler.tir.schedule.facts.buffer_traversal import traversals
from compiler.tir.schedule.facts.regions import merged
from compiler.tir.script import from_source
from tests.compiler.tir.schedule.programs import (
    CHAIN,
    MATMUL,
    PADDED,
    STAGE,
    TWO,
    Step,
    computed,
    kept,
    refused,
    schedule,
    stages,
)

SUM = """
A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")
for i, u, k in T.grid(8, 1, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + A[vi, vk]
"""
REPEATED = SUM.replace("i, u, k in T.grid(8, 1, 6)", "r, i, k in T.grid(2, 8, 6)")
NESTED = """
A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")
for o in range(2):
    with T.block("outer"):
        vo = T.axis.spatial(2, o)
        for i, k in T.grid(4, 6):
            with T.block("C"):
                vi = T.axis.spatial(8, vo * 4 + i)
                vk = T.axis.reduce(6, k)
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + A[vi, vk]
"""
OF_ITS_OWN = """
A: T.Buffer((2, 6), "int32"), C: T.Buffer((2,), "int32")
B = T.alloc_buffer((2,), "int32")
for o in range(2):
    with T.block("outer"):
        vo = T.axis.spatial(2, o)
        for r in range(3):
            for k in range(6):
                with T.block("B"):
                    vi = T.axis.spatial(2, vo)
                    vk = T.axis.reduce(6, k)
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vi, vk]
            with T.block("C"):
                vi = T.axis.spatial(2, vo)
                C[vi] = B[vi]
"""


def partitioned(s: Any, block: str, at: int) -> None:
    s.loop_partition(s.get_loops(block)[at], [2, None])


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (SUM, [lambda s: s.bind(s.get_loops("C")[2], "threadIdx.x")]),
        (SUM, [lambda s: s.parallel(s.get_loops("C")[1])]),
        (SUM, [lambda s: s.decompose_reduction("C", s.get_loops("C")[1])]),
        (SUM, [lambda s: s.parallel(s.get_loops("C")[0]), lambda s: partitioned(s, "C", 2)]),
        (SUM, [lambda s: partitioned(s, "C", 0), lambda s: s.unroll(s.get_loops("C_i0")[-1])]),
        (NESTED, [lambda s: s.parallel(s.get_loops("outer")[0])]),
        (OF_ITS_OWN, [lambda s: s.parallel(s.get_loops("C")[0])]),
    ],
)
def test_iterations_that_do_not_depend_on_each_other_may_run_together(text: str, steps: list[Step]) -> None:
    kept(text, *steps)


def test_each_block_is_looked_at_where_the_program_is_not() -> None:
    """A search derives schedules without the checks over whole programs."""
    unchecked = Schedule(schedule(SUM).mod["main"], enable_check=False, debug_mask="all")
    refused(unchecked, lambda s: s.parallel(s.get_loops("C")[2]), "neither data parallel")
    partitioned(unchecked, "C", 2)
    unchecked.parallel(unchecked.get_loops("C_k_common")[0])
    again = Schedule(schedule(REPEATED).mod["main"], enable_check=False, debug_mask="all")
    partitioned(again, "C", 1)
    refused(again, lambda s: s.parallel(s.get_loops("C_i_common")[0]), "reduce into the same elements of C")


def test_a_part_of_a_nest_is_no_axis_that_a_parallel_loop_could_share() -> None:
    s = CHAIN.schedule()
    outer, inner = s.get_loops("B")
    s.loop_partition(inner, [3, None])
    s.parallel(outer)
    CHAIN.check(s)


def test_blocks_reduce_into_the_same_elements_in_parallel_as_threads_only() -> None:
    s = schedule(SUM)
    refused(s, lambda s: s.bind(s.get_loops("C")[2], "blockIdx.x"), "neither data parallel")
    refused(s, lambda s: s.bind(s.get_loops("C")[2], "vthread.x"), "neither data parallel")


NOT_MADE = stages(f'{TWO}\nB = T.alloc_buffer((9,), "int32")', B="8: B[vi] = A[vi]", C="8: C[vi] = B[vi + 1] + B[vi]")
OVERWRITTEN = stages(TWO, C="8: C[vi] = A[vi + 1]", D="8: A[vi] = vi")
PIPELINE = "is not a stage pipeline"


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (NOT_MADE, lambda s: s.compute_at("B", s.get_loops("C")[0])),
        (NOT_MADE, lambda s: s.reverse_compute_at("C", s.get_loops("B")[0])),
        (NOT_MADE, lambda s: s.rolling_buffer("B", 0)),
        (NOT_MADE, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0])),
        (OVERWRITTEN, lambda s: s.merge(s.get_loops("C")[0], s.get_loops("D")[0])),
        (OVERWRITTEN, lambda s: s.reverse_compute_at("D", s.get_loops("C")[0])),
    ],
)
def test_what_is_read_before_it_is_written_is_no_stage_of_a_pipeline(text: str, step: Step) -> None:
    refused(schedule(text), step, PIPELINE)


TWO_DIMENSIONS = 'A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")'
NEST = f"""{TWO_DIMENSIONS}
B = T.alloc_buffer((8, 8), "int32")
for i, j in T.grid(8, {{extent}}):
    with T.block("B"):
        {{axes}}
        {{store}}
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + B[vi, 7 - vj]
"""
AXES = 'vi, vj = T.axis.remap("SS", [i, j])'


def nest(store: str = "B[vi, vj] = A[vi, vj]", axes: str = AXES, extent: int = 8) -> Any:
    return schedule(NEST.format(store=store, axes=axes, extent=extent))


@pytest.mark.parametrize("store", ["B[vi, vi] = A[vi, vi]", "B[vi, 7 - vi] = A[vi, vi]"])
def test_what_is_inlined_is_stored_by_indices_that_are_other_axes_each(store: str) -> None:
    s = nest(store, "vi = T.axis.spatial(8, i)")
    refused(s, lambda s: s.compute_inline("B"), "is required to be one store")


PADS = """
A: T.Buffer((8,), "int32"), C: T.Buffer(({extent},), "int32")
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] * 2
for i in range({extent}):
    with T.block("C"):
        vi = T.axis.spatial({extent}, i)
        C[vi] = {value}
"""


@pytest.mark.parametrize(
    ("extent", "value", "pads"),
    [
        (8, "B[vi]", False),
        (9, "T.if_then_else(vi < 8, B[vi], 0)", True),
        (9, "T.if_then_else(vi > 0, B[vi - 1], 0)", True),
    ],
)
def test_a_consumer_that_pads_on_one_side_stays(extent: int, value: str, pads: bool) -> None:
    """Some of its iterations belong to none of the producer."""
    text = PADS.format(extent=extent, value=value)
    if not pads:
        kept(text, lambda s: s.reverse_compute_inline("C"))
        kept(text, lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]))
        return
    refused(schedule(text), lambda s: s.reverse_compute_inline("C"), "may need no element of B")
    refused(schedule(text), lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]), "only for the values of axis vi")


@pytest.mark.parametrize(
    "value", ["A[vi, vk] + 1", "A[vi, vk] * (A[vi, vk] + 1)", "(A[vi, vk] + 1) * A[vi, vk]", "A[vi, vk] * 2"]
)
def test_a_sum_of_what_a_zero_does_not_make_zero_is_not_padded(value: str) -> None:
    s = schedule(SUM.replace("A[vi, vk]\n", f"{value}\n").replace("i, u, k in T.grid(8, 1, 6)", "i, k in T.grid(8, 6)"))
    refused(s, lambda s: s.pad_einsum("C", [4, 4]), "must store a product of elements")


def test_a_product_of_elements_of_other_types_is_padded() -> None:
    value = 'T.Cast("int32", A[vi, vk]) * T.Cast("int32", A[vi, vk])'
    text = SUM.replace("A[vi, vk]\n", f"{value}\n").replace("i, u, k in T.grid(8, 1, 6)", "i, k in T.grid(8, 6)")
    kept(
        text.replace('A: T.Buffer((8, 6), "int32")', 'A: T.Buffer((8, 6), "int8")'), lambda s: s.pad_einsum("C", [3, 4])
    )


WITHOUT_AXES = """
A: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")
B, D = T.alloc_buffer((4, 4), "int32"), T.alloc_buffer((4, 4), "int32")
for i, j in T.grid(4, 4):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * (i + 1)
for i, j in T.grid(4, 4):
    with T.block("P"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = T.if_then_else(vi > 1, B[vi, vj] + j, 0)
for i, j, k in T.grid(4, 4, 4):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = {}
        C[vi, vj] = C[vi, vj] + D[vi, vk] * (k + j)
"""
CANNOT_BE_MOVED: list[Step] = [
    lambda s: s.compute_inline("B"),
    lambda s: s.reverse_compute_inline("P"),
    lambda s: s.compute_at("B", s.get_loops("P")[0]),
    lambda s: s.reverse_compute_at("P", s.get_loops("B")[0]),
    lambda s: s.transform_block_layout("C", lambda i, j, k: (j, i, k)),
    lambda s: s.rfactor(s.get_loops("C")[2], 0),
]
CHANGED: list[Step] = [
    lambda s: s.split(s.get_loops("C")[0], [None, 3]),
    lambda s: s.split(s.get_loops("C")[2], [None, 3]),
    lambda s: s.fuse(*s.get_loops("C")[:2]),
    lambda s: s.reorder(*s.get_loops("C")[::-1]),
    lambda s: s.loop_partition(s.get_loops("C")[1], [2, None]),
    lambda s: s.merge(s.get_loops("B")[1], s.get_loops("P")[1]),
    lambda s: s.blockize(s.get_loops("B")[1]),
    lambda s: s.decompose_reduction("C", s.get_loops("C")[0]),
    lambda s: s.decompose_padding("P", s.get_loops("P")[0]),
    lambda s: s.cache_read("P", 0, "local"),
    lambda s: s.cache_write("C", 0, "local"),
    lambda s: s.reindex("B", ("write", 0)),
    lambda s: s.reindex_cache_write("B", 0, "local", lambda i, j: (j, i)),
    lambda s: s.cache_index("B", "global"),
    lambda s: s.read_at(s.get_loops("P")[0], s.get_block("P"), 0, "local"),
    lambda s: s.write_at(s.get_loops("B")[0], s.get_block("B"), 0, "local"),
    lambda s: s.transform_layout("B", ("write", 0), lambda i, j: (j, i // 3, i % 3), pad_value=0),
]


@pytest.mark.parametrize("step", CANNOT_BE_MOVED)
def test_a_block_that_uses_a_loop_without_an_axis_stays_in_it(step: Step) -> None:
    refused(schedule(WITHOUT_AXES.format(0)), step, "uses the variable of loop")


@pytest.mark.parametrize("step", CHANGED)
def test_what_a_block_uses_without_an_axis_changes_with_its_loop(step: Step) -> None:
    kept(WITHOUT_AXES.format("i + 2 * k"), step)


ALLOCATED = """
A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        if A[vi] > 2:
            B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = T.if_then_else(A[vi] > 2, B[vi], 0)
"""


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.cache_write("B", 0, "local"),
        lambda s: s.reindex("B", ("write", 0)),
        lambda s: s.reindex_cache_write("B", 0, "local", lambda i: (i,)),
    ],
)
def test_a_copy_may_overwrite_what_nobody_has_written(step: Step) -> None:
    """The interpreter would not read it: this is machine code."""
    s = schedule(ALLOCATED)
    expected = computed(s.mod["main"])
    step(s)
    arrays = [array(expected[0]), array(np.zeros(8, "int32"))]
    build(s.mod, target="llvm")(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), expected[1])


READ_FIRST = """
A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        A[vi] = 7
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
"""


def test_a_copy_of_what_a_block_before_the_writer_reads_is_not_written_back() -> None:
    s = schedule(READ_FIRST)
    with pytest.raises(ArgumentError, match="read elements of B before they write them"):
        s.write_at(s.get_loops("B")[0], s.get_block("B"), 0, "local")


def test_a_copy_is_made_beside_the_blocks_that_use_it() -> None:
    text = stages(
        f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B="8: B[vi] = 1", D="8: C[vi] = A[vi]", C="8: A[vi] = vi"
    )
    text = text.replace('for i in range(8):\n    with T.block("D")', '    with T.block("D")')
    text = text.replace('for i in range(8):\n    with T.block("C")', '    with T.block("C")')

    def names(step: Step) -> list[str]:
        s = kept(text, step)
        return [s.get(block).name_hint for block in s.get_child_blocks(s.get_loops("D")[0])]

    assert names(lambda s: s.write_at(s.get_loops("D")[0], s.get_block("D"), 0, "local")) == ["B", "D", "C_local", "C"]


@pytest.mark.parametrize(
    ("text", "step", "message"),
    [
        (
            "A: T.Buffer((8,), 'int32'), C: T.Buffer((10,), 'int32')\n"
            + STAGE.format(extent=10, name="C", store="C[vi] = T.if_then_else(vi < 8, A[vi], A[0])"),
            lambda s: s.decompose_padding("C", s.get_loops("C")[0]),
            "whose last value is a constant",
        ),
        (
            stages(f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B="8: B[vi] = A[vi]", C="8: C[vi] = B[vi]").replace(
                "        C[vi] = B[vi]", "        for r in range(2):\n            C[vi] = B[vi + r]"
            ),
            lambda s: s.reindex("C", ("read", 0)),
            "by the same indices everywhere, made of its axes",
        ),
        (
            stages(TWO, C="8: C[vi] = A[vi] + A[15 - vi]"),
            lambda s: s.reindex("C", ("read", 0)),
            "by the same indices everywhere, made of its axes",
        ),
        (stages(TWO, C="9: C[vi] = A[vi * 2]"), lambda s: s.reindex("C", ("read", 0)), "inside of its shape"),
        (stages(TWO, C="9: C[vi] = A[vi - 1]"), lambda s: s.reindex("C", ("read", 0)), "inside of its shape"),
        (
            SUM.replace("i, u, k in T.grid(8, 1, 6)", "i, k in T.grid(1, 6)").replace("(8, i", "(1, i"),
            lambda s: s.rfactor(s.get_loops("C")[0], 0),
            "required to be bound to reduction axes",
        ),
        (stages(TWO, C="8: C[vi] = A[vi]"), lambda s: s.bind(s.get_loops("C")[0], "blockIdx.x"), ""),
        (
            f"{TWO_DIMENSIONS}\nfor i, j in T.grid(4, 4):\n    with T.block('C'):\n"
            "        vi = T.axis.spatial(8, i + j)\n        C[vi, vi] = A[vi, vi]",
            lambda s: s.blockize(s.get_loops("C")[1]),
            "The bindings of the inner block .* can not be blockized by the loops",
        ),
        (
            f"{TWO_DIMENSIONS}\nfor i in range(8):\n    with T.block('A'):\n        vi = T.axis.spatial(8, i)\n"
            f"        A[vi, vi] = 0\n    for j in range(8):\n        with T.block('C'):\n            {AXES}\n"
            "            C[vi, vj] = 1",
            lambda s: s.transform_block_layout("C", lambda i, j: (j, i)),
            "which hold nothing else",
        ),
        (
            f"{TWO}\nif T.likely(A[0] > 2):\n"
            + "".join(
                "    " + line + "\n" for line in stages("", B="8: A[vi] = vi", C="8: C[vi] = 1").strip().splitlines()
            ),
            lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]),
            "does not stand beside the other loops",
        ),
    ],
)
def test_what_is_next_to_the_limit_is_refused(text: str, step: Step, message: str) -> None:
    if message:
        refused(schedule(text), step, message)
    else:
        step(schedule(text))


def test_boxes_become_one_where_they_adjoin() -> None:
    def boxes(*each: tuple[int, int]) -> list[tuple[IntervalSet]]:
        return [(IntervalSet(const(low, "int32"), const(high, "int32")),) for low, high in each]

    for given, found in (
        ([(0, 3), (4, 7)], [(0, 7)]),
        ([(4, 7), (0, 3)], [(0, 7)]),
        ([(0, 3), (5, 7)], [(0, 3), (5, 7)]),
        ([(0, 3), (2, 7)], [(0, 7)]),
        ([(0, 1), (4, 5), (2, 3)], [(0, 5)]),
        ([(0, 7), (2, 3)], [(0, 7)]),
    ):
        made = merged(boxes(*given), Analyzer())
        assert [(int(side.min_value), int(side.max_value)) for (side,) in made] == found


COLUMN = """
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        B[vi, 0] = 1"""
TRAVERSED = """
A: T.Buffer((8, 4), "int32"), B: T.Buffer((8, 4), "int32"), C: T.Buffer((8, 4), "int32")
for i, j in T.grid({extent}, 4):
    with T.block("B"):
        vi = T.axis.{kind}(8, {value})
        vj = T.axis.spatial(4, j)
        {store}
"""


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 1),
        ({"store": "C[vi, vj] = A[vi, vj]"}, 0),
        ({"store": "B[7 - vi, vj] = A[vi, vj]"}, 0),
        ({"store": "B[vi, vj] = B[vi, vj] + 1"}, 0),
        ({"store": "B[vi, vj] = A[vi, vj] + i"}, 0),
        ({"store": "with T.init():\n            B[vi, vj] = 0\n        B[vi, vj] = A[vi, vj]"}, 0),
        ({"store": "T.where(i < 7)\n        B[vi, vj] = A[vi, vj]"}, 0),
        ({"store": "B[vi, vj] = A[vi, vj]\n        C[vi, vj] = A[vi, vj]"}, 0),
        ({"store": "with T.init():\n            C[vi, vj] = 0\n        B[vi, vj] = A[vi, vj]"}, 0),
        ({"store": f"C[vi, vj] = A[vi, vj]{COLUMN}"}, 0),
        ({"value": "7 - i"}, 0),
        ({"extent": "7"}, 0),
        ({"kind": "reduce"}, 0),
    ],
)
def test_a_traversal_stores_each_element_in_order(change: dict[str, str], count: int) -> None:
    fields = {"extent": "8", "kind": "spatial", "value": "i", "store": "B[vi, vj] = A[vi, vj]"} | change
    func = schedule(TRAVERSED.format(**fields)).mod["main"]
    _, buffer, other = func.buffer_map.values()
    assert len(traversals(func.body.block, buffer)) == count
    if fields["store"].startswith("C["):
        assert len(traversals(func.body.block, other)) == 1


DESCRIBED = """@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.mark.parametrize("value", ["A[vi, vk] * (B[vk, vj] + 1)", "A[vi, vk] - B[vk, vj]", "A[vi, vk] * B[vk, vj]"])
def test_only_a_block_that_computes_the_same_is_mapped_to_an_intrinsic(value: str) -> None:
    s: Any = Schedule(from_source(DESCRIBED.replace("A[vi, vk] * B[vk, vj]", value)))
    info = get_auto_tensorize_mapping_info(s, s.get_block("C"), from_source(DESCRIBED))
    assert (info is None) is (value not in DESCRIBED)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([lambda s, loop: s.bind(loop, "threadIdx.x")], "has thread binding threadIdx.x"),
        ([lambda s, loop: s.unroll(loop)], "must be serial, but it is unrolled"),
        ([lambda s, loop: s.unroll(loop), lambda s, loop: s.annotate(loop, "mark", 1)], "but it is unrolled"),
        ([lambda s, loop: s.annotate(loop, "mark", 1)], ""),
    ],
)
def test_why_a_loop_is_not_factored_is_said(steps: list[Any], message: str) -> None:
    s = schedule(SUM)
    loop = s.get_loops("C")[2]
    for step in steps:
        step(s, loop)
    if message:
        refused(s, lambda s: s.rfactor(loop, 0), message)
    else:
        s.rfactor(loop, 0)


def test_a_loop_with_an_annotation_is_not_split() -> None:
    s = schedule(SUM)
    s.annotate(s.get_loops("C")[2], "mark", 1)
    refused(s, lambda s: s.split(s.get_loops("C")[2], [None, 2]), "has annotation mark")


def test_numbers_at_the_limit() -> None:
    s = CHAIN.schedule()
    refused(s, lambda s: s.storage_align("B", 0, -3, 8, 0), "axis must be in")
    refused(s, lambda s: s.storage_align("B", 0, 2, 8, 0), "axis must be in")
    s.storage_align("B", 0, -2, 8, 0)
    assert [int(s.get(s.sample_categorical([3, 5], [0.0, 1.0]))) for _ in range(4)] == [5] * 4
    with pytest.raises(ArgumentError, match="expected an axis of threads"):
        s.bind(s.get_loops("B")[0], "other.x")
    s.bind(s.get_loops("B")[0], "vthread")
    assert s.unroll(s.get_loops("C")[0]) is None
    assert str(s.trace).splitlines()[-1].strip().startswith("sch.unroll(")


def test_copies_of_padding_are_only_as_large_as_what_is_inside() -> None:
    """Where a loop runs over all of an axis, it becomes shorter; elsewhere a condition says what is inside."""
    s = PADDED.schedule()
    s.decompose_padding("B", s.get_loops("B")[0])
    PADDED.check(s, compiled=False)
    assert [int(s.get(loop).extent) for loop in s.get_loops("B")] == [9, 12]
    assert "T.where" not in str(s.mod)
    s = PADDED.schedule()
    s.split(s.get_loops("B")[0], [None, 4])
    s.decompose_padding("B", s.get_loops("B")[0])
    PADDED.check(s, compiled=False)
    assert [int(s.get(loop).extent) for loop in s.get_loops("B")] == [3, 4, 12]
    rows = "A: T.Buffer((8, 4), 'int32'), C: T.Buffer((9, 4), 'int32')\nfor i, j0, j1 in T.grid(9, 2, 2):\n" + (
        "    with T.block('C'):\n        vi = T.axis.spatial(9, i)\n        vj = T.axis.spatial(4, j0 * 2 + j1)\n"
        "        C[vi, vj] = T.if_then_else(vi < 8, A[vi, vj], 0)"
    )
    s = kept(rows, lambda s: s.decompose_padding("C", s.get_loops("C")[0]))
    assert "T.where" not in str(s.mod), "all columns are inside"


def test_rows_are_summed_up_where_they_are_made() -> None:
    text = SUM.replace("A: T", "D: T").replace("A[", "B[").replace("i, u, k in T.grid(8, 1, 6)", "i, k in T.grid(8, 6)")
    made = """B = T.alloc_buffer((8, 6), "int32")
for i, k in T.grid(8, 6):
    with T.block("B"):
        vi, vk = T.axis.remap("SS", [i, k])
        B[vi, vk] = D[vi, vk] + 1
for i"""
    kept(text.replace("for i", made), lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]))


def test_a_copy_is_made_of_what_a_condition_leaves() -> None:
    short = CUT.replace("A: T.Buffer((16,)", "A: T.Buffer((7,)").replace("spatial(8", "spatial(7")
    kept(short, lambda s: s.reindex_cache_read("C", 0, "local", lambda i: (i,)))


def test_constants_and_calls_that_do_something_are_not_computed_ahead() -> None:
    text = stages(TWO, C="8: C[vi] = A[vi // 2] + A[vi % 2] + A[T.call_extern('int32', 'f', vi)]")
    s = schedule(text)
    assert len(s.cache_index("C", "global", 0)) == 2
    assert s.cache_index("C", "global", 2) == []


IN_ONE_LOOP = stages(f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B="8: B[vi] = A[vi]", C="8: C[vi] = B[vi]").replace(
    'for i in range(8):\n    with T.block("C")', '    with T.block("C")'
)


def test_parts_of_a_loop_say_of_each_iteration_what_its_blocks_pass_on() -> None:
    s = kept(IN_ONE_LOOP, lambda s: s.loop_partition(s.get_loops("C")[0], [3, None]))
    for name in ("C_i0", "C_i1"):
        (read,) = s.get(s.get_block(name)).reads
        assert [int(side.extent) for side in read.region] == [1]


def test_a_copy_of_what_is_made_in_the_same_loop_is_not_made_in_parts() -> None:
    refused(schedule(IN_ONE_LOOP), lambda s: s.reindex("C", ("read", 0)), "where not all of its elements are made yet")


def test_a_trace_says_what_was_given_and_what_of_nothing_says_something() -> None:
    s = CHAIN.schedule()
    block = s.get_block("B")
    s.sample_perfect_tile(s.get_loops(block)[0], 2, decision=[3, 4])
    s.annotate(block, "key", [])
    s.transform_layout(block, ("write", 0), lambda i, j: (j, i))
    s.cache_read("D", 0, "local")
    s.cache_read("C", 0, "local", consumer_blocks=[s.get_block("C")])
    text = str(s.trace)
    for part in (
        "decision=[3, 4])",
        "ann_val=[])",
        "pad_value=None,",
        'storage_scope="local")\n',
        "consumer_blocks=[b",
    ):
        assert part in text


MATCHED = """
A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        T.reads(B[vi])
        T.writes(C[vi])
        D = T.match_buffer(B[vi], (), "int32", offset_factor=1)
        C[vi] = D[()]
"""
TRIANGLE = f"""{TWO_DIMENSIONS}
for i in range(8):
    for j in range(i + 1):
        with T.block("C"):
            {AXES}
            C[vi, vj] = A[vi, vj]
"""
CUT = f"{TWO}\nfor i, j in T.grid(2, 4):\n    with T.block('C'):\n        vi = T.axis.spatial(8, i * 4 + j)\n" + (
    "        T.where(i * 4 + j < 7)\n        C[vi] = A[vi]"
)


@pytest.mark.parametrize(
    ("text", "step", "message"),
    [
        (
            MATCHED,
            lambda s: s.transform_layout("B", ("write", 0), lambda i: 7 - i),
            "A region of the buffer B is matched",
        ),
        (TRIANGLE, lambda s: s.fuse(*s.get_loops("C")), "depends on another loop to be fused"),
        (CUT, lambda s: s.blockize(s.get_loops("C")[1]), "The bindings of the inner block"),
    ],
)
def test_loops_and_buffers_that_others_depend_on_stay(text: str, step: Step, message: str) -> None:
    refused(schedule(text), step, message)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: InstructionKind.get("Fly"), "there is no instruction kind 'Fly'"),
        (lambda s: s.state.replace(s.get_sref(s.get_block("C")), s.get(s.get_loops("C")[0])), "is replaced by a block"),
        (lambda s: s.state.replace(s.get_sref(s.get_loops("C")[0]), s.get(s.get_block("C"))), "is replaced by a loop"),
        (lambda s: Trace.apply_json_to_schedule([[]], s), r"expected \[instructions, decisions\]"),
        (lambda s: Trace.apply_json_to_schedule([[["GetLoops", ["b0"], [], []]], []], s), "defines 'b0'"),
        (lambda s: Trace(s.trace.insts[1:], {}).apply_to_schedule(s, False), "no earlier instruction defines BlockRV"),
        (lambda s: [s.annotate(s.get_block("C"), "key", s.mod), s.trace.as_json()], "cannot be saved"),
        (lambda s: s.sample_partitioned_tile(s.get_loops("C")[0], 2, -1), "partition_pos in"),
        (lambda s: s.sample_partitioned_tile(s.get_loops("C")[0], 2, 2), "partition_pos in"),
        (lambda s: s.sample_categorical([1, 2], [0.5, 0.5], -1), r"decision must be in \[0, 2\)"),
    ],
)
def test_what_means_nothing_is_refused(step: Step, message: str) -> None:
    s = CHAIN.schedule()
    s.get_loops(s.get_block("C"))
    with pytest.raises(ArgumentError, match=message):
        step(s)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.get_sref(CHAIN.schedule().get_block("C")), "Cannot find corresponding BlockRV"),
        (lambda s: s.get_sref(MATMUL.func.body.block.body), "the program has no such For"),
        (lambda s: s.get(Var("v", "int32")), "Cannot find corresponding ExprRV"),
    ],
)
def test_a_schedule_knows_its_own_loops_and_numbers(ask: Step, message: str) -> None:
    with pytest.raises(IndexError, match=message):
        ask(CHAIN.schedule())


def test_numbers_that_are_just_right() -> None:
    s = CHAIN.schedule()
    loop = s.get_loops("C")[0]
    assert [int(s.get(n)) for n in s.sample_partitioned_tile(loop, 1, 0)] == [12]
    assert [int(s.get(n)) for n in s.sample_perfect_tile(loop, 1, -1)] == [12]
    assert int(s.get(s.sample_categorical([7, 9], [0.5, 0.5], 0))) == 7
    assert s.can_decompose_padding("C", loop) is False
    padded = PADDED.schedule()
    assert padded.can_decompose_padding("B", padded.get_loops("B")[0]) is True
    kept(SUM, lambda s: s.rfactor(s.get_loops("C")[2], -2))
    kept(SUM, lambda s: s.rfactor(s.get_loops("C")[2], 1))
    for index in (0, 1):
        under = schedule(
            stages(f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B="8: B[vi] = A[vi]", C="8: C[vi] = B[vi]")
        )
        if index:
            under.reverse_compute_at("C", under.get_loops("B")[0], index=1)
        else:
            under.compute_at("B", under.get_loops("C")[0], index=0)
        assert [under.get(b).name_hint for b in under.get_child_blocks(under.get_loops("C")[0])] == ["B", "C"]


CONDITIONS = ("vi < 8", "A[vi] > 2", "vi % 2 < 1")
INNER = """if {} < 1:
            if {}:
                C[vi] = A[vi]
        else:
            if {}:
                C[vi] = vi"""


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("is_nested", [False, True])
def test_what_a_branch_leaves_as_it_is_is_not_written_back(condition: str, is_nested: bool) -> None:
    store = f"if {condition}:\n            C[vi] = A[vi]"
    if is_nested:
        store = INNER.format("A[vi]", condition, condition)
    s = schedule(stages(TWO, C=f"16: {store}"))
    with pytest.raises(ArgumentError, match="leave some as they are"):
        s.write_at(s.get_loops("C")[0], s.get_block("C"), 0, "local")


def test_what_both_branches_store_is_written_back() -> None:
    store = INNER.format("A[vi]", "vi >= 0", "vi >= 0").replace("if vi >= 0:\n                C", "C")
    kept(stages(TWO, C=f"16: {store}"), lambda s: s.write_at(s.get_loops("C")[0], s.get_block("C"), 0, "local"))
