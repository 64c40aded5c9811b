"""Index arithmetic in fewer bits, where its values fit."""

from __future__ import annotations

import pytest

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import LT, IterVar, Select, Var, const
from compiler.ir.expr.substitute import post_order_visit
from compiler.ir.node import Node
from compiler.ir.structural import assert_structural_equal
from compiler.tir.script import from_source
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, BufferStore, For
from compiler.tir.transform import NarrowDataType
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, function, nodes, program

SHAPE = "(T.int64(64),)"
PARAMS = f"A: T.Buffer({SHAPE}, 'int32'), C: T.Buffer({SHAPE}, 'int32'), n: T.int32"


def test_indices_that_fit_are_narrowed() -> None:
    assert_pass(
        NarrowDataType(32),
        """
        for i in range(T.int64(64)):
            C[i] = A[i * 3 % 64] + 1
        """,
        """
        for i in range(64):
            C[i] = A[i * 3 % 64] + 1
        """,
        params=PARAMS,
    )


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (32, "for i in range(T.int64(64)):\n    C[i] = A[i * T.int64(1099511627776) % 64] + 1"),
        (8, "for i in range(T.int64(200)):\n    C[i % 64] = 1"),
    ],
)
def test_indices_whose_intermediate_results_do_not_fit_stay(bits: int, text: str) -> None:
    assert_pass(NarrowDataType(bits), text, params=PARAMS)  # type: ignore[arg-type]


def test_indices_within_calls_and_conditions_are_narrowed() -> None:
    assert_pass(
        NarrowDataType(32),
        """
        for i in range(T.int64(64)):
            C[i] = T.if_then_else(not i * T.int64(3) < T.int64(9), T.max(A[i], 2), T.Select(i < T.int64(4), 1, A[i]))
        """,
        """
        for i in range(64):
            C[i] = T.if_then_else(not i * 3 < 9, T.max(A[i], 2), T.Select(i < 4, 1, A[i]))
        """,
        params=PARAMS,
    )


def test_what_a_function_takes_in_all_bits_stays() -> None:
    assert_pass(NarrowDataType(32), "for i in range(T.int64(64)):\n    T.call_extern('int32', 'f', i)", params=PARAMS)


def test_a_value_that_is_stored_keeps_its_type() -> None:
    assert_pass(
        NarrowDataType(32),
        """
        for i in range(T.int64(64)):
            C[i] = i * i
        """,
        """
        for i in range(64):
            C[i] = T.Cast("int64", i * i)
        """,
        params="C: T.Buffer((64,), 'int64'), n: T.int32",
    )


def test_narrow_indices_are_left_alone() -> None:
    assert_pass(NarrowDataType(32), "for i in range(4):\n    C[i] = i")


def _kernel(blocks: int, threads: int, dtype: str, extent_dtype: str, chosen: bool = False) -> PrimFunc:
    """Return a function that stores an element in each thread; its value is ``chosen`` by the block, or the thread."""
    tags = ("blockIdx.x", "threadIdx.x")
    block, thread = (IterVar(None, Var(tag[0], dtype), IterVar.ThreadIndex, tag) for tag in tags)
    b, t = (axis.var.astype("int32") for axis in (block, thread))
    C = decl_buffer((blocks * threads,), "int32", name="C")
    value = Select(block.var > const(3, dtype), t, const(7)) if chosen else t
    body = BufferStore(C, value, (b * threads + t,))
    for axis, extent in ((thread, threads), (block, blocks)):
        body = AttrStmt(axis, "thread_extent", const(extent, extent_dtype), body)
    return function(body, C)


@pytest.mark.parametrize(
    ("blocks", "threads", "dtype", "extent_dtype", "expected"),
    [
        (4, 8, "int32", "int32", "int8"),
        (4, 8, "int8", "int32", "int8"),
        (20, 16, "int32", "int32", "int32"),
        (20, 16, "int32", "int8", "int32"),
        (20, 16, "int8", "int32", "int32"),
    ],
)
@pytest.mark.parametrize("chosen", [False, True])
def test_a_thread_counts_in_the_type_of_its_extent_unless_fewer_bits_do(
    blocks: int, threads: int, dtype: str, extent_dtype: str, expected: str, chosen: bool
) -> None:
    before = _kernel(blocks, threads, dtype, extent_dtype, chosen)
    after = apply(before, NarrowDataType(8))
    types: dict[str, set[str]] = {"b": set(), "t": set()}

    def look(n: Node) -> None:
        if isinstance(n, AttrStmt):
            types[n.node.var.name].add(n.node.var.dtype)
        if isinstance(n, Var) and n.name in types:
            types[n.name].add(n.dtype)

    post_order_visit(after.body, look)
    # A value that is chosen is taken in its own type, a condition is true in fewer bits as well.
    wide = max(dtype, extent_dtype, key=lambda each: int(each[3:]))
    assert types == {"b": {expected}, "t": {wide if chosen else expected}}
    assert_same(before, after)


def test_the_width_must_be_one_of_an_integer() -> None:
    with pytest.raises(ArgumentError, match="target_bits must be 8, 16, 32 or 64, got 24"):
        NarrowDataType(24)  # type: ignore[arg-type]


def test_the_sides_of_a_comparison_are_narrowed_apart() -> None:
    func = program(
        """
        for i in range(T.int64(64)):
            if i * T.int64(2) < n:
                C[i] = 1
        """,
        "C: T.Buffer((64,), 'int32'), n: T.int64",
    )
    (loop,) = nodes(apply(func, NarrowDataType(32)), For)
    assert loop.loop_var.dtype == "int32"
    (comparison,) = nodes(loop, LT)
    assert (comparison.a.dtype, comparison.b.dtype) == ("int64", "int64")


def test_axes_of_blocks() -> None:
    """Loops, axes, conditions and regions count in 32 bits; an axis that needs more keeps its bits."""
    before, after = (
        from_source(
            f"""
@T.prim_func
def main(A: T.Buffer(({wide(16)}, {wide(16)}), "float32"), B: T.Buffer(({wide(16)},), "float32"), n: T.int64):
    for i, k in T.grid({c(16)}, {c(16)}):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(i * {c(16)} + k < {c(200)})
            T.reads(A[vi, {c(0)}:{c(16)}])
            T.writes(B[vi])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i in range(n):
        with T.block("wide"):
            vi = T.axis.spatial(n, i)
            T.reads()
            T.writes(B[vi % T.int64(16)])
            B[vi % T.int64(16)] = T.float32(0)
"""
        )
        for c in (wide, str)
    )
    assert_structural_equal(apply(before, NarrowDataType(32)), after)


def wide(value: int) -> str:
    return f"T.int64({value})"
