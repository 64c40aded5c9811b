"""Parsing of the output of ``ptxas -v``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FIELDS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "barriers": re.compile(r"used (\d+) barriers"),
    "shared_bytes": re.compile(r"(\d+) bytes smem"),
    "stack_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spill_store_bytes": re.compile(r"(\d+) bytes spill stores"),
    "spill_load_bytes": re.compile(r"(\d+) bytes spill loads"),
}


@dataclass(frozen=True, slots=True)
class KernelResources:
    """The resource usage of a kernel: stack size and spill traffic are bytes per thread."""

    registers: int = 0
    shared_bytes: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    barriers: int = 0


def parse_resources(log: str) -> dict[str, KernelResources]:
    """Parse a log of ``ptxas -v``."""
    pieces = _ENTRY.split(log)
    return {
        name: KernelResources(
            **{field: int(match[1]) for field, pattern in _FIELDS.items() if (match := pattern.search(text))}
        )
        for name, text in zip(pieces[1::2], pieces[2::2], strict=True)
    }
