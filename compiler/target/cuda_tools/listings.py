"""PTX and SASS with source lines.

Code from headers, such as that of tensor cores, is attributed to the line where it is inlined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

PROGRAM = "kernel.cu"
"""The file name of the program in the compilers' line information."""
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_FUNCTION = re.compile(r"^(?:\.visible\s+)?\.(?:entry|func)\b|^\.text\.|^\s*\.section\s")
_FILE_LINE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(\S.*?)\s*;?\s*(?:/\* 0x[0-9a-f]{16} \*/)?\s*$")
_UPPER_HALF = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
"""The upper 64 bits of the encoding of the instruction before."""
CONTROL_HEADING = "/* waits  rd wr y cy */"
_PADDING = "NOP"
"""The padding of kernels to a multiple of 128 bytes."""
_LABEL = re.compile(r"^\s*\.(L_x_\d+):")


@dataclass(frozen=True, slots=True)
class Control:
    """How the compiler schedules an instruction: GPUs from Volta on wait for what it says, and for nothing else.

    Barriers count from 0 to 5.  The layout is that of Z. Jia et al., Dissecting the NVIDIA Volta GPU Architecture via
    Microbenchmarking, 2018, section 2.1.
    """

    stall: int
    """Cycles until the next instruction of the warp is issued, at least."""
    yields: bool
    """Whether the scheduler prefers another warp next."""
    write_barrier: int | None
    """The barrier that opens when the result is written."""
    read_barrier: int | None
    """The barrier that opens when the operands have been read."""
    waits: tuple[int, ...]
    """The barriers that have to be open before."""

    @classmethod
    def of(cls, upper: int) -> Control:
        """Decode the upper 64 bits of an instruction of 128."""
        bits = upper >> 41
        write, read = (None if at == 7 else at for at in (bits >> 5 & 7, bits >> 8 & 7))
        waits = tuple(barrier for barrier in range(6) if bits >> 11 + barrier & 1)
        return cls(bits & 15, not bits >> 4 & 1, write, read, waits)

    def __str__(self) -> str:
        """Columns under :data:`CONTROL_HEADING`."""
        waits = "".join(str(barrier) if barrier in self.waits else "-" for barrier in range(6))
        read, write = ("-" if at is None else at for at in (self.read_barrier, self.write_barrier))
        return f"/* {waits}  {read}  {write} {'y' if self.yields else '-'} {self.stall:2} */"


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of PTX or SASS, and the line of the CUDA C, from 1, if known."""

    text: str
    source_line: int | None
    is_instruction: bool
    control: Control | None = None
    """Of SASS, if the disassembler gave its encoding."""


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
    is_padding = False
    for line in text.splitlines():
        if match := _FILE_LINE.match(line):
            # Inlining locations follow each other, the outermost last.
            source = int(match[2]) if _is_program(match[1]) else None
        elif match := _UPPER_HALF.match(line):
            if lines and lines[-1].is_instruction and not is_padding:
                lines[-1] = replace(lines[-1], control=Control.of(int(match[1], 16)))
        elif line.startswith(".text."):
            source = None
            lines.append(CodeLine(line, None, False))
        elif match := _LABEL.match(line):
            lines.append(CodeLine(f".{match[1]}:", None, False))
        elif match := _INSTRUCTION.match(line):
            is_padding = match[1] == _PADDING
            if not is_padding:
                lines.append(CodeLine(f"    {match[1]}", source, True))
    return lines


def _is_program(path: str) -> bool:
    return Path(path).name == PROGRAM
