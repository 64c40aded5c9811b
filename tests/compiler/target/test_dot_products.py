"""Dot products of four numbers of 8 bits: NumPy's results under emulation, and the instruction in CUDA C and SASS."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.tir.intrinsics import dot_product_common
from compiler.driver.emulate import emulate
from compiler.driver.sanitize import sanitize
from compiler.ir.module import IRModule
from compiler.target.cuda_tools import compile_cuda, missing_tools
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source
from compiler.tir.warp_access import explain_kernels

PRODUCT = """
@T.prim_func
def main(A: T.Buffer((8, 16), "{a}"), B: T.Buffer((16, 16), "{b}"), C: T.Buffer((8, 16), "{c}")):
    for i, j, k in T.grid(8, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{c}(0)
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "{c}") * T.cast(B[vj, vk], "{c}")
"""
INTRINSICS = {
    "s8s8s32": ("int8", "int8", "int32"),
    "u8u8u32": ("uint8", "uint8", "uint32"),
    "s8u8s32": ("int8", "uint8", "int32"),
}


def product(types: str) -> IRModule:
    """Return a product of matrices whose rows of four are dot products, operands in shared memory."""
    a, b, c = INTRINSICS[types]
    sch = Schedule(from_source(PRODUCT.format(a=a, b=b, c=c)))
    block = sch.get_block("C")
    rows, columns, depth = sch.get_loops(block)
    steps, four = sch.split(depth, [None, 4])
    sch.bind(rows, "blockIdx.x")
    sch.bind(columns, "threadIdx.x")
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), columns)
    for operand in (0, 1):
        shared = sch.cache_read(block, operand, "shared")
        sch.compute_at(shared, rows)
        _, thread = sch.split(sch.fuse(*sch.get_loops(shared)[1:]), [None, 16])
        sch.bind(thread, "threadIdx.x")
    sch.decompose_reduction(block, steps)
    sch.tensorize(four, getattr(dot_product_common, f"DP4A_{types.upper()}_INTRIN"))
    return sch.mod


@pytest.mark.parametrize("types", INTRINSICS)
def test_products_are_those_of_numpy(types: str) -> None:
    a, b, c = INTRINSICS[types]
    rng = np.random.default_rng(0)
    x, y = (
        rng.integers(np.iinfo(t).min, np.iinfo(t).max + 1, shape).astype(t)
        for t, shape in ((a, (8, 16)), (b, (16, 16)))
    )
    emulated, checked = np.zeros((8, 16), c), np.zeros((8, 16), c)
    module = product(types)
    emulate(module, target="cuda")(x, y, emulated)
    result = sanitize(module, target="cuda", arrays=[x, y, checked])
    assert result.complete
    assert not result.reports
    expected = x.astype("int64") @ y.astype("int64").T
    np.testing.assert_array_equal(emulated, expected)
    np.testing.assert_array_equal(checked, expected)


def test_the_instruction_where_there_is_one() -> None:
    """CUDA multiplies numbers that are both with a sign, or both without one; others are multiplied one by one."""
    (kernels,) = tvm.build(product("s8s8s32"), target="cuda").imported_modules
    assert "__dp4a(*(const int*)&A_shared[" in kernels.get_source()
    assert explain_kernels(kernels.kernels)[0].flops == 2 * 8 * 16 * 16
    assert "__dp4a" not in tvm.build(product("s8u8s32"), target="cuda").imported_modules[0].get_source()
    assert "__dp4a" not in tvm.build(product("s8s8s32"), target="opencl").imported_modules[0].get_source()
    if not missing_tools():
        assert any("IDP.4A.S8.S8" in line.text for line in compile_cuda(kernels.get_source()).sass)
