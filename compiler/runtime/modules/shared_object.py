"""A minimal linker: one module's object code to an x86-64 ELF shared library, where no linker can run.

Everything has the address of its place in the file.  Functions from elsewhere are called through a procedure linkage
table and bound at their first call, so that a library opens before the OpenMP runtime that its parallel loops need.

References
----------
System V Application Binary Interface, chapters 4 and 5, and its AMD64 supplement, chapters 4 and 5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.ir.error import BuildError
from compiler.ir.memory import aligned
from compiler.runtime.modules.object_file import NO_BITS, UNDEFINED, ObjectFile, Relocation, Symbol, is_elf

_X86_64 = 62
_ABSOLUTE, _RELATIVE_TO_PLACE, _CALL, _GLOBAL_ENTRY, _JUMP_SLOT, _RELATIVE = 1, 2, 4, 6, 7, 8
"""Relocations: R_X86_64_64, PC32, PLT32, GLOB_DAT, JUMP_SLOT, RELATIVE."""
_THROUGH_TABLE = (9, 41, 42)
"""Relocations through the global offset table: R_X86_64_GOTPCREL, GOTPCRELX, REX_GOTPCRELX."""
_WRITE, _ALLOCATE, _EXECUTE, _THREAD_LOCAL = 1, 2, 4, 0x400
_PROGRAM_BITS, _STRINGS, _ADDENDS, _HASH, _DYNAMIC, _DYNAMIC_SYMBOLS = 1, 3, 4, 5, 6, 11
_LOAD, _STACK = 1, 0x6474E551
_PAGE = 4096
_HEADER_SIZE, _PROGRAM_HEADER_SIZE, _SECTION_HEADER_SIZE = 64, 56, 64
_SYMBOL_SIZE, _RELOCATION_SIZE, _WORD, _STUB = 24, 24, 8, 16
_MAX_FACTS = 13
"""Entries of the dynamic section, the one that ends it included."""
_FIRST_SLOT = 3
"""Of the procedure linkage table: those before are the loader's."""


@dataclass(slots=True, eq=False)
class _Chunk:
    """A section of the library."""

    name: str
    kind: int
    flags: int
    content: bytearray
    align: int = 8
    link: _Chunk | None = None
    entry_size: int = 0
    address: int = 0


def link_shared_object(code: bytes) -> bytes:
    """Return a shared library of one module's ELF object code for x86-64, compiled to be independent of its position.

    Functions that are not in it are looked up in the process.
    """
    if not is_elf(code):
        raise BuildError("export_library: no linker is installed, and the built-in one only links ELF")
    return _Linker(ObjectFile(code)).link()


