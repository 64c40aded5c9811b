"""The evidence that checks judge: the answer to a script, measurements and predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.artifacts import Answer, Listing, Measurement, Stage, Step, Unit
from app.panes import table

__all__ = ["Evidence"]


@dataclass(frozen=True)
class Evidence:
    """The evidence about a student's script.

    Parameters
    ----------
    answer : Answer
        The answer of the compilation.
    measurements : sequence of Measurement
        Measurements by the server, if any.
    predictions : mapping of str to float
        The student's inputs, by the name of the check.
    definition : str
        What the lesson's own script computes, as measurements say it; empty if that is unknown.
    computed : str
        What the student's script computes, where it was not measured; empty if that is unknown.
    """

    answer: Answer
    measurements: Sequence[Measurement] = ()
    predictions: Mapping[str, float] = field(default_factory=dict)
    definition: str = ""
    computed: str = ""

    @property
    def function(self) -> Unit | None:
        """The function that was built last, or else lowered last."""
        return self._last("function")

    @property
    def graph(self) -> Unit | None:
        """The graph that was built last, or else recorded last."""
        return self._last("graph")

    def _last(self, kind: str) -> Unit | None:
        units = [unit for unit in self.answer.units if unit.kind == kind]
        built = [unit for unit in units if unit.built]
        return next(reversed(built or units), None)

    @property
    def steps(self) -> list[Step]:
        """The applied steps of the last graph and of the last function."""
        return [step for unit in (self.graph, self.function) if unit for step in unit.steps if step.applied]

    def stage(self, name: str) -> Stage | None:
        """Return a stage of the last schedule by name, by default the last one with loops."""
        stages = [stage for stage in (self.function.schedule if self.function else []) if stage.loops]
        return next((stage for stage in reversed(stages) if name in ("", stage.name)), None)

    def listing(self, pane: str) -> Listing | None:
        """Return the final listing of a pane."""
        row = table.find(pane)
        group = row.group if row else ""
        keys = [step.listing for step in self.steps if step.group == group and step.listing]
        return self.answer.listings.get(keys[-1]) if keys else None

    @property
    def kernel(self) -> Measurement | None:
        """The measurement of the complete schedule, of the function that was built last."""
        own = [m for m in self.measurements if m.kind in ("kernel", "prefix") and not m.estimated]
        return max(reversed(own), key=lambda m: m.step or 0, default=None)

    @property
    def busy(self) -> bool:
        """Whether others used the machine while the kernel or what it is compared with was measured."""
        return any(m.disturbed for m in self.measurements)

    def reference(self, kind: str) -> Measurement | None:
        """Return a reference measurement: ``default``, ``numpy`` or ``peak``."""
        if kind == "default":
            return next((m for m in self.measurements if m.kind == "prefix" and m.step == 0 and not m.estimated), None)
        return next((m for m in reversed(self.measurements) if m.kind == kind), None)
