"""Reads 64-bit little-endian ELF object files: sections, symbols and relocations.

Layout: Tool Interface Standard, Executable and Linking Format, version 1.2, and its 64-bit extension.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_MAGIC = b"\x7fELF\x02\x01"
_HEADER = 64
PROGRAM_DATA, SYMBOL_TABLE, RELOCATIONS, NO_BITS = 1, 2, 4, 8
"""Types of sections: what a program has, symbols, relocations with addends, zeros that take no room in the file."""
UNDEFINED = 0
"""Section of a symbol that is expected from elsewhere."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the file."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name for a place in a section."""

    name: str
    binding: int
    kind: int
    hidden: bool
    section: int
    value: int
    size: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place in a section that depends on where a symbol comes to stand."""

    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile:
    """An ELF object file; ``machine`` is the kind of processor, as ELF numbers it."""

    def __init__(self, code: bytes) -> None:
        self._code = code
        self.machine = struct.unpack_from("<18xH", code)[0]
        offset, size, count, names = struct.unpack_from("<40xQ10xHHH", code)
        headers = [struct.unpack_from("<IIQ8xQQIIQQ", code, offset + i * size) for i in range(count)]
        strings = headers[names][3] if headers else 0
        self.sections = [Section(self._text(strings + name), *fields) for name, *fields in headers]

    def _text(self, start: int) -> str:
        return self._code[start : self._code.index(b"\0", start)].decode()

    def content(self, section: Section) -> bytes:
        """Return the bytes of a section."""
        return (
            bytes(section.size)
            if section.kind == NO_BITS
            else self._code[section.offset : section.offset + section.size]
        )

    def symbols(self) -> Iterator[Symbol]:
        """Yield the symbols in their order, which relocations refer to."""
        for table in self.sections:
            if table.kind != SYMBOL_TABLE:
                continue
            names = self.sections[table.link].offset
            for name, info, other, section, value, size in struct.iter_unpack("<IBBHQQ", self.content(table)):
                yield Symbol(self._text(names + name), info >> 4, info & 15, bool(other & 3), section, value, size)

    def relocations(self, section: int) -> Iterator[Relocation]:
        """Yield the relocations of a section, given by its position."""
        for table in self.sections:
            if table.kind == RELOCATIONS and table.info == section:
                for offset, info, addend in struct.iter_unpack("<QQq", self.content(table)):
                    yield Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend)


def is_elf(code: bytes) -> bool:
    """Return whether a file is 64-bit little-endian ELF."""
    return code[: len(_MAGIC)] == _MAGIC


def with_data(code: bytes, data: bytes) -> bytes:
    """Return object code with data in a section of its own, which linkers keep, and which no process loads.

    Where the code is no 64-bit little-endian ELF, the data stands behind it.
    """
    if not data or not is_elf(code):
        return code + data
    offset, size, count, names = struct.unpack_from("<40xQ10xHHH", code)
    headers = bytearray(code[offset : offset + size * count])
    start, length = struct.unpack_from("<24xQQ", headers, names * size)
    named = code[start : start + length] + b".strata\0"
    named += bytes(-(len(code) + len(data) + len(named)) % 8)  # headers begin at multiples of eight
    struct.pack_into("<QQ", headers, names * size + 24, len(code) + len(data), len(named))
    headers += struct.pack("<IIQQQQIIQQ", length, PROGRAM_DATA, 0, 0, len(code), len(data), 0, 0, 1, 0)
    header = bytearray(code[:_HEADER])
    struct.pack_into("<Q", header, 40, len(code) + len(data) + len(named))
    struct.pack_into("<H", header, 60, count + 1)
    return b"".join((header, code[_HEADER:], data, named, headers))


def undefined_symbols(code: bytes) -> list[str]:
    """Return the names of undefined symbols; nothing for other formats than 64-bit little-endian ELF.

    LLVM's linker ends the whole process when there is none of that name, so they are looked up before linking.
    """
    if not is_elf(code):
        return []
    return [symbol.name for symbol in ObjectFile(code).symbols() if symbol.section == UNDEFINED and symbol.name]
