"""What ``ptxas -v`` says of kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["KernelResources", "parse_resources"]

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
    """What a kernel uses.

    Attributes
    ----------
    registers : int
        Of a thread.
    shared_bytes : int
        Of a block, as far as the program says it.
    stack_bytes, spill_store_bytes, spill_load_bytes : int
        Of a thread: memory for arrays that registers cannot hold, and what is moved there and back.
    barriers : int
        Of a block.
    """

    registers: int = 0
    shared_bytes: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    barriers: int = 0


def parse_resources(log: str) -> dict[str, KernelResources]:
    """Return what a log of ``ptxas -v`` says.

    Parameters
    ----------
    log : str

    Returns
    -------
    dict of str to KernelResources
        By the names of the kernels.
    """
    pieces = _ENTRY.split(log)
    return {
        name: KernelResources(
            **{field: int(match[1]) for field, pattern in _FIELDS.items() if (match := pattern.search(text))}
        )
        for name, text in zip(pieces[1::2], pieces[2::2], strict=True)
    }
