"""Target strings, and the machine code of other machines."""

from __future__ import annotations

import re

import pytest

import compiler as tvm
from compiler.ir.error import BuildError, TargetError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.target.assembly_targets import assembly_targets
from compiler.target.codegen import llvm_get_vector_width
from compiler.target.codegen.llvm import assembly_summary, codegen, runtime_module
from compiler.target.cpu import host_check
from compiler.target.llvm_machine import target_machine
from compiler.target.target import Target
from tests.compiler.target.kernels import elementwise


def test_options_are_read_and_written_back() -> None:
    target = Target("llvm -mcpu=cascadelake -mattr=+avx2,-prefer-256-bit -opt-level=2 -num-cores 4")
    assert (target.kind, target.cpu, target.opt_level, target.num_cores) == ("llvm", "cascadelake", 2, 4)
    assert target.mattr == ["+avx2", "-prefer-256-bit"]
    assert Target(str(target)) == target
    assert Target(target.export()) == target


def test_this_machine_is_the_default() -> None:
    assert Target("llvm").is_host
    assert Target("llvm").cpu == Target("llvm -mcpu=native").cpu != ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lvm", "did you mean 'llvm'"),
        ("llvm -mcp=x", "did you mean -mcpu"),
        ("llvm -opt-level=9", "-opt-level must be 0 to 3"),
        ("llvm -mattr=avx2", "+avx2"),
        ("llvm -mcpu=native -mtriple=aarch64-linux-gnu", "-mcpu=native is this machine"),
        ("llvm extra", "options begin with '-'"),
        ("llvm 'open", "not well-formed"),
        (7, "expected a string"),
    ],
)
def test_errors_name_what_is_wrong(text: object, message: str) -> None:
    with pytest.raises(TargetError, match=re.escape(message)):
        Target(text)


def test_kinds_are_listed() -> None:
    assert Target.list_kinds()[0] == "llvm"
    assert all(Target(kind).kind == kind for kind in Target.list_kinds())


def test_scopes_nest() -> None:
    assert Target.current() is None
    with Target("llvm -mcpu=haswell") as outer, Target("llvm") as inner:
        assert Target.current() is inner
        assert outer.cpu == "haswell"
    with pytest.raises(TargetError, match="there is no current target"):
        Target.current(allow_none=False)


def scaled(x: PrimExpr, y: PrimExpr, z: PrimExpr) -> PrimExpr:
    return x * y + z


VECTOR_FMA = {
    "x86-64-sse2": r"mulps.*xmm",
    "x86-64-avx2": r"vfmadd\w+ps.*ymm",
    "x86-64-avx512": r"vfmadd\w+ps.*zmm",
    "aarch64-neon": r"fmla\s+v\d+\.4s",
    "riscv64-v": r"vfmacc\.vv|vfmadd\.vv",
    "wasm32-simd128": r"f32x4\.relaxed_madd",
}


@pytest.mark.parametrize("key", VECTOR_FMA)
def test_vectors_use_the_machine(key: str) -> None:
    module = elementwise(scaled, ["float32"] * 3, "float32", 1024, 16)
    assembly = codegen(module, assembly_targets()[key].target).assembly
    assert re.search(VECTOR_FMA[key], assembly)
    summary = assembly_summary(assembly)
    assert summary["vector bits"] == VECTOR_BITS[key]
    assert (summary["fma"] != 0) == (key != "x86-64-sse2")


VECTOR_BITS = {
    "x86-64-sse2": 128,
    "x86-64-avx2": 256,
    "x86-64-avx512": 512,
    "aarch64-neon": 128,
    "riscv64-v": 256,
    "wasm32-simd128": 128,
}


@pytest.mark.parametrize("key", VECTOR_BITS)
def test_widths_of_vectors(key: str) -> None:
    assert llvm_get_vector_width(assembly_targets()[key].target) == VECTOR_BITS[key]
    with assembly_targets()[key].target:
        assert llvm_get_vector_width() == VECTOR_BITS[key]


def test_targets_say_what_schedules_ask() -> None:
    wide, narrow = (assembly_targets()[f"x86-64-{width}"].target for width in ("avx512", "avx2"))
    assert [t.vector_width("float32") for t in (wide, narrow)] == [16, 8]
    assert [t.vector_width(dtype) for t, dtype in ((wide, "int8"), (narrow, "float64"))] == [64, 4]
    assert [t.vector_registers for t in (wide, narrow)] == [32, 16]
    assert assembly_targets()["aarch64-neon"].target.vector_registers == 32
    without = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -mattr=-avx512f")
    assert (without.vector_bits, without.vector_registers) == (256, 16)
    assert (Target("cuda").vector_bits, Target("cuda").vector_width("float32")) == (0, 1)
    assert (Target("cuda").max_num_threads, Target("cuda").thread_warp_size) == (1024, 32)
    assert Target("cuda -max_num_threads=512").max_num_threads == 512
    assert Target("llvm").max_num_threads == 1


def test_a_target_is_found_where_none_is_given() -> None:
    assert Target.target_or_current(None) == Target("llvm")
    with Target("llvm -mcpu=haswell") as target:
        assert Target.target_or_current(None) is target
        assert Target.target_or_current("llvm -mcpu=x86-64").cpu == "x86-64"
    assert Target.target_or_current(target) is target


def test_every_selectable_target_is_tested() -> None:
    assert set(assembly_targets()) == {"host", *VECTOR_FMA}


def test_code_for_another_machine_does_not_run() -> None:
    key = "aarch64-neon" if Target("llvm").triple.startswith("x86") else "x86-64-avx2"
    module = runtime_module(
        codegen(elementwise(scaled, ["float32"] * 3, "float32", 64), assembly_targets()[key].target)
    )
    from compiler.runtime.arrays.ndarray import empty

    with pytest.raises(BuildError, match="cannot run on this machine"):
        module(*(empty((64,)) for _ in range(4)))


