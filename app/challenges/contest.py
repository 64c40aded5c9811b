"""Contests: measures the entries of a board beside a new one, in one batch, and keeps the ranks."""

from __future__ import annotations

from collections.abc import Generator

from app.artifacts import Measurement, Workspace
from app.challenges.problem import Problem
from app.errors import InvalidBody
from app.jobs.clients import Client
from app.jobs.ladders import Ladder, Ladders
from app.jobs.measurer import MadeWay, Measurer
from app.protocol import Event, Failed, Measured
from app.store.boards import PLACES, Boards, NewEntry

__all__ = ["Contests"]

MAX_CPU = 128
ENTRANT = ""
"""What stands for the id of an entry that has none yet."""


class Contests:
    """Enters programs into boards.

    Parameters
    ----------
    cpu : str
        The processor whose boards are measured here.
    """

    def __init__(self, ladders: Ladders, boards: Boards, cpu: str) -> None:
        self._ladders = ladders
        self._boards = boards
        self.cpu = cpu[:MAX_CPU]

    def enter(
        self, problem: Problem, workspace: Workspace, ladder: list[Measurement], name: str, key: str, client: Client
    ) -> Ladder:
        """Measure a program beside the entries of a board, and enter it.

        Parameters
        ----------
        ladder : list of Measurement
            The ladder of the same workspace.
        name, key : str
            Who enters: the name that the board shows, and the key of the browser.

        Raises
        ------
        Forbidden
            If the name is another's.
        Busy, RequestError
            As for :meth:`~app.jobs.ladders.Ladders.begin`.
        """
        self._boards.check_name(problem.name, self.cpu, name, key)

        def events(measurer: Measurer) -> Generator[Event | MadeWay]:
            batch = _Batch(self._boards, problem, self.cpu, workspace)
            yield from batch.events(measurer)
            kept = [m for at, m in enumerate(ladder) if not any(_supersedes(later, m) for later in ladder[at + 1 :])]
            entry = NewEntry(name=name, key=key, script=workspace.script, program=measurer.entrant, ladder=kept)
            if self._keep(problem, batch, entry) is None:
                raise InvalidBody(f"it is slower than your own entry, or than all {PLACES} places of the board")

        return self._ladders.begin("batch", workspace, client, events)

    def measure_again(self, problem: Problem, client: Client) -> Ladder:
        """Measure the entries of a board, with those that have no rank yet.

        Raises
        ------
        Busy, RequestError
            As for :meth:`~app.jobs.ladders.Ladders.begin`.
        """

        def events(measurer: Measurer) -> Generator[Event | MadeWay]:
            batch = _Batch(self._boards, problem, self.cpu, None)
            yield from batch.events(measurer)
            self._keep(problem, batch, None)

        return self._ladders.begin("batch", Workspace(script=problem.script), client, events)

    def _keep(self, problem: Problem, batch: _Batch, entry: NewEntry | None) -> str | None:
        if not batch.measured:
            raise InvalidBody("nothing was measured")
        other = next((m.cpu for m in batch.measured.values() if m.cpu[:MAX_CPU] != self.cpu), "")
        if other:
            raise InvalidBody(f"it was measured on another processor than the board's: {other}")
        return self._boards.enter(problem.name, self.cpu, entry, batch.measured, batch.numpy)


def _supersedes(later: Measurement, earlier: Measurement) -> bool:
    """Return whether a measurement stands for an earlier one: what all are compared with is measured twice."""
    return later.kind == earlier.kind and later.kind in ("numpy", "peak")


class _Batch:
    """The measurements of a batch by the ids of entries."""

    def __init__(self, boards: Boards, problem: Problem, cpu: str, entrant: Workspace | None) -> None:
        self.measured: dict[str, Measurement] = {}
        self.numpy: Measurement | None = None
        self._programs = boards.programs(problem.name, cpu)
        self._problem = problem
        self._entrant = entrant

    def events(self, measurer: Measurer) -> Generator[Event]:
        """Measure, and pass the events on.

        Raises
        ------
        InvalidBody
            If the entrant is refused.
        """
        ids = [*([] if self._entrant is None else [ENTRANT]), *self._programs]
        definition, others = Workspace(script=self._problem.script), list(self._programs.values())
        for event in measurer.batch(definition, self._entrant, others, self._problem.settings.numpy):
            match event:
                case Failed(label=label) if not label.isdecimal() or ids[int(label)] == ENTRANT:
                    raise InvalidBody(event.problem.message)
                case Measured(measurement=measurement) if measurement.kind == "numpy":
                    self.numpy = measurement
                case Measured(measurement=measurement):
                    self.measured[ids[int(measurement.name)]] = measurement
            yield event
        if self._entrant is not None and ENTRANT not in self.measured:
            raise InvalidBody("it was not measured")
