"""The caches of this machine, as reported by the operating system."""

from __future__ import annotations

from pathlib import Path

from compiler.runtime.machine import this_machine
from compiler.tir.access_trace.cache import CacheLevel

TYPICAL = (CacheLevel("L1", 32 << 10, 8, 64), CacheLevel("L2", 1 << 20, 16, 64), CacheLevel("L3", 32 << 20, 16, 64))
"""Common cache sizes, assumed if the operating system reports none."""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def machine_caches(folder: Path | None = None) -> tuple[CacheLevel, ...]:
    """Read the data cache levels of this machine, or of a directory with a subdirectory per cache, as in Linux."""
    entries = (folder or this_machine().caches).glob("index*")
    levels = [level for entry in entries if (level := _level(entry)) is not None]
    caches = tuple(cache for _, cache in sorted(levels, key=lambda level: level[0]))
    return caches if len({cache.line for cache in caches}) == 1 else ()


def _level(entry: Path) -> tuple[int, CacheLevel] | None:
    try:
        texts = {
            name: (entry / name).read_text(encoding="ascii").strip()
            for name in ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
        }
        number, line = int(texts["level"]), int(texts["coherency_line_size"])
        size = int(texts["size"].rstrip("KMG")) * _UNITS.get(texts["size"][-1:], 1)
        ways = int(texts["ways_of_associativity"]) or size // line  # 0 means fully associative
    except (OSError, ValueError):
        return None
    if texts["type"] == "Instruction" or size < line or line < 1:
        return None
    return number, CacheLevel(f"L{number}", size, ways, line)