class _Linker:
    def __init__(self, code: ObjectFile) -> None:
        if code.machine != _X86_64:
            raise BuildError("export_library: no linker is installed, and the built-in one only links x86-64 code")
        self._code = code
        self._symbols = list(code.symbols())
        self._chunks = {
            i: _Chunk(s.name, s.kind, s.flags, bytearray(code.content(s)), max(s.align, 1))
            for i, s in enumerate(code.sections)
            if s.flags & _ALLOCATE
        }
        self._relocations = [(i, r) for i in self._chunks for r in code.relocations(i)]
        self._check()
        self._called = self._used_by(_CALL, _RELATIVE_TO_PLACE, of_others=True)
        self._table = self._used_by(*_THROUGH_TABLE)
        exported = [i for i, s in enumerate(self._symbols) if s.binding and s.section != UNDEFINED and not s.hidden]
        imported = self._used_by(_ABSOLUTE, of_others=True)
        undefined = [i for i in self._table if self._symbols[i].section == UNDEFINED]
        self._dynamic = list(dict.fromkeys([*exported, *self._called, *undefined, *imported]))
        self._make_tables()

    def _check(self) -> None:
        supported = (_ABSOLUTE, _RELATIVE_TO_PLACE, _CALL, *_THROUGH_TABLE)
        for kind in {relocation.kind for _, relocation in self._relocations} - {*supported}:
            raise BuildError(
                f"export_library: no linker is installed, and the built-in one does not support"
                f" relocations of type {kind}"
            )
        if any(chunk.flags & _THREAD_LOCAL for chunk in self._chunks.values()):
            raise BuildError(
                "export_library: no linker is installed, and the built-in one does not support thread-local memory"
            )
        if any(r.kind == _ABSOLUTE and not self._chunks[i].flags & _WRITE for i, r in self._relocations):
            raise BuildError(
                "export_library: no linker is installed, and the built-in one does not support"
                " addresses in read-only memory"
            )

    def _used_by(self, *kinds: int, of_others: bool = False) -> list[int]:
        """Return the symbols that relocations of some kinds refer to, or those of them that are defined elsewhere."""
        used = dict.fromkeys(r.symbol for _, r in self._relocations if r.kind in kinds)
        return [i for i in used if not of_others or self._symbols[i].section == UNDEFINED]

    def _make_tables(self) -> None:
        """Make the sections that a loader reads, of their final sizes."""
        names = [self._symbols[i].name.encode() for i in self._dynamic]
        absolutes = sum(r.kind == _ABSOLUTE for _, r in self._relocations)
        slots = len(self._called)

        def table(name: str, kind: int, size: int, flags: int = _ALLOCATE, entry_size: int = 0) -> _Chunk:
            return _Chunk(name, kind, flags, bytearray(size), entry_size=entry_size)

        self._names = _Chunk(".dynstr", _STRINGS, _ALLOCATE, bytearray(b"\0" + b"".join(n + b"\0" for n in names)))
        self._list = table(".dynsym", _DYNAMIC_SYMBOLS, _SYMBOL_SIZE * (len(names) + 1), entry_size=_SYMBOL_SIZE)
        self._list.link = self._names
        self._hash = _Chunk(".hash", _HASH, _ALLOCATE, bytearray(_hash_table(names)), link=self._list)
        entries = absolutes + len(self._table)
        self._data_entries = table(".rela.dyn", _ADDENDS, _RELOCATION_SIZE * entries, entry_size=_RELOCATION_SIZE)
        self._call_entries = table(".rela.plt", _ADDENDS, _RELOCATION_SIZE * slots, entry_size=_RELOCATION_SIZE)
        self._data_entries.link = self._call_entries.link = self._list
        self._stubs = table(".plt", _PROGRAM_BITS, _STUB * (slots + 1), _ALLOCATE | _EXECUTE)
        self._slots = table(".got.plt", _PROGRAM_BITS, _WORD * (_FIRST_SLOT + slots), _ALLOCATE | _WRITE)
        self._entries = table(".got", _PROGRAM_BITS, _WORD * len(self._table), _ALLOCATE | _WRITE)
        self._facts = table(".dynamic", _DYNAMIC, 2 * _WORD * _MAX_FACTS, _ALLOCATE | _WRITE, 2 * _WORD)
        self._facts.link = self._names

    def link(self) -> bytes:
        """Return the library."""
        segments = self._lay_out()
        self._relocate()
        self._fill_stubs()
        self._fill_symbols([chunk for segment in segments for chunk in segment])
        self._fill_facts()
        return _write(segments, self._facts)

    def _lay_out(self) -> list[list[_Chunk]]:
        """Give every section its address; return them by the rights of their memory."""
        own = list(self._chunks.values())
        tables = [self._hash, self._list, self._names, self._data_entries, self._call_entries]
        written = [c for c in own if c.flags & _WRITE]
        segments = [
            [*tables, *(c for c in own if not c.flags & (_WRITE | _EXECUTE))],
            [self._stubs, *(c for c in own if c.flags & _EXECUTE and not c.flags & _WRITE)],
            [self._facts, self._slots, self._entries, *sorted(written, key=lambda c: c.kind == NO_BITS)],
        ]
        address = _HEADER_SIZE + _PROGRAM_HEADER_SIZE * (len(segments) + 2)
        for segment in segments:
            for chunk in segment:
                chunk.address = aligned(address, chunk.align)
                address = chunk.address + len(chunk.content)
            address = aligned(address, _PAGE)
        return segments

    def _address(self, symbol: Symbol) -> int:
        chunk = self._chunks.get(symbol.section)
        if chunk is None:
            raise BuildError(
                f"export_library: no linker is installed, and {symbol.name!r} is in a section that"
                f" the built-in one does not support"
            )
        return chunk.address + symbol.value

    def _target(self, relocation: Relocation) -> int:
        """Return the address that a relocation refers to, without its addend."""
        if relocation.kind in _THROUGH_TABLE:
            return self._entries.address + _WORD * self._table.index(relocation.symbol)
        symbol = self._symbols[relocation.symbol]
        if symbol.section == UNDEFINED:
            return self._stubs.address + _STUB * (1 + self._called.index(relocation.symbol))
        return self._address(symbol)

    def _relocate(self) -> None:
        """Fill in what depends on addresses, and write down what the loader is to fill in."""
        entries = []
        for position, relocation in self._relocations:
            chunk = self._chunks[position]
            place = chunk.address + relocation.offset
            if relocation.kind == _ABSOLUTE:
                entries.append(self._loaded(place, relocation.symbol, _ABSOLUTE, relocation.addend))
            else:
                distance = self._target(relocation) + relocation.addend - place
                struct.pack_into("<i", chunk.content, relocation.offset, distance)
        for number, symbol in enumerate(self._table):
            entries.append(self._loaded(self._entries.address + _WORD * number, symbol, _GLOBAL_ENTRY, 0))
        self._data_entries.content[:] = b"".join(entries)

    def _loaded(self, place: int, index: int, kind: int, addend: int) -> bytes:
        """Return the loader's entry for the address of a symbol: of the process, or of this library."""
        symbol = self._symbols[index]
        if symbol.section == UNDEFINED:
            return struct.pack("<QQq", place, (self._dynamic.index(index) + 1) << 32 | kind, addend)
        return struct.pack("<QQq", place, _RELATIVE, self._address(symbol) + addend)

    def _fill_stubs(self) -> None:
        """Write the code that calls functions from elsewhere, each by its slot."""
        stubs, slots = self._stubs.address, self._slots.address
        code = b"\xff\x35" + _distance(stubs + 6, slots + 8)  # push what tells the loader which library this is
        code += b"\xff\x25" + _distance(stubs + 12, slots + 16) + b"\x0f\x1f\x40\x00"  # jump to the loader
        table, entries = struct.pack("<QQQ", self._facts.address, 0, 0), b""
        for number, index in enumerate(self._called):
            stub, slot = stubs + _STUB * (number + 1), slots + _WORD * (_FIRST_SLOT + number)
            code += b"\xff\x25" + _distance(stub + 6, slot)  # jump to where the slot says
            code += b"\x68" + struct.pack("<I", number) + b"\xe9" + _distance(stub + _STUB, stubs)
            table += struct.pack("<Q", stub + 6)
            entries += struct.pack("<QQq", slot, (self._dynamic.index(index) + 1) << 32 | _JUMP_SLOT, 0)
        self._stubs.content[:], self._slots.content[:], self._call_entries.content[:] = code, table, entries

    def _fill_symbols(self, chunks: Sequence[_Chunk]) -> None:
        name, rows = 1, [bytes(_SYMBOL_SIZE)]
        sections = {id(chunk): number for number, chunk in enumerate(chunks, 1)}
        for index in self._dynamic:
            symbol = self._symbols[index]
            defined = symbol.section != UNDEFINED
            section = sections[id(self._chunks[symbol.section])] if defined else UNDEFINED
            address = self._address(symbol) if defined else 0
            info = symbol.binding << 4 | symbol.kind
            rows.append(struct.pack("<IBBHQQ", name, info, 0, section, address, symbol.size))
            name += len(symbol.name.encode()) + 1
        self._list.content[:] = b"".join(rows)

    def _fill_facts(self) -> None:
        facts = [
            (4, self._hash.address),
            (5, self._names.address),
            (6, self._list.address),
            (10, len(self._names.content)),
            (11, _SYMBOL_SIZE),
            (3, self._slots.address),
            (7, self._data_entries.address),
            (8, len(self._data_entries.content)),
            (9, _RELOCATION_SIZE),
        ]
        if self._called:
            facts += [(2, len(self._call_entries.content)), (20, 7), (23, self._call_entries.address)]
        content = b"".join(struct.pack("<qQ", *fact) for fact in facts)
        self._facts.content[: len(content)] = content


