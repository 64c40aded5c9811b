"""A program for each check of a primitive that is refused by just that check."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.tir import TensorIntrin
from compiler.tir.schedule import Schedule
from compiler.tir.schedule.primitives.access_regions import RegionMap
from compiler.tir.script import from_source
from tests.compiler.tir.schedule.programs import BLUR, CHAIN, MATMUL, Program, Step, refused, schedule


def loops(s: Any, block: str) -> Any:
    return s.get_loops(block)


TWO_STAGES = """
A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        {producer}
for i in range(8):
    with T.block("C"):
        vi = {axis}
        {consumer}
"""


def two_stages(
    consumer: str = "C[vi] = B[vi] + 1", producer: str = "B[vi] = A[vi] * 2", axis: str = "T.axis.spatial(8, i)"
) -> Any:
    def indented(text: str) -> str:
        return text.replace("\n", "\n        ")

    return schedule(TWO_STAGES.format(producer=indented(producer), consumer=indented(consumer), axis=indented(axis)))


STATED = "T.reads({reads})\nT.writes({writes})\n{body}"
INLINED = "compute_inline"
REVERSED = "reverse_compute_inline"

INLINE: list[tuple[str, dict[str, str], str]] = [
    (INLINED, {"producer": "B[vi] = A[vi]\nB[vi] = A[vi] + 1"}, "is required to be one store"),
    (INLINED, {"producer": "B[7 - vi] = A[vi]"}, "is required to be one store"),
    (REVERSED, {"consumer": "C[vi] = B[vi] + B[7 - vi]"}, "is required to be one store"),
    (REVERSED, {"axis": "T.axis.opaque(8, i)"}, "is not a complete block - it violates condition #2"),
    (REVERSED, {"axis": "T.axis.spatial(8, i)\nT.where(i < 5)"}, "may keep it from some values of its axes"),
    (
        INLINED,
        {
            "consumer": STATED.format(
                reads="B[vi]", writes="C[vi]", body='T.evaluate(T.call_extern("int32", "f", B.data))'
            )
        },
        "opaque access",
    ),
    (
        INLINED,
        {
            "consumer": STATED.format(
                reads="B[vi]",
                writes="C[vi]",
                body='D = T.match_buffer(B[vi], (), "int32", offset_factor=1)\nC[vi] = D[()]',
            )
        },
        "matched into other blocks",
    ),
    (
        INLINED,
        {
            "consumer": STATED.format(
                reads="B[vi]", writes="C[vi]", body='D = T.Buffer((8,), "int32", data=B.data)\nC[vi] = D[vi]'
            )
        },
        "opaque access",
    ),
    (
        INLINED,
        {
            "consumer": STATED.format(
                reads="B[vi]", writes="C[vi]", body='D = T.Buffer((8,), "int32", data=B.data)\nD[vi] = C[vi]'
            )
        },
        "opaque access",
    ),
    (
        REVERSED,
        {
            "producer": STATED.format(
                reads="A[vi]", writes="B[vi]", body='D = T.Buffer((8,), "int32", data=B.data)\nB[vi] = D[vi] + A[vi]'
            )
        },
        "opaque access",
    ),
    (
        REVERSED,
        {
            "producer": STATED.format(
                reads="A[vi]", writes="B[vi]", body='D = T.Buffer((8,), "int32", data=B.data)\nD[vi] = A[vi]'
            )
        },
        "opaque access",
    ),
]


@pytest.mark.parametrize(("step", "parts", "message"), INLINE)
def test_blocks_that_are_not_inlined(step: str, parts: dict[str, str], message: str) -> None:
    block = "B" if step == INLINED else "C"
    refused(two_stages(**parts), lambda s: getattr(s, step)(block), message)


def test_a_block_is_not_inlined_into_one_that_writes_an_output() -> None:
    s = schedule("""
A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] * 2
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] + 1
""")
    refused(s, lambda s: s.reverse_compute_inline("C"), "is an output block")


def test_a_block_is_not_moved_before_another_writer_of_its_buffer() -> None:
    s = schedule("""
