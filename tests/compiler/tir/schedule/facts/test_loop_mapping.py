"""Loops that an intrinsic could carry out, tiles of its size, and layouts in the order of accesses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from compiler.classic.tir.intrinsics.x86 import VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc
from compiler.ir.expr.primexpr import PrimExpr, Var, const
from compiler.tir.interpreter import interpret
from compiler.tir.schedule import Schedule
from compiler.tir.schedule.analysis import TensorizeInfo, get_tensorize_loop_mapping, suggest_index_map
from compiler.tir.schedule.transform import tile_with_tensor_intrin
from compiler.tir.script import from_source
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, For, ForKind

II, JJ, KK = (Var(name, "int32") for name in "ijk")
PRODUCT = """
@T.prim_func
def main(A: T.Buffer((SIZE, SIZE), "uint8"), B: T.Buffer((SIZE, SIZE), "int8"), C: T.Buffer((SIZE, SIZE), "int32")):
    for i, j, k in T.grid(SIZE, SIZE, SIZE):
        with T.block("compute"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])
"""


def _product(size: int) -> PrimFunc:
    func: PrimFunc = from_source(PRODUCT.replace("SIZE", str(size)))
    return func


def _mapping(size: int, allow_padding: bool = False) -> tuple[Schedule, TensorizeInfo | None]:
    sch = Schedule(_product(size))
    block = sch.get_block("compute")
    return sch, get_tensorize_loop_mapping(sch, block, dot_product_16x4_u8i8i32_desc, allow_padding)


def test_innermost_axes_of_each_kind_stand_for_the_intrinsics() -> None:
    _, info = _mapping(32)
    assert info is not None
    pairs = {sref.stmt.loop_var.name: loop for sref, loop in info.loop_map.items()}
    assert {name: int(loop.extent) for name, loop in pairs.items()} == {"j": 16, "k": 4}
    assert [info.desc_loop_indexer[pairs[name]] for name in "jk"] == [0, 1]
    assert info.block_iter_paddings is None


def test_extents_that_do_not_fit_need_padding() -> None:
    assert _mapping(18)[1] is None
    padded = _mapping(18, allow_padding=True)[1]
    assert padded is not None
    assert padded.block_iter_paddings == [1, 16, 4]


@pytest.mark.parametrize(("size", "padding"), [(32, False), (18, True)])
def test_tiles_compute_the_same(size: int, padding: bool) -> None:
    sch = Schedule(_product(size))
    block = sch.get_block("compute")
    tile = tile_with_tensor_intrin(sch, block, VNNI_DOT_16x4_INTRIN, padding)
    assert tile is not None
    inner = [int(sch.get(loop).extent) for loop in sch.get_loops(block)[-2:]]
    assert inner == [16, 4]
    random = np.random.default_rng(0)
    a, b = random.integers(0, 9, (size, size), "uint8"), random.integers(-9, 9, (size, size), "int8")
    c = np.zeros((size, size), "int32")
    interpret(sch.mod["main"], [a, b, c])
    np.testing.assert_array_equal(c, a.astype("int32") @ b.T.astype("int32"))


def test_unknown_intrinsics_are_refused() -> None:
    sch = Schedule(_product(16))
    with pytest.raises(ValueError, match="is not registered"):
        tile_with_tensor_intrin(sch, sch.get_block("compute"), "nothing")
    odd = Schedule(_product(18))
    assert tile_with_tensor_intrin(odd, odd.get_block("compute"), VNNI_DOT_16x4_INTRIN) is None


@pytest.mark.parametrize(
    ("shape", "indices", "loops"),
    [
        ((8, 256), (II // 16 * 4 + JJ // 16, II % 16 * 16 + JJ % 16), {II: 32, JJ: 64}),
        ((8,), (JJ % 4 * 2 + II,), {II: 2, JJ: 32}),
        ((64, 64), (JJ, II), {II: 64, JJ: 64}),
        ((16, 16), (II * 4 + JJ % 4, JJ // 4 * 4 + KK), {II: 4, JJ: 16, KK: 4}),
    ],
)
def test_suggested_layouts_have_the_order_of_accesses(
    shape: tuple[int, ...], indices: Sequence[PrimExpr], loops: dict[Var, int]
) -> None:
    nest = [For(var, const(0), const(extent), ForKind.SERIAL, Evaluate(0)) for var, extent in loops.items()]
    suggested = suggest_index_map(decl_buffer(shape), indices, nest, const(True))
    assert suggested is not None
    new_shape = [int(extent) for extent in suggested.map_shape(shape)]
    values = np.indices(list(loops.values())).reshape(len(loops), -1)
    scope = {var.name: axis for var, axis in zip(loops, values, strict=True)}
    old = [eval(str(index), {}, scope) for index in indices]
    names = {var.name: index for var, index in zip(suggested.initial_indices, old, strict=True)}
    new = [eval(str(index), {}, names) for index in suggested.final_indices]
    offsets = np.ravel_multi_index(np.broadcast_arrays(*new), new_shape)
    firsts = offsets[np.sort(np.unique(offsets, return_index=True)[1])]
    assert (np.diff(firsts) > 0).all()


def test_no_layout_where_accesses_are_not_affine() -> None:
    loops = [For(II, const(0), const(4), ForKind.SERIAL, Evaluate(0))]
    assert suggest_index_map(decl_buffer((16,)), [II * II], loops, const(True)) is None
