"""What the instruction of a line does, part by part."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from app.instructions import llvm_ir
from app.instructions.aarch64 import AARCH64
from app.instructions.operands import split_operands
from app.instructions.ptx import PTX
from app.instructions.riscv import RISCV
from app.instructions.rules import ROLES, InstructionSet, Meaning
from app.instructions.sass import SASS, control_words
from app.instructions.wasm import WASM
from app.instructions.x86 import X86
from compiler.target.instruction_kinds import architecture_of

SETS: Mapping[str, InstructionSet] = {table.name: table for table in (X86, AARCH64, RISCV, WASM, PTX, SASS)}
"""By name."""
MAX_LETTERS = 4_000
"""Of a line that is read; a script may name its functions and buffers as it likes."""
_VECTORS = {"x": 128, "y": 256, "z": 512}


_ORDINALS = ("first ", "second ", "third ", "fourth ", "fifth ")
_SAYS_ROLE = ("the number", "only the lanes", "lanes that it selects", "the source before")
"""How descriptions of operands begin that are neither read nor written."""


class Tip(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an instruction does."""

    name: str
    meaning: str
    parts: list[tuple[str, str]] = []
    """Its modifiers, flags or attributes, and what each says."""
    operands: list[tuple[str, str]] = []
    """What each operand is for, and what it is."""
    timing: str = ""
    """Its cost by a model of the processor."""


def has_instructions(language: str) -> bool:
    """Return whether the instructions of listings in a language are known."""
    return language in ("gas", llvm_ir.LLVM.name) or language in SETS


def set_of(language: str, lines: Sequence[str]) -> str:
    """Return the instruction set of a listing: a key of :data:`SETS`, ``llvm``, or empty."""
    if language == "gas":
        return architecture_of("\n".join(lines))
    return language if has_instructions(language) else ""


def tip_of(line: str, instructions: str) -> Tip | None:
    """Return what the instruction of a line does; None if it has none that is known.

    Parameters
    ----------
    instructions : str
        The instruction set, as :func:`set_of` returns it.
    """
    if len(line) > MAX_LETTERS:
        return None
    if instructions == llvm_ir.LLVM.name:
        return _llvm_tip(line)
    table = SETS.get(instructions)
    match = re.fullmatch(table.line, line) if table is not None else None
    meaning = meaning_of(match["name"], instructions) if match is not None else None
    if table is None or match is None or meaning is None:
        return None
    texts = [text for text in split_operands(match["rest"].strip()) if text]
    whats = [table.operand(text) for text in texts]
    said = zip(texts, _roles(texts, whats, meaning, table), whats, strict=True)
    operands = [(text, ", ".join(filter(None, (role, what)))) for text, role, what in said]
    groups = match.groupdict(default="")
    parts = [(f".{part}", words) for part, words in meaning.modifiers if words]
    if guard := groups.get("guard", "").strip():
        parts.insert(0, (guard, _guarded(guard)))
    if columns := groups.get("control"):
        parts += control_words(columns)
    return Tip(
        name=match["name"],
        meaning=_with_lanes(meaning, texts),
        parts=parts,
        operands=[(text, words) for text, words in operands if words],
    )


@lru_cache(4_000)
def meaning_of(name: str, instructions: str) -> Meaning | None:
    """Return what an instruction does by its name."""
    table = SETS.get(instructions)
    return table.meaning(name) if table is not None else None


def describe_instructions(lines: Sequence[str]) -> dict[str, str]:
    """Return what the instructions of an assembly do, by name."""
    architecture = architecture_of("\n".join(lines))
    tips = [tip for line in lines if (tip := tip_of(line, architecture))]
    found = {tip.name: meaning_of(tip.name, architecture) for tip in tips}
    return {name: meaning.sentence for name, meaning in sorted(found.items()) if meaning is not None}


def _with_lanes(meaning: Meaning, operands: Sequence[str]) -> str:
    """Say how many numbers the vectors have, if the registers tell."""
    widths = [_VECTORS[found[1]] for text in operands if (found := re.match(r"%([xyz])mm", text))]
    if not meaning.bits or not widths:
        return meaning.sentence
    return meaning.sentence.replace("packed ", f"{max(widths) // meaning.bits} × ")


