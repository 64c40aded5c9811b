"""What the hot loop of a function consists of, and what is wrong with it for the target.

The work of a loop is counted in multiply-adds, or else in sums, maxima and the like, or else in elements stored, so
that loops of different widths and unrolling compare: a 512-bit ``vfmadd231ps`` is 16 multiply-adds, a 256-bit
``vpdpbusd`` is 32.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.target.assembly_summary import is_spill
from compiler.target.control_flow import control_flow, hot_loop
from compiler.target.instruction_kinds import INSTRUCTION, architecture_of, instruction_kind
from compiler.target.target import Target


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a loop: its kind, the same for all targets, and a sentence with numbers."""

    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """Counts of one iteration of a loop."""

    function: str
    lines: tuple[str, ...]
    """Its instructions."""
    working: tuple[int, ...]
    """Which of them do the work that is counted."""
    spare: tuple[int, ...]
    """Which of them only rearrange, convert, compare, or find places."""
    unit: str
    """What ``work`` counts."""
    work: float
    width: int
    """Bits of the vectors that do most of the work; 0 if scalar instructions do."""
    least: float
    """The number of instructions that would do the same work with the target's widest vectors."""
    loads: int
    scalar_loads: int
    """Loads of single elements, those into lanes of vectors included."""
    shuffles: int
    inserts: int
    """Moves of single elements into and out of lanes."""
    conversions: int
    spills: int
    calls: int


@dataclass(frozen=True, slots=True)
class _Work:
    """What one instruction does: results of ``bits`` each, and ``factor`` multiply-adds for each of them."""

    kind: str
    lanes: float
    bits: int
    width: int
    factor: int = 1

    @property
    def amount(self) -> float:
        return self.lanes * self.factor

    def most(self, vector_bits: int) -> float:
        """The amount of an instruction with vectors as wide as they can be."""
        return max(self.amount, vector_bits / self.bits * self.factor)


SPARE = frozenset({"shuffle", "convert", "address", "compare", "logic"})
"""Kinds of instructions that bring values to where others compute with them."""
_COMMENT = re.compile(r"\s*(?:#+\s|//).*")
_INSTRUCTION = re.compile(INSTRUCTION + r"(?:\s+(.*))?$")
_BITS = {"b": 8, "w": 16, "h": 16, "s": 32, "d": 64, "q": 64}


def loop_facts(text: str, target: Target, function: str = "") -> LoopFacts | None:
    """Count what is in the hot loop of a function of an assembly, by default of the one with the deepest loop.

    It is None if nothing loops, or the architecture is not known.
    """
    lines = text.splitlines()
    graphs = control_flow(lines, "gas")
    graph = hot_loop([graph for graph in graphs if not function or graph.function == function])
    if graph is None:
        return None
    architecture = architecture_of(text)
    hot = set(graph.hot_lines)
    first = min(block.first for block in graph.blocks)
    instructions = list(_instructions(lines, first, max(hot)))
    code = [(at in hot, found[1], (found[2] or "").strip()) for at, found in instructions]
    work = list(_work_of(code, architecture, target.vector_bits))
    loop = [(mnemonic, operands) for is_hot, mnemonic, operands in code if is_hot]
    unit, chosen = _chosen(work)
    done = [each for at in chosen if (each := work[at]) is not None]
    by_width: Counter[int] = Counter()
    for each in done:
        by_width[each.width] += int(each.amount)
    full = max((each.most(target.vector_bits) for each in done), default=1.0)
    amount = sum(each.amount for each in done)
    kinds = [instruction_kind(mnemonic, architecture) for mnemonic, _ in loop]
    counted = Counter(kinds)
    return LoopFacts(
        function=graph.function,
        lines=tuple(found[0].rstrip() for at, found in instructions if at in hot),
        working=tuple(chosen),
        spare=tuple(at for at, kind in enumerate(kinds) if kind in SPARE and at not in chosen),
        unit=unit,
        work=amount,
        width=by_width.most_common(1)[0][0] if by_width else 0,
        least=amount / full,
        loads=sum(_reads_memory(*instruction, architecture) for instruction in loop),
        scalar_loads=sum(_loads_scalar(*instruction, architecture) for instruction in loop),
        shuffles=counted["shuffle"],
        inserts=sum(_is_insert(*instruction, architecture) for instruction in loop),
        conversions=counted["convert"],
        spills=sum(is_spill(*instruction, architecture) for instruction in loop),
        calls=counted["call"],
    )


