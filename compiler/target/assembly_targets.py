"""The targets whose assembly the explorer shows side by side."""

from __future__ import annotations

import re
from dataclasses import dataclass

from compiler.target.cpu.cpus import TRIPLES
from compiler.target.target import Target


@dataclass(frozen=True, slots=True)
class AssemblyTarget:
    """An entry of the assembly selector; empty options of its target are omitted."""

    key: str
    name: str
    triple: str = ""
    cpu: str = ""
    attrs: str = ""

    @property
    def target(self) -> Target:
        """The target."""
        options = {"mtriple": self.triple, "mcpu": self.cpu, "mattr": self.attrs}
        return Target(" ".join(["llvm", *(f"-{key}={value}" for key, value in options.items() if value)]))


HOST = "host"
"""The key of the code as it was built, for the target of the program."""

_TABLE = (
    AssemblyTarget(HOST, "as built"),
    AssemblyTarget("x86-64-sse2", "x86-64, SSE2 (128 bits)", "x86_64-unknown-linux-gnu", "x86-64"),
    AssemblyTarget("x86-64-avx2", "x86-64, AVX2 and FMA (256 bits)", "x86_64-unknown-linux-gnu", "haswell"),
    AssemblyTarget(
        "x86-64-avx512", "x86-64, AVX-512 (512 bits)", "x86_64-unknown-linux-gnu", "skylake-avx512", "-prefer-256-bit"
    ),
    AssemblyTarget("aarch64-neon", "AArch64, NEON (128 bits)", "aarch64-unknown-linux-gnu", "cortex-a76", "+neon"),
    AssemblyTarget(
        "riscv64-v",
        "RISC-V, V (256 bits or more)",
        "riscv64-unknown-linux-gnu",
        "generic-rv64",
        "+m,+a,+f,+d,+v,+zvl256b",
    ),
    AssemblyTarget(
        "wasm32-simd128", "WebAssembly, SIMD128", "wasm32-unknown-unknown", "generic", "+simd128,+relaxed-simd"
    ),
)


def assembly_targets() -> dict[str, AssemblyTarget]:
    """Return all targets of the selector by key."""
    return {row.key: row for row in _TABLE}


_CPU = re.compile(r"([a-z0-9_]{1,20}):([A-Za-z0-9_.+-]{1,40})(?::([A-Za-z0-9_.,+-]{1,200}))?")


def assembly_target(key: str) -> AssemblyTarget | None:
    """Look up a target by key: an entry such as ``aarch64-neon``, or a CPU: ``x86_64:znver4``, ``x86_64:haswell:-fma``.

    Whether LLVM knows the CPU and its attributes is only checked by code generation.
    """
    match = _CPU.fullmatch(key)
    if match and match[1] in TRIPLES:
        words = " ".join(part for part in match.group(2, 3) if part)
        return AssemblyTarget(key, f"{words} ({match[1]})", TRIPLES[match[1]], match[2], match[3] or "")
    return assembly_targets().get(key)
