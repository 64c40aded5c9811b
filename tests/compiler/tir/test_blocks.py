"""Blocks: what they access, what interpreter and machine code make of them, and their text."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import tir
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.error import ArgumentError, LoweringError
from compiler.ir.expr.primexpr import IterVar, Range, Var
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal, structural_equal
from compiler.runtime.arrays import ndarray
from compiler.tir.interpreter import UninitializedRead, interpret
from compiler.tir.script import from_source
from compiler.tir.script import tir as T
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion, contains_block
from compiler.tir.statements.buffer import BufferRegion, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc

Array = np.ndarray[Any, Any]


@T.prim_func
def matmul_relu(A: T.Buffer((16, 24)), B: T.Buffer((24, 8)), D: T.Buffer((16, 8))):  # type: ignore[no-untyped-def]
    C = T.alloc_buffer((16, 8))
    for i, j, k in T.grid(16, 8, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)


@T.prim_func
def rows(A: T.Buffer((16, 16)), C: T.Buffer((16, 16))):  # type: ignore[no-untyped-def]
    B = T.alloc_buffer((16, 16))
    for i in T.parallel(16):
        for j in range(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func
def matched(A: T.Buffer((16, 16)), C: T.Buffer((16, 16))):  # type: ignore[no-untyped-def]
    for i, j in T.grid(4, 4):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            a = T.match_buffer(
                A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4], (4, 4), strides=["s0", "s1"], offset_factor=1
            )
            c = T.match_buffer(C[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4], (4, 4))
            for ii, jj in T.grid(4, 4):
                with T.block("element"):
                    vii, vjj = T.axis.remap("SS", [ii, jj])
                    row = T.match_buffer(c[vii, 0:4], (4,))
                    row[vjj] = a[vii, vjj] + T.cast(a.strides[0], "float32")


@T.prim_func
def guarded(A: T.Buffer((10,)), C: T.Buffer((10,))):  # type: ignore[no-untyped-def]
    for io, ii in T.grid(3, 4):
        with T.block("C"):
            v = T.axis.spatial(10, io * 4 + ii)
            T.where(io * 4 + ii < 10)
            C[v] = A[v] + 1.0


@T.prim_func
def carried(A: T.Buffer((8,)), C: T.Buffer((1,))):  # type: ignore[no-untyped-def]
    """Every access is in the loop, and yet the sum outlives its iterations."""
    total = T.alloc_buffer((1,))
    for i in range(8):
        with T.block("total"):
            v = T.axis.reduce(8, i)
            with T.init():
                total[0] = 0.0
            total[0] += A[v]
        with T.block("C"):
            v = T.axis.opaque(8, i)
            T.where(i == 7)
            C[0] = total[0]


PROGRAMS: list[tuple[PrimFunc, list[tuple[int, ...]], Callable[..., Array]]] = [
    (matmul_relu, [(16, 24), (24, 8), (16, 8)], lambda a, b: np.maximum(a @ b, 0)),
    (rows, [(16, 16), (16, 16)], lambda a: a * 2 + 1),
    (matched, [(16, 16), (16, 16)], lambda a: a + 16),
    (guarded, [(10,), (10,)], lambda a: a + 1),
    (carried, [(8,), (1,)], lambda a: a.sum(keepdims=True)),
]


def check(func: PrimFunc, shapes: list[tuple[int, ...]], reference: Callable[..., Array]) -> None:
    """Compare interpreter and machine code with NumPy."""
    generator = np.random.default_rng(0)
    inputs = [generator.normal(size=shape).astype("float32") for shape in shapes[:-1]]
    expected = reference(*inputs)
    result = np.zeros(shapes[-1], "float32")
    interpret(func, [*inputs, result])
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    arrays = [ndarray.array(a) for a in (*inputs, np.zeros(shapes[-1], "float32"))]
    build(func, target="llvm")(*arrays)
    np.testing.assert_allclose(arrays[-1].numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].attrs["global_symbol"])
def test_interpreter_and_machine_code_agree_with_numpy(program: Any) -> None:
    check(*program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].attrs["global_symbol"])
def test_text_is_read_back(program: Any) -> None:
    func = program[0]
    assert_structural_equal(from_source(str(func)), func)


def random_program(draw: random.Random) -> tuple[str, list[tuple[int, ...]], Callable[..., Array]]:
    """Return a chain of blocks over a matrix, each with loops split and guarded at random, and what it computes."""
    rows_, columns = draw.randint(1, 9), draw.randint(1, 9)
    lines = [f"@T.prim_func\ndef main(A: T.Buffer(({rows_}, {columns})), Z: T.Buffer(({rows_},))):"]
    steps: list[Callable[[Array], Array]] = []
    source, length = "A", draw.randint(1, 3)
    for number in range(length):
        factor, value = draw.randint(1, 4), draw.randint(1, 5)
        lines.insert(1 + number, f"    B{number} = T.alloc_buffer(({rows_}, {columns}))")
        kind = draw.choice(["for i in range", "for i in T.parallel", "for i in T.serial"])
        lines += [
            f"    {kind}({rows_}):",
            f"        for jo, ji in T.grid({-(-columns // factor)}, {factor}):",
            f'            with T.block("B{number}"):',
            f"                vi = T.axis.spatial({rows_}, i)",
            f"                vj = T.axis.spatial({columns}, jo * {factor} + ji)",
            f"                T.where(jo * {factor} + ji < {columns})",
        ]
        if draw.random() < 0.5:
            lines.append(f'                T.block_attr({{"step": {number}, "notes": ["a", {value}]}})')
        lines.append(f"                B{number}[vi, vj] = {source}[vi, vj] * {float(value)} + T.float32({number})")
        steps.append(lambda x, value=value, number=number: x * value + number)  # type: ignore[misc]
        source = f"B{number}"
    lines += [
        f"    for i, j in T.grid({rows_}, {columns}):",
        '        with T.block("Z"):',
        '            vi, vj = T.axis.remap("SR", [i, j])',
        "            with T.init():",
        "                Z[vi] = 0.0",
        f"            Z[vi] = Z[vi] + {source}[vi, vj]",
    ]

    def reference(a: Array) -> Array:
        for step in steps:
            a = step(a)
        return np.asarray(a.sum(1))

    return "\n".join(lines), [(rows_, columns), (rows_,)], reference


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    text, shapes, reference = random_program(random.Random(seed))
    func = from_source(text)
    again = from_source(str(func))
    assert_structural_equal(again, func)
    assert str(again) == str(func)
    check(func, shapes, reference)


def test_lowered_functions_have_no_blocks_and_small_buffers() -> None:
    assert contains_block(rows.body)
    body = lower(rows)["main"].body
    assert not contains_block(body)
    assert "T.allocate([16]" in str(body), "a row, in the loop over rows"


def test_what_a_block_reads_and_writes_is_found() -> None:
    [block] = [n for n in _blocks(matmul_relu) if n.name_hint == "C"]
    assert str(block.reads) == "(A[vi, vk], B[vk, vj])", "what a block accumulates in is its own"
    assert str(block.writes) == "(C[vi, vj],)"
    tile = next(n for n in _blocks(matched) if n.name_hint == "tile")
    assert str(tile.reads) == "(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4],)"


def _blocks(func: PrimFunc) -> list[Block]:
    blocks: list[Block] = []
    tir.stmt_functor.post_order_visit(func.body, lambda n: blocks.append(n) if isinstance(n, Block) else None)
    return blocks


def test_memory_of_a_block_is_new_each_time() -> None:
    text = """
