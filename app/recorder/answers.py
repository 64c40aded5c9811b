"""Builds answers from recorded subjects: units with steps, listings, drawings, console, problems."""

from __future__ import annotations

import time
from collections.abc import Collection

from app.artifacts import Answer, AssemblyFilter, Measurement, Mode, Problem, Unit
from app.recorder.gpus.kernel_scripts import KernelScripts
from app.recorder.hints.hints import Hints
from app.recorder.origins import OriginRows
from app.recorder.printing import ArtifactPrinter
from app.recorder.recorder import Recorder
from app.recorder.scripts.environment import environment
from app.recorder.scripts.script import Script
from app.recorder.units.function_units import FunctionUnits
from app.recorder.units.graph_units import GraphUnits
from compiler.ir.origin import OriginTable

PRINTING_SECONDS = 2.0
"""The time limit for printing the listings of a snapshot, after which the remaining ones are omitted."""


MAX_FAULTS = 10
"""The maximum number of faults of kernels that are reported as problems; their pane has all of them."""


class AnswerBuilder:
    """Converts recorded subjects to artifacts, each of which is sent once.

    Parameters
    ----------
    filters : collection of str
        The assembly filters.
    kernels : KernelScripts
        The kernels that the workspace defines.
    job_seconds : float
        How long the job may take by the clock, from now on.
    """

    def __init__(
        self,
        mode: Mode,
        recorder: Recorder,
        table: OriginTable,
        script: Script,
        filters: Collection[AssemblyFilter],
        kernels: KernelScripts,
        job_seconds: float,
    ) -> None:
        self._mode: Mode = mode
        self._recorder = recorder
        self._script = script
        self._rows = OriginRows(table)
        self._hints = Hints(script, recorder, table)
        self._printing = ArtifactPrinter(job_seconds)
        self._graphs = GraphUnits(self._printing, table, kernels)
        self._functions = FunctionUnits(self._printing, self._rows, filters)
        self._sent: set[str] = set()
        self._began = time.perf_counter()

    def snapshot(
        self, measurements: list[Measurement], patience: float = PRINTING_SECONDS, starved: bool = False
    ) -> Answer:
        """Return everything recorded so far; ``listings`` has only new ones.

        Parameters
        ----------
        patience : float
            The time limit in seconds for printing; further steps of a huge program have no listings.
        starved : bool
            Whether something else than texts is missing for lack of a processor.
        """
        self._printing.begin(patience)
        units = self._units()
        self._note_what_is_missing(patience)
        listings = {key: item for key, item in self._printing.listings.items() if key not in self._sent}
        drawings = {key: item for key, item in self._printing.drawings.items() if key not in self._sent}
        self._sent.update(listings, drawings)
        failed = any(problem.severity == "error" for problem in self._script.problems)
        return Answer(
            mode=self._mode,
            status="timeout" if self._script.timed_out else "error" if failed else "ok",
            units=units,
            listings=listings,
            drawings=drawings,
            origins=self._rows.rows(),
            console=self._script.transcript.finished(),
            cells=list(self._script.cells),
            problems=[*self._problems(), *self._faults()],
            hints=self._hints.made(),
            measurements=list(measurements),
            hurried=self._printing.hurried or starved,
            milliseconds=(time.perf_counter() - self._began) * 1e3,
            environment=environment(),
        )

    def _units(self) -> list[Unit]:
        self._graphs.print_ends(self._recorder.graphs)
        graphs = [self._graphs.unit(graph) for graph in self._recorder.graphs]
        files = [self._graphs.file(refused) for refused in self._recorder.refused_files]
        return [*graphs, *files, *(self._functions.unit(function) for function in self._recorder.functions)]

    def _problems(self) -> list[Problem]:
        """Return what ended the script, at the nodes of the models' files where their import failed."""
        files = self._recorder.refused_files
        return [self._graphs.at_nodes(problem, files) for problem in self._script.problems]

    def _faults(self) -> list[Problem]:
        """Return what the sanitizer found, at the lines of the script; the code is what the script asked for."""
        reports = [function.report for function in self._recorder.functions if function.report is not None]
        found = [(fault, [site.line for site in fault.sites]) for report in reports for fault in report.faults]
        return [
            Problem(kind=fault.kind, message=fault.message, line=next(filter(None, lines), None), severity="warning")
            for fault, lines in found[:MAX_FAULTS]
        ]

    def _note_what_is_missing(self, patience: float) -> None:
        note = self._script.transcript.note
        if self._printing.unprinted and patience:
            note(f"the program is large: {self._printing.unprinted} of its steps are not printed")
        functions, graphs = self._recorder.functions, self._recorder.graphs
        if functions.left_out:
            note(f"{functions.left_out} more functions were built; the first {len(functions)} are shown")
        if graphs.left_out:
            note(f"{graphs.left_out} more graphs were made; the first {len(graphs)} are shown")
