"""Tasks and records for programs that try tuners: ``tvm.testing.autotvm``."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from compiler import te
from compiler.classic import autotvm
from compiler.classic.autotvm.measure import BuildResult, MeasureInput, MeasureResult, Runner
from compiler.classic.autotvm.task import Task
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule


class DummyRunner(Runner):
    """Runs nothing: the times are random numbers."""

    def __init__(self) -> None:
        super().__init__(1, 1)

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[BuildResult]) -> list[MeasureResult]:
        """Return results that succeeded, whatever was built."""
        return [MeasureResult((random.random(),), 0, 0.2, time.time()) for _ in measure_inputs]


def _product(N: int, L: int, M: int, summed: int, dtype: str) -> tuple[Schedule, list[Tensor]]:
    a = te.placeholder((N, L), name="A", dtype=dtype)
    b = te.placeholder((L, M), name="B", dtype=dtype)
    k = te.reduce_axis((0, summed), name="k")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    y, x = c.op.axis
    config = autotvm.get_config()
    config.define_split("tile_y", y, num_outputs=2)
    config.define_split("tile_x", x, num_outputs=2)
    outer_y, inner_y = config["tile_y"].apply(s, c, y)
    outer_x, inner_x = config["tile_x"].apply(s, c, x)
    s[c].reorder(outer_y, outer_x, k, inner_y, inner_x)
    return s, [a, b, c]


@autotvm.template("testing/matmul")
def matmul(N: int, L: int, M: int, dtype: str) -> tuple[Schedule, list[Tensor]]:
    """Return a product of ``(N, L)`` and ``(L, M)``, tiled by two knobs: the template ``testing/matmul``."""
    return _product(N, L, M, L, dtype)


@autotvm.template("testing/bad_matmul")
def bad_matmul(N: int, L: int, M: int, dtype: str) -> tuple[Schedule, list[Tensor]]:
    """Return a product that reads one row too many for a target of the key ``bad_device``, else a right one."""
    target = Target.current()
    bad = target is not None and "bad_device" in target.keys
    return _product(N, L, M, L + bad, dtype)


def get_sample_task(n: int = 128) -> tuple[Task, Target]:
    """Return the task of multiplying square matrices."""
    target = Target("llvm")
    return autotvm.task.create("testing/matmul", args=(n, n, n, "float32"), target=target), target


def get_sample_records(n: int) -> list[tuple[MeasureInput, MeasureResult]]:
    """Return records of that task that say made-up times: a second for the first one, two for the second one …"""
    task, target = get_sample_task()
    assert task.config_space is not None
    configs = [task.config_space.get(i) for i in range(n)]
    return [
        (MeasureInput(target, task, config), MeasureResult((at + 1,), 0, at, time.time()))
        for at, config in enumerate(configs)
    ]
