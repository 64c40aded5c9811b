"""Buffers of any rank become rows of elements."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.error import BoundError
from compiler.ir.primexpr import EQ, Call, Ramp, Range, Select, Var, const
from compiler.tir import op as tir
from compiler.tir.buffer import Buffer, BufferLoad, decl_buffer
from compiler.tir.interpreter import interpret
from compiler.tir.stmt import Allocate, AttrStmt, BufferStore, Evaluate, For, Prefetch, Stmt, seq
from compiler.tir.transform import FlattenBuffer, StorageFlatten
from tests.compiler.tir.transform.programs import (
    allocate,
    apply,
    arguments,
    assert_same,
    function,
    loop,
    nodes,
    realize,
)


def two_loops(body: Stmt, i: Var, j: Var, rows: int = 4, columns: int = 6) -> Stmt:
    return loop(i, rows, loop(j, columns, body))


def test_a_parameter_is_accessed_through_an_alias_of_one_dimension() -> None:
    i, j = Var("i"), Var("j")
    a, c = decl_buffer((6, 4), "int32", name="A"), decl_buffer((4, 6), "int32", name="C")
    func = function(two_loops(BufferStore(c, a[j, i], (i, j)), i, j), a, c)
    after = apply(func, StorageFlatten(64))
    (store,) = nodes(after, BufferStore)
    assert [int(d) for d in store.buffer.shape] == [24]
    assert store.buffer.data is c.data
    assert after.buffer_map == func.buffer_map
    assert_same(func, after)


def test_a_parameter_of_one_dimension_stays_what_it_is() -> None:
    i, c = Var("i"), decl_buffer((6,), "int32", name="C")
    func = function(loop(i, 6, BufferStore(c, i, (i,))), c)
    assert nodes(apply(func, StorageFlatten(64)), BufferStore)[0].buffer is c


def test_a_parameter_of_no_dimension_has_one_element() -> None:
    c = decl_buffer((), "int32", name="C")
    func = function(BufferStore(c, const(7), ()), c)
    after = apply(func, StorageFlatten(64))
    result = np.zeros((), "int32")
    interpret(after, [result])
    assert result == 7


def test_only_the_realized_region_is_allocated() -> None:
    o, i, j, k = (Var(n) for n in "oijk")
    a, c = decl_buffer((16, 6), "int32", name="A"), decl_buffer((16, 6), "int32", name="C")
    local = decl_buffer((16, 6), "int32", name="L")
    row = o * 4 + i
    fill = two_loops(BufferStore(local, a[row, j] + 1, (row, j)), i, j)
    use = two_loops(BufferStore(c, local[o * 4 + k, j] * 2, (o * 4 + k, j)), k, j)
    func = function(loop(o, 4, realize(local, seq([fill, use]), (o * 4, 4), (0, 6))), a, c)
    after = apply(func, StorageFlatten(64))
    (memory,) = nodes(after, Allocate)
    assert [int(e) for e in memory.extents] == [24]
    assert_same(func, after)


def test_rows_are_as_long_as_storage_align_says() -> None:
    i, j, c = Var("i"), Var("j"), decl_buffer((4, 6), "int32", name="C")
    local = decl_buffer((4, 6), "int32", name="L")
    fill = two_loops(BufferStore(local, i * 10 + j, (i, j)), i, j)
    use = two_loops(BufferStore(c, local[i, j], (i, j)), i, j)
    inner = realize(local, seq([fill, use]), (0, 4), (0, 6))
    aligned = AttrStmt(local, "buffer_dim_align", tir.tvm_tuple(0, 8, 3), inner)
    after = apply(function(aligned, c), StorageFlatten(64))
    (memory,) = nodes(after, Allocate)
    assert int(memory.extents[0]) == 4 * 11
    assert not nodes(after, AttrStmt)
    assert_same(function(inner, c), after)


def test_strides_and_the_offset_of_a_parameter_count() -> None:
    i, j = Var("i"), Var("j")
    a = decl_buffer((4, 6), "int32", name="A", strides=(12, 2), elem_offset=5)
    c = decl_buffer((4, 6), "int32", name="C")
    func = function(two_loops(BufferStore(c, a[i, j], (i, j)), i, j), a, c)
    (load,) = nodes(apply(func, StorageFlatten(64)), BufferLoad)
    assert str(load.indices[0]) in ("i * 12 + j * 2 + 5", "j * 2 + i * 12 + 5")
    assert int(load.buffer.shape[0]) == 48


def test_truth_values_are_stored_as_bytes() -> None:
    i, j, c = Var("i"), Var("j"), decl_buffer((4, 6), "int32", name="C")
    flag = decl_buffer((4, 6), "bool", name="F")
    fill = two_loops(BufferStore(flag, i < j, (i, j)), i, j)
    use = two_loops(BufferStore(c, Select(flag[i, j], const(1), const(2)), (i, j)), i, j)
    func = function(realize(flag, seq([fill, use]), (0, 4), (0, 6)), c)
    after = apply(func, StorageFlatten(64))
    assert nodes(after, Allocate)[0].dtype == "int8"
    assert_same(func, after)


def test_vector_indices_stay_vectors() -> None:
    i = Var("i")
    a, c = decl_buffer((4, 8), "int32", name="A"), decl_buffer((4, 8), "int32", name="C")
    lanes = Ramp(const(0), const(1), 8)
    func = function(loop(i, 4, BufferStore(c, a[3 - i, lanes], (i, lanes))), a, c)
    after = apply(func, StorageFlatten(64))
    assert all(isinstance(n.indices[0], Ramp) for n in nodes(after, BufferLoad))
    assert_same(func, after)


def test_the_region_of_an_output_needs_no_memory() -> None:
    i, j, c = Var("i"), Var("j"), decl_buffer((4, 6), "int32", name="C")
    func = function(realize(c, two_loops(BufferStore(c, i + j, (i, j)), i, j), (0, 4), (0, 6)), c)
    after = apply(func, StorageFlatten(64))
    assert not nodes(after, Allocate)
    assert_same(func, after)


def test_small_memory_is_aligned_to_its_size() -> None:
    c = decl_buffer((4,), "int32", name="C")
    for count, expected in ((1, 4), (4, 16), (64, -1)):
        local = decl_buffer((count,), "int32", name="L")
        body = seq([BufferStore(local, const(1), (const(0),)), BufferStore(c, local[0], (const(0),))])
        after = apply(function(realize(local, body, (0, count)), c), StorageFlatten(64))
        assert nodes(after, BufferStore)[0].buffer.data_alignment == expected


def test_a_prefetched_box_is_touched_once_a_cache_line() -> None:
    i, a = Var("i"), decl_buffer((8, 64), "float32", name="A")
    box = (Range.from_min_extent(i, 2), Range.from_min_extent(0, 64))
    after = apply(function(loop(i, 4, Prefetch(a, box)), a), StorageFlatten(64))
    assert [int(n.extent) for n in nodes(after, For)] == [4, 2, 4]
    (hint,) = nodes(after, Evaluate)
    assert isinstance(hint.value, Call)
    assert hint.value.op.name == "tir.prefetch"


def test_stores_are_marked_with_their_bound_on_request() -> None:
    i, c = Var("i"), decl_buffer((6,), "int32", name="C")
    after = apply(function(loop(i, 6, BufferStore(c, i, (i,))), c), StorageFlatten(64, True))
    (mark,) = nodes(after, AttrStmt)
    assert (mark.attr_key, int(mark.value)) == ("buffer_bound", 6)


def test_too_few_indices_are_an_error() -> None:
    c = decl_buffer((4, 6), "int32", name="C")
    func = function(BufferStore(c, const(1), (const(1),)), c)
    with pytest.raises(BoundError, match="buffer 'C' has 2 dimensions, got 1 indices"):
        apply(func, StorageFlatten(64))


def test_allocated_memory_is_flattened_by_flatten_buffer() -> None:
    i, j, c = Var("i"), Var("j"), decl_buffer((4, 6), "int32", name="C")
    local: Buffer = decl_buffer((4, 6), "bool", name="L")
    fill = two_loops(BufferStore(local, EQ(i % 2, j % 3), (i, j)), i, j)
    use = two_loops(BufferStore(c, Select(local[3 - i, j], const(1), const(0)), (i, j)), i, j)
    func = function(allocate(local, seq([fill, use])), c)
    after = apply(func, FlattenBuffer())
    (memory,) = nodes(after, Allocate)
    assert (memory.dtype, [int(e) for e in memory.extents]) == ("int8", [24])
    assert {len(n.indices) for n in nodes(after, BufferStore)} == {1}
    assert_same(func, after)
    assert apply(after, FlattenBuffer()).body is after.body
    assert len(arguments(after)) == 1
