"""Colours of a text: each line as escaped HTML with one-letter classes that the style sheet knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from markupsafe import Markup, escape
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers.asm import GasLexer, LlvmLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text, _TokenType, is_token_subtype

from compiler.relay.parser.token_table import DTYPE, KEYWORDS, TOKEN_FLAGS, TOKENS

MAX_LINE = 4_000
"""Letters of a line; texts with longer ones stay plain, as lexers may take their time over them."""


def _relay_name(_lexer: Lexer, match: re.Match[str], _context: object = None) -> Iterator[tuple[int, _TokenType, str]]:
    """Yield a name of Relay's text format as the kind of token that it is."""
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
"""By the kinds of tokens that the parser reads."""


class RelayLexer(RegexLexer):
    """Relay's text format, by the table of tokens that the parser reads it with."""

    flags = TOKEN_FLAGS
    tokens = {"root": [*((pattern, _RELAY_STYLES[kind]) for kind, pattern in TOKENS), (r".", Text)]}


LEXERS: Mapping[str, type[Lexer]] = {
    "relay": RelayLexer,
    "python": PythonLexer,
    "llvm": LlvmLexer,
    "gas": GasLexer,
}

STYLES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (Keyword, "k"),
    (String, "s"),
    (Number, "n"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
    (Name.Builtin, "f"),
    (Name.Variable, "r"),
    (Name.Constant, "r"),
    (Name.Label, "f"),
)
"""Token type -> class; the first that contains the token wins."""
GAS_STYLES = ((Name.Function, "k"), *STYLES)
"""In assembly the function names of the lexer are mnemonics."""


@cache
def _style(kind: _TokenType, gas: bool) -> str:
    return next((name for root, name in (GAS_STYLES if gas else STYLES) if is_token_subtype(kind, root)), "")


def highlight(lines: Iterable[str], language: str) -> list[Markup]:
    """Return each line as escaped HTML with one-letter classes, always as many lines as came in."""
    texts = list(lines)
    if language not in LEXERS or any(len(text) > MAX_LINE for text in texts):
        return [Markup(escape(text)) for text in texts]
    lexer = LEXERS[language](stripnl=False, ensurenl=False)
    gas = language == "gas"
    out: list[list[str]] = [[]]
    tokens = list(lexer.get_tokens("\n".join(texts)))
    for index, (kind, value) in enumerate(tokens):
        style = _style(kind, gas)
        if kind is Name and index + 1 < len(tokens) and tokens[index + 1][1].startswith("("):
            style = "f"
        for part, text in enumerate(value.split("\n")):
            if part:
                out.append([])
            if text and style:
                out[-1].append(f'<i class="{style}">{escape(text)}</i>')
            elif text:
                out[-1].append(escape(text))
    out.extend([] for _ in range(len(texts) - len(out)))
    return [Markup("".join(line)) for line in out[: len(texts)]]
