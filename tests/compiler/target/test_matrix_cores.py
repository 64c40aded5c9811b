"""Matrix cores of AMD: the registered intrinsics, machine instructions of schedules, and processors without them."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.tir.intrinsics import mfma, rocm
from compiler.ir.error import ArgumentError, BuildError
from compiler.ir.module import IRModule
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source

SOURCE = """
@T.prim_func
def main(A: T.Buffer((32, 32), "{a}"), B: T.Buffer((32, 32), "{a}"), C: T.Buffer((32, 32), "{c}")):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{c}(0)
            C[vi, vj] = C[vi, vj] + {product}
"""
FORMS = {
    "f16f16f32": ("float16", "float32", 16),
    "f32f32f32": ("float32", "float32", 4),
    "s8s8s32": ("int8", "int32", 16),
}
"""By the types in the name of a product: the data types of operands and result, and the depth."""
OPERANDS = {
    4: (rocm.shared_16x4_to_local_64x1_layout_A, rocm.shared_4x16_to_local_64x1_layout_B),
    16: (rocm.shared_16x16_to_local_64x4_layout_A, rocm.shared_16x16_to_local_64x4_layout_B),
}
"""By the depth: where the elements of the operands lie."""


def names_of(form: str) -> dict[str, str]:
    """Return the names of the intrinsics of a product, by what each does."""
    a, c, depth = form[: len(form[:-3]) // 2], form[-3:], FORMS[form][2]
    return {
        "fill": getattr(rocm, f"ROCM_MFMA_fill_16x16_{c.replace('s', 'i')}_INTRIN"),
        "a": getattr(rocm, f"ROCM_MFMA_LOAD_16x{depth}_A_SHARED_{a}_INTRIN"),
        "b": getattr(rocm, f"ROCM_MFMA_LOAD_16x{depth}_B_SHARED_{a}_INTRIN"),
        "product": getattr(rocm, f"ROCM_MFMA_{form}_INTRIN"),
        "store": getattr(rocm, f"ROCM_MFMA_STORE_16x16_{c}_INTRIN"),
    }


@cache
def tensorized(form: str) -> IRModule:
    """Return a product of matrices of four blocks, each a wave, by the intrinsics."""
    (a, c, depth), names = FORMS[form], names_of(form)
    factors = ["A[vi, vk]", "B[vk, vj]"] if a == c else [f'T.cast({x}, "{c}")' for x in ("A[vi, vk]", "B[vk, vj]")]
    sch = Schedule(from_source(SOURCE.format(a=a, c=c, product=" * ".join(factors))))
    sizes = (16, 16, depth)
    (i, ii), (j, jj), (k, kk) = (sch.split(loop, [None, s]) for loop, s in zip(sch.get_loops("C"), sizes, strict=True))
    sch.reorder(i, j, k, ii, jj, kk)
    block = sch.get_block("C")
    sch.bind(i, "blockIdx.y")
    sch.bind(j, "blockIdx.x")
    result = sch.cache_write(block, 0, "warp")
    sch.reverse_compute_at(result, j)
    loads = []
    for index in (0, 1):
        shared, load = sch.cache_read(block, index, "shared"), sch.cache_read(block, index, "warp")
        sch.compute_at(load, k)
        sch.compute_at(shared, k)
        sch.bind(sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 64])[1], "threadIdx.x")
        loads.append(load)
    of_a, of_b = OPERANDS[depth]
    of_c = rocm.shared_16x16_to_local_64x4_layout_C
    sch.transform_layout(loads[0], ("write", 0), lambda i, j: (i // 16, j // depth, *of_a(i % 16, j % depth)))
    sch.transform_layout(loads[1], ("write", 0), lambda i, j: (i // depth, j // 16, *of_b(i % depth, j % 16)))
    sch.transform_layout(result, ("read", 0), lambda i, j: (i // 16, j // 16, *of_c(i % 16, j % 16)))
    init = sch.decompose_reduction(block, k)
    for each, name in ((init, "fill"), (loads[0], "a"), (loads[1], "b"), (result, "store")):
        sch.tensorize(sch.get_loops(each)[-2], names[name])
    sch.tensorize(sch.get_loops(block)[-3], names["product"])
    return sch.mod


@pytest.mark.parametrize(
    ("form", "processor", "instruction"),
    [
        ("f16f16f32", "gfx90a", "v_mfma_f32_16x16x16f16"),
        ("f16f16f32", "gfx942", "v_mfma_f32_16x16x16_f16"),
        ("f32f32f32", "gfx942", "v_mfma_f32_16x16x4_f32"),
        ("s8s8s32", "gfx90a", "v_mfma_i32_16x16x16i8"),
    ],
)
def test_products_become_machine_instructions(form: str, processor: str, instruction: str) -> None:
    (kernels,) = tvm.build(tensorized(form), target=f"rocm -mcpu={processor}").imported_modules
    assert kernels.get_source().count(f"{instruction} ") == 32 // FORMS[form][2]


@pytest.mark.parametrize(
    ("form", "processor", "needed"),
    [
        ("f16f16f32", "", "needs matrix cores, as gfx90a and gfx942 have, the target is gfx900: name one by -mcpu"),
        ("f32f32f32", "gfx1100", "needs matrix cores, as gfx90a and gfx942 have, the target is gfx1100"),
        ("s8s8s32", "gfx942", "llvm.amdgcn.mfma.i32.16x16x16i8 needs gfx908 or gfx90a, the target is gfx942"),
    ],
)
def test_a_processor_without_the_instruction_is_named(form: str, processor: str, needed: str) -> None:
    with pytest.raises(BuildError, match=re.escape(needed)):
        tvm.build(tensorized(form), target=f"rocm -mcpu={processor}" if processor else "rocm")


def test_dot_products_need_a_later_processor_than_the_first() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    C[tx] = T.call_llvm_pure_intrin("int32", "llvm.amdgcn.sdot4", A[tx], A[63 - tx], T.int32(0), T.bool(True))
"""
    (kernels,) = tvm.build(from_source(source), target="rocm -mcpu=gfx906").imported_modules
    assert "v_dot4_i32_i8 " in kernels.get_source()
    with pytest.raises(BuildError, match=r"sdot4 needs gfx906 or a later processor, the target is gfx900"):
        tvm.build(from_source(source), target="rocm")


