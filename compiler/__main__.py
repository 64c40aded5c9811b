"""Runs a script or a module with ``tvm`` meaning this package.

python -m compiler script.py [arguments]
python -m compiler -m module [arguments]

``python -m compiler -m pytest`` runs tests with the plugin of ``tvm.testing``.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from pathlib import Path
from types import TracebackType

from compiler.classic import alias
from compiler.ir.error import TVMError

_OPTIONS = {"pytest": ("-p", "tvm.testing.plugin")}
"""What modules are given before the user's arguments."""
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SEARCHED = str(Path(alias.__file__).parents[alias.__name__.count(".")])


def main(arguments: list[str], called: str = f"python -m {__package__}") -> int:
    """Run what the arguments name and return the exit code."""
    usage = f"usage: {called} SCRIPT [ARGUMENT ...]\n       {called} -m MODULE [ARGUMENT ...]"
    if arguments and arguments[0] in ("-h", "--help"):
        print(usage)
        return 0
    as_module = bool(arguments) and arguments[0] == "-m"
    rest = arguments[1:] if as_module else arguments
    if not rest or (not as_module and rest[0].startswith("-")):
        print(usage, file=sys.stderr)
        return 2
    if not as_module and not os.path.exists(rest[0]):
        print(f"{called}: there is no file {rest[0]!r}", file=sys.stderr)
        return 2
    alias.install()
    _let_children_import()
    sys.argv = [rest[0], *_OPTIONS.get(rest[0], ()), *rest[1:]] if as_module else list(rest)
    try:
        if as_module:
            sys.path.insert(0, os.getcwd())
            if not _is_there(rest[0]):
                extra = "; pip install 'strata-explorer[testing]'" if rest[0] in _OPTIONS else ""
                print(f"{called}: there is no module {rest[0]!r}{extra}", file=sys.stderr)
                return 2
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(rest[0])))
            runpy.run_path(rest[0], run_name="__main__")
    except Exception as exc:
        _show(exc)
        return 1
    return 0


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a package that it would be in
        return False


def _let_children_import() -> None:
    """Let Python processes that the program starts import ``tvm`` as well."""
    paths = [os.path.join(_PACKAGE, "child_path"), _SEARCHED]
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in paths]
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *inherited])


def _show(exc: Exception) -> None:
    """Print a traceback that begins in the user's program; a mistake in the program is not traced into this package."""
    steps: list[TracebackType] = []
    tb = exc.__traceback__
    while tb is not None:
        theirs = not tb.tb_frame.f_code.co_filename.startswith((_PACKAGE, "<frozen"))
        if theirs or (steps and not isinstance(exc, TVMError)):
            steps.append(tb)
        tb = tb.tb_next
    trimmed: TracebackType | None = None
    for step in reversed(steps):
        trimmed = TracebackType(trimmed, step.tb_frame, step.tb_lasti, step.tb_lineno)
    if isinstance(exc, TVMError):
        exc.__suppress_context__, exc.__cause__ = True, None
    sys.__excepthook__(type(exc), exc.with_traceback(trimmed), trimmed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
