"""Intrinsics of matrices take the place of loops: SIMD groups of Metal, numbers of four bits, the DMA of Hexagon."""

import pytest

import compiler as tvm
from compiler.classic.tir.intrinsics import cuda, metal, rocm
from compiler.ir.error import ArgumentError
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source

PRODUCT = """
@T.prim_func
def main(
    A: T.Buffer((16, 16), "{dtype}"), B: T.Buffer((16, 16), "{dtype}"), C: T.Buffer((16, 16), "{dtype}")
):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{dtype}(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]
"""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_products_by_simd_groups(dtype: str) -> None:
    sch = Schedule(from_source(PRODUCT.format(dtype=dtype)))
    product = sch.get_block("C")
    names = metal.get_simdgroup_intrin_group("shared", "global", dtype)
    tiles = [sch.split(loop, [None, 8]) for loop in sch.get_loops(product)]
    sch.reorder(*(outer for outer, _ in tiles), *(inner for _, inner in tiles))
    copies = {names["store"]: sch.cache_write(product, 0, "metal.simdgroup")}
    for index, load in enumerate((names["load_a"], names["load_b"])):
        sch.cache_read(product, index, "shared")
        copy = sch.cache_read(product, index, "metal.simdgroup")
        rows, columns = (sch.split(loop, [None, 8]) for loop in sch.get_loops(copy)[-2:])
        sch.reorder(rows[0], columns[0], rows[1], columns[1])
        sch.tensorize(rows[1], load)
    for name, copy in copies.items():
        rows, columns = (sch.split(loop, [None, 8]) for loop in sch.get_loops(copy)[-2:])
        sch.reorder(rows[0], columns[0], rows[1], columns[1])
        sch.tensorize(rows[1], name)
    init = sch.decompose_reduction(product, tiles[2][0])
    sch.tensorize(sch.get_loops(init)[-2], names["init"])
    sch.tensorize(sch.get_loops(product)[-3], names["compute"])
    text = sch.mod.script()
    for call in ("make_filled_simdgroup_matrix", "simdgroup_load", "simdgroup_store", "simdgroup_multiply_accumulate"):
        assert f"T.{call}(" in text


def test_a_transposed_load_turns_rows_into_columns() -> None:
    load = TensorIntrin.get(metal.SIMDGROUP_LOAD_8x8x8_f16_SHARED_TRANS_INTRIN)
    assert load is not None
    assert "C[vjj, vii] = A[vii, vjj]" in load.desc.script()
    assert load.impl.script().count("T.bool(True)") == 1


def test_simd_groups_have_no_integers() -> None:
    with pytest.raises(ArgumentError, match="no products of int8 from shared to global"):
        metal.get_simdgroup_intrin_group("shared", "global", "int8")


def test_products_of_four_bits() -> None:
    group = cuda.get_wmma_intrin_group("shared", "global", "int4", "int32", trans_b=True)
    assert all(TensorIntrin.get(name) is not None for name in group.values())
    assert cuda.WMMA_SYNC_8x8x32_s4s4s32_TRANS_INTRIN == group["compute"]
    sync = TensorIntrin.get(group["compute"])
    assert sync is not None
    assert "A[0:8, 0:32], B[0:8, 0:32]" in sync.desc.script()


@pytest.mark.parametrize(
    ("place", "element", "shape"),
    [
        ("shared_16x4_to_local_64x1_layout_A", "thread_id_shared_access_64x1_to_16x4_layout_A", (16, 4)),
        ("shared_4x16_to_local_64x1_layout_B", "thread_id_shared_access_64x1_to_4x16_layout_B", (4, 16)),
        ("shared_16x16_to_local_64x4_layout_A", "thread_id_shared_access_64x4_to_16x16_layout_A", (16, 16)),
        ("shared_16x16_to_local_64x4_layout_B", "thread_id_shared_access_64x4_to_16x16_layout_B", (16, 16)),
        ("shared_16x16_to_local_64x4_layout_C", "thread_id_shared_access_64x4_to_16x16_layout_C", (16, 16)),
    ],
)
def test_layouts_of_matrix_cores_and_their_inverses(place: str, element: str, shape: tuple[int, int]) -> None:
    for i in range(shape[0]):
        for j in range(shape[1]):
            assert getattr(rocm, element)(*getattr(rocm, place)(i, j)) == (i, j)


def test_numbers_of_fragments() -> None:
    offset, step = tvm.tir.Var("offset", "int32"), tvm.tir.Var("step", "int32")
    view = tvm.tir.decl_buffer((16, 8), strides=[step, 1], elem_offset=offset)
    wanted = offset // step // 16 * (step // 8) + offset % step // 8
    tvm.ir.assert_structural_equal(cuda.get_wmma_fragment_index(view, step, 16, 8), wanted)
