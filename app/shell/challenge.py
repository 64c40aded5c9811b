"""``strata challenge``: lists problems, checks a program for one, and records what a search reaches."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from app.artifacts import Workspace
from app.challenges import Problem, Problems
from app.challenges.pars import PARS, Par, read_all
from app.challenges.standing import Standing
from app.jobs.ladders import Ended
from app.protocol import Failed
from app.shell.commands import events_of
from app.shell.explorer import Explorer, ask
from app.shell.failures import WRONG_COMMAND, WRONG_PROGRAM, Failure
from app.shell.programs import read_program
from app.shell.shown import failure_line
from app.views.api import LadderStarted

__all__ = ["check", "list_problems", "read_attempt", "record_pars"]


TARGET = "llvm -mcpu=native"
MAX_SECONDS = 3600.0


def list_problems() -> int:
    """Print the names and titles of all problems."""
    for group, members in Problems().groups.items():
        print(group)
        for problem in members:
            print(f"  {problem.name:<20} {problem.title}")
    return 0


def read_attempt(name: str, file: str) -> tuple[Problem, Workspace]:
    """Return a problem, and what is to be checked for it: a program as :func:`read_program` takes it.

    Raises
    ------
    Failure
        If there is no such problem or program.
    """
    return _problem(name), read_program(file)


def check(explorer: Explorer, problem: Problem, workspace: Workspace, file: str = "") -> int:
    """Measure a program, and print whether it computes what a problem defines and how fast it is."""
    name, failed = problem.name, False
    body: dict[str, Any] = {"workspace": workspace}
    if not problem.on_gpu:
        started = ask(explorer, f"/api/challenges/{name}/ladder", workspace, LadderStarted)
        for event in events_of(explorer, started):
            if isinstance(event, Failed):
                failed = True
                print(failure_line(event, file), file=sys.stderr)
            elif isinstance(event, Ended) and event.status != "ok":
                if failed:  # which has been said
                    return WRONG_PROGRAM
                raise Failure(event.message or f"the measurement {event.status}")
        body["ladder"] = started.id
    standing = ask(explorer, f"/api/challenges/{name}/check", body, Standing)
    for verdict in standing.verdicts:
        print(f"{'✓' if verdict.passed else '✗'} {verdict.words}: {verdict.detail}")
    if standing.words:
        print(f"{standing.words}{', while others used the machine' if standing.disturbed else ''}")
    return 0 if standing.passed else WRONG_PROGRAM


def record_pars(names: Sequence[str], trials: int) -> int:
    """Search a schedule for each problem on one thread, and note what it and NumPy reach on this processor.

    Parameters
    ----------
    names
        Of problems; none for all that are not for a GPU.
    trials
        Schedules to measure for each.
    """
    from app.shell.tuning import built_by, search, seconds_of
    from compiler.driver.build import build
    from compiler.runtime.machine import this_machine
    from compiler.search.tuning import random_arrays

    everything = [problem for members in Problems().groups.values() for problem in members]
    chosen = [_problem(name) for name in names] or [problem for problem in everything if not problem.on_gpu]
    for problem in chosen:
        with tempfile.TemporaryDirectory(prefix="strata-") as folder:
            file = Path(folder, "problem.py")
            file.write_text(problem.script, encoding="utf-8")
            built = built_by(str(file))
        assert built.definition is not None
        source, args = built.default
        default = partial(build, source, args, TARGET)
        found = search(built.definition, TARGET, trials=trials, seconds=MAX_SECONDS, threads=1, default=default)
        *inputs, _ = random_arrays(built.definition, 0)
        numpy = seconds_of(partial(eval(problem.settings.numpy, {"np": np}), *inputs))
        seconds = min(found.seconds, found.default_seconds)
        made = Par(cpu=this_machine().processor, seconds=seconds, numpy=numpy, trials=trials, date=_today())
        _keep(problem.name, made)
        print(f"{problem.name}: {seconds * 1e3:.4f} ms, NumPy {numpy * 1e3:.4f} ms", flush=True)
    return 0


def _keep(name: str, par: Par) -> None:
    """Write a par in the place of an earlier one of the same processor."""
    pars = read_all()
    others = [one for one in pars.get(name, []) if one.cpu != par.cpu]
    encoded = msgspec.json.encode({**pars, name: [*others, par]}, order="sorted")
    PARS.write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")


def _problem(name: str) -> Problem:
    problem = Problems().find(name)
    if problem is None:
        raise Failure(f"there is no challenge {name}; `strata challenge list` prints all", WRONG_COMMAND)
    return problem


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
