"""What instructions do: those of each set are described, told apart, and taken to their operands."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from app.instructions import SETS, Tip, describe_instructions, meaning_of, tip_of

SAMPLE = {
    "x86_64": "vfmadd231ps vbroadcastss vmovups vmovaps movq leaq addq cmpq jne jb retq callq pushq vaddps vmulps "
    "vxorps vzeroupper movss mulss addss vpaddd prefetcht0 xorl incq testl movabsq vfmadd213ps vpbroadcastd vpdpbusd "
    "vcmpltps vblendvps kshiftrw vgatherdps vpermt2ps vcvttps2dq vpmovsxbd cmovaeq seta tdpbf16ps vrndscaleps cltq",
    "aarch64": "cmp and mul fmla ldp stp ldr str add subs b.ne cbz ret fmov dup bl adrp fmadd ldur movi mov lsl fmad "
    "ld1w whilelo cmplo ptrue smlal2 sshll uzp1 fcmgt bsl swp index rdvl udot bfmmla st1",
    "riscv64": "add and ret vsetvli vle32.v vse32.v vfmacc.vf vfmacc.vv flw fsw addi bnez ret ld sd fmadd.s slli lui "
    "vfredosum.vs vmerge.vvm vlse32.v vmfgt.vf vfmv.f.s vl2r.v vwmacc.vx vsext.vf2 csrr amoswap.w vslidedown.vi sh2add",
    "wasm32": "local.get local.set f32.load v128.load v128.store f32x4.mul f32x4.add i32.add br_if f32x4.splat "
    "f32x4.relaxed_madd i64.shl f32.select v128.load32_splat memory.fill end_function i8x16.shuffle i32.wrap_i64",
    "ptx": "fma.rn.f32 ld.global.nc.v4.f32 st.shared.f32 bar.sync mad.lo.s32 setp.gt.f32 cvta.to.global.u64 bra "
    "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 shfl.sync.down.b32 ex2.approx.ftz.f32 mul.wide.s32 "
    "cp.async.wait_all "
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ldmatrix.sync.aligned.m8n8.x4.shared.b16 atom.global.add.f32",
    "sass": "FFMA LDG.E.128.CONSTANT STS.128 BAR.SYNC.DEFER_BLOCKING IMAD.WIDE ISETP.GE.U32.AND HMMA.16816.F32 "
    "LDSM.16.M88.4 "
    "MUFU.EX2 SHFL.DOWN LOP3.LUT S2R UIADD3.X LEA.HI.X.SX32 BSSY EXIT FMNMX.NAN HFMA2.MMA LDGSTS.E.BYPASS.128",
}  # fmt: skip
"""Instructions of kernels of the gallery; `python -m tests.benchmarks.instructions` asks for all of them."""


@pytest.mark.parametrize("instructions", sorted(SETS))
def test_instructions_of_kernels_are_described_with_all_their_modifiers(instructions: str) -> None:
    names = SAMPLE[instructions].split()
    meanings = {name: meaning_of(name, instructions) for name in names}
    assert [name for name, meaning in meanings.items() if meaning is None] == []
    unsaid = [part for meaning in meanings.values() if meaning for part, words in meaning.modifiers if not words]
    assert unsaid == []


@pytest.mark.parametrize(
    ("instructions", "name", "words"),
    [
        ("x86_64", "vfmadd231ps", "packed float32, rounded once: (first source × second source) + destination"),
        ("x86_64", "vfnmadd213sd", "one float64, rounded once: −(destination × second source) + first source"),
        ("x86_64", "jne", "not equal"),
        ("x86_64", "jae", "above or equal"),
        ("x86_64", "vsubps", "second source − first source"),
        ("x86_64", "subps", "destination − first source"),
        ("riscv64", "sd", "Stores 64 bits"),
        ("riscv64", "ld", "Loads 64 bits"),
        ("riscv64", "fnmsub.s", "−(first × second) + third"),
        ("aarch64", "fmsub", "third − first × second"),
        ("aarch64", "add", "Adds integers"),
        ("aarch64", "b", "Jumps"),
        ("ptx", "mul.wide.s32", "twice their width"),
        ("sass", "IMAD.MOV.U32", "Copies a value"),
        ("wasm32", "call", "Calls a function"),
    ],
)
def test_the_same_letters_mean_what_the_machine_means(instructions: str, name: str, words: str) -> None:
    meaning = meaning_of(name, instructions)
    assert meaning is not None
    assert words in meaning.sentence


def test_what_imports_the_tables_and_reads_no_instruction_compiles_no_pattern_of_theirs() -> None:
    code = (
        "from app.instructions import SETS; print([s.name for s in SETS.values() if {'rules', '_parts'} & {*vars(s)}])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_is_unknown_stays_unsaid() -> None:
    assert meaning_of("frobnicate", "x86_64") is None
    assert meaning_of("vfmadd231ps", "aarch64") is None
    assert meaning_of("add", "z80") is None
    assert tip_of("    frobnicate %rax", "x86_64") is None
    assert tip_of("matmul:", "x86_64") is None
    assert tip_of("    .globl matmul", "x86_64") is None


@pytest.mark.parametrize(
    ("instructions", "line", "words"),
    [
        ("riscv64", f"    addi a0, a1, 0x{'f' * 3_900}", "the number 0xfff"),
        ("x86_64", f"    addq $0x{'f' * 3_900}, %rax", "the number 0xfff"),
        ("aarch64", "    ldr x0, [x1, x2, lsl #9999999999]", "memory: x1 + x2"),
        ("aarch64", "    ldr x0, [x1, x2, lsl #²]", "memory: x1 + x2"),
        ("aarch64", "    ldr x0, [x1, x2, lsl #3]", "memory: x1 + x2 × 8"),
    ],
)
def test_numbers_that_no_machine_has_are_not_computed(instructions: str, line: str, words: str) -> None:
    tip = tip_of(line, instructions)
    assert tip is not None
    assert [said for _, said in tip.operands if words in said]
    assert tip_of(line + " " * 4_000, instructions) is None


def test_comments_of_aarch64_are_no_operands() -> None:
    assert tip_of("    mov x0, x1  // x2, #5 // x3", "aarch64") == tip_of("    mov x0, x1", "aarch64")


def test_a_listing_is_read_as_its_machine_s() -> None:
    riscv = ["f:", "    addi        sp, sp, -48", "    sd          ra, 40(sp)", "    ret"]
    assert describe_instructions(riscv)["sd"] == "Stores 64 bits to memory."
    assert describe_instructions(["    vmovaps (%rdi), %zmm0", "    frobnicate", "    retq"]).keys() == {
        "vmovaps",
        "retq",
    }


def operands(line: str, instructions: str) -> dict[str, str]:
    tip = tip_of(line, instructions)
    assert tip is not None
    return dict(tip.operands)


def test_operands_of_x86_are_named_with_their_addresses_and_masks() -> None:
    line = "    vfmadd231ps 64(%rdi,%rcx,4), %zmm1, %zmm2 {%k1} {z}"
    assert operands(line, "x86_64") == {
        "64(%rdi,%rcx,4)": "first source, memory: rdi + rcx × 4 + 64",
        "%zmm1": "second source, vector of 512 bits",
        "%zmm2 {%k1} {z}": "destination, and read before, vector of 512 bits; only the lanes that k1 selects, "
        "the others become zero",
    }
    tip = tip_of(line, "x86_64")
    assert tip is not None
    assert "16 × float32" in tip.meaning
    constant = operands("    vmulps      .LCPI0_0(%rip){1to8}, %ymm0, %ymm1", "x86_64")
    assert constant[".LCPI0_0(%rip){1to8}"].endswith("memory: .LCPI0_0, beside the code, one number for all 8 lanes")
    assert (
        operands("    movq        %rax, -8(%rsp)", "x86_64")["-8(%rsp)"] == "destination, memory: rsp − 8, on the stack"
    )


@pytest.mark.parametrize(
    ("instructions", "line", "operand", "words"),
    [
        ("aarch64", "    ldr         q0, [x8, x1, lsl #4]", "[x8, x1, lsl #4]", "memory: x8 + x1 × 16"),
        ("aarch64", "    fmla        v4.4s, v2.4s, v0.s[1]", "v0.s[1]", "second source, lane 1, of 32 bits"),
        ("aarch64", "    stp         x2, x0, [sp, #-16]!", "x0", "second source, 64 bits"),
        ("aarch64", "    fmad        z2.s, p0/m, z0.s, z4.s", "z4.s", "second source, lanes of 32 bits"),
        ("riscv64", "    vfmacc.vf   v24, fa5, v28", "v24", "destination, and read before, vector"),
        ("riscv64", "    flw         fa5, 8(s6)", "8(s6)", "memory: s6 + 8"),
        ("riscv64", "    vsetvli     a5, a4, e32, m2, ta, ma", "m2", "2 registers as one vector"),
        ("ptx", "    fma.rn.f32  %f6, %f5, %f4, 0f3F800000;", "0f3F800000", "the number 1"),
        ("ptx", "    mov.u32     %r6, %ctaid.y;", "%ctaid.y", "source, number of the block, along y"),
        ("sass", "    FFMA R15, R15.reuse, -R16, c[0x0][0x210]", "-R16", "second source, with the sign changed"),
        ("sass", "    @!P1 LDG.E R4, desc[UR10][R28.64+0x10]", "desc[UR10][R28.64+0x10]", "memory: R28 + 16"),
    ],
)  # fmt: skip
def test_operands_are_named(instructions: str, line: str, operand: str, words: str) -> None:
    assert operands(line, instructions)[operand] == words


def parts(line: str, instructions: str = "llvm") -> dict[str, str]:
    tip = tip_of(line, instructions)
    assert isinstance(tip, Tip)
    return dict(tip.parts)


def test_flags_intrinsics_and_metadata_of_llvm_ir_are_explained() -> None:
    call = parts(
        "  %0 = tail call fast <16 x float> @llvm.fmuladd.v16f32(<16 x float> %a, ptr align 4 %b), !noalias !3"
    )
    assert set(call) == {"tail", "fast", "llvm.fmuladd.v16f32", "align", "!noalias"}
    assert "a × b + c" in call["llvm.fmuladd.v16f32"]
    assert parts("  %1 = add nuw nsw i64 %fast, %align").keys() == {"nuw", "nsw"}, "names of values are no flags"
    assert parts("  %9 = icmp ult i64 %a, %b")["ult"] == "less (unsigned)"
    assert parts("  %9 = fcmp ult float %a, %b")["ult"] == "less, or one is NaN"
    assert tip_of("entry:", "llvm") is None


def test_addresses_of_llvm_ir_are_taken_apart() -> None:
    address = operands("  %.13 = getelementptr inbounds float, ptr %C, i64 %.12", "llvm")
    assert address == {"%C": "base", "%.12": "index, × 4 bytes"}
    wide = operands("  %9 = getelementptr nuw <8 x half>, ptr %C, i64 %i", "llvm")
    assert wide["%i"] == "index, × 16 bytes"
    assert operands("  store <64 x float> %.37, ptr %.38, align 4", "llvm") == {"%.38": "memory: where %.38 points to"}
    assert operands("  %x = load ptr, ptr %.2, align 8", "llvm") == {"%.2": "memory: where %.2 points to"}


def test_guards_and_modifiers_of_gpus_are_explained() -> None:
    load = parts("    @!%p1 ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd4+16];", "ptx")
    assert load["@!%p1"] == "only where %p1 is false"
    assert load.keys() == {"@!%p1", ".global", ".nc", ".v4", ".f32"}


def test_columns_before_sass_say_how_it_is_scheduled() -> None:
    store = parts("    /* 01----  0  - y  4 */ STS.128 [R3], R4", "sass")
    assert store == {
        ".128": "128 bits",
        "01----": "waits for barriers 0 and 1",
        "rd 0": "barrier 0 opens when the operands have been read",
        "y": "the scheduler prefers another warp next",
        "cy 4": "the warp’s next instruction is issued 4 cycles later, at the earliest",
    }
    assert tip_of("    /* waits  rd wr y cy */", "sass") is None


@pytest.mark.parametrize("instructions", sorted(SETS))
def test_every_sentence_can_be_filled(instructions: str) -> None:
    for rule in SETS[instructions].rules:
        words = {**dict.fromkeys(SETS[instructions].words, "word"), **dict.fromkeys(rule.pattern.groupindex, "word")}
        sentence = rule.sentence.format(**words)
        assert re.fullmatch(r"[^{}]+\.|word", sentence), rule.pattern.pattern
        assert set(rule.roles) <= set("dxswatimc"), rule.pattern.pattern
