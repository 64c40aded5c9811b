"""Every CPU that LLVM knows, for assembly of any of them."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler import te
from compiler.ir.error import TargetError
from compiler.target.assembly_targets import assembly_target, assembly_targets
from compiler.target.codegen.llvm import codegen
from compiler.target.cpu.cpus import TRIPLES, ask_llvm, cpus


def test_the_cpus_of_an_architecture_are_those_that_have_its_code() -> None:
    assert {"x86-64", "haswell", "znver4", "skylake-avx512"} <= set(cpus("x86_64"))
    assert "i386" not in cpus("x86_64")  # LLVM names it, and has no 64-bit code for it
    assert {"neoverse-v2", "apple-m1", "cortex-a76"} <= set(cpus("aarch64"))
    assert "sifive-x280" in cpus("riscv64")
    with pytest.raises(TargetError, match="expected one of x86_64, aarch64, riscv64, wasm32, got 'z80'"):
        cpus("z80")


@pytest.mark.parametrize("architecture", TRIPLES)
def test_the_table_is_what_llvm_says(architecture: str) -> None:
    assert cpus(architecture) == ask_llvm(architecture)


@pytest.mark.parametrize(
    ("key", "instruction"),
    [
        ("x86_64:znver4", "mm"),
        ("aarch64:neoverse-v2", "fadd"),
        ("riscv64:sifive-x280", "vset"),
        ("wasm32:lime1", "local.get"),
    ],
)
def test_assembly_is_made_for_any_of_them(key: str, instruction: str) -> None:
    machine = assembly_target(key)
    assert machine is not None
    assert machine.triple in TRIPLES.values()
    a = te.placeholder((1024,), name="a")
    b = te.compute((1024,), lambda i: a[i] * 2.0, name="b")
    module = tvm.lower(te.create_schedule(b.op), [a, b], name="double")
    assert instruction in codegen(module, machine.target).assembly


def test_a_key_is_a_row_or_an_architecture_and_a_cpu() -> None:
    assert assembly_target("aarch64-neon") == assembly_targets()["aarch64-neon"]
    assert all(
        assembly_target(key) is None for key in ("z80", "z80:cpu", "x86_64:a b", "x86_64:", "x86_64:" + "a" * 41)
    )