def test_code_that_this_cpu_cannot_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_check, "host_features", lambda: frozenset({"avx", "avx2", "fma"}))
    wide, narrow = (assembly_targets()[f"x86-64-{width}"].target for width in ("avx512", "avx2"))
    module = elementwise(scaled, ["float32"] * 3, "float32", 1024, 16)
    host_check.require_host_can_run(narrow, codegen(module, narrow).assembly)
    with pytest.raises(BuildError, match="uses AVX512F, which this CPU"):
        host_check.require_host_can_run(wide, codegen(module, wide).assembly)
    amd = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
    with pytest.raises(BuildError, match="uses SSE4A, which this CPU"):
        host_check.require_host_can_run(amd, "\tinsertq\t$0, $24, %xmm0, %xmm1\n")


@pytest.mark.parametrize(
    ("line", "feature"),
    [
        ("\tmovq\t%rax, %r19\n", "NDD"),
        ("\tsubq\t%rdx, %rsi, %rax\n", "NDD"),
        ("\t{nf}\taddq\t$8, %rsi\n", "NDD"),
        ("\tvfmadd231ph\t%ymm0, %ymm1, %ymm2\n", "AVX512FP16"),
        ("\tvcvtneps2bf16\t%ymm0, %xmm0\n", "AVX512BF16"),
        ("\tvpermi2b\t%ymm0, %ymm1, %ymm2\n", "AVX512VBMI"),
        ("\tvpshldw\t$3, %ymm0, %ymm1, %ymm2\n", "AVX512VBMI2"),
        ("\tvpopcntd\t%ymm0, %ymm1\n", "AVX512VPOPCNTDQ"),
        ("\t{vex}\tvpdpbusd\t%ymm0, %ymm1, %ymm2\n", "AVXVNNI"),
        ("\tvpdpbusd\t%ymm0, %ymm1, %ymm2\n", "AVX512VNNI"),
        ("\tshlxq\t%rax, %rdx, %rcx\n", "BMI2"),
    ],
)
def test_instructions_of_newer_cpus_are_refused(line: str, feature: str, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=diamondrapids")
    monkeypatch.setattr(host_check, "host_features", lambda: frozenset({"avx", "avx2", "fma", "avx512f"}))
    host_check.require_host_can_run(newer, "\taddq\t$8, (%rax,%rdx)\n\tvcvtph2ps\t%xmm0, %ymm0\n\tmovl\t%r15d, %eax\n")
    with pytest.raises(BuildError, match=f"uses {feature}, which this CPU"):
        host_check.require_host_can_run(newer, line)


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("llvm -mtriple=nowhere-unknown-unknown", BuildError, "no backend"),
        ("llvm -mcpu=cascadlake", TargetError, "cascadlake"),
        ("llvm -mattr=+avx9000", TargetError, "avx9000"),
        ("cuda", BuildError, "code generation does not support target cuda"),
    ],
)
def test_what_llvm_does_not_know(target: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        codegen(elementwise(scaled, ["float32"] * 3, "float32", 64), Target(target))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("llvm -keys=a,b -device=x", ["a", "b", "x"]),
        ("cuda", ["cuda", "gpu"]),
        ("opencl -device=mali", ["mali", "opencl", "gpu"]),
        ("llvm -mtriple=aarch64-linux-gnu", ["arm_cpu", "cpu"]),
    ],
)
def test_keys_are_those_that_are_given_or_those_of_the_kind(text: str, keys: list[str]) -> None:
    target = Target(text)
    assert target.keys == keys
    assert Target(target.export()) == Target(str(target)) == target


def test_targets_by_kinds_of_devices() -> None:
    targets = Target.canon_multi_target({"cpu": "llvm", "cuda": "cuda"})
    assert targets is not None
    assert [t.kind.name for t in targets] == ["llvm", "cuda"]
    config = tvm.target.make_compilation_config(tvm.transform.PassContext(), {1: "llvm", 2: Target("cuda")})
    assert [t.kind.name for t in config.primitive_targets] == ["llvm", "cuda"]


def test_the_packed_function_of_a_generic_one_follows_the_target() -> None:
    @tvm.target.generic_func
    def lanes(data: int) -> int:
        return data + 1

    @lanes.register("cuda")
    def _(data: int) -> int:
        return data + 2

    packed = lanes.get_packed_func()
    with Target("cuda"):
        assert packed(1) == 3
    with Target("llvm"):
        assert packed(1) == 2


@pytest.mark.parametrize(("dtype", "elements"), [("float32", 8), ("uint8", 32), ("bool", 32), ("int4", 32)])
def test_a_vector_has_no_more_elements_than_bytes(dtype: str, elements: int) -> None:
    """Truth values are loaded as bytes: 512 of them in a vector took many registers."""
    assert Target("llvm -mcpu=haswell").vector_width(dtype) == elements


@pytest.mark.parametrize(
    ("cpu", "hint"),
    [
        ("neoverse-n1", "for x86-64; it is one of aarch64: -mtriple=aarch64-unknown-linux-gnu"),
        ("znvre4", "for x86-64; did you mean 'znver4'?"),
        ("nothing-like-it", "for x86-64"),
    ],
)
def test_an_unknown_cpu_is_one_of_another_architecture_or_has_a_name_like_one(cpu: str, hint: str) -> None:
    with pytest.raises(TargetError) as refused:
        target_machine("x86_64-unknown-linux-gnu", cpu, "", 2)
    assert str(refused.value).endswith(f"unknown CPU {cpu!r} {hint}")