def findings(facts: LoopFacts, target: Target) -> list[Finding]:
    """Return what is wrong with a loop."""
    found = []
    busy = len(facts.working)
    if facts.width < target.vector_bits:
        width = f"vectors of {facts.width} bits" if facts.width else "scalars"
        found.append(Finding("narrow", f"it computes with {width}, the target has {target.vector_bits} bits"))
    if facts.width and facts.scalar_loads > busy:
        found.append(Finding("scalar loads", f"{facts.scalar_loads} loads of single elements for {busy} of its work"))
    if facts.spills:
        found.append(Finding("spills", f"{facts.spills} moves of vectors to and from the stack"))
    if facts.width and max(facts.shuffles, facts.inserts) > busy:
        found.append(Finding("shuffles", f"{max(facts.shuffles, facts.inserts)} shuffles for {busy} of its work"))
    if facts.conversions > busy:
        found.append(Finding("conversions", f"{facts.conversions} conversions for {busy} of its work"))
    if facts.calls:
        found.append(Finding("calls", f"{facts.calls} calls"))
    return found


def _instructions(lines: Sequence[str], first: int, last: int) -> Iterator[tuple[int, re.Match[str]]]:
    for at in range(first, last + 1):
        if match := _INSTRUCTION.match(_COMMENT.sub("", lines[at])):
            yield at, match


def _chosen(work: Sequence[_Work | None]) -> tuple[str, list[int]]:
    """Return the unit in which the work of a loop is counted, and the instructions that do it."""
    places: dict[str, list[int]] = {}
    for at, each in enumerate(work):
        if each is not None:
            places.setdefault(each.kind, []).append(at)

    def amount(kind: str) -> float:
        return sum(each.amount for at in places.get(kind, ()) if (each := work[at]) is not None)

    for kind in ("bytes", "pairs", "multiply-adds"):
        if kind in places and amount(kind) * 2 >= max(map(amount, places)):
            return "multiply-adds", places[kind]
    if amount("products") and amount("sums"):
        return "multiply-adds", places["products"] if amount("products") <= amount("sums") else places["sums"]
    for kinds in (("multiply-adds", "sums", "products", "maxima", "others"), ("comparisons",)):
        if arithmetic := [kind for kind in kinds if kind in places]:
            return "operations", places[max(arithmetic, key=amount)]
    return "stores", places.get("stores", [])


def _work_of(code: Sequence[tuple[bool, str, str]], architecture: str, vector_bits: int) -> Iterator[_Work | None]:
    """Yield the work of each instruction of the loop; RISC-V's depends on the last ``vset`` before it."""
    setting = (32, 1.0)
    for is_hot, mnemonic, operands in code:
        if architecture == "riscv64":
            setting = _riscv_setting(mnemonic, operands, vector_bits) or setting
            work = _riscv_work(mnemonic, setting, vector_bits)
        else:
            work = (_x86_work if architecture == "x86_64" else _aarch64_work)(mnemonic, operands, vector_bits)
        if is_hot:
            yield work


# x86-64

_X86_WIDTHS = (("%zmm", 512), ("%ymm", 256), ("%xmm", 128))
_X86_DOTS = {
    "vpdpbusd": ("multiply-adds", 4), "vpdpbusds": ("multiply-adds", 4), "vpdpbssd": ("multiply-adds", 4),
    "vpdpbuud": ("multiply-adds", 4), "vpdpwssd": ("multiply-adds", 2), "vpdpwssds": ("multiply-adds", 2),
    "vdpbf16ps": ("multiply-adds", 2), "vpmaddwd": ("pairs", 2), "pmaddwd": ("pairs", 2),
}  # fmt: skip
_X86_FLOAT = re.compile(r"v?(fn?m\w+?\d{3}|mul|add|sub|max|min|div|sqrt|cmp\w*?)([ps])([sdh])")
_X86_INTEGER = re.compile(r"v?p(mul[lh]u?|madd|adds?|addus|subs?|subus|max[su]|min[su])([bwdq])")
_X86_KINDS = {"fm": "multiply-adds", "fn": "multiply-adds", "mu": "products", "ad": "sums", "su": "sums",
              "ma": "maxima", "mi": "maxima", "cm": "comparisons"}  # fmt: skip


