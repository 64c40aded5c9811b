"""What a pattern of a field promises holds to the end of the text, also where that ends in a line feed."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def _patterns() -> list[tuple[str, str]]:
    """Return the place and the pattern of each constraint of a field."""
    out = []
    for path in sorted(Path("app").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) != "Meta":
                continue
            given = [keyword.value for keyword in node.keywords if keyword.arg == "pattern"]
            out += [(f"{path}:{node.lineno}", ast.literal_eval(pattern)) for pattern in given]
    return out


def test_a_pattern_holds_to_the_end_of_the_text() -> None:
    patterns = _patterns()
    assert len(patterns) >= 8
    for place, pattern in patterns:
        assert re.search(r"(?<!\\)\$", pattern) is None, f"{place}: $ matches before a line feed; the end is \\Z"
