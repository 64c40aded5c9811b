"""Hot loops are counted by the work that they do, and faults of a loop are found on every architecture."""

from __future__ import annotations

import re

import pytest

from compiler.target.loop_facts import LoopFacts, findings, loop_facts
from compiler.target.target import Target

TARGETS = {
    "x86": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -mattr=-prefer-256-bit",
    "avx2": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell",
    "arm": "llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1",
    "riscv": "llvm -mtriple=riscv64-unknown-linux-gnu -mcpu=sifive-x280",
}
BACK = {"x86": "jne .LBB0_1", "avx2": "jne .LBB0_1", "arm": "b.ne .LBB0_1", "riscv": "bnez a0, .LBB0_1"}
TAB, SPACE = "\t", re.compile(r"(?<=\S) ")


def loop_of(machine: str, *body: str, before: str = "") -> tuple[LoopFacts, set[str]]:
    """Return the facts and the kinds of findings of a loop with a body."""
    count = ["addi a0, a0, -1"] if machine == "riscv" else []
    code = [[before], [*body, *count, BACK[machine]]]
    first, again = ("".join(f"\t{SPACE.sub(TAB, line, count=1)}\n" for line in part if line) for part in code)
    text, target = f"f:\n{first}.LBB0_1:\n{again}\tret\n", Target(TARGETS[machine])
    facts = loop_facts(text, target)
    assert facts is not None
    return facts, {finding.kind for finding in findings(facts, target)}


@pytest.mark.parametrize(
    ("machine", "line", "work", "width"),
    [
        ("x86", "vfmadd231ps (%rdi){1to16}, %zmm1, %zmm2", 16, 512),
        ("x86", "vfmadd231pd %ymm0, %ymm1, %ymm2", 4, 256),
        ("x86", "vfmadd231ss %xmm0, %xmm1, %xmm2", 1, 0),
        ("x86", "vpdpbusd %zmm0, %zmm1, %zmm2", 64, 512),
        ("x86", "vpdpwssd %ymm0, %ymm1, %ymm2", 16, 256),
        ("x86", "vpmaddwd %ymm0, %ymm1, %ymm2", 16, 256),
        ("avx2", "{vex} vpdpbusd (%rdi), %ymm1, %ymm2", 32, 256),
        ("x86", "vdpbf16ps %zmm0, %zmm1, %zmm2", 32, 512),
        ("x86", "tdpbf16ps %tmm6, %tmm4, %tmm0", 8192, 8192),
        ("x86", "tdpbusd %tmm6, %tmm4, %tmm0", 16384, 8192),
        ("x86", "vmaxps %zmm0, %zmm1, %zmm2", 16, 512),
        ("x86", "vpmaxub %ymm0, %ymm1, %ymm2", 32, 256),
        ("x86", "vcmpltps %zmm0, %zmm1, %k1", 16, 512),
        ("x86", "vmovups %ymm0, (%rdi)", 32, 256),
        ("arm", "fmla v0.4s, v1.4s, v2.s[0]", 4, 128),
        ("arm", "sdot v0.4s, v1.16b, v2.4b[0]", 16, 128),
        ("arm", "smlal2 v0.4s, v1.8h, v2.8h", 4, 128),
        ("arm", "fmadd s0, s1, s2, s0", 1, 0),
        ("arm", "smmla v0.4s, v1.16b, v2.16b", 32, 128),
        ("riscv", "fmadd.s fa0, fa1, fa2, fa0", 1, 0),
    ],
)
def test_the_work_of_an_instruction_is_the_elements_that_it_makes(
    machine: str, line: str, work: float, width: int
) -> None:
    facts, _ = loop_of(machine, line)
    assert (facts.work, facts.width, facts.working) == (work, width, (0,))


def test_the_work_of_a_riscv_vector_is_what_was_set_before_the_loop() -> None:
    for setting, work in (("vsetvli a1, zero, e32, m2, ta, ma", 32), ("vsetivli zero, 8, e32, m1, ta, ma", 8)):
        facts, _ = loop_of("riscv", "vfmacc.vf v8, fa0, v10", before=setting)
        assert (facts.work, facts.unit) == (work, "multiply-adds")


def test_products_and_sums_are_multiply_adds_where_there_is_no_such_instruction() -> None:
    body = ["mulps %xmm0, %xmm1", "addps %xmm1, %xmm2", "mulps %xmm0, %xmm3", "addps %xmm3, %xmm4"]
    facts, kinds = loop_of("x86", *body)
    assert (facts.unit, facts.work, facts.least) == ("multiply-adds", 8, 0.5)
    assert kinds == {"narrow"}


