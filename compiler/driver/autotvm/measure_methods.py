"""How candidates are measured: builders, runners and batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.autotvm.measure import MeasureErrorNo, MeasureInput, MeasureResult
from compiler.autotvm.task import Task
from compiler.autotvm.task.space import InstantiationError
from compiler.contrib.unavailable import UnavailableName
from compiler.driver.build import build
from compiler.ir.error import TVMError, expected
from compiler.ir.instrument import uninstrumented
from compiler.runtime.device import Device, cpu
from compiler.runtime.module import Module
from compiler.runtime.ndarray import NDArray, array, numpy_dtype
from compiler.te.tensor import Tensor

__all__ = ["LocalBuilder", "LocalRunner", "MeasureBatch", "RPCRunner", "create_measure_batch", "measure_option"]

MeasureBatch = Callable[[Sequence[MeasureInput]], list[MeasureResult]]
RPCRunner = UnavailableName(
    "tvm.autotvm.RPCRunner", "other machines are not reached from here; LocalRunner is this one"
)


class LocalBuilder:
    """Builds candidates in this process, one after the other.

    Parameters
    ----------
    timeout : float
        Accepted as TVM does: nothing is interrupted here.
    n_parallel : int, optional
        Accepted as TVM does.
    **options
        Accepted as TVM does.
    """

    def __init__(self, timeout: float = 10, n_parallel: int | None = None, **options: object) -> None:
        self.timeout = timeout
        self.n_parallel = n_parallel

    def build(self, inp: MeasureInput) -> tuple[Module, Sequence[Any]]:
        """Build a candidate.

        Parameters
        ----------
        inp : MeasureInput

        Returns
        -------
        tuple of Module and list of Tensor
            The code, and the parameters of the function.

        Raises
        ------
        InstantiationError
            If the template refuses the configuration.
        """
        with inp.target:
            schedule, args = inp.task.instantiate(inp.config)
            return build(schedule, list(args), inp.target), args


@dataclass(frozen=True)
class LocalRunner:
    """Runs candidates in this process on random numbers.

    Parameters
    ----------
    timeout : float
        Accepted as TVM does: nothing is interrupted here.
    number : int
        Calls that one measurement averages over.
    repeat : int
        Measurements.
    min_repeat_ms : int
        A measurement lasts at least this many milliseconds.
    cooldown_interval : float
        Seconds to wait after each candidate.
    enable_cpu_cache_flush : bool
        Accepted as TVM does.
    module_loader : optional
        Accepted as TVM does.
    """

    timeout: float = 10
    number: int = 4
    repeat: int = 3
    min_repeat_ms: int = 0
    cooldown_interval: float = 0.0
    enable_cpu_cache_flush: bool = False
    module_loader: object = None

    def run(self, module: Module, args: Sequence[Tensor], device: Device) -> Sequence[float]:
        """Measure a candidate.

        Parameters
        ----------
        module : Module
        args : sequence of Tensor
            The parameters of the function.
        device : Device

        Returns
        -------
        sequence of float
            Seconds a call, one for each measurement.
        """
        rng = np.random.default_rng(0)
        arrays = [_random(rng, arg) for arg in args]
        evaluate = module.time_evaluator(
            module.entry_name, device, self.number, self.repeat, min_repeat_ms=self.min_repeat_ms
        )
        seconds = evaluate(*arrays).results
        time.sleep(self.cooldown_interval)
        return tuple(seconds)


def _random(rng: np.random.Generator, tensor: Tensor) -> NDArray:
    shape = tuple(int(extent) for extent in tensor.shape)  # type: ignore[call-overload]
    return array(rng.uniform(0, 8, shape).astype(numpy_dtype(tensor.dtype)))


def measure_option(builder: LocalBuilder | str, runner: LocalRunner | str) -> dict[str, Any]:
    """Return how candidates are measured.

    Parameters
    ----------
    builder : LocalBuilder or str
        ``local`` is a :class:`LocalBuilder`.
    runner : LocalRunner or str
        ``local`` is a :class:`LocalRunner`.

    Returns
    -------
    dict
        For ``Tuner.tune``.

    Raises
    ------
    ArgumentError
        If either is something else.
    """
    builder = LocalBuilder() if builder == "local" else builder
    runner = LocalRunner() if runner == "local" else runner
    if not isinstance(builder, LocalBuilder):
        expected("measure_option", "builder", "a LocalBuilder or 'local'", builder)
    if not isinstance(runner, LocalRunner):
        expected("measure_option", "runner", "a LocalRunner or 'local'", runner)
    return {"builder": builder, "runner": runner}


def create_measure_batch(task: Task, option: Mapping[str, Any]) -> MeasureBatch:
    """Return what measures candidates.

    Parameters
    ----------
    task : Task
    option : mapping
        What :func:`measure_option` returned.

    Returns
    -------
    callable
        From a list of MeasureInput to one of MeasureResult.
    """
    builder, runner = option["builder"], option["runner"]
    return lambda inputs: [_measured(builder, runner, inp) for inp in inputs]


def _measured(builder: LocalBuilder, runner: LocalRunner, inp: MeasureInput) -> MeasureResult:
    started = time.time()
    stage = MeasureErrorNo.COMPILE_HOST
    costs: Sequence[float | Exception]
    with uninstrumented():
        try:
            module, args = builder.build(inp)
            stage = MeasureErrorNo.RUNTIME_DEVICE
            costs, error = runner.run(module, args, cpu()), MeasureErrorNo.NO_ERROR
        except InstantiationError as refused:
            costs, error = (refused,), MeasureErrorNo.INSTANTIATION_ERROR
        except TVMError as failed:
            costs, error = (failed,), stage
    return MeasureResult(costs, int(error), time.time() - started, time.time())
