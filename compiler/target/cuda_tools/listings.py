"""PTX and SASS with source lines.

Code from headers, such as that of tensor cores, is attributed to the line where it is inlined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "kernel.cu"
"""The file name of the program in the compilers' line information."""
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_FUNCTION = re.compile(r"^(?:\.visible\s+)?\.(?:entry|func)\b|^\.text\.|^\s*\.section\s")
_FILE_LINE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(\S.*?)\s*;?\s*$")
_PADDING = "NOP"
"""The padding of kernels to a multiple of 128 bytes."""
_LABEL = re.compile(r"^\s*\.(L_x_\d+):")


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of PTX or SASS, and the line of the CUDA C, from 1, if known."""

    text: str
    source_line: int | None
    is_instruction: bool


def ptx_lines(text: str) -> list[CodeLine]:
    """Parse the lines of PTX, removing its line directives."""
    own = {file for file, path in _FILE.findall(text) if _is_program(path)}
    lines: list[CodeLine] = []
    source: int | None = None
    places: dict[tuple[str, str], int | None] = {}
    for line in text.splitlines():
        if line.strip().startswith((".section", ".file")):
            break  # tables of debug information
        if match := _LOC.match(line):
            file, number, calling_file, call = match.groups()
            source = int(number) if file in own else None
            if call:  # the call may be inlined itself; then its own directive came before
                source = places.get((calling_file, call), int(call) if calling_file in own else None)
            places[file, number] = source
            continue
        if _FUNCTION.match(line):
            source = None
        bare = line.strip()
        is_instruction = bare.endswith(";") and not bare.startswith(".")
        lines.append(CodeLine(line, source if is_instruction else None, is_instruction))
    return lines


def sass_lines(text: str) -> list[CodeLine]:
    """Parse the instructions and labels of a disassembly, without padding."""
    lines: list[CodeLine] = []
    source: int | None = None
    for line in text.splitlines():
        if match := _FILE_LINE.match(line):
            # Inlining locations follow each other, the outermost last.
            source = int(match[2]) if _is_program(match[1]) else None
        elif line.startswith(".text."):
            source = None
            lines.append(CodeLine(line, None, False))
        elif match := _LABEL.match(line):
            lines.append(CodeLine(f".{match[1]}:", None, False))
        elif (match := _INSTRUCTION.match(line)) and match[1] != _PADDING:
            lines.append(CodeLine(f"    {match[1]}", source, True))
    return lines


def _is_program(path: str) -> bool:
    return Path(path).name == PROGRAM
