"""The registered intrinsics: what they say they compute is what they do, and each can be used."""

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.tir.intrinsics import arm_cpu, cuda, dot_product_common, hexagon, rocm, x86
from compiler.ir.error import BuildError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.origin import OriginTable, recording
from compiler.target.cpu.vector_registers import vector_bits
from compiler.tir.expressions.intrin_registry import TensorIntrin, register_to_be_made
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source

DOTS = {
    x86.VNNI_DOT_16x4_INTRIN: (16, 4, "uint8", "int8", "int32", "global"),
    x86.AVX512_DOT_16x4_INTRIN: (16, 4, "uint8", "int8", "int32", "global"),
    arm_cpu.ARM_DOT_4x4_i8_NEON_INTRIN: (4, 4, "int8", "int8", "int32", "global"),
    arm_cpu.ARM_DOT_4x4_i8_SDOT_INTRIN: (4, 4, "int8", "int8", "int32", "global"),
    arm_cpu.ARM_DOT_4x4_u8_UDOT_INTRIN: (4, 4, "uint8", "uint8", "uint32", "global"),
    arm_cpu.ARM_DOT_4x4_u8_HDOT_INTRIN: (4, 4, "uint8", "uint8", "int32", "global"),
    hexagon.VRMPY_u8u8i32_INTRIN: (32, 4, "uint8", "uint8", "int32", "global"),
    hexagon.VRMPY_u8i8i32_INTRIN: (32, 4, "uint8", "int8", "int32", "global"),
    hexagon.VRMPY_u8i8i32_VTCM_INTRIN: (32, 4, "uint8", "int8", "int32", "global.vtcm"),
    hexagon.VDMPY_i16i16i32_INTRIN: (32, 2, "int16", "int16", "int32", "global"),
    dot_product_common.DP4A_S8S8S32_INTRIN: (1, 4, "int8", "int8", "int32", "shared"),
    rocm.AMDGPU_SDOT4_INTRIN: (1, 4, "int8", "int8", "int32", "shared"),
}


def product(rows: int, depth: int, a: str, b: str, c: str) -> Schedule:
    """Return a schedule of ``C[m, n] += A[m, k] * B[n, k]``, where ``B`` is packed in tiles for a dot product."""
    tiles = (64 // rows, 24 // depth, rows, depth)
    loops = f"6, {tiles[0]}, {tiles[1]}, {rows}, {depth}"
    source = f"""
@T.prim_func
def main(A: T.Buffer((6, 24), "{a}"), B: T.Buffer({tiles}, "{b}"), C: T.Buffer((6, 64), "{c}")):
    for i, j_0, k_0, j_1, k_1 in T.grid({loops}):
        with T.block("C"):
            vi, vj_0, vk_0, vj_1, vk_1 = T.axis.remap("SSRSR", [i, j_0, k_0, j_1, k_1])
            with T.init():
                C[vi, vj_0 * {rows} + vj_1] = T.{c}(0)
            C[vi, vj_0 * {rows} + vj_1] = (
                C[vi, vj_0 * {rows} + vj_1]
                + T.cast(A[vi, vk_0 * {depth} + vk_1], "{c}") * T.cast(B[vj_0, vk_0, vj_1, vk_1], "{c}")
            )
"""
    sch = Schedule(from_source(source), debug_mask="all")
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    return sch


@pytest.mark.parametrize("name", [name for name, dot in DOTS.items() if dot[-1] == "global"])
def test_dot_products_take_the_place_of_loops(name: str) -> None:
    sch = product(*DOTS[name][:-1])
    sch.tensorize(sch.get_loops("C_update")[3], name)
    assert "call_llvm_pure_intrin" in sch.mod.script()
    replayed = product(*DOTS[name][:-1])
    replayed.tensorize(replayed.get_loops("C_update")[3], name)
    tvm.ir.assert_structural_equal(sch.mod, replayed.mod)


@pytest.mark.parametrize("name", [x86.VNNI_DOT_16x4_INTRIN, x86.AVX512_DOT_16x4_INTRIN])
def test_avx512_computes_what_numpy_does(name: str) -> None:
    target = tvm.target.Target("llvm -mcpu=cascadelake")
    sch = product(*DOTS[name][:-1])
    sch.tensorize(sch.get_loops("C_update")[3], name)
    built = tvm.build(sch.mod, target=target)
    host = tvm.target.Target("llvm")
    if vector_bits(host.triple, host.cpu, host.llvm_features) < 512:
        pytest.skip("no AVX-512 here")
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 127, (6, 24)).astype("uint8"), rng.integers(-100, 100, (64, 24)).astype("int8")
    c = tvm.nd.array(np.zeros((6, 64), "int32"))
    packed = b.reshape(4, 16, 6, 4).transpose(0, 2, 1, 3).copy()
    built(tvm.nd.array(a), tvm.nd.array(packed), c)
    np.testing.assert_array_equal(c.numpy(), a.astype("int32") @ b.astype("int32").T)