def test_pairs_that_add_up_products_of_bytes_are_not_counted_twice() -> None:
    facts, _ = loop_of(
        "avx2", "vpmaddubsw (%rdi), %ymm1, %ymm2", "vpmaddwd %ymm2, %ymm9, %ymm2", "vpaddd %ymm2, %ymm3, %ymm3"
    )
    assert (facts.unit, facts.work) == ("multiply-adds", 32)


FMA = "vfmadd231ps %zmm0, %zmm1, %zmm2"


@pytest.mark.parametrize(
    ("machine", "body", "kind"),
    [
        ("x86", [FMA], None),
        ("x86", ["vbroadcastss (%rdi), %zmm0", "vmovups (%rsi), %zmm1", FMA], None),
        ("x86", ["vfmadd231ps %ymm0, %ymm1, %ymm2"], "narrow"),
        ("avx2", ["vfmadd231ps %ymm0, %ymm1, %ymm2"], None),
        ("x86", ["vmovss (%rdi), %xmm0"] * 2 + [FMA], "scalar loads"),
        ("x86", ["movzbl (%rdi), %eax", "movl 4(%rdi,%rcx,4), %eax", FMA], "scalar loads"),
        ("x86", ["movq 8(%rsp), %rax", "movl 4(%rsp), %eax", FMA], None),
        ("x86", ["vpinsrb $3, (%rdi), %xmm0, %xmm0"] * 2 + [FMA], "scalar loads"),
        ("x86", ["vpinsrb $3, %eax, %xmm0, %xmm0"] * 2 + [FMA], "shuffles"),
        ("x86", ["vmovaps %zmm0, 64(%rsp)", FMA], "spills"),
        ("x86", ["vmovups 2144(%rsp,%r11), %zmm1", "vbroadcastss 64(%rsp,%r11), %zmm0", FMA], None),
        ("x86", ["vpermps %zmm0, %zmm1, %zmm2"] * 2 + [FMA], "shuffles"),
        ("x86", ["vcvtph2ps (%rdi), %zmm0"] * 2 + [FMA], "conversions"),
        ("x86", ["callq expf", FMA], "calls"),
        ("arm", ["ldr q1, [x0, #16]", "ldr s0, [x1, #4]", "fmla v3.4s, v1.4s, v0.s[0]"], None),
        ("arm", ["ldr s0, [x1, #4]", "ldr h0, [x1, #8]", "fmla v3.4s, v1.4s, v0.s[0]"], "scalar loads"),
        ("arm", ["ld1 { v0.s }[1], [x1]"] * 2 + ["fmla v3.4s, v1.4s, v0.s[0]"], "scalar loads"),
        ("arm", ["ldr q1, [sp, x8]", "fmla v3.4s, v1.4s, v0.s[0]"], None),
        ("arm", ["str q1, [sp, #16]", "fmla v3.4s, v1.4s, v0.s[0]"], "spills"),
        ("arm", ["fmadd s0, s1, s2, s0"], "narrow"),
    ],
)
def test_faults_of_loops_are_found(machine: str, body: list[str], kind: str | None) -> None:
    _, kinds = loop_of(machine, *body)
    assert kinds == ({kind} if kind else set()) or kind in kinds


def test_what_is_needed_is_counted_in_the_widest_vectors() -> None:
    facts, _ = loop_of("x86", *["vfmadd231ps %ymm0, %ymm1, %ymm2"] * 4)
    assert (facts.work, facts.least) == (32, 2)


def test_comments_are_no_operands_and_immediates_are_kept() -> None:
    facts, _ = loop_of("arm", "add x0, x0, #16", "fmla v3.4s, v1.4s, v0.s[0] // 16-byte Folded Reload")
    assert facts.lines[:2] == ("\tadd\tx0, x0, #16", "\tfmla\tv3.4s, v1.4s, v0.s[0]")
    facts, _ = loop_of("x86", "vmovups (%rdi), %zmm0 # 64-byte Reload", FMA)
    assert facts.lines[0] == "\tvmovups\t(%rdi), %zmm0"
    facts, _ = loop_of("avx2", "{vex} vpdpbusd (%rdi), %ymm1, %ymm2")
    assert facts.lines[0] == "\t{vex}\tvpdpbusd (%rdi), %ymm1, %ymm2", "llvm-mca needs it"


def test_a_function_without_loops_or_of_another_architecture_has_no_facts() -> None:
    assert loop_facts("f:\n\tvaddps\t%zmm0, %zmm1, %zmm2\n\tretq\n", Target(TARGETS["x86"])) is None
    assert loop_facts("\tlocal.get\t0\n\tend_function\n", Target(TARGETS["x86"])) is None
