"""Reduction blocks over threads compute what they did, on the threads of a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.error import LoweringError
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import (
    CompactBufferAllocation,
    ConvertBlocksToOpaque,
    FlattenBuffer,
    LowerCrossThreadReduction,
    LowerInitBlock,
    LowerMatchBuffer,
    LowerOpaqueBlock,
    LowerThreadAllreduce,
    PlanAndUpdateBufferAllocationLocation,
    Simplify,
    UnifyThreadBinding,
)
from tests.compiler.tir.transform.programs import apply, assert_pass, nodes, program
from tests.compiler.tir.transform.thread_runs import run_threads

ROWS = "A: T.Buffer((4, 24), 'int32'), B: T.Buffer((4,), 'int32')"
BLOCKS = (
    LowerCrossThreadReduction(), LowerInitBlock(), PlanAndUpdateBufferAllocationLocation(), ConvertBlocksToOpaque(),
    UnifyThreadBinding(), CompactBufferAllocation(), LowerMatchBuffer(), LowerOpaqueBlock(), FlattenBuffer(),
    Simplify(), LowerThreadAllreduce(),
)  # fmt: skip


def reduction(loops: str, k: str, update: str = "B[vi] + A[vi, vk]", init: str = "0", where: str = "True") -> PrimFunc:
    """Return a reduction of rows; ``loops`` are loops around the block, outermost first."""
    text, indent = "", ""
    for loop in loops.split(";"):
        text += f"{indent}for {loop.strip()}:\n"
        indent += "    "
    lines = [
        'with T.block("B"):', f"    vi, vk = T.axis.spatial(4, i), T.axis.reduce(24, {k})", f"    T.where({where})",
        "    T.reads(A[vi, vk])", "    T.writes(B[vi])", "    with T.init():", f"        B[vi] = {init}",
        f"    B[vi] = {update}",
    ]  # fmt: skip
    return program(text + "\n".join(indent + line for line in lines), params=ROWS)


THREADS = 'T.thread_binding(8, thread="threadIdx.x")'
BLOCKS_OF = 'i in T.thread_binding(4, thread="blockIdx.x")'


@pytest.mark.parametrize(
    ("func", "numpy"),
    [
        (reduction(f"{BLOCKS_OF}; ko in range(3); ki in {THREADS}", "ko * 8 + ki"), np.sum),
        (reduction(f"i in range(4); ki in {THREADS}; ko in range(3)", "ki * 3 + ko"), np.sum),
        (reduction(f"{BLOCKS_OF}; ki in {THREADS.replace('8', '24')}", "ki"), np.sum),
        (reduction(f"{BLOCKS_OF}; ki in {THREADS.replace('8', '32')}", "ki", where="ki < 24"), np.sum),
        (
            reduction(
                f"{BLOCKS_OF}; ko in range(4); ki in {THREADS}", "ko * 8 + ki", "T.max(B[vi], A[vi, vk])",
                'T.min_value("int32")', "ko * 8 + ki < 24",
            ),
            np.max,
        ),
        (
            reduction(
                'i in T.thread_binding(4, thread="threadIdx.y"); ko in range(4); '
                'a in T.thread_binding(2, thread="threadIdx.x"); b in T.thread_binding(3, thread="threadIdx.z")',
                "(ko * 2 + a) * 3 + b",
            ),
            np.sum,
        ),
    ],
)  # fmt: skip
def test_a_kernel_computes_the_reduction(func: PrimFunc, numpy: object) -> None:
    lowered = apply(func, *BLOCKS)
    data = np.random.default_rng(0).integers(-100, 100, (4, 24)).astype("int32")
    out = np.zeros(4, "int32")
    run_threads(lowered, [data, out])
    np.testing.assert_array_equal(out, numpy(data, axis=1))  # type: ignore[operator]


def test_a_thread_that_has_one_value_needs_no_loop() -> None:
    func = apply(reduction(f"{BLOCKS_OF}; ki in {THREADS.replace('8', '24')}", "ki"), LowerCrossThreadReduction())
    names = [block.name_hint for block in nodes(func, Block)]
    assert names == ["B_cross_thread", "B_write_back", "root"]


def test_other_blocks_stay() -> None:
    assert_pass(LowerCrossThreadReduction(), reduction("i in range(4); k in range(24)", "k"))
    spatial = program(
        f"""
        for i in {THREADS.replace("8", "4")}:
            for k in range(24):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vi, vk]
        """,
        params=ROWS,
    )
    assert_pass(LowerCrossThreadReduction(), spatial)


def test_what_cannot_be_lowered_is_refused() -> None:
    with pytest.raises(LoweringError, match="must combine an element with a value"):
        apply(reduction(f"i in range(4); k in {THREADS}", "k", "B[vi] * 2 + A[vi, vk]"), LowerCrossThreadReduction())
    with pytest.raises(LoweringError, match="loop 'i' is among those that block 'B' reduces over"):
        apply(reduction(f"ko in range(3); i in range(4); k in {THREADS}", "ko * 8 + k"), LowerCrossThreadReduction())


def test_threads_that_compute_several_elements_do_not_reduce_together() -> None:
    fused = program(
        """
        for i_k_0 in T.thread_binding(8, thread="threadIdx.x"):
            for i_k_1 in range(12):
                with T.block("B"):
                    vi = T.axis.spatial(4, (i_k_0 * 12 + i_k_1) // 24)
                    vk = T.axis.reduce(24, (i_k_0 * 12 + i_k_1) % 24)
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vi, vk]
        """,
        params=ROWS,
    )
    with pytest.raises(LoweringError, match="over, and tells which element it computes"):
        apply(fused, LowerCrossThreadReduction())


def test_values_of_a_thread_lie_in_registers_with_a_stride() -> None:
    func = apply(reduction(f"{BLOCKS_OF}; ko in range(3); ki in {THREADS}", "ko * 8 + ki"), LowerCrossThreadReduction())
    buffers = [buffer for block in nodes(func, Block) for buffer in block.alloc_buffers]
    assert {tuple(int(stride) for stride in buffer.strides) for buffer in buffers} == {(1,)}


PLACES = "A: T.Buffer((4, 24), 'float32'), at: T.Buffer((4,), 'int32'), largest: T.Buffer((4,), 'float32')"


@pytest.mark.parametrize(("loops", "k"), [("ki in {24}", "ki"), ("ko in range(3); ki in {8}", "ko * 8 + ki")])
def test_threads_find_the_largest_and_where_it_is(loops: str, k: str) -> None:
    for number in ("24", "8"):
        loops = loops.replace(f"{{{number}}}", THREADS.replace("8", number))
    text = f"for {BLOCKS_OF}:\n"
    indent = "    "
    for loop in loops.split("; "):
        text += f"{indent}for {loop}:\n"
        indent += "    "
    block = f"""
with T.block("argmax"):
    vi, vk = T.axis.spatial(4, i), T.axis.reduce(24, {k})
    T.reads(A[vi, vk])
    T.writes(at[vi], largest[vi])
    with T.init():
        at[vi] = -1
        largest[vi] = T.min_value("float32")
    v_at: T.int32 = T.Select(largest[vi] >= A[vi, vk], at[vi], vk)
    v_largest: T.float32 = T.Select(largest[vi] >= A[vi, vk], largest[vi], A[vi, vk])
    at[vi] = v_at
    largest[vi] = v_largest"""
    func = program(text + block.strip("\n").replace("\n", f"\n{indent}").join((indent, "")), params=PLACES)
    values = np.random.default_rng(0).random((4, 24)).astype("float32")
    at, largest = np.zeros(4, "int32"), np.zeros(4, "float32")
    run_threads(apply(func, *BLOCKS), [values, at, largest])
    np.testing.assert_array_equal(at, values.argmax(1))
    np.testing.assert_array_equal(largest, values.max(1))
