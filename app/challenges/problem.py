"""Problems: scripts with a block of settings, as inline script metadata has it.

The docstring has the title and, after an empty line, what is to be computed.  Settings stand between
``# /// challenge`` and ``# ///``, in TOML, each line of it a comment; visitors get the script without them.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from app.docstrings import described

__all__ = ["OWN", "Problem", "ProblemError", "Problems", "Settings", "own_link", "own_problem"]

FOLDER = Path(__file__).parent / "problems"
OWN = "own-"
"""The names of visitors' problems begin with it; the id of a link follows."""
_NAME = re.compile(r"\d+_([a-z0-9_]+)")
_BLOCK = re.compile(r"^# /// challenge\n(?P<lines>(?:^#(?: .*)?\n)+?)^# ///\n", re.MULTILINE)


class ProblemError(ValueError):
    """A file of a problem is malformed."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a problem."""

    group: str = "Problems of visitors"
    """The heading that it stands under."""
    hint: str = ""
    numpy: str = ""
    """How NumPy computes it: a function of the inputs in their order; empty for what follows from the definition."""
    peak: Literal["compute", "memory", ""] = ""
    """What the processor's limit is: its arithmetic, its memory, or something else."""
    small: dict[str, int] = {}
    """Smaller values of the script's sizes, for which tests compare the definition with NumPy."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: a computation, and a script that defines it and schedules nothing yet."""

    name: str
    """The name in URLs, ``matmul-with-tails``."""
    title: str
    words: str
    script: str
    settings: Settings

    @property
    def on_gpu(self) -> bool:
        """Whether it is for a GPU, of which the server has none, so that there is no board."""
        return self.settings.group == "GPU"

    @property
    def is_own(self) -> bool:
        """Whether a visitor made it."""
        return self.name.startswith(OWN)


class Problems:
    """The problems of a folder, ordered by file name."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._by_name = {problem.name: problem for problem in _read_all(folder)}

    @property
    def groups(self) -> dict[str, list[Problem]]:
        """The problems by heading, each in its order."""
        groups: dict[str, list[Problem]] = {}
        for problem in self._by_name.values():
            groups.setdefault(problem.settings.group, []).append(problem)
        return groups

    def find(self, name: str) -> Problem | None:
        """Look up a problem by name."""
        return self._by_name.get(name)


@cache
def _read_all(folder: Path) -> tuple[Problem, ...]:
    return tuple(read_problem(path) for path in sorted(folder.glob("[0-9]*.py")))


def read_problem(path: Path) -> Problem:
    """Read the file of a problem.

    Raises
    ------
    ProblemError
        If it is malformed.
    """
    name, text = _NAME.fullmatch(path.stem), path.read_text(encoding="utf-8")
    block = _BLOCK.search(text)
    if name is None or block is None:
        raise ProblemError(f"{path.name}: a problem is a file like 03_sigmoid.py with settings after # /// challenge")
    lines = "".join(line.removeprefix("#").removeprefix(" ") for line in block["lines"].splitlines(keepends=True))
    try:
        settings = msgspec.convert(tomllib.loads(lines), Settings)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ProblemError(f"{path.name}: {error}") from error
    tidy = msgspec.structs.replace(settings, hint=_joined(settings.hint), numpy=_joined(settings.numpy))
    script = text[: block.start()] + text[block.end() :]
    title, words, *_ = [*inspect.cleandoc(ast.get_docstring(ast.parse(script)) or "").split("\n\n"), ""]
    if not title or not words:
        raise ProblemError(f"{path.name}: its docstring needs a title, an empty line and what is to be computed")
    return Problem(name[1].replace("_", "-"), title, _joined(words), script, tidy)


def own_problem(link: str, script: str) -> Problem:
    """Return the problem that a visitor made of a script: what its last function computes.

    Parameters
    ----------
    link : str
        The id of the permalink that has the script.
    """
    title, words, _ = described(script)
    return Problem(
        name=f"{OWN}{link}",
        title=title or "A problem without a title",
        words=words or "Make it faster: whatever the last function of the script computes.",
        script=script,
        settings=Settings(),
    )


def own_link(name: str) -> str:
    """Return the id of the link that has the script of a visitor's problem; empty for other names."""
    return name.removeprefix(OWN) if name.startswith(OWN) else ""


def _joined(text: str) -> str:
    return " ".join(text.split())