@pytest.mark.parametrize("form", FORMS)
def test_descriptions_compute_products_of_matrices(form: str) -> None:
    (a, c, depth), names = FORMS[form], names_of(form)
    rng, elements = np.random.default_rng(7), depth // 4
    left, right = rng.integers(-9, 9, (16, depth)).astype(a), rng.integers(-9, 9, (depth, 16)).astype(a)
    registers = [np.zeros((64, elements), a), np.zeros((64, elements), a), np.ones((64, 4), c)]
    result = np.zeros((16, 16), c)

    def run(name: str, *arrays: np.ndarray) -> None:
        tvm.build(TensorIntrin.get(names[name]).desc, target="llvm -opt-level=0")(*arrays)

    run("fill", registers[2])
    run("a", registers[0], left)
    run("b", registers[1], right)
    run("product", *registers)
    run("store", registers[2], result)
    np.testing.assert_array_equal(result, left.astype(c) @ right.astype(c))


def test_there_are_no_products_of_other_types() -> None:
    with pytest.raises(ArgumentError, match=r"products of 8 of float16 to float32, only of 4 of float32 to float32,"):
        rocm.get_mfma_intrin(8, "float16", "float32")
    with pytest.raises(ArgumentError, match="operands must not be transposed"):
        rocm.get_mfma_load_intrin(16, "float16", transposed=True)
    with pytest.raises(ArgumentError, match="4 elements a thread of float32 or int32, got 8 of float32"):
        mfma.get_mfma_store_intrin(8)
    with pytest.raises(AttributeError, match="no attribute 'ROCM_MFMA_f64f64f64_INTRIN'"):
        _ = rocm.ROCM_MFMA_f64f64f64_INTRIN
