"""What an expression of a script is, by reading the script: jedi follows it through the package; nothing runs."""

from __future__ import annotations

import os
import shutil
import sysconfig
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from pickle import UnpicklingError

import compiler
from app.editor.stubs import stubs_in


@contextmanager
def _with_a_home() -> Iterator[None]:
    """Give a user one who has none, as in containers: parso is not imported without, though its cache is elsewhere."""
    if os.path.isabs(os.path.expanduser("~")):
        yield
        return
    os.environ["HOME"] = os.sep
    try:
        yield
    finally:
        del os.environ["HOME"]


with _with_a_home():
    import jedi
    import parso.cache

PROBE = "_strata_probe"
_CLOSING = ")]"
_USUAL = "from tvm import te\ns = te.create_schedule(te.compute((4,), lambda i: 1.0).op)\ns[0]"
"""An expression that leads through the modules that most scripts do."""
_MODULES = 80
"""Modules that are kept parsed, each in about a megabyte; others are on disk, beside the stubs."""
_BETWEEN_STATEMENTS = {tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT}


def public_type(text: str, folder: str, rest: str = "") -> str:
    """Return the public name of the class that an expression has, or of the class or function that it is.

    Parameters
    ----------
    text
        The script up to the end of the expression.
    folder
        Where the stubs of the public API are, or are written to.
    rest
        What follows the expression: a name may be given a value just there.

    Returns
    -------
    name
        ``tvm.te.Tensor``, for example; empty if it is nothing of the public API.
    """
    stubs, public = stubs_in(folder)
    return next((public[name] for name in infer(text, str(stubs), rest) if name in public), "")


@cache
def read_api(folder: str) -> None:
    """Write the stubs and parse what most scripts use: seconds for the first process that does, less for others."""
    public_type(_USUAL, folder)


def infer(text: str, stubs: str, rest: str = "") -> list[str]:
    """Return the full names of the classes and functions that an expression may be, the likeliest first."""
    expression = expression_before(text)
    if not expression:
        return []
    end = len(text)
    if expression[-1] in _CLOSING:
        start = _statement_start(text)
        text, rest, end = f"{text[:start]}{PROBE} = {expression}\n", "", start + len(PROBE)
    lines = text[:end].split("\n")
    try:
        try:
            names = _script(text + rest, stubs).infer(len(lines), len(lines[-1]))
        except (EOFError, UnpicklingError):  # a process that was ended left a part of a module on the disk
            shutil.rmtree(Path(stubs, "cache"), ignore_errors=True)
            names = _script(text + rest, stubs).infer(len(lines), len(lines[-1]))
        return [n.full_name for n in names if n.full_name and n.type in ("instance", "class", "function")]
    finally:
        if sum(map(len, parso.cache.parser_cache.values())) > _MODULES:
            parso.cache.parser_cache.clear()


def expression_before(text: str) -> str:
    """Return the names, dots, calls and subscripts that a text ends with: of ``x = s[C].split(i`` it is ``i``."""
    start = len(text)
    while start:
        letter = text[start - 1]
        if letter in _CLOSING:
            start = _opening(text, start - 1)
            if start < 0:
                return ""
        elif letter.isidentifier() or letter.isdigit() or letter == ".":
            start -= 1
        else:
            break
        if start and text[start - 1].isspace():
            break
    expression = text[start:]
    return expression if expression[:1].isidentifier() else ""


def _opening(text: str, closing: int) -> int:
    """Return the position of the bracket that one closes; -1 if there is none."""
    depth = 0
    for position in range(closing, -1, -1):
        depth += (text[position] in ")]}") - (text[position] in "([{")
        if depth == 0:
            return position
    return -1


def _statement_start(text: str) -> int:
    """Return where the statement begins that a text ends in."""
    row, column, begins = 1, 0, True
    with suppress(tokenize.TokenError, SyntaxError):  # it ends within brackets, or is no Python
        for token in tokenize.generate_tokens(StringIO(text).readline):
            if token.type == tokenize.ENDMARKER:
                break
            if token.type == tokenize.NEWLINE:
                begins = True
            elif begins and token.type not in _BETWEEN_STATEMENTS:
                row, column = token.start
                begins = False
    return sum(len(line) + 1 for line in text.split("\n")[: row - 1]) + column


@cache
def _project(stubs: str) -> jedi.Project:
    """Return where modules are looked for: the stubs, this project and the standard library; no others are read."""
    jedi.settings.cache_directory = parso.cache._default_cache_path = Path(stubs, "cache")
    root = str(Path(compiler.__file__).parent.parent)
    return jedi.Project(stubs, sys_path=[stubs, root, sysconfig.get_path("stdlib")], smart_sys_path=False)


def _script(text: str, stubs: str) -> jedi.Script:
    # Its own process would be started with each script's environment; this one has the modules already.
    return jedi.Script(text, path=os.path.join(stubs, "script.py"), project=_project(stubs),
                       environment=jedi.InterpreterEnvironment())  # fmt: skip
