"""A lexer for Relay's text format."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pygments.lexer import Lexer, RegexLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text, _TokenType

from compiler.ir.printing.relay_tokens import DTYPE, KEYWORDS, TOKEN_FLAGS, TOKENS

__all__ = ["RelayLexer"]


def _relay_name(_lexer: Lexer, match: re.Match[str], _context: object = None) -> Iterator[tuple[int, _TokenType, str]]:
    """Yield a name of Relay's text format as a token."""
    word = match[0]
    kind = Keyword if word in KEYWORDS else Keyword.Type if DTYPE.fullmatch(word) else Name
    yield match.start(), kind, word


_RELAY_STYLES = {
    "space": Text,
    "comment": Comment,
    "string": String,
    "local": Name.Variable,
    "global": Name.Variable,
    "number": Number,
    "name": _relay_name,
    "sign": Text,
}
"""Styles by token kind of the parser."""


class RelayLexer(RegexLexer):
    """A lexer for Relay's text format, from the token table of the parser."""

    flags = TOKEN_FLAGS
    tokens = {"root": [*((pattern, _RELAY_STYLES[kind]) for kind, pattern in TOKENS), (r".", Text)]}
