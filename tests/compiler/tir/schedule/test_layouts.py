"""Other layouts, blocks of blocks, and copies that lie as they are used: the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.tir.schedule_testing import verify_trace_roundtrip
from compiler.ir.error import ArgumentError
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import tir as T
from tests.compiler.tir.schedule.programs import BLUR, CHAIN, MATMUL, MATMUL_RELU, Program

Steps = Callable[[Any], object]


def packed_rows(sch: Any) -> None:
    sch.transform_layout("B", ("write", 0), lambda i, j: (j // 4, i, j % 4))
    sch.transform_layout("C", "C", lambda i, j: (j, i))


def padded_tiles(sch: Any) -> None:
    sch.transform_layout("C", ("read", 0), lambda i, j: (i // 4, j // 8, i % 4, j % 8), pad_value=0.0)


def blocks_with_other_axes(sch: Any) -> None:
    sch.transform_block_layout("B", lambda i, j: (j // 4, i, j % 4))
    sch.transform_block_layout("D", lambda i, j: (i * 16 + j,))
    sch.set_axis_separator("C", ("write", 0), [1])


def reindexed(sch: Any) -> None:
    sch.reindex("C", ("read", 1))
    sch.reindex("C", ("write", 0))
    sch.transform_layout("C", "A", lambda i, k: (i, k), assume_injective_transform=True)


def transposed_copies(sch: Any) -> None:
    sch.reindex_cache_read("C", 0, "global", lambda i, j, k: (k, i))
    sch.reindex_cache_write("C", 0, "local", lambda i, j, k: (j, i))


def stencil_as_a_matrix(sch: Any) -> None:
    sch.reindex("C", ("read", 0))


def tiles_as_blocks(sch: Any) -> None:
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, factors=[None, 4])
    j_0, j_1 = sch.split(j, factors=[None, 2])
    k_0, k_1 = sch.split(k, factors=[None, 8])
    sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    tile = sch.blockize(i_1)
    sch.decompose_reduction(tile, k_0)
    sch.reverse_compute_at("D", j_0)


def round_extents(sch: Any) -> None:
    sch.pad_einsum("C", [4, 16, 5])
    _, j, k = sch.get_loops("C")
    sch.split(j, factors=[None, 8])
    sch.decompose_reduction("C", k)


def in_place(sch: Any) -> None:
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    sch.cache_inplace("C_update", 0, "local")
    sch.reorder_block_iter_var("C_update", [2, 0, 1])


def a_block_of_its_own(sch: Any) -> None:
    sch.blockize([sch.get_block("C")])
    sch.blockize(sch.get_loops("B")[1], preserve_unit_iters=False)


CASES: list[tuple[Program, Steps]] = [
    (CHAIN, packed_rows),
    (CHAIN, padded_tiles),
    (CHAIN, blocks_with_other_axes),
    (CHAIN, a_block_of_its_own),
    (MATMUL, reindexed),
    (MATMUL, round_extents),
    (MATMUL, in_place),
    (MATMUL, transposed_copies),
    (BLUR, stencil_as_a_matrix),
    (MATMUL_RELU, tiles_as_blocks),
]


@pytest.mark.parametrize(("program", "steps"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_another_layout_computes_the_same(program: Program, steps: Steps) -> None:
    sch = program.schedule()
    steps(sch)
    program.check(sch)
    verify_trace_roundtrip(sch, program.func)


def test_copies_that_lie_as_a_map_says_have_the_loops_of_their_block() -> None:
    sch = CHAIN.schedule()
    i, _ = sch.get_loops("B")
    sch.split(i, factors=[None, 4])
    copy = sch.reindex_cache_write("B", 0, "local", lambda i, j: (j, i))
    loops = [sch.get(loop) for loop in sch.get_loops(copy)]
    original = [sch.get(loop) for loop in sch.get_loops("B")]
    assert [loop.loop_var.name for loop in loops] == [loop.loop_var.name for loop in original]
    assert [loop.extent.value for loop in loops] == [loop.extent.value for loop in original]
    axes, own = sch.get(copy).iter_vars, sch.get(sch.get_block("B")).iter_vars
    assert [axis.var.name for axis in axes] == [axis.var.name for axis in own]
    assert not {axis.var for axis in axes} & {axis.var for axis in own}
    CHAIN.check(sch)


def test_padding_needs_a_value() -> None:
    sch = CHAIN.schedule()
    with pytest.raises(ScheduleError, match="would introduce padding"):
        sch.transform_layout("B", ("write", 0), lambda i, j: (i // 5, j, i % 5))


def test_padding_is_stored_with_the_elements() -> None:
    """As TVM 0.19 has it where loops store all elements in order; else loops of their own fill the padding."""

    @T.prim_func
    def doubled(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
        for i in range(14):
            with T.block("B"):
                vi = T.axis.spatial(14, i)
                B[vi] = A[vi] * 2

    sch = tvm.tir.Schedule(doubled)
    sch.transform_layout("B", "B", lambda i: (i // 4, i % 4), pad_value=lambda i, j: i * 100 + j)
    text = sch.mod.script()
    assert (
        "T.if_then_else(v_axis0 == 3 and 2 <= v_axis1, v_axis0 * 100 + v_axis1, A[v_axis0 * 4 + v_axis1] * 2)" in text
    )
    result = tvm.nd.array(np.zeros((4, 4), "int32"))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(np.arange(14, dtype="int32")), result)
    np.testing.assert_array_equal(result.numpy().ravel(), [*range(0, 28, 2), 302, 303])

    backwards = tvm.tir.Schedule(doubled)
    loop = backwards.get_loops("B")[0]
    backwards.parallel(loop)
    backwards.transform_layout("B", "B", lambda i: (i // 4, i % 4), pad_value=7)
    assert 'T.block("B_pad")' in backwards.mod.script()
    with pytest.raises(ScheduleError, match="elements of type int32, but the transformation fills padding"):
        tvm.tir.Schedule(doubled).transform_layout(
            "B", "B", lambda i: (i // 4, i % 4), pad_value=lambda i, j: T.float32(0)
        )


def test_separators_between_indices_are_a_step_of_their_own() -> None:
    sch = CHAIN.schedule()
    sch.transform_layout("B", ("write", 0), lambda i, j: (i // 4, j, IndexMap.AXIS_SEPARATOR, i % 4))
    assert "axis_separators=[2]" in sch.mod.script()
    assert [step.kind.name for step in sch.trace.insts][-2:] == ["TransformLayout", "SetAxisSeparator"]
    verify_trace_roundtrip(sch, CHAIN.schedule().mod)


def test_a_map_of_axes_is_one_to_one() -> None:
    with pytest.raises(ScheduleError, match="not bijective"):
        CHAIN.schedule().transform_block_layout("B", lambda i, j: (i + j,))
    with pytest.raises(ScheduleError, match="mixes data-parallel and reduction axes"):
        MATMUL.schedule().transform_block_layout("C", lambda i, j, k: (i, j * 24 + k))


def test_a_map_and_its_inverse_cancel_out() -> None:
    index_map = IndexMap.from_func(lambda i, j: (j // 4, i, j % 4), index_dtype="int32")
    assert [int(dim) for dim in index_map.map_shape([3, 8])] == [2, 3, 4]
    inverse = index_map.inverse([3, 8])
    assert inverse.is_equivalent_to(IndexMap.from_func(lambda a, b, c: (b, a * 4 + c), index_dtype="int32"))
    array = np.arange(24).reshape(3, 8)
    moved = index_map.map_ndarray(tvm.nd.array(array)).numpy()
    np.testing.assert_array_equal(moved, array.reshape(3, 2, 4).transpose(1, 0, 2))
    wide = IndexMap.from_func(lambda i, j: (j // 4, i, j % 4), index_dtype="int64")
    np.testing.assert_array_equal(wide.map_ndarray(tvm.nd.array(array)).numpy(), moved)
    with pytest.raises(ArgumentError, match="not bijective"):
        index_map.inverse([3, 7])


@pytest.mark.parametrize("extent", [1, 4, 7, 30, 32])
@pytest.mark.parametrize(
    "function",
    [
        lambda i: (i // 8, i % 8 // 2, i % 2),
        lambda i: (i // 4 // 3, i // 4 % 3, i % 4),
        lambda i: (i % 6, i // 6),
        lambda i: ((i + 1) // 4, (i + 1) % 4),
        lambda i: ((i + 5) // 2 % 4, (i + 5) // 8, (i + 5) % 2),
    ],
)
def test_what_is_free_is_what_no_element_is_mapped_to(extent: int, function: Callable[[Any], Any]) -> None:
    index_map = IndexMap.from_func(function, index_dtype="int32")
    inverse, free = index_map.non_surjective_inverse([extent])
    used = {tuple(int(x) for x in index_map.map_indices([i])) for i in range(extent)}
    again = [inverse.map_indices(index_map.map_indices([i]))[0] for i in range(extent)]
    assert [int(tvm.arith.Analyzer().simplify(i)) for i in again] == list(range(extent))
    shape = [int(dim) for dim in index_map.map_shape([extent])]
    for index in np.ndindex(*shape):
        values = dict(zip(inverse.initial_indices, (tvm.tir.const(i) for i in index), strict=True))
        is_free = tvm.arith.Analyzer().simplify(tvm.tir.stmt_functor.substitute(free, values))
        assert bool(int(is_free)) == (index not in used), (index, free)


def test_a_map_of_less_than_a_block_has_the_shape_of_the_block() -> None:
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4), index_dtype="int32")
    assert [int(dim) for dim in index_map.map_shape([3])] == [1, 4]
    inverse, free = index_map.non_surjective_inverse([3])
    assert inverse.is_equivalent_to(IndexMap.from_func(lambda i, j: (i * 4 + j,), index_dtype="int32"))
    tvm.ir.assert_structural_equal(free, inverse.initial_indices[1].equal(3))
    with pytest.raises(ArgumentError, match="not bijective"):
        index_map.inverse([3])


def test_the_inverse_keeps_indices_of_one_value() -> None:
    index_map = IndexMap.from_func(lambda i, j: (i, j // 4, j % 4), index_dtype="int32")
    inverse = index_map.inverse([1, 16])
    assert inverse.final_indices[0].same_as(inverse.initial_indices[0])


def test_steps_wider_than_one_count_as_a_whole() -> None:
    index_map = IndexMap.from_func(lambda i: (i * 2,), index_dtype="int32")
    assert [int(dim) for dim in index_map.map_shape([8])] == [16]
    assert [int(dim) for dim in IndexMap.from_func(lambda i: (7 - i,), index_dtype="int32").map_shape([8])] == [8]


def test_several_axes_are_regrouped_into_blocks_with_padding() -> None:
    index_map = IndexMap.from_func(lambda i, j: ((i * 5 + j) // 4, (i * 5 + j) % 4), index_dtype="int32")
    inverse, free = index_map.non_surjective_inverse([3, 5])
    for i, j in np.ndindex(3, 5):
        again = inverse.map_indices(index_map.map_indices([i, j]))
        assert [int(tvm.arith.Analyzer().simplify(x)) for x in again] == [i, j]
    is_free = [
        tvm.tir.stmt_functor.substitute(free, dict(zip(inverse.initial_indices, (3, k), strict=True))) for k in (2, 3)
    ]
    assert [bool(tvm.arith.Analyzer().simplify(condition)) for condition in is_free] == [False, True]


def test_the_text_of_a_map_is_read_back() -> None:
    index_map = IndexMap.from_func(lambda i, j: (j // 4 + 1, i * 2 - j, j % 4), index_dtype="int32")
    assert IndexMap.from_text(index_map.python_text).is_equivalent_to(index_map)
    clamped = IndexMap.from_text('lambda i: (T.Cast("int64", T.max(T.min(i, 7) - 1, 0)),)')
    assert str(clamped.final_indices[0]) == 'T.Cast("int64", T.max(T.min(i, 7) - 1, 0))'
    assert int(clamped.map_indices([9])[0]) == 6
    for text in ("lambda i: __import__('os')", "lambda i: i.real", "[1]"):
        with pytest.raises(ArgumentError, match="IndexMap"):
            IndexMap.from_text(text)


def test_the_text_of_a_map_of_long_indices_is_read_back() -> None:
    index_map = IndexMap.from_func(lambda i, j: (j // 4, i * 2 + j % 4, 0), index_dtype="int64")
    again = IndexMap.from_text(index_map.python_text, "int64")
    assert again.is_equivalent_to(index_map)
    assert {index.dtype for index in again.final_indices} == {"int64"}


@pytest.mark.parametrize("step", ["transform_layout", "transform_block_layout", "reindex_cache_read"])
def test_saved_maps_of_long_indices_are_applied_again(step: str) -> None:
    func = tvm.script.from_source("""
