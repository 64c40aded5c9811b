"""The intrinsics of ``ldmatrix`` and ``mma``: layouts as the PTX ISA says them, products as NumPy computes them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic.tir.intrinsics import cuda
from compiler.driver.emulate import emulate
from compiler.driver.sanitize import sanitize
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.target.cuda_tools import compile_cuda, missing_tools
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.layout.matrix_fragments import fragment_element, fragment_place
from compiler.tir.schedule import Schedule

DEPTHS = {"float16": 16, "int8": 32}


def test_fragments_lie_as_the_ptx_isa_says() -> None:
    """The formulas of the sections on m16n8k16 (f16) and m16n8k32 (8 bits): groupID is lane >> 2, the rest lane % 4."""
    for lane in range(32):
        group, rest = lane >> 2, lane % 4
        for i in range(8):
            row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
            assert fragment_element(lane, i, 16, 2) == (row, rest * 2 + (i & 1) + (8 if i >= 4 else 0))
        for i in range(16):
            row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
            assert fragment_element(lane, i, 16, 4) == (row, rest * 4 + (i & 3) + (16 if i >= 8 else 0))
        for i in range(4):
            assert fragment_element(lane, i, 8, 2) == (group, rest * 2 + (i & 1) + (8 if i >= 2 else 0))
            assert fragment_element(lane, i, 16, 2) == (group if i < 2 else group + 8, rest * 2 + (i & 1))


def test_places_and_elements_are_inverse() -> None:
    for rows, row in product((8, 16), (1, 2, 4)):
        for line, column in product(range(rows), range(8 * row)):
            assert fragment_element(*fragment_place(line, column, rows, row), rows, row) == (line, column)
    for i, j in product(range(16), range(16)):
        assert cuda.ldmatrix_32x8_to_shared_16x16_layout(*cuda.shared_16x16_to_ldmatrix_32x8_layout(i, j)) == (i, j)
    for layout, rows, columns in (
        (cuda.shared_16x32_to_ldmatrix_32x16_layout, 16, 32),
        (cuda.shared_32x16_to_ldmatrix_32x16_layout, 32, 16),
    ):
        places = {layout(i, j) for i, j in product(range(rows), range(columns))}
        assert places == set(product(range(32), range(16)))


def definition(size: int, a: str, c: str, trans_a: bool, trans_b: bool) -> object:
    """Return a product of square matrices."""
    A, B = (te.placeholder((size, size), a, name) for name in "AB")
    r = te.reduce_axis((0, size), "k")

    def term(i: object, j: object) -> object:
        x, y = A[(r, i) if trans_a else (i, r)], B[(j, r) if trans_b else (r, j)]
        return x * y if a == c else x.astype(c) * y.astype(c)

    C = te.compute((size, size), lambda i, j: te.sum(term(i, j), axis=r), name="C")
    return te.create_prim_func([A, B, C])


def layout_of(shape: tuple[int, int]) -> object:
    return {
        (16, 16): cuda.shared_16x16_to_ldmatrix_32x8_layout,
        (16, 32): cuda.shared_16x32_to_ldmatrix_32x16_layout,
        (32, 16): cuda.shared_32x16_to_ldmatrix_32x16_layout,
    }[shape]


def tiled(sch: Schedule, copy: object, shape: tuple[int, int], side: str) -> object:
    """Divide a copy into tiles, lay its matrix out in the registers of a warp, and return the loop of a tile."""
    x, y = sch.get_loops(copy)[-2:]
    (x_0, x_1), (y_0, y_1) = sch.split(x, [None, shape[0]]), sch.split(y, [None, shape[1]])
    sch.reorder(x_0, y_0, x_1, y_1)
    rows, columns = shape
    layout = layout_of(shape)
    sch.transform_layout(copy, (side, 0), lambda i, j: (i // rows, j // columns, *layout(i % rows, j % columns)))
    return x_1


def mma_module(
    size: int, a: str, c: str, trans_a: bool = False, trans_b: bool = False, scope: str = "shared", simple: bool = False
) -> IRModule:
    """Return a product of a warp for each two tiles beside each other, two of them to a block."""
    names = cuda.get_mma_intrin_group(scope, "global", a, c, trans_a, trans_b, simple)
    depth = DEPTHS[a]
    sch = Schedule(definition(size, a, c, trans_a, trans_b))
    loops = [sch.split(loop, [None, tile]) for loop, tile in zip(sch.get_loops("C"), (16, 16, depth), strict=True)]
    (i, _), (j, _), (k, _) = loops
    j, warp = sch.split(j, [None, 2])
    sch.reorder(i, j, warp, k, *[inner for _, inner in loops])
    sch.bind(i, "blockIdx.y")
    sch.bind(j, "blockIdx.x")
    sch.bind(warp, "threadIdx.y")
    block = sch.blockize(loops[0][1])
    for index in range(2):
        shared = sch.cache_read(block, index, scope)
        sch.compute_at(shared, k)
        _, y, x = sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 2, 32])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    loads = [sch.cache_read(block, index, "warp") for index in range(2)]
    store = sch.cache_write(block, 0, "warp")
    sch.reverse_compute_at(store, warp)
    shapes = [(depth, 16) if trans_a else (16, depth), (16, depth) if trans_b else (depth, 16)]
    starts = [tiled(sch, copy, shape, "write") for copy, shape in zip(loads, shapes, strict=True)]
    last = tiled(sch, store, (16, 16), "read")
    init = sch.decompose_reduction(block, k)
    places = {"load_a": starts[0], "load_b": starts[1], "compute": block, "init": init, "store": last}
    for step, place in places.items():
        sch.tensorize(place, names[step])
    return sch.mod


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("a", "c", "trans_a", "trans_b", "scope", "simple"),
    [
        ("float16", "float32", True, True, "shared.dyn", True),
        ("float16", "float16", False, True, "shared", False),
        ("int8", "int32", False, False, "shared", False),
        ("int8", "int32", False, True, "shared", True),
    ],
)
def test_products_equal_those_of_numpy(a: str, c: str, trans_a: bool, trans_b: bool, scope: str, simple: bool) -> None:
    module = mma_module(32, a, c, trans_a, trans_b, scope, simple)
    rng = np.random.default_rng(11)
    left, right = ((rng.standard_normal((32, 32)) * 4).astype(a) for _ in range(2))
    exact = (left.T if trans_a else left).astype("float64") @ (right.T if trans_b else right).astype("float64")
    result = tvm.nd.array(np.zeros((32, 32), c))
    emulate(module, target="cuda")(tvm.nd.array(left), tvm.nd.array(right), result)
    tolerance = {"float16": 2e-3, "float32": 1e-5, "int32": 0}[c]
    np.testing.assert_allclose(result.numpy(), exact, tolerance, tolerance * np.abs(exact).max())
    source = tvm.build(module, target="cuda").imported_modules[0].get_source()
    assert source.count("mma.sync.aligned.m16n8k") == 2
    assert source.count("ldmatrix.sync.aligned.m8n8.x4") == (1 if a == "int8" and not trans_b else 2)


@pytest.mark.sample(1)
@pytest.mark.parametrize("stages", [[0, 0, 1, 1, 1], [0, 0, 0, 0, 1]])
def test_products_of_iterations_that_overlap(stages: list[int]) -> None:
    sch = Schedule(mma_module(64, "float16", "float32"))
    steps = sch.get_loops("A_shared")[3]
    sch.annotate(steps, "software_pipeline_stage", stages)
    sch.annotate(steps, "software_pipeline_order", [0, 1, 2, 3, 4])
    rng = np.random.default_rng(11)
    left, right = (rng.standard_normal((64, 64)).astype("float16") for _ in range(2))
    result = tvm.nd.array(np.zeros((64, 64), "float32"))
    emulate(sch.mod, target="cuda")(tvm.nd.array(left), tvm.nd.array(right), result)
    np.testing.assert_allclose(result.numpy(), left.astype("float64") @ right.astype("float64"), 1e-5, 1e-4)


def test_products_are_machine_instructions_without_faults() -> None:
    module = mma_module(32, "float16", "float32")
    rng = np.random.default_rng(13)
    left, right = (rng.standard_normal((32, 32)).astype("float16") for _ in range(2))
    result = np.zeros((32, 32), "float32")
    faults = sanitize(module, target="cuda", arrays=[left, right, result])
    np.testing.assert_allclose(result, left.astype("float32") @ right.astype("float32"), 1e-4, 1e-4)
    assert faults.complete
    assert not faults.reports
    if not missing_tools():
        report = compile_cuda(tvm.build(module, target="cuda").imported_modules[0].get_source(), "sm_80")
        text = "\n".join(line.text for line in report.sass)
        assert "HMMA.16816.F32" in text
        assert "LDSM.16.MT88.4" in text, "the second operand is transposed while it is loaded"
        assert report.kernels[0].resources.spill_store_bytes == 0


def test_groups_name_registered_intrinsics() -> None:
    group = cuda.get_mma_intrin_group("shared.dyn", "shared.dyn", "float16", "float32", False, True, True, "float16")
    assert group == {
        "init": "mma_fill_16x16_f32",
        "load_a": "mma_ldmatrix_f16_a_dyn",
        "load_b": "mma_ldmatrix_f16_b_trans_dyn",
        "compute": "mma_f16f16f32_trans_b",
        "store": "mma_store_16x16_f16_shared_dyn_simple_",
    }
    assert all(TensorIntrin.get(name) is not None for name in group.values())
    assert cuda.LDMATRIX_f16_B_TRANS_DYN_INTRIN == "mma_ldmatrix_f16_b_trans_dyn"
    assert cuda.MMA_i8i8i32_TRANS_B_INTRIN == "mma_i8i8i32_trans_b"
    assert cuda.MMA_store_16x16_f32_shared_dyn_INTRIN_SIMPLE == "mma_store_16x16_f32_shared_dyn_simple_"
    with pytest.raises(ArgumentError, match="no instruction multiplies int8 and adds to float32"):
        cuda.get_mma_intrin_group("shared", "global", "int8", "float32", False, False)
    with pytest.raises(ArgumentError, match="the first operand of int8 cannot be transposed"):
        cuda.get_ldmatrix_intrin(32, "int8", "A", True)