@T.prim_func
def main(C: T.Buffer((2,))):
    for i in range(2):
        with T.block("once"):
            v = T.axis.spatial(2, i)
            B = T.alloc_buffer((1,))
            if v == 0:
                B[0] = 1.0
            C[v] = B[0]
"""
    with pytest.raises(UninitializedRead):
        interpret(from_source(text), [np.zeros(2, "float32")])


def test_constructors_check_what_they_get() -> None:
    buffer, v = decl_buffer((4,)), Var("v")
    body = BufferStore(buffer, 1.0, [v])
    block = Block([IterVar(Range(0, 4), v)], [], [BufferRegion(buffer, [Range.from_min_extent(v, 1)])], "b", body)
    with pytest.raises(ArgumentError, match="has 1 axes, got 0 values"):
        BlockRealize([], True, block)
    with pytest.raises(ArgumentError, match="expected a condition"):
        BlockRealize([0], Var("n"), block)
    with pytest.raises(ArgumentError, match="is of float32, 'buffer' of int8"):
        MatchBufferRegion(buffer, BufferRegion(decl_buffer((4,), "int8"), [Range(0, 4)]))


def test_structure_of_blocks() -> None:
    def block(name: str, extent: Any = 4) -> Block:
        buffer, v = decl_buffer((extent,)), Var("v")
        return Block([IterVar(Range(0, extent), v)], [], [], name, BufferStore(buffer, 1.0, [v]), None, [buffer])

    assert structural_equal(block("a"), block("b")), "a name says nothing"
    assert not structural_equal(block("a"), block("a", 5))
    n = Var("n")
    assert free_vars(block("a", n)) == [n]
    assert structural_equal(substitute(block("a", n), {n: tir.IntImm("int32", 4)}), block("a"))


MATCH = """
@T.prim_func
def main(A: T.Buffer((8, 8)), m: T.int32):
    for i, j in T.grid(8, 2):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(A[vi, vj * 4 : vj * 4 + 4])
            sub = T.match_buffer(A[vi, vj * 4 : vj * 4 + 4], (1, 4), strides={strides}, offset_factor=1)
            {store}
