"""Contests: measures the entries of a board beside a new one, in one batch, and keeps the ranks."""

from __future__ import annotations

from collections.abc import Callable, Generator

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
ATTEMPTS = 3
"""How often a batch is measured until it is on the processor whose entries it has."""


class Contests:
    """Enters programs into boards.

    Parameters
    ----------
    processors : callable
        Returns the processors of the machines that measure, of which a cluster may have several kinds, or none yet.
    """

    def __init__(self, ladders: Ladders, boards: Boards, processors: Callable[[], list[str]]) -> None:
        self._ladders = ladders
        self._boards = boards
        self._processors = processors

    @property
    def cpus(self) -> list[str]:
        """The processors whose boards are measured here."""
        return list(dict.fromkeys(cpu[:MAX_CPU] for cpu in self._processors()))

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
        cpu = next((m.cpu[:MAX_CPU] for m in reversed(ladder) if m.cpu), "")
        self._boards.check_name(problem.name, cpu, name, key)

        def events(measurer: Measurer) -> Generator[Event | MadeWay]:
            batch = yield from self._measured(problem, cpu, workspace, measurer)
            kept = [m for at, m in enumerate(ladder) if not any(_supersedes(later, m) for later in ladder[at + 1 :])]
            entry = NewEntry(name=name, key=key, script=workspace.script, program=measurer.entrant, ladder=kept)
            if batch.keep(entry) is None:
                raise InvalidBody(f"it is slower than your own entry, or than all {PLACES} places of the board")

        return self._ladders.begin("batch", workspace, client, events)

    def measure_again(self, problem: Problem, cpu: str, client: Client) -> Ladder:
        """Measure the entries of a processor's board, with those that have no rank yet.

        Raises
        ------
        Busy, RequestError
            As for :meth:`~app.jobs.ladders.Ladders.begin`.
        """

        def events(measurer: Measurer) -> Generator[Event | MadeWay]:
            batch = yield from self._measured(problem, cpu, None, measurer)
            batch.keep(None)

        return self._ladders.begin("batch", Workspace(script=problem.script), client, events)

    def _measured(
        self, problem: Problem, cpu: str, entrant: Workspace | None, measurer: Measurer
    ) -> Generator[Event | MadeWay, None, _Batch]:
        """Measure a board; of a cluster's machines another may take it, and then it is that processor's board.

        Raises
        ------
        InvalidBody
            If nothing was measured, or each time on another processor.
        """
        for _ in range(ATTEMPTS):
            batch = _Batch(self._boards, problem, cpu, entrant)
            yield from batch.events(measurer)
            cpu = batch.measured_on
            if cpu == batch.cpu:
                return batch
        raise InvalidBody(f"it was measured on another processor each time, last on {cpu}")


def _supersedes(later: Measurement, earlier: Measurement) -> bool:
    """Return whether a measurement stands for an earlier one: what all are compared with is measured twice."""
    return later.kind == earlier.kind and later.kind in ("numpy", "peak")


class _Batch:
    """The measurements of a processor's board, by the ids of entries, and why others have none."""

    def __init__(self, boards: Boards, problem: Problem, cpu: str, entrant: Workspace | None) -> None:
        self.cpu = cpu
        self._measured: dict[str, Measurement] = {}
        self._failed: dict[str, str] = {}
        self._numpy: Measurement | None = None
        self._boards = boards
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
                case Failed(label=label):
                    self._failed[ids[int(label)]] = event.problem.message
                case Measured(measurement=measurement) if measurement.kind == "numpy":
                    self._numpy = measurement
                case Measured(measurement=measurement):
                    self._measured[ids[int(measurement.name)]] = measurement
            yield event
        if self._entrant is not None and ENTRANT not in self._measured:
            raise InvalidBody("it was not measured")
        if not self._measured and not self._failed:
            raise InvalidBody("nothing was measured")

    @property
    def measured_on(self) -> str:
        """The processor that it was measured on; that of the board where all entries failed."""
        return next((one.cpu[:MAX_CPU] for one in self._measured.values()), self.cpu)

    def keep(self, entry: NewEntry | None) -> str | None:
        """Store what was measured, and the entrant; see :meth:`app.store.boards.Boards.enter`."""
        return self._boards.enter(self._problem.name, self.cpu, entry, self._measured, self._numpy, self._failed)