@T.prim_func
def main(A: T.Buffer((T.int64(6), T.int64(8))), C: T.Buffer((T.int64(6), T.int64(8)))):
    B = T.alloc_buffer((T.int64(6), T.int64(8)))
    for i, j in T.grid(T.int64(6), T.int64(8)):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(T.int64(6), T.int64(8)):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 2.0
""")
    sch = Schedule(func)
    if step == "transform_layout":
        sch.transform_layout("B", ("write", 0), lambda i, j: (j // 2, i, j % 2))
    elif step == "transform_block_layout":
        sch.transform_block_layout("B", lambda i, j: (i * 8 + j,))
    else:
        sch.reindex_cache_read("C", 0, "local", lambda i, j: (j, i))
    verify_trace_roundtrip(sch, func, text_format="json")
    tvm.ir.assert_structural_equal(tvm.script.from_source(sch.mod.script()), sch.mod)


@pytest.mark.parametrize(
    ("dtype", "pad_value", "error"),
    [
        ("int32", 1.5, "floating-point scalar"),
        ("float32", 0, "integer or boolean scalar"),
        ("int32", tvm.tir.const(0, "int8"), "which is of type int8"),
        ("int32", lambda i, j: tvm.tir.decl_buffer((4,), "int32", "table")[i], "loads from buffer table"),
    ],
)
def test_padding_is_of_the_buffer(dtype: str, pad_value: Any, error: str) -> None:
    func = tvm.script.from_source(f"""
