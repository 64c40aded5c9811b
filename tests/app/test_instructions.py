"""What instructions do: the common ones of each target are described, and told apart."""

from __future__ import annotations

import pytest

from app.instructions import RULES, WORDS, describe_instruction, describe_instructions

COMMON = {
    "x86-64": "vfmadd231ps vbroadcastss vmovups vmovaps movq leaq addq cmpq jne jb retq callq pushq vaddps vmulps "
    "vxorps vzeroupper movss mulss addss vpaddd prefetcht0 xorl incq testl movabsq vfmadd213ps vpbroadcastd vpdpbusd",
    "aarch64": "fmla ldp stp ldr str add subs b.ne cbz ret fmov dup bl adrp fmadd ldur movi mov lsl",
    "riscv": "vsetvli vle32.v vse32.v vfmacc.vf vfmacc.vv flw fsw addi bnez ret ld sd fmadd.s mul slli lui",
    "wasm": "local.get local.set f32.load v128.load v128.store f32x4.mul f32x4.add i32.add br_if f32x4.splat end_loop",
}


@pytest.mark.parametrize("target", sorted(COMMON))
def test_common_instructions_are_described(target: str) -> None:
    unknown = [name for name in COMMON[target].split() if describe_instruction(name) is None]
    assert unknown == []


@pytest.mark.parametrize(
    ("mnemonic", "words"),
    [
        ("vfmadd231ps", "packed float32: third + second"),
        ("vfmadd213sd", "one float64: second"),
        ("jne", "not equal"),
        ("jae", "above or equal"),
        ("vmulps", "multiply packed float32"),
        ("retq", "Return"),
    ],
)
def test_forms_of_a_family_are_told_apart(mnemonic: str, words: str) -> None:
    text = describe_instruction(mnemonic)
    assert text is not None
    first, _, second = words.partition(": ")
    assert first in text
    assert second.split(" + ")[0] in text


def test_what_is_unknown_stays_unsaid() -> None:
    assert describe_instruction("frobnicate") is None


def test_a_listing_names_each_instruction_once() -> None:
    lines = ["matmul:", "    vmovaps (%rdi), %zmm0", "    vmovaps %zmm0, (%rsi)", "    frobnicate", "    retq"]
    assert set(describe_instructions(lines)) == {"vmovaps", "retq"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule[0].pattern[:30])
def test_every_sentence_can_be_filled(rule: tuple[object, str]) -> None:
    pattern, sentence = rule
    groups = dict.fromkeys(pattern.groupindex, "word")  # type: ignore[attr-defined]
    assert set(groups) <= set(WORDS)
    assert sentence.format(**groups).endswith(".")
