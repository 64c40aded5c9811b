"""The tokens of Relay's text format, which the parser reads and the explorer colours."""

from __future__ import annotations

import re

TOKENS: tuple[tuple[str, str], ...] = (
    ("space", r"\s+"),
    ("comment", r'/\*.*?\*/|//[^\n]*|#\[version\s*=\s*"[^"\n]*"\]'),
    ("string", r'"(?:\\.|[^"\\])*"'),
    ("local", r"%[A-Za-z_]\w*(?:[./]\w+)*|%\d+(?:\.\d+)*"),
    ("global", r"@[^\s()\[\]{},;=]+"),
    ("number", r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:[fiu]\d*)?"),
    ("name", r"[A-Za-z_]\w*(?:\.\w+)*"),
    ("sign", r"->|=>|==|!=|<=|>=|[()\[\]{},;:=.?<>+*/\-]"),
)
"""Kind of a token and its pattern; the first that matches at a place is taken."""

TOKEN_FLAGS = re.DOTALL
"""Flags that the patterns are written for: a comment may span lines."""

SKIPPED = frozenset({"space", "comment"})
"""Kinds that mean nothing to the parser."""

KEYWORDS = frozenset(
    "Tensor def else extern fn free_var if let match meta ref type True False None".split()  # noqa: SIM905
)
"""Names that have a meaning of their own."""

DTYPE = re.compile(r"(?:bool|u?int\d*|float\d*|bfloat\d+)(?:x\d+)?")
"""Names of data types."""
