"""Graph tuning: a configuration for each convolution of a model, together the fastest.

Classic TVM's records have layouts of their own, and a change of layouts between two calls costs time.  Here
``AlterOpLayout`` gives the calls of a model their layouts, whatever their configurations are, so that the fastest of
each are the fastest together, and no transformation has to be measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from compiler.classic.autotvm.extraction import extract_from_program
from compiler.classic.autotvm.measure import Record
from compiler.classic.autotvm.task.history import Records, read_records
from compiler.classic.autotvm.task.record import encode
from compiler.classic.autotvm.task.workload import Workload
from compiler.ir.error import ArgumentError, expected
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.transform.infer_type import InferType
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.search.fastest import keep_fastest
from compiler.target.target import TargetLike

__all__ = ["BaseGraphTuner", "DPTuner", "PBQPTuner"]


class BaseGraphTuner:
    """Chooses records for the calls of some operators in a model; ``**options`` of TVM's change nothing.

    Raises ArgumentError if no record is of such a call.

    Parameters
    ----------
    graph : IRModule or Function
        Its variables without a shape in ``input_shapes`` are weights.
    records : str, path, or sequence of (MeasureInput, MeasureResult)
        What was measured, or a log of it.
    target_ops : sequence of RelayOp
        The operators whose calls are tuned.
    """

    def __init__(
        self, graph: IRModule | Function, input_shapes: Mapping[str, Sequence[int]], records: Records,
        target_ops: Iterable[RelayOp], target: TargetLike, **options: object,
    ) -> None:  # fmt: skip
        if not isinstance(input_shapes, Mapping):
            expected("graph_tuner", "input_shapes", "a dict of a shape by the input's name", input_shapes)
        mod = InferType()(graph if isinstance(graph, IRModule) else IRModule.from_expr(graph))
        free = [v for v in mod["main"].params if v.name_hint not in input_shapes]
        weights = {v.name_hint: np.ones(v.checked_type.concrete_shape, numpy_dtype(v.checked_type.dtype)) for v in free}
        tasks = extract_from_program(mod, weights, target, ops=list(target_ops))
        self._best: dict[Workload, Record] = {}
        workloads = {task.workload for task in tasks}
        for record in read_records(records):
            if record[0].task.workload in workloads:
                keep_fastest(self._best, record[0].task.workload, record)
        if not self._best:
            raise ArgumentError(f"graph_tuner: no record is of one of the {len(tasks)} tasks of the graph")
        self._chosen: list[Record] = []

    def benchmark_layout_transform(self, min_exec_num: int = 100, **options: object) -> None:
        """Measure nothing, as no choice changes a layout."""

    def run(self, **options: object) -> None:
        """Choose a record for each call."""
        self._chosen = list(self._best.values())

    def get_optimal_records(self) -> list[Record]:
        """Return the records that were chosen. Raises ArgumentError before :meth:`run`."""
        if not self._chosen:
            raise ArgumentError("graph_tuner: nothing is chosen before run()")
        return self._chosen

    def write_opt_sch2record_file(self, record_file: str | PathLike[str] = "graph_opt_schedule.log") -> None:
        """Write the records that were chosen, for ``autotvm.apply_graph_best``."""
        lines = [f"{encode(*record)}\n" for record in self.get_optimal_records()]
        Path(record_file).write_text("".join(lines), encoding="utf-8")


class DPTuner(BaseGraphTuner):
    """TVM's tuner by dynamic programming, which here has nothing to plan."""


class PBQPTuner(BaseGraphTuner):
    """TVM's tuner by partitioned boolean quadratic programming, which here has nothing to solve."""