_TILE = 16
"""Rows of a full tile register, and columns of sums of 32 bits."""


def _x86_work(mnemonic: str, operands: str, vector_bits: int) -> _Work | None:
    width = next((bits for name, bits in _X86_WIDTHS if name in operands), 0)
    if dot := _X86_DOTS.get(mnemonic):
        return _Work(dot[0], width / 32, 32, width, dot[1])
    if tile := re.fullmatch(r"tdp(bf16|fp16|b[su])\w+", mnemonic):
        return _Work("multiply-adds", _TILE**2, 32, 32 * _TILE**2, _TILE * (2 if "16" in tile[1] else 4))
    if mnemonic in ("vpmaddubsw", "pmaddubsw"):
        return _Work("bytes", width / 16, 16, width, 2)
    if match := _X86_FLOAT.fullmatch(mnemonic):
        bits = 16 if match[3] == "h" else _BITS[match[3]]
        is_vector = match[2] == "p"
        kind = _X86_KINDS.get(match[1][:2], "others")
        return _Work(kind, width / bits if is_vector else 1, bits, width if is_vector else 0)
    if match := _X86_INTEGER.fullmatch(mnemonic):
        bits = _BITS[match[2]]
        return _Work(_X86_KINDS[match[1][:2]], width / bits, bits, width)
    if re.fullmatch(r"imul[wlq]", mnemonic):
        return _Work("products", 1, 32, 0)
    if re.fullmatch(r"v?mov(u|a|nt|dq)\w*", mnemonic) and operands.endswith(")"):
        return _Work("stores", width / 8, 8, width)
    return _Work("stores", 4, 8, 0) if mnemonic in ("vmovss", "movss", "movl") and operands.endswith(")") else None


# AArch64

_ARRANGEMENT = re.compile(r"\{?\s*v\d+\.(\d+)([bhsd])|\{?\s*(z)\d+\.([bhsd])")
_AARCH64_KINDS = (
    (r"[su]dot|usdot", "multiply-adds", 4), (r"[su]mmla|usmmla", "multiply-adds", 8),
    (r"bfdot|fdot", "multiply-adds", 2), (r"bfmmla", "multiply-adds", 4),
    (r"fml[as]\w*|fn?m(add|sub)|ml[as]|[su]ml[as]l2?|m(add|sub)|fmad", "multiply-adds", 1),
    (r"f?mul|[su]mull2?|fnmul", "products", 1), (r"f?add|f?sub|[su]addw2?|[su]adalp|[su]addl2?", "sums", 1),
    (r"f?(max|min)(nm)?|[su](max|min)", "maxima", 1), (r"fdiv|fsqrt", "others", 1), (r"f?cm\w\w", "comparisons", 1),
)  # fmt: skip


def _aarch64_work(mnemonic: str, operands: str, vector_bits: int) -> _Work | None:
    match = _ARRANGEMENT.match(operands)
    if match is None:
        return _aarch64_scalar_work(mnemonic, operands)
    bits = _BITS[match[2] or match[4]] if (match[2] or match[4]) != "h" else 16
    lanes = int(match[1]) if match[1] else max(vector_bits, 128) // bits
    for pattern, kind, factor in _AARCH64_KINDS:
        if re.fullmatch(pattern, mnemonic):
            return _Work(kind, lanes, bits, int(lanes * bits), factor)
    return None


def _aarch64_scalar_work(mnemonic: str, operands: str) -> _Work | None:
    if store := re.match(r"([qdswx])\d+(?:, ([qdswx])\d+)?", operands if mnemonic in ("str", "stp", "stur") else ""):
        bits = {"q": 128, "d": 64, "s": 32, "w": 32, "x": 64}[store[1]]
        return _Work("stores", bits / 8 * (2 if store[2] else 1), 8, bits if bits == 128 else 0)
    scalar = re.match(r"([hsd])\d+\b", operands)
    bits = {"h": 16, "s": 32, "d": 64}[scalar[1]] if scalar else 32
    for pattern, kind, factor in _AARCH64_KINDS:
        if re.fullmatch(pattern, mnemonic) and (scalar or mnemonic == "madd"):
            return _Work(kind, 1, bits, 0, factor)
    return None