def _guarded(guard: str) -> str:
    name = guard.lstrip("@!")
    return f"only where {name} is {'false' if guard.startswith('@!') else 'true'}"


def _roles(texts: Sequence[str], whats: Sequence[str], meaning: Meaning, table: InstructionSet) -> list[str]:
    """Return what each operand is for, such as ``first source``; empty if what it is says so."""
    letters = meaning.roles or "i"
    if table is X86:  # the destination is last, and there may be any number before it
        letters = letters[0] * (len(texts) - len(letters)) + letters[max(0, len(letters) - len(texts)) :]
    else:
        letters += letters[-1] * (len(texts) - len(letters))
    shown = ["" if what.startswith(_SAYS_ROLE) else letter for letter, what in zip(letters, whats, strict=False)]
    shown = [
        "" if letter == "a" and what.startswith("memory") else letter for letter, what in zip(shown, whats, strict=True)
    ]
    sources = iter(_ORDINALS if shown.count("s") > 1 else [""])
    return [f"{next(sources, '')}{ROLES['s']}" if letter == "s" else ROLES.get(letter, "") for letter in shown]


# LLVM IR

_INSTRUCTION = re.compile(
    r"(?:\s+(?:(?:%[\w.$-]+|%\"[^\"]*\") = )?(?:(?:tail|musttail|notail) )?|(?=define|declare|attributes))"
    r"(?P<name>[a-z]\w*)\b.*"
)
_WORD = re.compile(r"(?<![%@\w.!#\"-])[a-z_]\w*(?![\w.]*[:\"])|![a-z][\w.]*|(?<=@llvm\.)[\w.]+")
_TYPES = re.compile(r"\.(?:(?:nx)?v\d+)?(?:[if]\d+|bf16|p\d+|isVoid)(?=\.|$)")


_MEMORY_ACCESS = re.compile(r".* (?:load|store) .*?\bptr (%[\w.$-]+)(?=,|$)")
_ADDRESS = re.compile(
    r".* getelementptr (?:inbounds |nuw |nusw )*(\w+|<\d+ x \w+>), ptr (%?[\w.$@-]+), i\d+ (%?[\w.$-]+)(?:,|$)"
)
_SIZES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}
"""Bytes of a value."""


def _llvm_tip(line: str) -> Tip | None:
    match = _INSTRUCTION.fullmatch(line.rstrip())
    meaning = llvm_ir.LLVM.meaning(match["name"]) if match is not None else None
    if match is None or meaning is None:
        return None
    predicates = {"icmp": llvm_ir.PREDICATES, "fcmp": llvm_ir.FLOAT_PREDICATES}.get(match["name"], {})
    parts: dict[str, str] = {}
    for word in _WORD.findall(line):
        words = predicates.get(word) or llvm_ir.FLAGS.get(word) or llvm_ir.METADATA.get(word) or ""
        if not words and f"@llvm.{word}" in line and (found := llvm_ir.INTRINSICS.meaning(_TYPES.sub("", word))):
            word, words = f"llvm.{word}", found.sentence
        if words:
            parts[word] = words
    return Tip(name=match["name"], meaning=meaning.sentence, parts=list(parts.items()), operands=_llvm_operands(line))


def _llvm_operands(line: str) -> list[tuple[str, str]]:
    """Return what an address is made of, and what a load or store accesses."""
    if access := _MEMORY_ACCESS.match(line):
        return [(access[1], f"memory: where {access[1]} points to")]
    if address := _ADDRESS.match(line):
        kind, base, index = address.groups()
        lanes = re.match(r"<(\d+) x", kind)
        size = _SIZES.get(kind.rpartition(" ")[2].rstrip(">"), 0) * (int(lanes[1]) if lanes else 1)
        return [(base, "base"), (index, f"index, × {size} byte{'s' * (size != 1)}")] if size else []
    return []
