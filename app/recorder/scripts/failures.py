"""Exceptions of a script, as problems at its lines.

A script's own exceptions are untrusted: their class, attributes and representation may be anything, and raise in turn.
"""

from __future__ import annotations

import builtins
import errno
import linecache
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from app.artifacts import SCRIPT_NAME, Problem
from app.recorder.scripts.expected import after_a_dot, elements
from app.recorder.scripts.fixes import Failure, fixes_of
from app.recorder.scripts.frames import columns, deepest_line, raised_by_script, user_trace
from app.recorder.scripts.suggestions import EXTRAS, suggestion
from compiler import te
from compiler.ir.diagnostics import Place, PlacedError
from compiler.ir.expr.operators import ExprOperators
from compiler.relay.inference.errors import Diagnostic, TypeInferenceError
from compiler.tir.schedule.error import ScheduleError

MAX_DIAGNOSTICS = 20
"""The maximum number of type errors that are reported individually."""
MESSAGE_LIMIT = 4_000
"""The maximum length of a message."""
MAX_LINE = 10_000_000
"""The largest plausible line or column of a syntax error."""

_class_name = type.__dict__["__name__"].__get__
_traceback = BaseException.__dict__["__traceback__"].__get__
_cause = BaseException.__dict__["__cause__"].__get__
exit_code = SystemExit.__dict__["code"].__get__
"""The argument of ``sys.exit``, whatever attributes a subclass has."""


def problems_of(exc: BaseException, names: Mapping[str, Any], source: str = "") -> list[Problem]:
    """Convert an exception to problems.

    Parameters
    ----------
    names : mapping
        The script's global names, for suggestions.
    source : str
        The script, for fixes; without it there are none.
    """
    problems = _problems(exc, names)
    return [_with_fixes(problem, exc, names, source) for problem in problems]


def _with_fixes(problem: Problem, exc: BaseException, names: Mapping[str, Any], source: str) -> Problem:
    if problem.line is None:
        return problem
    try:
        fixes = fixes_of(Failure(exc, problem.message, problem.line, source, names))
    except BaseException:  # attributes of the script's exception may do anything; without a fix, the error stands
        return problem
    return msgspec.structs.replace(problem, fixes=fixes)


def _problems(exc: BaseException, names: Mapping[str, Any]) -> list[Problem]:
    try:
        if isinstance(exc, SyntaxError) and exc.filename == SCRIPT_NAME:
            return [_syntax(exc)]
        if isinstance(exc, TypeInferenceError):
            return [_diagnosed(diagnostic, exc) for diagnostic in exc.diagnostics[:MAX_DIAGNOSTICS]]
        if isinstance(exc, PlacedError) and (placed := _in_the_script(exc)):
            return placed
        return [problem(class_name(exc), _message(exc, names), exc)]
    except BaseException as failure:  # the script's exception may do anything
        return [problem(class_name(exc), _cannot_be_shown(exc, failure), exc)]


def exit_problem(exc: SystemExit) -> Problem | None:
    """Return the problem of a script that called ``sys.exit`` with a status that says it failed, else None."""
    code = exit_code(exc)
    if code is None or (type(code) in (int, bool) and code == 0):
        return None
    left = problem("Exit", "", exc)
    where = f" at line {left.line}" if left.line else ""
    try:
        status = f"status {code}" if type(code) is int else clean(repr(code))
    except BaseException as failure:  # its representation is the script's own
        status = f"{class_name(code)}, which cannot be shown: {class_name(failure)}"
    return msgspec.structs.replace(left, message=f"the script ended{where} with {status}", trace=[], cut_short=True)


def problem(kind: str, message: str, exc: BaseException) -> Problem:
    """Create a problem at the script's line that raised an exception."""
    raised_at: TracebackType | None = _traceback(exc)
    line = deepest_line(raised_at)
    start, end = columns(raised_at, line)
    trace = [clean(entry) for entry in [*user_trace(raised_at), *_caused_by(exc)]]
    return Problem(kind=clean(kind), message=clean(message), line=line, column=start, end_column=end, trace=trace)