# RISC-V

_RISCV_KINDS = (
    (r"vfn?m(acc|sac|add|sub)|vn?m(acc|sac|add|sub)|v[f]?wn?mac\w+", "multiply-adds"),
    (r"vf?w?mul\w*", "products"), (r"v[f]?w?(add|sub)u?|vfw?red\w*sum|vw?redsum\w*", "sums"),
    (r"vf?(max|min)u?|vf?red(max|min)u?", "maxima"), (r"vfdiv|vfsqrt", "others"), (r"vs[e]?\d+", "stores"),
)  # fmt: skip
_RISCV_SCALAR = ((r"fn?m(add|sub)", "multiply-adds"), (r"fmul|mulw?", "products"), (r"f(add|sub)", "sums"),
                 (r"f(max|min)", "maxima"), (r"f(div|sqrt)", "others"))  # fmt: skip


def _riscv_setting(mnemonic: str, operands: str, vector_bits: int) -> tuple[int, float] | None:
    """Return the bits of an element and the number of them that a ``vset`` instruction sets."""
    match = re.search(r"e(\d+), m(f?)(\d)", operands) if mnemonic.startswith("vset") else None
    if match is None:
        return None
    bits, group = int(match[1]), 1 / int(match[3]) if match[2] else int(match[3])
    length = re.match(r"\w+, (\d+),", operands) if mnemonic == "vsetivli" else None
    return bits, float(length[1]) if length else max(vector_bits, 128) * group / bits


def _riscv_work(mnemonic: str, setting: tuple[int, float], vector_bits: int) -> _Work | None:
    name, _, rest = mnemonic.partition(".")
    for pattern, kind in _RISCV_KINDS:
        if re.fullmatch(pattern, name):
            bits = setting[0] * (2 if re.match(r"vf?w", name) else 1)
            return _Work(kind, setting[1], bits, int(min(setting[1] * bits, max(vector_bits, 128))))
    for pattern, kind in _RISCV_SCALAR:
        if re.fullmatch(pattern, name):
            return _Work(kind, 1, {"d": 64, "h": 16}.get(rest, 32), 0)
    return None


# Loads

_SCALAR_LOADS = {
    "x86_64": re.compile(
        r"(?:v?movs[sdh]|v?pinsr[bwd]|v?insertps|mov[sz][bw][lqw]|mov[bwl])\s.*\((?!%rsp\)|%rbp\)).*\).*, %\w+"
    ),
    "aarch64": re.compile(r"(?:ldu?rs?[bh]?)\s+[bhsw]\d+,.*\[(?!sp)|ld1\s+\{ ?v\d+\.[bhsd] ?\}\[\d+\]"),
    "riscv64": re.compile(r"(?:fl[hwd]|l[bhw]u?)\s(?!.*\(sp\))"),
}
_INSERTS = {
    "x86_64": re.compile(r"v?p?(?:insr|extr|insert|extract)\w*"),
    "aarch64": re.compile(
        r"ins|umov|smov|(?:mov|ld1)\s+(?:\{ ?)?v\d+\.[bhsd] ?\}?\[\d+\].*|mov\s+\w+, v\d+\.\w\[\d+\]"
    ),
    "riscv64": re.compile(r"vf?mv\.[sx]\.[sxf]|vfmv\.f\.s|vslide1\w+\.\w+"),
}


def _reads_memory(mnemonic: str, operands: str, architecture: str) -> bool:
    if architecture == "x86_64":
        return "(" in operands and not operands.endswith(")") and not mnemonic.startswith(("lea", "prefetch"))
    return instruction_kind(mnemonic, architecture) == "load" and not mnemonic.startswith("prf")


def _loads_scalar(mnemonic: str, operands: str, architecture: str) -> bool:
    pattern = _SCALAR_LOADS.get(architecture)
    return pattern is not None and pattern.match(f"{mnemonic} {operands}") is not None


def _is_insert(mnemonic: str, operands: str, architecture: str) -> bool:
    pattern = _INSERTS.get(architecture)
    if pattern is None:
        return False
    return pattern.fullmatch(mnemonic) is not None or pattern.fullmatch(f"{mnemonic} {operands}") is not None
