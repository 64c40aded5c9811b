"""Dispatch contexts that choose configurations from records."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from compiler.classic.autotvm.measure import Record
from compiler.classic.autotvm.task.context import DispatchContext
from compiler.classic.autotvm.task.record import load_from_file
from compiler.classic.autotvm.task.space import ConfigSpace
from compiler.classic.autotvm.task.workload import Workload
from compiler.ir.error import ArgumentError
from compiler.search.fastest import keep_fastest, mean_cost
from compiler.target.target import Target

__all__ = ["ApplyGraphBest", "ApplyHistoryBest"]

Records = str | PathLike[str] | Iterable[Record]


def read_records(records: Records) -> Iterable[Record]:
    """Return records, or those of a file."""
    return load_from_file(Path(records)) if isinstance(records, (str, PathLike)) else records


class ApplyHistoryBest(DispatchContext):
    """Chooses the configuration of the best one of some records, or of a file of them, for a workload.

    Its tables have as keys the workload with a key of the target, such as ``cpu``, or with the model of the device.
    """

    def __init__(self, records: Records | None) -> None:
        super().__init__()
        self.best_by_targetkey: dict[tuple[str, Workload], Record] = {}
        self.best_by_model: dict[tuple[str, Workload], Record] = {}
        self._set: dict[tuple[str, Workload], ConfigSpace] = {}
        if records is not None:
            self.load(records)

    def load(self, records: Records) -> None:
        """Add records."""
        for inp, res in read_records(records):
            inp.config.cost = mean_cost(res)
            for key in inp.target.keys:
                keep_fastest(self.best_by_targetkey, (key, inp.task.workload), (inp, res))
            keep_fastest(self.best_by_model, (inp.target.model, inp.task.workload), (inp, res))

    def _query_inside(self, target: Target | None, workload: Workload | None) -> ConfigSpace | None:
        if target is None:
            raise ArgumentError("Need a target context to find the history best. Hint: with tvm.target.Target(...)")
        if workload is None:
            return None
        places = [(self.best_by_model, target.model)] if target.model != "unknown" else []
        for table, key in [*places, *((self.best_by_targetkey, key) for key in target.keys)]:
            if (key, workload) in self._set:
                return self._set[key, workload]
            if (key, workload) in table:
                return table[key, workload][0].config
        return None

    def update(self, target: Target, workload: Workload, cfg: ConfigSpace) -> None:
        for key in (target.model, *target.keys):
            self._set[key, workload] = cfg


class ApplyGraphBest(DispatchContext):
    """Chooses the configurations of a graph's calls by records, or a file of such.

    Calls of a workload that several records are of have them in their order; further ones have the last.
    """

    def __init__(self, records: Records) -> None:
        super().__init__()
        self._records: dict[Workload, list[ConfigSpace]] = {}
        for inp, _ in read_records(records):
            self._records.setdefault(inp.task.workload, []).append(inp.config)
        self._chosen: dict[tuple[str, Workload | None], ConfigSpace] = {}

    def _query_inside(self, target: Target | None, workload: Workload | None) -> ConfigSpace | None:
        key = (str(target), workload)
        left = self._records.get(workload, []) if workload is not None else []
        if left:
            self._chosen[key] = left.pop(0)
        return self._chosen.get(key)

    def update(self, target: Target, workload: Workload, cfg: ConfigSpace) -> None:
        self._chosen[str(target), workload] = cfg