"""


@pytest.mark.parametrize(
    ("strides", "store", "message"),
    [
        ("[4, 1]", "sub[0, 0] = 1.0", "the layout of 'sub' declares 4 where its region has 8"),
        ("[m, 1]", "sub[0, 0] = 1.0", "the layout of 'sub' declares m where its region has 8"),
        ('["s", 1]', "other = T.Buffer((4,), data=sub.data)\n            other[0] = 1.0", "by its pointer"),
    ],
)
def test_a_matched_buffer_is_what_its_region_is(strides: str, store: str, message: str) -> None:
    func = from_source(MATCH.format(strides=strides, store=store))
    with pytest.raises(LoweringError, match=message):
        tir.transform.LowerMatchBuffer()(IRModule({"main": func}))


def test_memory_of_one_block_lies_within_it() -> None:
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((8, 8)), C: T.Buffer((8, 8))):
    B = T.alloc_buffer((8, 8))
    for i in range(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:8], B[vi, 0:8])
            T.writes(B[vi, 0:8], C[vi, 0:8])
            for j in range(8):
                B[vi, j] = A[vi, j]
            for j in range(8):
                C[vi, j] = B[vi, j]
"""
    )
    planned = tir.transform.PlanAndUpdateBufferAllocationLocation()(IRModule({"main": func}))["main"]
    row = planned.body.block.body.body.block
    assert [buffer.name for buffer in row.alloc_buffers] == ["B"]
    assert [region.buffer.name for region in (*row.reads, *row.writes)] == ["A", "C"]
    lca = tir.analysis.detect_buffer_access_lca(func)
    assert lca[func.body.block.alloc_buffers[0]] is func.body.block.body.body.block


def test_global_memory_is_accessed_by_all_blocks_of_threads() -> None:
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((8, 8)), C: T.Buffer((8, 8))):
    B = T.alloc_buffer((8, 8), scope="shared")
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj]
"""
    )
    blocks = func.body.block.body
    lca = tir.analysis.detect_buffer_access_lca(func)
    assert {buffer.name: loop for buffer, loop in lca.items()} == {"A": blocks, "B": blocks.body, "C": blocks}
