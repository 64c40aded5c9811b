"""``tvm.meta_schedule.measure_callback``: what is done with the measurements of a round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from compiler.classic.meta_schedule.builder import BuilderResult
from compiler.classic.meta_schedule.cost_model import Candidates, Results
from compiler.classic.meta_schedule.database import TuningRecord
from compiler.classic.meta_schedule.part import created
from compiler.ir.error import undefined

if TYPE_CHECKING:
    from compiler.classic.meta_schedule.task_scheduler import TaskScheduler


class MeasureCallback:
    """Is told of each round; a program's own one derives from this class, or from its other name."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Candidates,
        builder_results: Sequence[BuilderResult],
        runner_results: Results,
    ) -> None:
        """Take notice of a round of a task."""
        undefined(self, "apply")

    @staticmethod
    def create(kind: str = "default") -> MeasureCallback | list[MeasureCallback]:
        """Return the callbacks of a search (``default``), or one of them."""
        kinds: dict[str, Callable[[], MeasureCallback]] = {
            "add-to-database": AddToDatabase, "remove-build-artifact": RemoveBuildArtifact,
            "update-cost-model": UpdateCostModel,
        }  # fmt: skip
        every: dict[str, Callable[[], MeasureCallback | list[MeasureCallback]]] = {
            "default": lambda: [made() for made in kinds.values()], **kinds,
        }  # fmt: skip
        return created("MeasureCallback.create", every, kind)


PyMeasureCallback = MeasureCallback
create = MeasureCallback.create


class AddToDatabase(MeasureCallback):
    """Commits what was measured; of a kernel of a model, what is faster than its default."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Candidates,
        builder_results: Sequence[BuilderResult],
        runner_results: Results,
    ) -> None:
        """Commit a record of each candidate that has a time."""
        task, database = task_scheduler.tasks_[task_id], task_scheduler.database_
        if database is None:
            return
        workload = database.commit_workload(task.ctx.mod)
        for candidate, result in zip(measure_candidates, runner_results, strict=True):
            trace, seconds = candidate.sch.trace, result.run_secs
            if seconds and trace is not None and sum(seconds) / len(seconds) < task.most_seconds:
                database.commit_tuning_record(
                    TuningRecord(trace, workload, seconds, task.ctx.target, candidate.args_info)
                )


class _Said(MeasureCallback):
    """Says by its presence what the search does itself."""

    def apply(self, *told: Any, **named: Any) -> None:
        """Do nothing more."""


class RemoveBuildArtifact(_Said):
    """Artifacts of the search's own builder are removed as soon as they are measured, with this and without it."""


class UpdateCostModel(_Said):
    """The cost model learns; without it, the model expects what it expected when the search began."""
