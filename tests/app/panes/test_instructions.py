"""What instructions do: the common ones of each target are described, and told apart."""

from __future__ import annotations

import pytest

from app.panes.instructions import RULES, WORDS, describe_instruction, describe_instructions

COMMON = {
    "x86_64": "vfmadd231ps vbroadcastss vmovups vmovaps movq leaq addq cmpq jne jb retq callq pushq vaddps vmulps "
    "vxorps vzeroupper movss mulss addss vpaddd prefetcht0 xorl incq testl movabsq vfmadd213ps vpbroadcastd vpdpbusd",
    "aarch64": "cmp and mul fmla ldp stp ldr str add subs b.ne cbz ret fmov dup bl adrp fmadd ldur movi mov lsl",
    "riscv64": "add and ret vsetvli vle32.v vse32.v vfmacc.vf vfmacc.vv flw fsw addi bnez ret ld sd fmadd.s slli lui",
    "wasm32": "local.get local.set f32.load v128.load v128.store f32x4.mul f32x4.add i32.add br_if f32x4.splat end",
}


@pytest.mark.parametrize("architecture", sorted(COMMON))
def test_common_instructions_are_described(architecture: str) -> None:
    unknown = [name for name in COMMON[architecture].split() if describe_instruction(name, architecture) is None]
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
    text = describe_instruction(mnemonic, "x86_64")
    assert text is not None
    first, _, second = words.partition(": ")
    assert first in text
    assert second.split(" + ")[0] in text


@pytest.mark.parametrize(
    ("mnemonic", "architecture", "words"),
    [
        ("sd", "riscv64", "Store an integer"),
        ("ld", "riscv64", "Load an integer"),
        ("add", "aarch64", "Add integers"),
        ("b", "aarch64", "Jump"),
        ("sub", "riscv64", "Subtract integers"),
        ("and", "x86_64", "becomes zero"),
        ("call", "riscv64", "call a function"),
        ("call", "wasm32", "stack"),
    ],
)
def test_the_same_letters_mean_what_the_machine_means(mnemonic: str, architecture: str, words: str) -> None:
    text = describe_instruction(mnemonic, architecture)
    assert text is not None
    assert words in text


def test_what_is_unknown_stays_unsaid() -> None:
    assert describe_instruction("frobnicate", "x86_64") is None
    assert describe_instruction("vfmadd231ps", "aarch64") is None
    assert describe_instruction("add", "z80") is None


def test_a_listing_is_read_as_its_machine_s() -> None:
    riscv = ["f:", "    addi        sp, sp, -48", "    sd          ra, 40(sp)", "    ret"]
    assert describe_instructions(riscv)["sd"] == "Store an integer."
    assert "smaller of" not in " ".join(describe_instructions(["    add         x0, x0, x1", "    ret"]).values())


def test_a_listing_names_each_instruction_once() -> None:
    lines = ["matmul:", "    vmovaps (%rdi), %zmm0", "    vmovaps %zmm0, (%rsi)", "    frobnicate", "    retq"]
    assert set(describe_instructions(lines)) == {"vmovaps", "retq"}


@pytest.mark.parametrize(
    "rule", [rule for rules in RULES.values() for rule in rules], ids=lambda rule: rule[0].pattern[:30]
)
def test_every_sentence_can_be_filled(rule: tuple[object, str]) -> None:
    pattern, sentence = rule
    groups = dict.fromkeys(pattern.groupindex, "word")  # type: ignore[attr-defined]
    assert set(groups) <= set(WORDS)
    assert sentence.format(**groups).endswith(".")