def _caused_by(exc: BaseException) -> list[str]:
    """Return what the script says that its own exception was caused by (``raise … from``), and where that was."""
    cause: BaseException | None = _cause(exc)
    if cause is None or not raised_by_script(_traceback(exc)):
        return []
    try:
        message = brief(cause)
    except BaseException as failure:  # the script's own, as above
        message = _cannot_be_shown(cause, failure)
    return [f"caused by {class_name(cause)}: {clean(message)}", *user_trace(_traceback(cause))]


def class_name(value: object) -> str:
    """Return the name of a value's class, bypassing its metaclass."""
    name: str = _class_name(type(value))
    return name


def printable(text: str) -> str:
    """Return text that can be encoded: what cannot, lone surrogates, is written out as ``\\ud800``."""
    return str.encode(text, "utf-8", "backslashreplace").decode()


def clean(text: str) -> str:
    """Make a message encodable, and truncate it."""
    text = printable(text)  # converts a subclass of str to a plain string
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + " …"


def brief(exc: BaseException) -> str:
    """Return the message of an exception, without the program that schedule errors include."""
    return exc.brief if isinstance(exc, ScheduleError) else str(exc)


def _message(exc: BaseException, names: Mapping[str, Any]) -> str:
    if isinstance(exc, RecursionError):
        return "the script's calls are nested too deeply"
    if isinstance(exc, MemoryError):
        return "the script asked for more memory than a run may have"
    try:
        statement = linecache.getline(SCRIPT_NAME, deepest_line(_traceback(exc)) or 0)
        words = printable(brief(exc)).strip() or class_name(exc)
        return words + suggestion(exc, names) + elements(exc, _traceback(exc)) + remark(exc, statement)
    except BaseException as failure:  # even str() of an exception may raise
        return _cannot_be_shown(exc, failure)


def _cannot_be_shown(exc: BaseException, failure: BaseException) -> str:
    return f"{class_name(exc)}, which cannot be shown: {class_name(failure)}"


def _syntax(exc: SyntaxError) -> Problem:
    column = max(0, (_position(exc.offset) or 1) - 1)
    end_offset = _position(exc.end_offset)
    end = end_offset - 1 if end_offset and exc.end_lineno == exc.lineno else None
    line = _position(exc.lineno)
    message = clean(f"{exc.msg}{after_a_dot(line, column)}")
    return Problem(kind="SyntaxError", message=message, line=line, column=column, end_column=end)


def _in_the_script(exc: PlacedError) -> list[Problem]:
    """Locate the errors of a rejected program at its source lines, instead of at the decorator."""
    return [
        Problem(
            kind=class_name(exc),
            message=clean(d.message),
            line=_position(d.span.line),
            column=max(0, (_position(d.span.column) or 1) - 1),
            end_column=None,
            trace=[clean(entry) for entry in user_trace(_traceback(exc))],
        )
        for d in exc.diagnostics[:MAX_DIAGNOSTICS]
        if isinstance(d.span, Place) and d.span.file == SCRIPT_NAME
    ]


def _position(value: object) -> int | None:
    """Sanitise a line or column, as scripts can raise their own syntax errors."""
    return value if type(value) is int and 0 <= value <= MAX_LINE else None


def _diagnosed(diagnostic: Diagnostic, exc: TypeInferenceError) -> Problem:
    """Locate a type error at the line that created the expression, instead of at the pass."""
    where = diagnostic.location
    if where is None or where.file != SCRIPT_NAME:
        return problem(class_name(exc), diagnostic.message, exc)
    one_line = where.end_line == where.line
    return Problem(
        kind=class_name(exc),
        message=clean(diagnostic.message),
        line=where.line,
        column=where.column if one_line else None,
        end_column=where.end_column if one_line else None,
        trace=[clean(entry) for entry in user_trace(exc.__traceback__)],
        origins=sorted(diagnostic.span),
    )


