"""The width and number of the vector registers of a CPU, as used by LLVM."""

from __future__ import annotations

from functools import cache

from compiler.target.assembly_summary import assembly_summary
from compiler.target.llvm_machine import emitted_for

_WIDE_SUM = """
define void @sum(ptr %a) {
  %x = load <64 x float>, ptr %a
  %y = fadd <64 x float> %x, %x
  store <64 x float> %y, ptr %a
  ret void
}
"""
_REGISTERS = {"x86_64": 16, "i686": 8, "aarch64": 32, "arm64": 32, "riscv64": 32}
"""The number of vector registers by architecture; AVX-512 doubles that of x86-64."""
_DEFAULT_REGISTERS = 16


@cache
def vector_bits(triple: str, cpu: str, features: str) -> int:
    """Return the width in bits of the widest vector registers that LLVM uses for a CPU, 0 if it uses none.

    It is detected by compiling a sum that is wider than any register, as it depends on features such as
    ``prefer-256-bit``.
    """
    return int(assembly_summary(emitted_for(_WIDE_SUM, triple, cpu, features))["vector bits"])


def vector_registers(triple: str, cpu: str, features: str) -> int:
    """Return the number of vector registers of a CPU."""
    architecture = triple.split("-")[0]
    if architecture == "x86_64" and vector_bits(triple, cpu, features) >= 512:
        return 2 * _REGISTERS[architecture]
    return _REGISTERS.get(architecture, _DEFAULT_REGISTERS)
