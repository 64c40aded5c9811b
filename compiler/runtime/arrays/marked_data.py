"""Data embedded in a library between marks, so that it survives linking and copying."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from compiler.ir.error import ArgumentError

MARK = b"\x00strata module\x00"
"""Before the description of a file."""
PARAMS_MARK = b"\x00strata params\x00"
"""Before the parameters of a model."""
KERNELS_MARK = b"\x00strata kernels\x00"
"""Before the kernels of a device."""
PROGRAM_MARK = b"\x00strata program\x00"
"""Before the program of a virtual machine."""
_DIGEST = 32


def marked(mark: bytes, content: bytes) -> bytes:
    """Return content that :func:`find_marked` finds in a file."""
    return mark + len(content).to_bytes(8, "little") + hashlib.sha256(content).digest() + content


def find_marked(mark: bytes, data: bytes, path: str, largest: int, begin: int = 0) -> bytes | None:
    """Return the content, of at most ``largest`` bytes, behind the first mark from ``begin`` on; None without one."""
    start = data.find(mark, begin)
    if start < 0:
        return None
    start += len(mark)
    size = int.from_bytes(data[start : start + 8], "little")
    digest = data[start + 8 : start + 8 + _DIGEST]
    content = data[start + 8 + _DIGEST : start + 8 + _DIGEST + size]
    if size > largest or hashlib.sha256(content).digest() != digest:
        raise ArgumentError(f"load_module: {path!r} is damaged")
    return content


def find_all_marked(mark: bytes, data: bytes, path: str, largest: int) -> Iterator[bytes]:
    """Yield the content, of at most ``largest`` bytes, behind each mark, in the order of the file."""
    begin = 0
    while (content := find_marked(mark, data, path, largest, begin)) is not None:
        yield content
        begin = data.index(mark, begin) + len(mark) + len(content)
