"""Takes Relay's text format apart into tokens, and says where in the text something is wrong."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from compiler.ir.error import DiagnosticError
from compiler.ir.printing.relay_tokens import SKIPPED, TOKEN_FLAGS, TOKENS
from compiler.relay.text_metadata import MARK

_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in TOKENS), TOKEN_FLAGS)

_COMMENT_MARK = re.compile(r"/\*|\*/")


class ParseError(DiagnosticError):
    """A text that is not in Relay's format; line and column are counted from 1."""

    def __init__(self, message: str, source: str, position: int) -> None:
        self.line = source.count("\n", 0, position) + 1
        start = source.rfind("\n", 0, position) + 1
        self.column = position - start + 1
        text = source[start:].split("\n", 1)[0]
        shown = text if len(text) <= 160 else text[: max(160, self.column)]
        super().__init__(
            f"parse: line {self.line}, column {self.column}: {message}\n  {shown}\n  {' ' * (self.column - 1)}^"
        )


class Token(NamedTuple):
    """A piece of the text: ``kind`` is string, local, global, number, name, sign or end."""

    kind: str
    text: str
    position: int


def split_metadata(source: str) -> tuple[str, str]:
    """Return the program, and the content of the metadata section (empty if there is none)."""
    if source.startswith(MARK):
        return "", source[len(MARK) :]
    program, _, metadata = source.partition("\n" + MARK)
    return program, metadata


def tokens(source: str) -> list[Token]:
    """Return the tokens of a program."""
    result: list[Token] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            raise ParseError(f"unexpected character {source[position]!r}", source, position)
        kind = str(match.lastgroup)
        if kind not in SKIPPED:
            result.append(Token(kind, match[0], position))
        position = _comment_end(source, position) if match[0].startswith("/*") else match.end()
    result.append(Token("end", "", len(source)))
    return result


def _comment_end(source: str, start: int) -> int:
    """Return where a block comment ends, which may contain others."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(source, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    raise ParseError("the comment that begins here does not end", source, start)


class Cursor:
    """A place in the tokens of a text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.index = 0

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.index]

    def ahead(self, count: int = 1) -> Token:
        """Return a token further on."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Return the next token and go on behind it."""
        token = self.token
        if token.kind != "end":
            self.index += 1
        return token

    def at(self, text: str) -> bool:
        """Return whether a sign or word comes next."""
        return self.token.text == text and self.token.kind in ("sign", "name")

    def accept(self, text: str) -> bool:
        """Go on behind a sign or word if it comes next."""
        accepted = self.at(text)
        if accepted:
            self.index += 1
        return accepted

    def expect(self, text: str) -> Token:
        """Go on behind a sign or word, which must come next."""
        if not self.at(text):
            self.wrong(repr(text))
        return self.take()

    def expect_kind(self, kind: str, what: str) -> Token:
        """Return the next token, which must be of a kind."""
        if self.token.kind != kind:
            self.wrong(what)
        return self.take()

    def expect_whole(self, what: str) -> int:
        """Return the number that comes next, which must consist of digits."""
        token = self.expect_kind("number", what)
        if not token.text.isdigit():
            self.fail(f"expected {what}, got {token.text!r}", token)
        return int(token.text)

    def wrong(self, expected: str) -> NoReturn:
        """Raise the error that something else was expected here."""
        got = repr(self.token.text) if self.token.kind != "end" else "the end of the text"
        self.fail(f"expected {expected}, got {got}")

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise an error at a token, by default the next one."""
        raise ParseError(message, self.source, (token or self.token).position)
