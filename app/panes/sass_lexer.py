"""A lexer for SASS, NVIDIA's machine code as text, in which a name does not say whether it is a register."""

from __future__ import annotations

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Text

__all__ = ["SassLexer"]


class SassLexer(RegexLexer):
    """A lexer for SASS: the first name of a line, behind its control columns and guard, is the instruction."""

    tokens = {
        "root": [
            (r"^\.[\w.$]+:", Name.Label),
            (r"/\*.*?\*/", Comment),
            (r"^( *)(?=/\*)", Text),
            (r"^( +)(?!/)", Text, "operation"),
            (r"(?<=\*/)( +)", Text, "operation"),
            (r"\n| +", Text),
            (r"`\([^)]*\)", Name.Label),
            (r"-?(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b", Number),
            (r"[A-Za-z_]\w*", Name.Variable),
            (r".", Text),
        ],
        "operation": [
            (r"@!?\w+", Name.Variable),
            (r" +", Text),
            (r"[A-Z][\w.]*", Keyword, "#pop"),
            (r"", Text, "#pop"),
        ],
    }
