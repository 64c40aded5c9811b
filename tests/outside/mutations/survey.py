"""Makes a copy of the project whose modules can be mutated, and tries the mutants there."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.outside.mutations.mutants import Mutant, importing, mutated
from tests.outside.mutations.rooms import PROJECT, Room

__all__ = ["VERDICTS", "Limits", "Survey", "Tried", "survey"]

VERDICTS = ("caught", "unreached", "survived", "undecided")
"""``unreached``: no test gets where the mutant would do something else.  ``undecided``: the limit came first."""

_HERE = Path(__file__).resolve().parent
_COPIED = ("app", "compiler", "static", "templates", "tests")
"""Of this project, what tests need; of a room elsewhere, all."""


@dataclass(frozen=True)
class Tried:
    """What became of a mutant: by which test it was caught, or how many tests it passed."""

    mutant: Mutant
    verdict: str
    by: str = ""
    how: str = ""
    cpu: float = 0.0


@dataclass
class Survey:
    """The mutants of a room that were tried, and tests that fail in the copy without any."""

    tried: list[Tried] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)
    tests: int = 0
    cpu: float = 0.0
    at_import: frozenset[int] = frozenset()

    def counts(self, kind: str | None = None) -> Counter[str]:
        """Return how many mutants of a kind, or of all, there are with each verdict."""
        return Counter(t.verdict for t in self.tried if kind in (None, t.mutant.kind))


@dataclass(frozen=True)
class Limits:
    """How many mutants run at the same time, and the seconds of processor time that each gets.

    ``slack`` is what one test may take beyond ten times what it takes without a mutant.
    """

    jobs: int = 1
    seconds: float = 120
    slack: float = 20


def survey(
    room: Room, mutants: Sequence[Mutant], limits: Limits, progress: Callable[[Tried], object] = lambda _: None
) -> Survey:
    """Try some mutants of a room."""
    result = Survey()
    with _copy(room) as copy:
        for line in _run(copy, room, mutants, limits):
            message = json.loads(line)
            if "failing" in message:
                result.failing.append(message["failing"])
            elif "tests" in message:
                result.tests, result.cpu = message["tests"], message["cpu"]
                result.at_import = frozenset(message["at_import"])
            else:
                by_number = {mutant.number: mutant for mutant in mutants}
                result.tried.append(Tried(by_number[message.pop("mutant")], **message))
                progress(result.tried[-1])
    if len(result.tried) < len(mutants):
        raise RuntimeError(f"{room.source}: {len(result.tried)} of {len(mutants)} mutants were tried")
    return result


def _run(copy: Path, room: Room, mutants: Sequence[Mutant], limits: Limits) -> Iterator[str]:
    plan = {"tests": list(room.tests), "mutants": [mutant.number for mutant in mutants], **vars(limits)}
    file = copy / ".mutants" / "plan"
    file.write_text(json.dumps(plan))
    temporary = copy / ".tmp"
    temporary.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(copy), "TMPDIR": str(temporary)}
    command = [sys.executable, "-P", str(_HERE / "runner.py"), str(file)]
    with subprocess.Popen(command, cwd=copy, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from process.stdout
    if process.returncode:
        log = copy / ".mutants" / "log"
        raise RuntimeError(f"{room.source}: the tests did not run\n{log.read_text()[-3000:] if log.exists() else ''}")


@contextmanager
def _copy(room: Room) -> Iterator[Path]:
    """Yield a copy of the project in which the modules of a room are rewritten."""
    mutants, sources = mutated(room)
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # jobs of a sandbox have other user ids
        copy = Path(folder) / "p"
        copy.mkdir()
        for source in room.root.iterdir():
            if source.is_file():
                shutil.copy2(source, copy)
            elif room.root != PROJECT or source.name in _COPIED:
                shutil.copytree(source, copy / source.name)
        for package in copy.glob("*/__init__.py"):  # before a sandbox's process can no longer read it
            package.write_text(importing(ast.parse(package.read_text())))
        for path, text in sources.items():
            (copy / path).write_text(text)
        shutil.copyfile(_HERE / "runtime.py", copy / "strata_mutants.py")
        (copy / ".mutants").mkdir()
        (copy / ".mutants" / "reached").write_bytes(bytes(max(1, len(mutants))))
        yield copy
