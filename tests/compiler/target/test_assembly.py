"""Assembly is counted by kinds of instructions."""

from __future__ import annotations

import pytest

from compiler.ir.expr.primexpr import PrimExpr, cast
from compiler.target.assembly_summary import _INSTRUCTION
from compiler.target.assembly_targets import assembly_targets
from compiler.target.codegen.llvm import assembly_summary, codegen
from compiler.target.instruction_kinds import KINDS, architecture_of, instruction_kind
from compiler.tir.expressions import op
from tests.compiler.target.kernels import elementwise


def busy(x: PrimExpr, y: PrimExpr, z: PrimExpr) -> PrimExpr:
    total = op.exp(x) * y + op.sqrt(z)
    picked = op.if_then_else(True, total, z)
    return cast(x.dtype, op.floor(picked)) + op.tanh(y)


def counted(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    return cast(x.dtype, op.floordiv(x, op.abs(y) + 1) * 3 + (x & y) - op.floormod(x, 7))


KERNELS = {
    "floats": lambda lanes: elementwise(busy, ["float32"] * 3, "float32", 64, lanes),
    "doubles": lambda lanes: elementwise(busy, ["float64"] * 3, "float64", 64, lanes),
    "integers": lambda lanes: elementwise(counted, ["int32"] * 2, "int32", 64, lanes),
    "bytes": lambda lanes: elementwise(counted, ["int8"] * 2, "int8", 64, lanes),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("key", assembly_targets())
def test_every_instruction_has_a_kind(key: str, kernel: str) -> None:
    target = assembly_targets()[key].target
    for lanes in (1, 16):
        text = codegen(KERNELS[kernel](lanes), target).assembly
        architecture = architecture_of(text)
        assert architecture == target.triple.split("-")[0]
        mnemonics = {m[1] for line in text.splitlines() if (m := _INSTRUCTION.match(line))}
        assert not [m for m in sorted(mnemonics) if instruction_kind(m, architecture) not in KINDS]


def test_summary_counts() -> None:
    text = """
\t.text
kernel:
\tvbroadcastss\t(%rdi), %zmm0
\tvmovups\t(%rsi), %zmm1
\tvfmadd231ps\t(%rdx), %zmm0, %zmm1
\tvmovaps\t%zmm1, 64(%rsp)
\tvmovups\t%zmm1, (%rdx)
\tcallq\texpf@PLT
\tjne\t.LBB0_1
\tretq
"""
    assert assembly_summary(text) == {
        "instructions": 8,
        "vector bits": 512,
        "fma": 1,
        "loads": 3,
        "stores": 2,
        "spills": 1,
        "branches": 2,
        "calls": 1,
    }


def test_scalars_in_vector_registers_are_no_vectors() -> None:
    text = "\tvxorps\t%xmm1, %xmm1, %xmm1\n\tvmovss\t(%rdi), %xmm2\n\tvfmadd231ss\t(%rsi), %xmm2, %xmm1\n"
    assert assembly_summary(text + "\tvcvtss2sd\t%xmm2, %xmm2, %xmm0\n\tmovaps\t%xmm1, %xmm2\n")["vector bits"] == 0
    assert assembly_summary(text + "\tvaddps\t%xmm1, %xmm2, %xmm2\n")["vector bits"] == 128
    assert assembly_summary("\tvbroadcastss\t(%rdi), %ymm0\n\tpxor\t%xmm0, %xmm0\n")["vector bits"] == 256


def test_an_instruction_that_says_its_encoding_is_one() -> None:
    summary = assembly_summary("\t{vex}\tvpdpwssd\t(%rdi), %ymm0, %ymm1\n\tretq\n")
    assert (summary["instructions"], summary["fma"], summary["loads"], summary["vector bits"]) == (2, 1, 1, 256)


def test_kinds() -> None:
    assert instruction_kind("vfmadd231ps", "x86_64") == "fma"
    for mnemonic in ("fmla", "fmlal2", "smlal", "umlsl2", "mla", "usdot"):
        assert instruction_kind(mnemonic, "aarch64") == "fma"
    for mnemonic in ("vfmacc.vf", "vwmaccsu.vx", "vmacc.vx", "vmadd.vv", "vfwnmsac.vv"):
        assert instruction_kind(mnemonic, "riscv64") == "fma"
    assert (instruction_kind("vmadc.vv", "riscv64"), instruction_kind("smull", "aarch64")) == ("compare", "arithmetic")
    assert instruction_kind("no.such.instruction", "x86_64") is None
