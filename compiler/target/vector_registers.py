"""The vector registers of a CPU: how wide those are that LLVM uses for it, and how many there are."""

from __future__ import annotations

from functools import cache

from llvmlite import binding

from compiler.target.assembly_summary import assembly_summary
from compiler.target.llvm_machine import target_machine

__all__ = ["vector_bits", "vector_registers"]

_WIDE_SUM = """
target triple = "{triple}"
define void @sum(ptr %a) {{
  %x = load <64 x float>, ptr %a
  %y = fadd <64 x float> %x, %x
  store <64 x float> %y, ptr %a
  ret void
}}
"""
_CODEGEN_LEVEL = 2
_REGISTERS = {"x86_64": 16, "i686": 8, "aarch64": 32, "arm64": 32, "riscv64": 32}
"""Architectural vector registers by the first part of the triple; AVX-512 doubles those of x86-64."""
_DEFAULT_REGISTERS = 16


@cache
def vector_bits(triple: str, cpu: str, features: str) -> int:
    """Return the width in bits of the widest vector registers that LLVM uses for a CPU, 0 if it uses none.

    LLVM is asked by compiling a sum that is wider than any register, as no list of CPUs is ever complete and
    features such as ``prefer-256-bit`` change the answer.

    Parameters
    ----------
    triple, cpu, features : str
        As for :func:`~compiler.target.llvm_machine.target_machine`.

    Returns
    -------
    int
    """
    machine = target_machine(triple, cpu, features, _CODEGEN_LEVEL)
    module = binding.parse_assembly(_WIDE_SUM.format(triple=triple))
    return int(assembly_summary(str(machine.emit_assembly(module)))["vector bits"])


def vector_registers(triple: str, cpu: str, features: str) -> int:
    """Return the number of vector registers of a CPU.

    Parameters
    ----------
    triple, cpu, features : str
        As for :func:`~compiler.target.llvm_machine.target_machine`.

    Returns
    -------
    int
    """
    architecture = triple.split("-")[0]
    if architecture == "x86_64" and vector_bits(triple, cpu, features) >= 512:
        return 2 * _REGISTERS[architecture]
    return _REGISTERS.get(architecture, _DEFAULT_REGISTERS)