A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] * 2
for i in range(8):
    with T.block("fill"):
        vi = T.axis.spatial(8, i)
        C[vi] = 7
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] + 1
""")
    refused(s, lambda s: s.reverse_compute_inline("C"), "exactly one buffer|violates condition #1")


@pytest.mark.parametrize(("step", "body"), [(INLINED, "C[vi, vj] = A[vi] + vj"), (REVERSED, "C[vi, vj] = A[vi]")])
def test_what_is_inlined_tells_the_values_of_all_axes(step: str, body: str) -> None:
    s = schedule("""
A: T.Buffer((8,), "int32"), C: T.Buffer((8, 3), "int32")
B = T.alloc_buffer((8,), "int32")
for i, j in T.grid(8, 3):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi] = A[vi] + vj
for i, j in T.grid(8, 3):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi]
""")
    refused(s, lambda s: getattr(s, step)("B" if step == INLINED else "C"), "tell the values of all axes")


def test_the_only_block_is_not_inlined() -> None:
    s = schedule("""
A: T.Buffer((8,), "int32")
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
""")
    refused(s, lambda s: s.compute_inline("B"), "the only leaf in the scope")


# blocks that move


def test_a_reduction_does_not_add_up_what_is_not_complete() -> None:
    s = schedule("""
A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")
B = T.alloc_buffer((8, 2), "int32")
for i, k in T.grid(8, 6):
    for j in range(2):
        with T.block("B"):
            vi, vk, vj = T.axis.remap("SRS", [i, k, j])
            with T.init():
                B[vi, vj] = 0
            B[vi, vj] = B[vi, vj] + A[vi, vk]
