"""Instruction statistics of assembly: vector width, fused multiply-adds, loads, stores, spills."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from compiler.target.instruction_kinds import INSTRUCTION, architecture_of, instruction_kind

_INSTRUCTION = re.compile(INSTRUCTION + r"(?:\s+(.*))?$")
_WIDTHS = {
    "x86_64": ((r"%zmm", 512), (r"%ymm", 256), (r"%xmm", 128)),
    "aarch64": ((r"\bz\d+\.", 256), (r"\bq\d+\b|\bv\d+\.(?:16b|8h|4s|2d)", 128), (r"\bv\d+\.(?:8b|4h|2s)", 64)),
    "wasm32": ((r"\bv128\.|x\d+\.", 128),),
}
_SCALAR = re.compile(
    r"^\s+(?:"
    r"v?(?:mov|add|sub|mul|div|min|max|u?comi|cmp\w*|r?sqrt|rcp|round|rndscale|cvtt?\w+2|fn?m(?:add|sub)\d+)s[sdh]\s"
    r"|v?cvtt?s[sdh]2\w+\s"
    r"|v?mov[dq]\s"
    r"|v?mov[au]p[sd]\s+%xmm\d+, %xmm\d+\s*$"
    r"|v?p?xor(?:p[sd]|d|q)?\s+(%xmm\d+)(?:, \1)+\s*$"
    r")"
)
"""Scalar x86 instructions on vector registers, including moves and the idioms that zero a register."""
_STACK = {"x86_64": r"\(%[re]sp\)", "aarch64": r"\[sp(?:, #-?\d+)?\]", "riscv64": r"\(sp\)"}
"""Operands in the stack frame; those with an index are in arrays of the program."""
_VECTOR = {"x86_64": r"%[xyz]mm\d", "aarch64": r"\b[qv]\d+\b", "riscv64": r"\bv\d+\b"}


def assembly_summary(text: str, part: Sequence[str] | None = None) -> dict[str, int | float | str]:
    """Count the instructions of assembly, or of a part of its lines such as a loop, by kind.

    The kinds are ``instructions``, ``vector bits`` (the width of the widest vectors, 0 for none), ``fma``, ``loads``,
    ``stores``, ``spills`` (vector registers moved to or from the stack), ``branches`` and ``calls``.
    """
    counted = text.splitlines() if part is None else part
    code = [match for line in counted if (match := _INSTRUCTION.match(line.split("#")[0].rstrip()))]
    architecture = architecture_of(text)
    kinds: Counter[str] = Counter()
    spills = 0
    for match in code:
        mnemonic, operands = match[1], (match[2] or "").split("//")[0].strip()
        kind = instruction_kind(mnemonic, architecture) or "other"
        memory = _memory_use(operands) if architecture == "x86_64" else ""
        kinds[kind] += 1
        if memory:
            use = "load" if memory == "read" or kind == "compare" else "store"
            kinds[use] += kind not in ("load", "store", "address")
        spills += is_spill(mnemonic, operands, architecture)
    return {
        "instructions": len(code),
        "vector bits": _vector_bits(text, [m[0] for m in code], architecture),
        "fma": kinds["fma"],
        "loads": kinds["load"],
        "stores": kinds["store"],
        "spills": spills,
        "branches": kinds["branch"],
        "calls": kinds["call"],
    }


def is_spill(mnemonic: str, operands: str, architecture: str) -> bool:
    """Return whether an instruction spills a vector register to the stack or reloads it."""
    if architecture not in _STACK or instruction_kind(mnemonic, architecture) not in ("move", "load", "store"):
        return False
    return re.search(_STACK[architecture], operands) is not None and bool(re.search(_VECTOR[architecture], operands))


def _memory_use(operands: str) -> str:
    """Return whether an x86 instruction reads and whether it writes memory; its last operand is the destination."""
    if "(" not in operands:
        return ""
    last = operands.rsplit(")", 1)[-1]
    return "write" if not last.lstrip().startswith(",") else "read"


def _vector_bits(text: str, lines: list[str], architecture: str) -> int:
    if architecture == "riscv64":
        # The vector length is known at run time only; count the minimum that the features guarantee.
        widths = [int(bits) for bits in re.findall(r"_zvl(\d+)b", text)]
        return max(widths, default=128) if any("vset" in line for line in lines) else 0
    if architecture == "x86_64":
        lines = [line for line in lines if not _SCALAR.match(line)]
    for pattern, bits in _WIDTHS.get(architecture, ()):
        search = re.compile(pattern)
        if any(search.search(line) for line in lines):
            return bits
    return 0
