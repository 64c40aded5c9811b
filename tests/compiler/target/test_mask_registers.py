"""LLVM 22 drops masks of AVX-512 that are still needed; what is built here does without the instructions concerned."""

from __future__ import annotations

import re

import pytest

import compiler as tvm
from compiler import te, tir
from compiler.target.codegen.llvm.selection.mask_registers import features_of_safe_masks, with_features
from compiler.target.target import Target

_CONSTANT = re.compile(r"kxn?or\w\t(%k\d), \1, ")
"""All ones or all zeros, whatever the register holds."""
_WRITTEN = re.compile(r"%k(\d)(?: \{%k\d\}| \{z\})*$")


def undefined_masks(assembly: str) -> list[str]:
    """Return the instructions that read a mask register before any in the text sets it; the text has no jumps back."""
    known: set[str] = set()
    found = []
    for line in (line.split("#")[0].rstrip() for line in assembly.splitlines()):
        written = _WRITTEN.search(line)
        others = line if written is None else line[: written.start()] + line[written.end(1) :]
        reads = [] if _CONSTANT.search(line) else re.findall(r"%k(\d)", others)
        found += [line for mask in reads if mask not in known]
        known.update([written[1]] if written else [])
    return found


def schedule_of_remainders() -> tuple[te.Schedule, list[te.Tensor]]:
    """Nine elements chosen by remainders: the signs of eight lanes are read one by one, and together."""
    A = te.placeholder((9, 7), "int8", name="A")
    B = te.placeholder((6, 5), "int8", name="B")
    k = te.reduce_axis((0, 7), name="k")
    most = te.compute((9,), lambda i: te.max(A[i, k], axis=k), name="most")
    chosen = te.compute((9,), lambda i: B[tir.floormod(most[i].astype("int32"), 6), 0], name="chosen")
    large = te.compute((9,), lambda i: chosen[i] > te.const(1, "int8"), name="large")
    C = te.compute((9,), lambda i: tir.Select(large[i], chosen[i], te.const(4, "int8")), name="C")
    s = te.create_schedule(C.op)
    s[most].parallel(most.op.axis[0])
    return s, [A, B, C]


@pytest.mark.parametrize("cpu", ["znver4", "znver5", "skylake-avx512", "sapphirerapids"])
def test_no_mask_is_read_that_nothing_has_set(cpu: str) -> None:
    s, args = schedule_of_remainders()
    assembly = tvm.build(s, args, f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}").get_source("asm")
    assert undefined_masks(assembly) == []


def test_the_check_sees_what_llvm_makes_of_it() -> None:
    """The three instructions before and after LLVM's last pass."""
    right = "\tvpmovb2m\t%xmm1, %k0\n\tkmovd\t%k0, %edx\n\tkshiftrw\t$1, %k0, %k0\n"
    wrong = "\tvpmovmskb\t%xmm1, %edx\n\tkshiftrw\t$1, %k0, %k0\n"
    assert undefined_masks(right) == []
    assert undefined_masks(wrong) == ["\tkshiftrw\t$1, %k0, %k0"]


MODULE = """
define void @f(<8 x i8> %v) #0 {{
  %m = icmp slt <8 x i8> %v, zeroinitializer
  %e = {use}
  ret void
}}

attributes #0 = {{ nounwind "target-features"="+avx512vl" }}
"""


@pytest.mark.parametrize(
    ("use", "cpu", "changes"),
    [
        ("extractelement <8 x i1> %m, i64 0", "znver4", True),
        ("bitcast <8 x i1> %m to i8", "znver4", True),
        ("zext <8 x i1> %m to <8 x i8>", "znver4", False),
        ("extractelement <8 x i1> %m, i64 0", "haswell", False),
    ],
)
def test_only_functions_that_read_bits_of_masks_do_without_the_feature(use: str, cpu: str, changes: bool) -> None:
    text = MODULE.format(use=use)
    features = features_of_safe_masks(text, Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}"))
    assert features == ("-avx512vl,-prefer-256-bit" if changes else None)


def test_all_functions_are_compiled_for_the_changed_features() -> None:
    text = with_features(MODULE.format(use="bitcast <8 x i1> %m to i8"), "-avx512vl")
    assert text.count('"target-features"="-avx512vl"') == 1
    assert "+avx512vl" not in text


def test_vectors_with_masks_are_of_512_bits_where_shorter_ones_have_none() -> None:
    """Sapphire Rapids prefers 256 bits, in which masks need the instructions that the module does without."""
    s, args = schedule_of_remainders()
    built = tvm.build(s, args, "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids")
    assert "-avx512vl,-prefer-256-bit" in built.get_source("ll")
    assert "zmm" in built.get_source("asm")