for i, j in T.grid(8, 2):
    with T.block("C"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + B[vi, vj]
""")
    refused(s, lambda s: s.reverse_compute_at("C", loops(s, "B")[1]), "is not complete, so block 'C'|cannot reduce its")


MOVED: list[tuple[dict[str, str], Step, str]] = [
    (
        {"axis": "T.axis.spatial(8, i)\nT.where(i < 5)"},
        lambda s: s.reverse_compute_at("C", loops(s, "B")[0]),
        "may keep it from some values of its axes",
    ),
    (
        {"consumer": STATED.format(reads="B[vi]", writes="", body="C[vi] = B[vi]")},
        lambda s: s.reverse_compute_at("C", loops(s, "B")[0]),
        "does not say that it writes C",
    ),
    ({"axis": "T.axis.opaque(8, i)"}, lambda s: s.reverse_compute_at("C", loops(s, "B")[0]), "neither a complete"),
    (
        {"consumer": "C[vi] = B[3]"},
        lambda s: s.reverse_compute_at("C", loops(s, "B")[0]),
        "must be read by the iterations of one value|iterations",
    ),
    (
        {"consumer": "C[vi] = B[vi] + B[7 - vi]"},
        lambda s: s.reverse_compute_at("C", loops(s, "B")[0]),
        "must be read by the iterations of one value|iterations",
    ),
]


@pytest.mark.parametrize(("parts", "step", "message"), MOVED)
def test_blocks_that_are_not_moved(parts: dict[str, str], step: Step, message: str) -> None:
    refused(two_stages(**parts), step, message)


# loops

OPAQUE = """
A: T.Buffer((8, 8), "int32")
for i, j in T.grid(8, 8):
    with T.block("A"):
        {axes}
        T.reads(A[0:8, 0:8])
        T.writes(A[0:8, 0:8])
        A[{place}] = A[vj, vi] + 1
"""


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (
            "vi = T.axis.opaque(8, i)\n        vj = T.axis.opaque(8, j)",
            "which is neither data parallel nor a reduction",
        ),
        ("vi = T.axis.spatial(8, i)\n        vj = T.axis.opaque(8, j)", "has axis 'vj'"),
        ("vi = T.axis.spatial(8, i)\n        vj = T.axis.spatial(8, i // 2 + j // 2)", "to have an affine binding"),
    ],
)
def test_loops_whose_order_counts_are_not_reordered(axes: str, message: str) -> None:
    s = schedule(OPAQUE.format(axes=axes, place="vi, vj"))
    refused(s, lambda s: s.reorder(*reversed(loops(s, "A"))), message)


def test_a_loop_with_values_that_are_not_affine_is_not_parallel() -> None:
    s = schedule("""
A: T.Buffer((8,), "int32"), B: T.Buffer((64,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(64, i * i)
        B[vi] = A[vi // 8]
""")
    for step in (s.parallel, s.vectorize):
        refused(s, lambda s, step=step: step(loops(s, "B")[0]), "to have an affine binding")  # type: ignore[misc]


LATER = """
A: T.Buffer((8, 4), "int32"), B: T.Buffer((8, 4), "int32"), C: T.Buffer((8, 4), "int32")
for i in range(1, 8):
    for j in range(4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
for i in range(1, 8):
    for j in range(4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
"""


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.split(loops(s, "B")[0], [None, 2]),
        lambda s: s.fuse(*loops(s, "B")),
        lambda s: s.merge(loops(s, "B")[0], loops(s, "C")[0]),
    ],
)
def test_loops_that_begin_later_are_not_rebuilt(step: Step) -> None:
    refused(schedule(LATER), step, "does not start with 0")


def test_loops_within_blocks_are_not_reordered_with_those_around() -> None:
    s = CHAIN.schedule()
    s.blockize(loops(s, "B")[1])
    refused(s, lambda s: s.reorder(loops(s, "B")[0], loops(s, "B_o")[0]), "not under the same block scope")


def test_a_merged_nest_holds_nothing_else() -> None:
    s = schedule("""
A: T.Buffer((8, 4), "int32"), B: T.Buffer((8, 4), "int32"), C: T.Buffer((8, 4), "int32"), D: T.Buffer((8,), "int32")
for i in range(8):
    for j in range(4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = A[vi, 0]
for i in range(8):
    for j in range(4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
""")
    refused(s, lambda s: s.merge(loops(s, "B")[1], loops(s, "C")[1]), "is not the only child of outer loop")
    refused(s, lambda s: s.fuse(*loops(s, "B")), "is not the only child of outer loop")


def test_a_condition_on_inner_and_outer_loops_is_not_blockized() -> None:
    s = schedule("""
A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.where(i + j < 9)
        B[vi, vj] = A[vi, vj]
""")
    refused(s, lambda s: s.blockize(loops(s, "B")[1]), "is about outer and inner loops|can not be blockized")


# reductions

REDUCED = """
A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")
for i in range(8):
    {before}
    for k in range(6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            {where}
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
        {inside}
"""
OTHER = 'with T.block("D"):\n{0}    vi = T.axis.spatial(8, i)\n{0}    D[vi] = A[vi, 0]'
FACTORED: list[tuple[dict[str, str], str]] = [
    ({"inside": OTHER.format(" " * 8)}, "only one child block, got 2"),
    ({"before": OTHER.format(" " * 4)}, "to be the first child block of its outermost loop"),
    ({"where": "T.where(k < 3)"}, "without any value"),
]


@pytest.mark.parametrize(("parts", "message"), FACTORED)
def test_reductions_that_are_not_factored(parts: dict[str, str], message: str) -> None:
    text = REDUCED.format(**{"before": "", "inside": "", "where": "", **parts})
    s = schedule("\n".join(line for line in text.splitlines() if line.strip()))
    refused(s, lambda s: s.rfactor(loops(s, "C")[1], 0), message)


def test_a_reduction_with_another_block_under_its_outer_loop_is_not_factored() -> None:
    s = schedule("""
A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")
for i, k_0 in T.grid(8, 2):
    for k_1 in range(3):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(6, k_0 * 3 + k_1)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = A[vi, 0]
""")
    refused(s, lambda s: s.rfactor(loops(s, "C")[2], 0), "outermost reduction loop .* only one child block")


def test_a_reduction_into_elements_that_another_block_wrote_is_not_factored() -> None:
    s = schedule("""
A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")
for i in range(8):
    with T.block("fill"):
        vi = T.axis.spatial(8, i)
        C[vi] = 7
for i, k in T.grid(8, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + A[vi, vk]
""")
    refused(s, lambda s: s.rfactor(loops(s, "C")[1], 0), "is not a reduction block - it violates condition #4")


UPDATE = """
A: T.Buffer((8, 6), "int32"), B: T.Buffer((6, 4), "int32"), C: T.Buffer((8, 4), "int32")
for i, j, k in T.grid(8, 4, 6):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.pad_einsum("C", [16, 4, 8]), "neither a complete block nor a reduction"),
        (lambda s: s.reindex("C", ("read", 0)), "so that it cannot read a copy which is made before"),
        (lambda s: s.reindex("C", ("write", 0)), "before it writes them, which the copy would lack"),
        (lambda s: s.cache_inplace("C", 1, "local"), "does not both read & write"),
    ],
)
def test_a_block_that_adds_to_what_is_there_is_not_copied(step: Step, message: str) -> None:
    refused(schedule(UPDATE), step, message)


def accumulated(first: int) -> Any:
    """Return a schedule of a sum that sets its elements where its axis is 0, of which it has the last from one on."""
    return schedule(f"""
A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")
for i in range(8):
    for k in range({first}, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            if vk == 0:
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
""")


def test_values_of_earlier_iterations_outside_the_scope_are_not_left_out_of_a_copy() -> None:
    accumulated(0).cache_write("C", 0, "local")
    refused(
        accumulated(2), lambda s: s.cache_write("C", 0, "local"), "before it writes them, which the copy would lack"
    )


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.reindex_cache_read("B", 0, "local", lambda i: i),
        lambda s: s.cache_read("D", 0, "local", [s.get_block("B")]),
    ],
)
def test_what_is_read_before_it_is_written_is_not_read_from_a_copy_that_is_made_after_it(step: Step) -> None:
    s = schedule("""
A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("A"):
        vi = T.axis.spatial(8, i)
        A[vi] = vi
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = A[vi]
""")
    refused(s, step, "reads A before block .* writes it")


# layouts


def test_axes_that_begin_later_or_end_where_another_loop_says_get_no_new_layout() -> None:
    s = MATMUL.schedule()
    _, rest = s.loop_partition(loops(s, "C")[0], [3, None])
    (block,) = s.get_child_blocks(rest)
    refused(s, lambda s: s.transform_block_layout(block, lambda i, j, k: (j, i, k)), "must begin at 0")
    refused(s, lambda s: s.pad_einsum(block, [4, 4, 4]), "must begin at 0")
    s = schedule("""
A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")
for i in range(8):
    for j in range(i + 1):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.spatial(i + 1, j)
            B[vi, vj] = A[vi, vj]
""")
    refused(s, lambda s: s.transform_block_layout("B", lambda i, j: (j, i)), "may decide how far it runs")


def test_a_block_that_accesses_a_part_of_a_buffer_is_not_padded() -> None:
    s = MATMUL.schedule()
    first, _ = s.loop_partition(loops(s, "C")[0], [3, None])
    (block,) = s.get_child_blocks(first)
    refused(s, lambda s: s.pad_einsum(block, [4, 4, 4]), "must access all of buffer")


def test_a_block_with_another_consumer_of_its_producer_is_not_inlined() -> None:
    s = schedule("""
A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] * 2
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] + 1
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = B[vi] + 2
""")
    refused(s, lambda s: s.reverse_compute_inline("C"), "to have only a single producer block")


TRIANGLE = """
A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")
for i in range(8):
    for j in range(i + 1):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.spatial(8, j)
            B[vi, vj] = A[vi, vj]
"""


def test_axes_of_parts_of_a_triangle_do_not_end_where_another_loop_says() -> None:
    s = schedule(TRIANGLE)
    for loop in s.loop_partition(loops(s, "B")[0], [3, None]):
        (block,) = s.get_child_blocks(loop)
        assert [int(axis.dom.extent) for axis in s.get(block).iter_vars][1] == 8


def test_a_row_of_a_triangle_that_is_a_block_does_not_become_one_with_the_others() -> None:
    """How long the row is only its loop says."""
    s = schedule(TRIANGLE)
    row = s.blockize(loops(s, "B")[1])
    refused(s, lambda s: s.blockize(s.get_loops(row)[0]), "what it reads or writes depends on loop")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.transform_block_layout("C", lambda i, j, k: (i * j, k)), "is not bijective"),
        (lambda s: s.reorder_block_iter_var("C", [0, 0, 1]), "[Tt]he new order"),
        (lambda s: s.cache_inplace("C", 0, "local"), "does not both read & write"),
        (lambda s: s.add_unit_loop("root"), "Cannot add a loop around"),
    ],
)
def test_steps_that_do_not_fit_a_product(step: Step, message: str) -> None:
    refused(MATMUL.schedule(), step, message)


def test_an_extent_that_is_not_constant_is_not_padded() -> None:
    s = schedule("""
a: T.handle, b: T.handle
n = T.int32()
A = T.match_buffer(a, (n,), "int32")
B = T.match_buffer(b, (n,), "int32")
for i in range(n):
    with T.block("B"):
        vi = T.axis.spatial(n, i)
        B[vi] = A[vi]
""")
    refused(s, lambda s: s.pad_einsum("B", [4]), "has no constant extent")


def test_axes_that_begin_later_are_not_reindexed() -> None:
    s = schedule("""
A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial((2, 8), i + 2)
        B[vi] = A[vi]
""")
    refused(s, lambda s: s.reindex("B", ("read", 0)), "must begin at 0, where the copy does")


def test_a_buffer_that_stands_for_a_region_keeps_its_layout() -> None:
    s = schedule("""
A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")
for i in range(8):
    with T.block("rows"):
        vi = T.axis.spatial(8, i)
        T.reads(A[vi, 0:8])
        T.writes(B[vi, 0:8])
        row = T.match_buffer(A[vi, 0:8], (8,), "int32", offset_factor=1)
        for j in range(8):
            with T.block("B"):
                vj = T.axis.spatial(8, j)
                B[vi, vj] = row[vj]
""")
    refused(s, lambda s: s.transform_layout("B", ("read", 0), lambda i: (i // 2, i % 2)), "is defined by match_buffer")


def test_an_alignment_that_is_no_list_of_numbers_is_refused() -> None:
    s = CHAIN.schedule()
    s.annotate(s.get_block("B"), "buffer_dim_align", [[0, 1]])
    refused(s, lambda s: s.storage_align("B", 0, 0, 8, 0), "an array of 4-integer-tuples")


def test_a_loop_elsewhere_is_not_around_the_block() -> None:
    s = schedule("""
A: T.Buffer((8, 6), "int32"), B: T.Buffer((10, 6), "int32"), C: T.Buffer((8,), "int32")
for i, j in T.grid(10, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = T.if_then_else(vi < 8, A[vi, vj], 0)
for i, k in T.grid(8, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + A[vi, vk]
""")
    refused(s, lambda s: s.decompose_padding("B", loops(s, "C")[0]), "to be an ancestor of block")
    refused(s, lambda s: s.decompose_reduction("C", loops(s, "B")[0]), "to be an ancestor of block")


def test_a_block_that_does_not_run_in_each_iteration_is_not_copied_out_in_each() -> None:
    s = schedule("""
A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")
for u, v in T.grid(3, 1):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.where(u + v < 1)
            B[vi] = A[vi]
""")
    with pytest.raises(ArgumentError, match="leave some as they are"):
        s.write_at(loops(s, "B")[0], s.get_block("B"), 0, "local")


def test_a_block_is_not_moved_to_iterations_in_which_its_producer_does_not_run() -> None:
    s = schedule("""
A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")
B = T.alloc_buffer((4,), "int32")
for u, v in T.grid(3, 1):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.where(u + v < 1)
            B[vi] = A[vi]
for i in range(4):
    with T.block("C"):
        vi = T.axis.spatial(4, i)
        C[vi] = B[vi]
""")
    refused(s, lambda s: s.reverse_compute_at("C", loops(s, "B")[0]), "may keep block .* from some iterations of loop")


def test_a_name_that_two_blocks_have_is_not_found() -> None:
    s = schedule("""
A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")
for i in range(8):
    with T.block("X"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("X"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi]
""")
    refused(s, lambda s: s.get_block("X"), "Found 2 blocks with the name: X")


# arguments

ARGUMENTS: list[tuple[Program, Step, str]] = [
    (MATMUL, lambda s: s.blockize([]), "blockize: expected a loop or blocks, got no block"),
    (MATMUL, lambda s: s.reorder(), "reorder: expected loops, got none"),
    (MATMUL, lambda s: s.split(loops(s, "C")[0], []), "split: expected factors, got none"),
    (MATMUL, lambda s: s.pad_einsum("C", [1, 2]), "padding must be 3 positive numbers"),
    (MATMUL, lambda s: s.pad_einsum("C", [1, 0, 2]), "padding must be 3 positive numbers"),
    (CHAIN, lambda s: s.compute_at("B", loops(s, "C")[0], index=7), "index must be from 0 to 0 under that loop, got 7"),
    (BLUR, lambda s: s.read_at(loops(s, "B")[0], "C", 0, "local"), "is not around block 'C'"),
    (BLUR, lambda s: s.write_at(loops(s, "C")[0], "B", 0, "local"), "is not around block 'B'"),
    (MATMUL, lambda s: s.sample_categorical([1, 2], [-1.0, 2.0]), "probs must not be negative, nor all 0"),
    (MATMUL, lambda s: s.sample_categorical([1, 2], [0.0, 0.0]), "probs must not be negative, nor all 0"),
    (MATMUL, lambda s: s.sample_categorical([1, 2], [0.5, 0.5], 2), r"decision must be in \[0, 2\), got 2"),
    (MATMUL, lambda s: s.sample_perfect_tile(loops(s, "C")[0], 2, decision=[1, 2, 5]), "decision must have 2 factors"),
    (MATMUL, lambda s: s.sample_partitioned_tile(loops(s, "C")[0], 2, 2, 1), "partition_pos in"),
    (MATMUL, lambda s: s.sample_partitioned_tile(loops(s, "C")[0], 0, 0, 1), "n must be positive"),
]


@pytest.mark.parametrize(("program", "step", "message"), ARGUMENTS)
def test_arguments_that_do_not_fit(program: Program, step: Step, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        step(program.schedule())


@pytest.mark.parametrize("text", ["lambda i: i", "lambda i: [i]", "[1, 2]"])
def test_a_region_is_written_as_a_lambda_with_pairs(text: str) -> None:
    with pytest.raises(ArgumentError, match="expected a lambda with a list of pairs"):
        RegionMap.from_text(text, "int32", {})


def test_a_module_of_several_functions_needs_the_name_of_one() -> None:
    s: Any = Schedule(IRModule({"one": MATMUL.func, "other": CHAIN.func}))
    with pytest.raises(ArgumentError, match="the module has several functions"):
        s.get_block("C")
    assert s.get(s.get_block("D", "other")).name_hint == "D"


def test_a_loop_stays_around_one_whose_extent_depends_on_it() -> None:
    s = schedule("""
A: T.Buffer((8, 8), "int32")
for i in range(8):
    for j in range(i + 1):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = vi - vj
""")
    i, j = loops(s, "A")
    refused(s, lambda s: s.reorder(j, i), "depends on loop")
    s.reorder(i, j)


def test_what_is_no_longer_in_the_program_is_not_replaced() -> None:
    s = CHAIN.schedule()
    loop, *_ = loops(s, "C")
    former = s.get_sref(loop)
    stmt = former.stmt
    s.split(loop, [None, 2])
    with pytest.raises(ArgumentError, match="the reference is stale"):
        s.state.replace(former, stmt)


@pytest.mark.parametrize(("function", "fits"), [("exp", True), ("sqrt", False)])
def test_an_intrinsic_of_another_function_does_not_stand_for_a_block(function: str, fits: bool) -> None:
    described, other = "B[vi] = T.exp(A[vi])", f"B[vi] = T.{function}(A[vi])"
    text = """@T.prim_func
def main(A: T.Buffer((8,), "float32", offset_factor=1), B: T.Buffer((8,), "float32", offset_factor=1)):
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        {}
"""
    nest = """for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                {}"""
    call = 'T.evaluate(T.call_extern("int32", "exp8", A.access_ptr("r"), B.access_ptr("w")))'
    name = f"test_refusals.exp8.{function}"
    TensorIntrin.register(name, from_source(text.format(nest.format(described))), from_source(text.format(call)))
    s = schedule(f"""
A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        {other}
""")
    if fits:
        s.tensorize(loops(s, "B")[0], name)
    else:
        refused(s, lambda s: s.tensorize(loops(s, "B")[0], name), "stands where")
