"""PTX and SASS as lines that know the line of the CUDA C that they come from.

Code of a header, such as that of the tensor cores, comes from the line that it is inlined at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PROGRAM", "CodeLine", "ptx_lines", "sass_lines"]

PROGRAM = "kernel.cu"
"""What a program is called where the compilers say which file a line is of."""
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_FUNCTION = re.compile(r"^(?:\.visible\s+)?\.(?:entry|func)\b|^\.text\.|^\s*\.section\s")
_FILE_LINE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(\S.*?)\s*;?\s*$")
_PADDING = "NOP"
"""Fills a kernel up to a multiple of 128 bytes."""
_LABEL = re.compile(r"^\s*\.(L_x_\d+):")


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of PTX or SASS.

    Attributes
    ----------
    text : str
    source_line : int, optional
        The line of the CUDA C, from 1; None if it comes from none.
    is_instruction : bool
    """

    text: str
    source_line: int | None
    is_instruction: bool


def ptx_lines(text: str) -> list[CodeLine]:
    """Return the lines of PTX; the directives that say where they come from are left out.

    Parameters
    ----------
    text : str
        Compiled with ``-lineinfo``.

    Returns
    -------
    list of CodeLine
    """
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
            if call:  # which may be in code that is inlined itself: then its own directive came before
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
    """Return the instructions and labels of a disassembly, without the padding at its end.

    Parameters
    ----------
    text : str
        As ``nvdisasm -gi -c`` prints it.

    Returns
    -------
    list of CodeLine
    """
    lines: list[CodeLine] = []
    source: int | None = None
    for line in text.splitlines():
        if match := _FILE_LINE.match(line):
            # The places that code is inlined at follow each other, the outermost last.
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