@T.prim_func
def main(A: T.Buffer((14,), "{dtype}")):
    for i in range(14):
        with T.block("block"):
            vi = T.axis.spatial(14, i)
            A[vi] = T.{dtype}(42)
""")
    sch = tvm.tir.Schedule(func)
    with pytest.raises(tvm.TVMError, match=error):
        sch.transform_layout("block", "A", lambda i: (i // 4, i % 4), pad_value=pad_value)


def test_only_reads_or_writes_are_hidden() -> None:
    sch = MATMUL.schedule()
    with pytest.raises(ScheduleError, match="either be 'read' or 'write', got opaque"):
        sch.unsafe_hide_buffer_access("C", "opaque", [0])


def test_the_strings_of_a_saved_annotation_are_read_back() -> None:
    sch = MATMUL.schedule()
    sch.annotate(sch.get_block("C"), "hints", {"name": "wide", "sizes": [1, 2], "names": ["a", "b"]})
    again = MATMUL.schedule()
    tvm.tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    tvm.ir.assert_structural_equal(sch.mod, again.mod)


@pytest.mark.parametrize(
    "step",
    [
        lambda sch, block: sch.transform_layout(block, 0, "write", index_map=lambda i, j: (j, i)),
        lambda sch, block: sch.transform_layout(
            block, buffer_index=0, buffer_index_type="write", index_map=lambda i, j: (j, i)
        ),
    ],
)
def test_a_buffer_is_chosen_as_releases_before_0_10_did(step: Callable[[Any, Any], None]) -> None:
    old, new = Schedule(CHAIN.func), Schedule(CHAIN.func)
    step(old, old.get_block("B"))
    new.transform_layout("B", ("write", 0), lambda i, j: (j, i))
    tvm.ir.assert_structural_equal(old.mod, new.mod)


def test_arguments_that_do_not_fit_are_told_with_the_primitive() -> None:
    sch = Schedule(CHAIN.func)
    with pytest.raises(TypeError, match="split: missing a required argument: 'factors'"):
        sch.split(sch.get_loops("B")[0], factor=4)
