"""The caches of this machine, as the operating system describes them."""

from __future__ import annotations

from pathlib import Path

from compiler.tir.access_trace.cache import CacheLevel

__all__ = ["TYPICAL", "machine_caches"]

FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux describes the caches of the first core."""
TYPICAL = (
    CacheLevel("L1", 32 << 10, 8, 64),
    CacheLevel("L2", 1 << 20, 16, 64),
    CacheLevel("L3", 32 << 20, 16, 64),
)
"""What is taken where the operating system says nothing: sizes that are common, of no machine in particular."""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def machine_caches(folder: Path = FOLDER) -> tuple[CacheLevel, ...]:
    """Read the levels that hold data.

    Parameters
    ----------
    folder : Path
        With a folder for each cache, as Linux has it.

    Returns
    -------
    tuple of CacheLevel
        The fastest first; empty if nothing is known, or levels whose lines differ in size.
    """
    levels = [level for entry in folder.glob("index*") if (level := _level(entry)) is not None]
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
        ways = int(texts["ways_of_associativity"]) or size // line  # 0 says that any line may be anywhere
    except (OSError, ValueError):
        return None
    if texts["type"] == "Instruction" or size < line or line < 1:
        return None
    return number, CacheLevel(f"L{number}", size, ways, line)