_ARM, _HEXAGON = "aarch64-linux-gnu -mcpu=neoverse-n1", "hexagon -mattr=+hvxv65,+hvx-length128b"


@pytest.mark.parametrize(
    ("name", "processor", "instruction"),
    [
        (x86.VNNI_DOT_16x4_INTRIN, "x86_64-linux-gnu -mcpu=cascadelake", "vpdpbusd"),
        (x86.AVX512_DOT_16x4_INTRIN, "x86_64-linux-gnu -mcpu=skylake-avx512", "vpmaddubsw"),
        (arm_cpu.ARM_DOT_4x4_i8_NEON_INTRIN, "aarch64-linux-gnu", "smull"),
        (arm_cpu.ARM_DOT_4x4_i8_SDOT_INTRIN, _ARM, "sdot"),
        (arm_cpu.ARM_DOT_4x4_u8_UDOT_INTRIN, _ARM, "udot"),
        (hexagon.VRMPY_u8i8i32_INTRIN, _HEXAGON, "vrmpybusv"),
        (hexagon.VDMPY_i16i16i32_INTRIN, _HEXAGON, "vdmpyhvsat"),
    ],
)
def test_each_processor_gets_its_instruction(name: str, processor: str, instruction: str) -> None:
    sch = product(*DOTS[name][:-1])
    sch.tensorize(sch.get_loops("C_update")[3], name)
    assert instruction in tvm.build(sch.mod, target=f"llvm -mtriple={processor}").get_source("asm")


def test_instructions_of_another_processor_are_refused() -> None:
    name = arm_cpu.ARM_DOT_4x4_i8_NEON_INTRIN
    sch = product(*DOTS[name][:-1])
    sch.tensorize(sch.get_loops("C_update")[3], name)
    with pytest.raises(BuildError, match="is an intrinsic of aarch64, the target is x86_64"):
        tvm.build(sch.mod, target="llvm -mtriple=x86_64-linux-gnu")


def test_a_processor_without_avx512_is_named() -> None:
    sch = product(*DOTS[x86.VNNI_DOT_16x4_INTRIN][:-1])
    sch.tensorize(sch.get_loops("C_update")[3], x86.VNNI_DOT_16x4_INTRIN)
    with pytest.raises(BuildError, match="needs a processor with AVX-512"):
        tvm.build(sch.mod, target="llvm -mtriple=x86_64-linux-gnu -mcpu=haswell")


def test_descriptions_compute_dot_products() -> None:
    for name, (rows, depth, a, b, c, scope) in DOTS.items():
        if scope == "shared":
            continue
        rng = np.random.default_rng(5)
        arrays = [
            rng.integers(0, 100, shape).astype(t) for shape, t in (((depth,), a), ((rows, depth), b), ((rows,), c))
        ]
        x, y, z = (tvm.nd.array(array) for array in arrays)
        tvm.build(TensorIntrin.get(name).desc, target="llvm")(x, y, z)
        expected = arrays[2].astype(c) + arrays[1].astype(c) @ arrays[0].astype(c)
        np.testing.assert_array_equal(z.numpy(), expected)


@pytest.mark.parametrize("trans_b", [False, True])
def test_fragments_of_tensor_cores(trans_b: bool) -> None:
    """Their schedules are in ``tests/compiler/target/test_tensor_cores.py``."""
    names = cuda.get_wmma_intrin_group("shared", "global", "float16", "float32", trans_b)
    assert all(TensorIntrin.get(name) is not None for name in names.values())
    assert names["compute"] in (
        cuda.WMMA_SYNC_16x16x16_f16f16f32_INTRIN,
        cuda.WMMA_SYNC_16x16x16_f16f16f32_TRANS_INTRIN,
    )


def test_an_intrinsic_is_made_once_when_it_is_asked_for_and_nobody_is_told():
    made = []

    def make():
        made.append(arm_cpu.get_dotprod_intrin("int8", "int32"))
        return made[-1]

    class Listener(Instrument):
        def program_parsed(self, program):
            raise AssertionError("it is not the user's program")

    register_to_be_made("test.made_late", make)
    assert not made
    with recording(OriginTable()) as table, instrumented(Listener()):
        first, second = (TensorIntrin.get("test.made_late") for _ in range(2))
        arm_cpu.get_dotprod_intrin("uint8", "int32")  # as modules of intrinsics do when they are imported
    assert first is second
    assert (first.desc, first.impl) == made[0]
    assert len(made) == 1
    assert not table.rows
    assert not first.desc.body.span


def test_a_star_imports_the_names_of_intrinsics_too() -> None:
    names: dict[str, object] = {}
    exec("from compiler.classic.tir.intrinsics.cuda import *", names)
    assert names["WMMA_FILL_16x16x16_F16_INTRIN"] == cuda.WMMA_FILL_16x16x16_F16_INTRIN
