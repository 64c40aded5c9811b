"""Buffers of blocks become as large as what is accessed of them."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntSet
from compiler.ir.expr.primexpr import Not, PrimExpr, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.tir.analysis.block_access import domains_where
from compiler.tir.expressions import op as tir
from compiler.tir.script import from_source
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import CompactBufferAllocation
from tests.compiler.tir.transform.programs import apply, nodes

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32"), n: T.int32):
    for i in range(16):
        with T.block():
            T.reads(A[i, 0:16])
            T.writes(C[i, 0:16])
            B = T.alloc_buffer((16, 16), "float32")
            for j in range(16):
{body}
"""


def shape_of(body: str, is_strict: bool = True) -> tuple[int, ...]:
    """Return the shape that ``B`` is compacted to."""
    func = from_source(PROGRAM.format(body=textwrap.indent(textwrap.dedent(body).strip(), " " * 16)))
    assert isinstance(func, PrimFunc)
    (block,) = [n for n in nodes(apply(func, CompactBufferAllocation(is_strict)), Block) if n.alloc_buffers]
    return tuple(int(dim.value) for dim in block.alloc_buffers[0].shape)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        ("B[i, j] = A[i, j]", 16),
        ("if j < 12:\n    B[i, j] = A[i, j]", 12),
        ("if T.likely(j * 2 < 9 and 3 <= j):\n    B[i, j] = A[i, j]", 2),
        ("if j < 4:\n    C[i, j] = A[i, j]\nelse:\n    B[i, j] = A[i, j]", 12),
        ("if j < n:\n    B[i, j] = A[i, j]", 16),
        ("C[i, j] = T.if_then_else(j < 5, B[i, j], T.float32(0))", 5),
        ("with T.block():\n    T.where(j < 7)\n    T.reads(A[i, j])\n    T.writes(B[i, j])\n    B[i, j] = A[i, j]", 7),
    ],
)
def test_elements_beyond_a_condition_need_no_memory(body: str, columns: int) -> None:
    assert shape_of(body) == (1, columns)


def test_a_buffer_grows_only_where_that_is_allowed() -> None:
    body = "B[i, j + 4] = A[i, j]\nB[i, j] = A[i, j]"
    assert shape_of(body) == (1, 16)
    assert shape_of(body, is_strict=False) == (1, 20)


@pytest.mark.parametrize("positive", [True, False])
def test_domains_hold_every_solution_of_a_condition(positive: bool) -> None:
    """Against all values of two variables."""
    i, j = Var("i"), Var("j")
    conditions: list[PrimExpr] = [i < 3, 5 - 2 * i >= j, i * 3 + j < 8, tir.all(i + j > 9, j <= 4), (i - j).equal(2)]
    for condition in conditions:
        where = condition if positive else Not(condition)
        domains = domains_where(where, dict.fromkeys((i, j), IntSet.interval(0, 7)), Analyzer())
        for a, b in np.ndindex(8, 8):
            point = {i: const(a), j: const(b)}
            if not Analyzer().can_prove(substitute(where, point)):
                continue
            for var, domain in domains.items():
                assert domain.min_value.value <= point[var].value <= domain.max_value.value, (where, domain)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("scope", "thread", "rows"),
    [
        ("shared", "threadIdx.x", 16),
        ("shared", "blockIdx.x", 1),
        ("warp", "threadIdx.x", 16),
        ("warp", "threadIdx.y", 1),
        ("local", "threadIdx.x", 1),
        ("global", "blockIdx.x", 16),
        ("shared", "vthread.x", 16),
    ],
)
def test_memory_that_threads_share_holds_what_all_of_them_access(scope: str, thread: str, rows: int) -> None:
    text = PROGRAM.replace("range(16):\n        with", f"T.thread_binding(16, thread={thread!r}):\n        with", 1)
    text = text.replace('"float32")\n            for', f'"float32", scope={scope!r})\n            for')
    func = from_source(text.format(body=" " * 16 + "B[i, j] = A[i, j]"))
    assert isinstance(func, PrimFunc)
    (block,) = [n for n in nodes(apply(func, CompactBufferAllocation()), Block) if n.alloc_buffers]
    assert [int(dim) for dim in block.alloc_buffers[0].shape] == [rows, 16]


def test_a_constant_box_of_a_symbolic_buffer() -> None:
    func = from_source(
        """
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n * 8,), "float32")
    C = T.match_buffer(c, (n * 8,), "float32")
    for i in range(n):
        with T.block():
            T.reads(A[i * 8:i * 8 + 8])
            T.writes(C[i * 8:i * 8 + 8])
            B = T.alloc_buffer((n * 8,), "float32")
            for j in range(8):
                B[i * 8 + j] = A[i * 8 + j] + T.float32(1)
            for j in range(8):
                C[i * 8 + j] = B[i * 8 + j] * T.float32(2)
"""
    )
    (block,) = [n for n in nodes(apply(func, CompactBufferAllocation()), Block) if n.alloc_buffers]
    assert [int(dim.value) for dim in block.alloc_buffers[0].shape] == [8]  # type: ignore[attr-defined]


STAGED = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i in range(4):
        with T.block():
            B = T.alloc_buffer((16, 16), "float32")
            for j in range(10):
                with T.block():
                    T.block_attr({"buffer_dim_align": [[0, 0, 16, 15]]})
                    B[i, j] = A[i, j]
            for j in range(10):
                C[i, j] = B[i, j]
"""


def test_rows_are_apart_as_storage_align_says() -> None:
    func = apply(from_source(STAGED), CompactBufferAllocation())
    (buffer,) = [buffer for block in nodes(func, Block) for buffer in block.alloc_buffers]
    assert [int(dim) for dim in buffer.shape] == [1, 10]
    assert [int(stride) for stride in buffer.strides] == [15, 1]


@pytest.mark.parametrize(("signature", "rows"), [("T.writes(B[i:i + 3, 0:4])", 10), ("T.writes(A[0, 0])", 16)])
def test_a_pointer_reaches_the_rows_that_the_signature_of_its_block_says(signature: str, rows: int) -> None:
    body = f"""
        for i in range(8):
            with T.block():
                T.reads()
                {signature}
                T.evaluate(T.call_extern("int32", "fill", B.data))
            C[i, 0] = B[i, 2]
    """
    assert shape_of(body) == (rows, 16)


def test_a_part_that_never_runs_aligns_nothing() -> None:
    body = """
    with T.block():
        T.reads()
        T.writes()
        T.block_attr({"buffer_dim_align": [[0, 0, 16, 15]]})
        for k in range(0):
            B[0, k] = A[i, k]
    with T.block():
        T.reads(A[i, j])
        T.writes(B[0, j])
        B[0, j] = A[i, j]
    with T.block():
        T.reads(B[0, j])
        T.writes(C[i, j])
        C[i, j] = B[0, j]
    """
    assert shape_of(body) == (1, 16)
