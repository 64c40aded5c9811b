"""The assembly listing: instructions linked to the loop IR, with filters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from app.artifacts import AssemblyFilter, Line, Listing, make_listing
from app.recorder.listings import FinalListing, Place, linked
from compiler.target.assembly_summary import assembly_summary, is_spill
from compiler.target.control_flow import control_flow, hot_loop
from compiler.target.instruction_kinds import INSTRUCTION, architecture_of
from compiler.target.loop_facts import findings, loop_facts
from compiler.target.target import Target

_LOC = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)(?:\s+(\d+))?")
_LABEL = re.compile(r"^([.\w$]+):")
_DIRECTIVE = re.compile(r"^\s*\.(?!quad|long|short|byte|zero|ascii|asciz|LCPI)\w+")
_DEBUG_DIRECTIVE = re.compile(r"^\s*\.(?:file|loc|cfi_\w+|cv_\w+)\b")
_OPERAND_LABEL = re.compile(r"[.$]?L[A-Za-z_$]*\d+[_\w]*")
_COMMENT = re.compile(r"\s*(?:#|//|;)\s.*")
_INSTRUCTION = re.compile(INSTRUCTION + r"\s*(.*)")
_DEBUG_LABEL = re.compile(r"[.$]?L_*(?:func_(?:begin|end)|tmp|debug_|info_|section_)")


def from_assembly(
    text: str,
    name: str,
    final: FinalListing | None,
    summary: dict[str, int | float | str],
    filters: Collection[AssemblyFilter] = (),
    target: Target | None = None,
) -> Listing:
    """Create the listing of assembly, with links from its ``.loc`` directives, which are then removed.

    Parameters
    ----------
    text : str
        Assembly as printed by LLVM.
    final : FinalListing, optional
        The listing that its debug locations refer to.
    summary : dict
        Statistics for the title.
    filters : collection of str
        What is shown besides instructions, constants and jump targets, and what is hidden.
    target : Target, optional
        What it is for, by which its hot loop is judged.
    """
    lines = list(_lines(_before_debug_sections(text.splitlines()), final, filters))
    loop_summary: dict[str, int | float | str] = {}
    if "hot" in filters:
        loop = _hot_loop(lines)
        if loop:
            loop_summary = assembly_summary(text, [line.text for line in loop])
        lines = loop or [Line("# nothing loops here: all of it is shown"), *lines]
    if "unspilled" in filters:
        lines = _without_spills(lines, architecture_of(text))
    return make_listing("asm", name, "gas", lines, summary, loop_summary, _findings(text, target))


def _findings(text: str, target: Target | None) -> list[str]:
    """Return what is wrong with the hot loop of an assembly."""
    facts = loop_facts(text, target) if target is not None else None
    if target is None or facts is None:
        return []
    return [f"{finding.kind}: {finding.words}" for finding in findings(facts, target)]


def _lines(body: list[str], final: FinalListing | None, filters: Collection[AssemblyFilter]) -> Iterator[Line]:
    used = _used_labels(body)
    place: Place | None = None
    for line in body:
        shown = line.rstrip() if "comments" in filters else _COMMENT.sub("", line).rstrip()
        if loc := _LOC.match(line):
            place = (int(loc[1]), int(loc[2] or 0))
        elif label := _LABEL.match(line):
            local = label[1].startswith((".L", "$L", "L"))
            if not local or label[1] in used or ("labels" in filters and not _DEBUG_LABEL.match(label[1])):
                yield Line(shown)
            place = place if local else None
        elif not shown.strip():
            continue
        elif _COMMENT.fullmatch(line):
            yield Line(f"    {shown.strip()}")
        elif _DIRECTIVE.match(line):
            if "directives" in filters and not _DEBUG_DIRECTIVE.match(line):
                yield Line(_aligned(shown))
        else:
            yield linked(_aligned(shown), place, final)


def _aligned(line: str) -> str:
    """Align the operands of an instruction, after mnemonics of up to the length of ``vfmadd231ps``."""
    mnemonic, _, operands = line.strip().partition("\t")
    return f"    {mnemonic:<11} {operands}".expandtabs(4).rstrip()


def _before_debug_sections(raw: list[str]) -> list[str]:
    """Drop DWARF and other sections without code or constants."""
    code: list[str] = []
    keep = True
    for line in raw:
        text = line.strip()
        if text.startswith((".section", ".text", ".data", ".rodata")):
            keep = ".debug" not in text and ".note" not in text and "eh_frame" not in text
        if keep:
            code.append(line)
    return code


def _used_labels(body: list[str]) -> set[str]:
    used: set[str] = set()
    for line in body:
        if line[:1].isspace() and not _DIRECTIVE.match(line):
            used.update(_OPERAND_LABEL.findall(line))
    return used


def _without_spills(lines: list[Line], architecture: str) -> list[Line]:
    """Drop spills and reloads of vector registers."""

    def spills(line: Line) -> bool:
        match = _INSTRUCTION.match(line.text)
        return match is not None and is_spill(match[1], _COMMENT.sub("", match[2]), architecture)

    return [line for line in lines if not spills(line)]


def _hot_loop(lines: list[Line]) -> list[Line]:
    """Return the lines of the most deeply nested loop, if there is one."""
    graph = hot_loop(control_flow([line.text for line in lines], "gas"))
    return [lines[number] for number in graph.hot_lines] if graph is not None else []