def _distance(after: int, target: int) -> bytes:
    return struct.pack("<i", target - after)


def _hash_table(names: Sequence[bytes]) -> bytes:
    """Return the table by which a loader finds symbols: buckets, and chains through the symbols."""
    buckets, chains = [0] * max(len(names), 1), [0] * (len(names) + 1)
    for number, name in enumerate(names, 1):
        bucket = _hash(name) % len(buckets)
        chains[number], buckets[bucket] = buckets[bucket], number
    words = [len(buckets), len(chains), *buckets, *chains]
    return struct.pack(f"<{len(words)}I", *words)


def _hash(name: bytes) -> int:
    value = 0
    for letter in name:
        value = (value << 4) + letter
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value


def _write(segments: Sequence[Sequence[_Chunk]], facts: _Chunk) -> bytes:
    """Return the file: headers, the sections at their addresses, and a table of them."""
    chunks = [chunk for segment in segments for chunk in segment]
    in_file = [chunk for chunk in chunks if chunk.kind != NO_BITS]
    out = bytearray(max(chunk.address + len(chunk.content) for chunk in in_file))
    for chunk in in_file:
        out[chunk.address : chunk.address + len(chunk.content)] = chunk.content
    programs = [*map(_load, segments, (4, 5, 6)), _program(2, 6, facts.address, len(facts.content), 8)]
    programs.append(_program(_STACK, 6, 0, 0, 16))
    names = b"\0" + b"".join(f"{name}\0".encode() for name in [*(c.name for c in chunks), ".shstrtab"])
    headers = b"".join(_section_headers(chunks, len(out), len(names)))
    out += names
    out += bytes(-len(out) % 8)
    table = len(out)
    out += headers
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    counts = (_HEADER_SIZE, _PROGRAM_HEADER_SIZE, len(programs), _SECTION_HEADER_SIZE, len(chunks) + 2, len(chunks) + 1)
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, _X86_64, 1, 0, _HEADER_SIZE, table, 0, *counts)
    out[: _HEADER_SIZE + _PROGRAM_HEADER_SIZE * len(programs)] = header + b"".join(programs)
    return bytes(out)


