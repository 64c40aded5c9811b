"""The symbols that an ELF object file expects from elsewhere.

LLVM's linker ends the whole process when there is none of that name, so they are looked up before linking.
Layout: Tool Interface Standard, Executable and Linking Format, version 1.2, and its 64-bit extension.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_SYMBOL_TABLE = 2
_UNDEFINED = 0


def undefined_symbols(code: bytes) -> list[str]:
    """Return the names of undefined symbols; nothing for other formats than 64-bit little-endian ELF."""
    if code[:6] != b"\x7fELF\x02\x01":
        return []
    offset, size, count = struct.unpack_from("<40xQ10xHH", code)
    sections = [_Section(*struct.unpack_from("<4xI16xQQI12xQ", code, offset + i * size)) for i in range(count)]
    return [name for s in sections if s.kind == _SYMBOL_TABLE for name in _undefined(code, s, sections[s.link])]


class _Section:
    __slots__ = ("entry_size", "kind", "link", "offset", "size")

    def __init__(self, kind: int, offset: int, size: int, link: int, entry_size: int) -> None:
        self.kind = kind
        self.offset = offset
        self.size = size
        self.link = link
        self.entry_size = entry_size


def _undefined(code: bytes, table: _Section, names: _Section) -> Iterator[str]:
    for start in range(table.offset, table.offset + table.size, table.entry_size):
        name, section = struct.unpack_from("<I2xH", code, start)
        if section == _UNDEFINED and name:
            text = names.offset + name
            yield code[text : code.index(b"\0", text)].decode()