_FORBIDDEN = "; a script here starts no programs, reaches no network and writes only files of its own"
_NOT_SEEN = "; a script here sees its own files and those of Python, not the others of the machine"
_NO_INPUT = "; nothing can be typed in for a script here"
_NOT_ATTACHED = "; no file of that name is attached: drop it on the page, or name it with --file"
_IMPOSTORS = {
    rb"version https://git-lfs": "a Git LFS pointer, not the file itself: get that with git lfs pull",
    rb"\s*<(?:!doctype\s+html|html)\b": "a web page, not the file that it offers: use its download link",
}
"""What was saved in place of a file that was to be downloaded, by how it begins."""
_NAMED = re.compile(r"""["']([^"'/\\]{1,120})["']""")
_BEGINNING = 200
_OF_NUMBERS = re.compile(r"(?<![\w.])((?:(np|numpy|math)\.)?(\w+))\(")
"""Calls of functions that Python and NumPy have."""
_NO_MODEL = "; the file is not an ONNX model, or only a part of one"

_MAX_CAUSES = 8
"""Exceptions, each the cause of the one before, among which the system's is looked for."""


def remark(exc: BaseException, statement: str = "") -> str:
    """Return ``; a script here sees its own files …`` for an error that the sandbox or a file is behind, else ``""``.

    Parameters
    ----------
    exc : BaseException
        What a script raised.
    statement : str
        The line that raised it: the files that it names are looked at.

    Returns
    -------
    str
        What is added to the message of the error.
    """
    if isinstance(exc, FileNotFoundError):
        return "" if not isinstance(exc.filename, str) else _NOT_SEEN if exc.filename[:1] == "/" else _NOT_ATTACHED
    if isinstance(exc, ModuleNotFoundError):
        return _not_installed(exc.name or "")
    if impostor := next(filter(None, map(_impostor, _NAMED.findall(statement))), ""):
        return impostor
    if any(_reaches_out(cause) for cause in _causes(exc)):
        return _FORBIDDEN
    if isinstance(exc, TypeError):
        return _of_expressions(str(exc), statement)
    if isinstance(exc, OSError):
        return _FORBIDDEN if exc.errno in (errno.EPERM, errno.EACCES, errno.EROFS) else ""
    if isinstance(exc, EOFError) and str(exc) == "EOF when reading a line":
        return _NO_INPUT
    return _NO_MODEL if "'onnx.ModelProto'" in str(exc) else ""


def _not_installed(name: str) -> str:
    """Return who can install a module that the server's Python does not have."""
    module = name.partition(".")[0]
    if module not in EXTRAS:
        return (
            "; scripts here have numpy, onnx and tvm, what else its owner installs beside this server, and modules "
            f"that are attached: strata run … --file {module}.py"
        )
    return f"; the owner of this server can install it: pip install 'strata-explorer[{EXTRAS[module]}]'"


def _of_expressions(message: str, statement: str) -> str:
    """Return what computes with expressions, where what computes with numbers was given one."""
    if _kinds(ExprOperators).isdisjoint(re.findall(r"\w+", message)):
        return ""
    if "** or pow()" in message:
        return "; te.power(x, y) is the power of expressions"
    calls = (call for call in _OF_NUMBERS.findall(statement) if call[1] or hasattr(builtins, call[2]))
    function, _, name = next((call for call in calls if callable(getattr(te, call[2], None))), ("", "", ""))
    return f"; {function} computes with numbers, te.{name} with expressions" if name else ""


def _kinds(base: type) -> set[str]:
    """Return the names of the classes under one."""
    kinds: list[type] = base.__subclasses__()
    return {kind.__name__ for kind in kinds}.union(*map(_kinds, kinds))


def _impostor(name: str) -> str:
    """Return what a file is that only has the name of a model."""
    try:
        with Path(name).open("rb") as file:
            begins = file.read(_BEGINNING)
    except OSError:
        return ""
    kinds = (kind for pattern, kind in _IMPOSTORS.items() if re.match(pattern, begins, re.IGNORECASE))
    return "".join(f"; {name} is {kind}" for kind in kinds)


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised in place of."""
    cause: BaseException | None = exc
    for _ in range(_MAX_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


def _reaches_out(exc: BaseException) -> bool:
    return isinstance(exc, socket.gaierror) or (isinstance(exc, OSError) and exc.errno == errno.ENETUNREACH)
