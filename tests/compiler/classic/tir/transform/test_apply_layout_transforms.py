"""ApplyLayoutTransforms: buffers in the layouts that a function's attribute gives them."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import FloatImm, Range, Var
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import array
from compiler.tir.interpreter import interpret
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.statements.buffer import BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import For, ForKind, Stmt, seq
from compiler.tir.transform import ApplyLayoutTransforms

ROWS, COLUMNS = 6, 8
A, B, C = (decl_buffer((ROWS, COLUMNS), "float32", name) for name in "ABC")


def transposing_function() -> PrimFunc:
    """``B = A * 2`` in memory of its own, then ``C = B + 1``."""
    i, j = Var("i", "int32"), Var("j", "int32")
    stores = [
        BufferStore(B, A[i, j] * FloatImm("float32", 2.0), (i, j)),
        BufferStore(C, B[i, j] + FloatImm("float32", 1.0), (i, j)),
    ]
    body: Stmt = For(i, 0, ROWS, ForKind.SERIAL, For(j, 0, COLUMNS, ForKind.SERIAL, seq(stores)))
    body = BufferRealize(B, (Range(0, ROWS), Range(0, COLUMNS)), True, body)
    a, c = Var("a", "handle"), Var("c", "handle")
    return PrimFunc((a, c), body, buffer_map={a: A, c: C}).with_attr("global_symbol", "main")


def with_layouts(layouts: object) -> IRModule:
    func = transposing_function().with_attr("layout_transform_map", layouts)
    return ApplyLayoutTransforms()(IRModule({"main": func}))


def test_regions_shapes_and_indices_follow_the_maps() -> None:
    transposed = IndexMap.from_func(lambda i, j: [j, i], index_dtype="int32")
    in_groups = IndexMap.from_func(lambda j, i: [j // 4, j % 4, i], index_dtype="int32")
    text = with_layouts({B: [transposed, in_groups]}).script()
    assert "T.realize(B[0:2, 0:4, 0:6])" in text
    assert "B[j // 4, j % 4, i] = A[i, j] * T.float32(2.0)" in text
    assert "layout_transform_map" not in text


def test_a_parameter_has_its_physical_shape_and_the_same_values() -> None:
    tiles = IndexMap.from_func(lambda i, j: [i // 2, j // 4, i % 2, j % 4], index_dtype="int32")
    mod = with_layouts({C: [tiles], B: [IndexMap.from_func(lambda i, j: [i * COLUMNS + j], index_dtype="int32")]})
    a = np.random.default_rng(0).random((ROWS, COLUMNS), dtype="float32")
    c = np.zeros((3, 2, 2, 4), "float32")
    interpret(mod["main"], [a, c])
    np.testing.assert_array_equal(c, tiles.map_ndarray(array(a * 2 + 1)).numpy())


def test_functions_without_the_attribute_stay_as_they_are() -> None:
    mod = IRModule({"main": transposing_function()})
    assert ApplyLayoutTransforms()(mod) is mod


def test_anything_but_a_map_from_buffers_to_index_maps_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected a map from buffers"):
        with_layouts([B])
    with pytest.raises(ArgumentError, match="expected a Buffer and a list of IndexMap"):
        with_layouts({B: [3]})


def test_indices_of_another_type_than_the_map_are_widened() -> None:
    narrow, wide = Var("i", "int32"), Var("j", "int64")
    index_map = IndexMap.from_func(lambda i, j: [i // 4, i % 4 + j, j])  # of int64
    assert [str(e) for e in index_map.map_indices([narrow, narrow])] == [
        'T.Cast("int64", i) // T.int64(4)',
        'T.Cast("int64", i) + T.Cast("int64", i) % T.int64(4)',
        "i",
    ]
    assert [dim.dtype for dim in index_map.map_shape([8, 9])] == ["int32"] * 3
    narrow_map = IndexMap.from_func(lambda i, j: [i // 4, i % 4 + j, j], index_dtype="int32")
    assert str(narrow_map.map_indices([wide, wide])[0]) == "j // T.int64(4)"
