"""Syntax highlighting: lines as escaped HTML with one-character classes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup, escape
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers.asm import GasLexer, LlvmLexer
from pygments.lexers.c_cpp import CLexer, CppLexer
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.ptx import PtxLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.wgsl import WgslLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text, _TokenType, is_token_subtype

from compiler.relay.parser.token_table import DTYPE, KEYWORDS, TOKEN_FLAGS, TOKENS

MAX_LINE = 4_000
"""Maximum length of a line to highlight."""
CHUNK_SECONDS, TASK_SECONDS = 0.25, 1.0
"""CPU time limits of lexers per text and per task; Pygments' LLVM lexer is quadratic in the line length."""
CLOCK_TOKENS = 16
"""Number of tokens between checks of the time limit."""


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


class Language(NamedTuple):
    """A language of listings."""

    lexer: type[Lexer]
    suffix: str
    """File name suffix of its listings."""


LANGUAGES: Mapping[str, Language] = {
    "relay": Language(RelayLexer, ".relay"),
    "python": Language(PythonLexer, ".py"),
    "llvm": Language(LlvmLexer, ".ll"),
    "gas": Language(GasLexer, ".s"),
    "c": Language(CLexer, ".c"),
    "cuda": Language(CudaLexer, ".cu"),
    "opencl": Language(CLexer, ".cl"),
    "metal": Language(CppLexer, ".metal"),
    "webgpu": Language(WgslLexer, ".wgsl"),
    "ptx": Language(PtxLexer, ".ptx"),
    "sass": Language(PtxLexer, ".sass"),
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
"""CSS classes by token type; the first type that contains the token is used."""
GAS_STYLES = ((Name.Function, "k"), *STYLES)
"""Classes for assembly, in which the function names of the lexer are mnemonics."""


@cache
def _style(kind: _TokenType, gas: bool) -> str:
    return next((name for root, name in (GAS_STYLES if gas else STYLES) if is_token_subtype(kind, root)), "")


class _Budget(threading.local):
    """The remaining CPU time for lexers, per thread."""

    left = TASK_SECONDS


_budget = _Budget()


def renew_budget() -> None:
    """Reset the CPU time for lexers at the start of a task."""
    _budget.left = TASK_SECONDS


def highlight(lines: Iterable[str], language: str) -> list[Markup]:
    """Return each line as escaped HTML with one-character classes; the number of lines does not change.

    Texts of unknown languages, lines that are too long, and texts that take too long are not highlighted.
    """
    texts = list(lines)
    if language not in LANGUAGES:
        return _plain(texts)
    out: list[Markup] = []
    for long, run in groupby(texts, lambda text: len(text) > MAX_LINE):
        some = list(run)
        out += _plain(some) if long else _lexed(some, language)
    return out


def _plain(texts: Iterable[str]) -> list[Markup]:
    return [Markup(escape(text)) for text in texts]


def _lexed(texts: list[str], language: str) -> list[Markup]:
    began = time.thread_time()
    tokens = _tokens("\n".join(texts), language, began + min(_budget.left, CHUNK_SECONDS))
    _budget.left -= time.thread_time() - began
    marked = _plain(texts) if tokens is None else _marked(tokens, len(texts), gas=language == "gas")
    return [_underlined(text) or html for text, html in zip(texts, marked, strict=True)]


def _tokens(text: str, language: str, end: float) -> list[tuple[_TokenType, str]] | None:
    """Return the tokens of a text, or None if the lexer is not done by ``end`` of the thread's CPU clock."""
    tokens: list[tuple[_TokenType, str]] = []
    lexer = LANGUAGES[language].lexer(stripnl=False, ensurenl=False)
    for token in lexer.get_tokens(text):
        if not len(tokens) % CLOCK_TOKENS and time.thread_time() > end:
            return None
        tokens.append(token)
    return tokens


_UNDERLINE = re.compile(r"\s*\^+\s*")


def _underlined(text: str) -> Markup | None:
    """Return the markup of a line that only underlines the one above it, as in error messages, else None."""
    return Markup('<i class="w">{}</i>').format(text) if _UNDERLINE.fullmatch(text) else None


def _marked(tokens: list[tuple[_TokenType, str]], count: int, gas: bool) -> list[Markup]:
    """Return the lines of a token sequence as markup."""
    out: list[list[str]] = [[]]
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
    out.extend([] for _ in range(count - len(out)))
    return [Markup("".join(line)) for line in out[:count]]