def _load(segment: Sequence[_Chunk], rights: int) -> bytes:
    """Return the header that maps a segment, from the beginning of its first page."""
    start = segment[0].address // _PAGE * _PAGE
    end = max(chunk.address + len(chunk.content) for chunk in segment)
    filled = max(chunk.address + len(chunk.content) for chunk in segment if chunk.kind != NO_BITS)
    return struct.pack("<IIQQQQQQ", _LOAD, rights, start, start, start, filled - start, end - start, _PAGE)


def _program(kind: int, rights: int, address: int, size: int, align: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, rights, address, address, address, size, size, align)


def _section_headers(chunks: Sequence[_Chunk], names_at: int, names_size: int) -> Iterator[bytes]:
    yield bytes(_SECTION_HEADER_SIZE)
    name, numbers = 1, {id(chunk): number for number, chunk in enumerate(chunks, 1)}
    for chunk in chunks:
        link = numbers[id(chunk.link)] if chunk.link is not None else 0
        info = 1 if chunk.kind == _DYNAMIC_SYMBOLS else 0
        place = (chunk.flags, chunk.address, chunk.address, len(chunk.content))
        yield struct.pack("<IIQQQQIIQQ", name, chunk.kind, *place, link, info, chunk.align, chunk.entry_size)
        name += len(chunk.name.encode()) + 1
    yield struct.pack("<IIQQQQIIQQ", name, _STRINGS, 0, 0, names_at, names_size, 0, 0, 1, 0)
