"""Syntax highlighting: lines as escaped HTML with one-character classes."""

from __future__ import annotations

import importlib
import re
import threading
import time
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType, is_token_subtype

MAX_LINE = 4_000
"""Maximum length of a line to highlight."""
CHUNK_SECONDS, TASK_SECONDS = 0.25, 1.0
"""CPU time limits of lexers per text and per task; Pygments' LLVM lexer is quadratic in the line length."""
CLOCK_TOKENS = 16
"""Number of tokens between checks of the time limit."""


class Language(NamedTuple):
    """A language of listings."""

    lexer: str
    """Its lexer, a class of a module that is imported when a text is first highlighted."""
    suffix: str
    """File name suffix of its listings."""


LANGUAGES: Mapping[str, Language] = {
    "relay": Language("app.panes.relay_lexer:RelayLexer", ".relay"),
    "python": Language("pygments.lexers.python:PythonLexer", ".py"),
    "llvm": Language("pygments.lexers.asm:LlvmLexer", ".ll"),
    "gas": Language("pygments.lexers.asm:GasLexer", ".s"),
    "c": Language("pygments.lexers.c_cpp:CLexer", ".c"),
    "cuda": Language("pygments.lexers.c_like:CudaLexer", ".cu"),
    "opencl": Language("pygments.lexers.c_cpp:CLexer", ".cl"),
    "metal": Language("pygments.lexers.c_cpp:CppLexer", ".metal"),
    "webgpu": Language("pygments.lexers.wgsl:WgslLexer", ".wgsl"),
    "ptx": Language("pygments.lexers.ptx:PtxLexer", ".ptx"),
    "sass": Language("app.panes.sass_lexer:SassLexer", ".sass"),
}


@cache
def lexer_of(language: str) -> type[Lexer]:
    """Import the lexer of a language."""
    module, _, name = LANGUAGES[language].lexer.partition(":")
    lexer: type[Lexer] = getattr(importlib.import_module(module), name)
    return lexer


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
    lexer = lexer_of(language)(stripnl=False, ensurenl=False)
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
