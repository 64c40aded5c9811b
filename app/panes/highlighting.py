"""Colours of a text: each line as escaped HTML with one-letter classes that the style sheet knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from markupsafe import Markup, escape
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers.asm import GasLexer, LlvmLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text, _TokenType, is_token_subtype

MAX_LINE = 4_000
"""Letters of a line; texts with longer ones stay plain, as lexers may take their time over them."""


class RelayLexer(RegexLexer):
    """Relay's text format: names of operators, ``%locals``, ``@globals``, types in comments."""

    tokens = {
        "root": [
            (r"/\*.*?\*/|//.*|#\[.*", Comment),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"[%@][\w.]+", Name.Variable),
            (r"\b(?:def|let|fn|if|else|match|type|extern|ref|in|True|False|None)\b", Keyword),
            (r"\b(?:Tensor|meta|bool|u?int\d+|b?float\d+)\b", Keyword.Type),
            (r"-?\b\d+(?:\.\d*)?(?:e[-+]?\d+)?\w*", Number),
            (r"[A-Za-z_][\w.]*(?=\()", Name.Function),
            (r"[A-Za-z_][\w.]*", Name),
            (r"\s+|.", Text),
        ]
    }


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
