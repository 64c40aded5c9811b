"""Measures the prefixes of a schedule: builds each, checks it against the unscheduled definition, and times it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

import msgspec
import numpy as np
from threadpoolctl import ThreadpoolController

from app.artifacts import NOISE, Measurement, MeasurementKind, Options, Problem, has_rung
from app.protocol import Failed, Measured, Progress
from app.recorder.definitions import definition_of
from app.recorder.measuring.measure import Check, Timing, compare, time_call, time_calls
from app.recorder.measuring.measured_program import MeasuredProgram, has_parallel_loop, only_function
from app.recorder.measuring.random_inputs import random_arrays
from app.recorder.measuring.shortening import shortened
from app.recorder.scripts.environment import CACHES, CPU
from compiler.driver.build import build
from compiler.ir.error import TVMError
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_equal
from compiler.runtime.arrays.ndarray import NDArray, array
from compiler.runtime.device import cpu
from compiler.runtime.parallel.threads import openmp, parallel_runtime, set_num_threads
from compiler.target.cpu.bandwidth import measure_bandwidth
from compiler.target.cpu.caches import TYPICAL
from compiler.target.cpu.frequency import measure_frequency
from compiler.target.cpu.peak import fastest_run, peak_of
from compiler.target.target import Target
from compiler.te.definition.numpy_reference import NoNumPyProgram
from compiler.tir.analysis.arithmetic import Arithmetic, usual_arithmetic
from compiler.tir.analysis.memory_traffic import memory_traffic

Array = np.ndarray[Any, Any]

BLAS = ThreadpoolController()
"""NumPy's thread pools, listed at import, before the sandbox blocks access to the list of loaded libraries."""


MANY_FLOPS = 2e8
"""Operations per call that take unscheduled loops about a second.  Above this, the last step is measured first and the
unscheduled definition last, so that the others are available earlier."""

MAX_REFERENCE_FLOPS = 10 * MANY_FLOPS
"""Operations above which the unscheduled definition is not computed only to compare a step with it."""

SLOW_SECONDS = 4.0
"""The time of a call above which a step is estimated from part of its work."""

Turn = tuple[str, int | None, Callable[[], Measurement | None]]
"""A label, the number of primitives of a prefix, and a function that measures it."""


@contextmanager
def alone(threads: int) -> Iterator[None]:
    """Measure with so many threads, and no instrument."""
    set_num_threads(threads)
    with uninstrumented(), BLAS.limit(limits=threads, user_api="blas"):
        yield


class Ladder:
    """Measures the prefixes of a schedule.

    Parameters
    ----------
    program : MeasuredProgram
        The program with its complete schedule.
    emit : callable
        Receives the events.
    seed : int
        The seed of the random inputs.
    numpy : str
        A function of the inputs, in Python, to time in the place of the definition's NumPy program.
    """

    def __init__(
        self,
        program: MeasuredProgram,
        target: Target,
        options: Options,
        emit: Callable[[Progress | Measured | Failed], None],
        seed: int = 0,
        numpy: str = "",
    ) -> None:
        self._program = program
        self._numpy_text = numpy
        self._target = target
        self._options = options
        self._emit = emit
        self._expected: list[Array] | None = None
        parameters = program.parameters
        self._inputs = random_arrays([p.shape for p in parameters], [p.dtype for p in parameters], seed)
        self._definition = definition_of(program)
        self._previous: tuple[int, IRModule, Measurement] | None = None
        self._references: dict[MeasurementKind, Measurement] = {}

    def run(self) -> None:
        """Measure NumPy and the machine's peak, then every prefix from the unscheduled definition on.

        Prefixes that end with a split or a fusion are left out, but for the whole schedule: these alone leave the
        iterations in their order, and prepare what comes next.
        """
        labels = ["default", *self._program.primitives]
        rungs: list[Turn] = [
            (label, step, partial(self._rung, step, label))
            for step, label in enumerate(labels)
            if has_rung(label, step == len(labels) - 1)
        ]
        self._measure(rungs[::-1] if (self._program.flops or 0) > MANY_FLOPS else rungs)

    def run_last(self, name: str) -> None:
        """Measure NumPy and the machine's peak, then the complete schedule.

        Parameters
        ----------
        name : str
            The name of its function.
        """
        self._measure([(name, None, partial(self._kernel, name))])

    def run_with_default(self, name: str) -> None:
        """Measure NumPy and the machine's peak, the unscheduled definition, then the complete schedule.

        Parameters
        ----------
        name : str
            The name of its function.
        """
        default: list[Turn] = [("default", 0, partial(self._rung, 0, "default"))]
        self._measure([*(default if self._program.primitives else ()), (name, None, partial(self._kernel, name))])

    def _measure(self, rungs: list[Turn]) -> None:
        references: list[Turn] = [("NumPy", None, self._numpy), ("peak", None, self._peak)]
        again: list[Turn] = [
            (f"{label} again", step, partial(self._again, measure)) for label, step, measure in references
        ]
        turns = [*references, *rungs, *again, ("bandwidth", None, self._bandwidth)]
        total = len(turns)
        with alone(self._options.threads):
            for place, (label, step, measure) in enumerate(turns):
                self._guarded(place, total, label, step, measure)
        self._emit(Progress(done=total, total=total, label="done"))

    def _guarded(
        self, done: int, total: int, label: str, step: int | None, measure: Callable[[], Measurement | None]
    ) -> None:
        self._emit(Progress(done=done, total=total, label=label))
        try:
            measurement = measure()
        except Exception as exc:  # if one step fails for any reason, continue with the others
            problem = Problem(kind=type(exc).__name__, message=reason_of(exc))
            self._emit(Failed(label=label, problem=problem, step=step))
            return
        if measurement is not None:
            self._references.setdefault(measurement.kind, measurement)
            self._emit(Measured(measurement=measurement))

    def _again(self, measure: Callable[[], Measurement | None]) -> Measurement | None:
        """Measure a reference again, as the speed of the machine may have changed."""
        second = measure()
        first = second and self._references.get(second.kind)
        return steadied(first, second) if first and second else None

    def _rung(self, step: int, label: str) -> Measurement:
        module = self._program.lowered(step)
        if self._previous is not None and structural_equal(module, self._previous[1]):
            return self._same_as_before(step, label)
        measurement = self._estimate(label, module, step) or self._built("prefix", label, module, step)
        self._previous = (step, module, measurement)
        return measurement

    def _estimate(self, label: str, module: IRModule, step: int) -> Measurement | None:
        """Estimate a step that is too slow to be measured; None for others."""
        flops = self._program.flops or 0.0
        part = shortened(module, flops / MANY_FLOPS, self._options.threads) if flops > MANY_FLOPS else None
        if part is None:
            return None
        _, prepare = self._loaded(part.module)
        timing = Timing([whole := time_call(prepare()).per(1 / part.times)], 1)
        if whole.clock < SLOW_SECONDS:
            return None
        estimated = self._measurement("prefix", label, timing, None, step)
        note = f"estimated, not measured: the time of {part.words}, times {part.times:,.4g}"
        return msgspec.structs.replace(estimated, estimated=True, note=note, traffic=_modelled_traffic(module))

    def _kernel(self, name: str) -> Measurement:
        """Measure the complete schedule, compared with the unscheduled definition if there is no NumPy program."""
        return self._built("kernel", name, self._program.lowered(), None)

    def _loaded(self, module: IRModule) -> tuple[list[NDArray], Callable[[], Callable[[], object]]]:
        """Return the arguments of a built function, and what returns a call of its loaded machine code.

        Such a call has the number of threads of now, and its arguments were checked: that takes longer than a small
        kernel, and the candidates of searches are measured without it.
        """
        function = build(module, target=self._target).get_function("main")
        arrays = [array(a, cpu(0)) for a in self._inputs]
        return arrays, partial(function.prepare, tuple(arrays))

    def _built(self, kind: MeasurementKind, name: str, module: IRModule, step: int | None) -> Measurement:
        """Build, check and time a function."""
        arrays, prepare = self._loaded(module)
        first = time_call(call := prepare())
        check = self._check([arrays[i].view().copy() for i in self._program.outputs], step)
        timing = time_calls(call, first) if check is None or check.ok else None
        parallel = self._options.threads > 1 and has_parallel_loop(module)
        if timing and step is not None and parallel and openmp() is not None:
            self._emit(Measured(measurement=self._on_one_thread(kind, name, prepare, check, step)))
        alone = timing is not None and self._options.threads == 1
        measurement = self._measurement(kind, name, timing, check, step)
        if timing and parallel and openmp() is None:
            measurement = msgspec.structs.replace(measurement, threads=1, note=parallel_runtime())
        frequency = measure_frequency() if alone else None
        return msgspec.structs.replace(
            measurement, traffic=_modelled_traffic(module), frequency=frequency, definition=self._definition
        )

    def _on_one_thread(
        self,
        kind: MeasurementKind,
        name: str,
        prepare: Callable[[], Callable[[], object]],
        check: Check | None,
        step: int,
    ) -> Measurement:
        """Time a step with parallel loops again, on a single thread."""
        set_num_threads(1)
        try:
            timing = time_calls(prepare())
        finally:
            set_num_threads(self._options.threads)
        measurement = self._measurement(kind, name, timing, check, step)
        return msgspec.structs.replace(measurement, threads=1, frequency=measure_frequency())

    def _same_as_before(self, step: int, label: str) -> Measurement:
        assert self._previous is not None
        other, _, before = self._previous
        return Measurement(
            name=label,
            kind="prefix",
            seconds=before.seconds,
            spread=before.spread,
            disturbed=before.disturbed,
            repeats=before.repeats,
            number=before.number,
            threads=before.threads,
            flops=before.flops,
            gflops=before.gflops,
            traffic=before.traffic,
            frequency=before.frequency,
            definition=before.definition,
            checked=before.checked,
            error=before.error,
            cpu=before.cpu,
            target=before.target,
            step=step,
            estimated=before.estimated,
            note=f"the same loops as the step {'before' if other < step else 'after'}; not measured again",
        )

    def _check(self, outputs: list[Array], step: int | None) -> Check | None:
        """Compare outputs with NumPy's or else the unscheduled definition's; None if that takes too long."""
        if self._expected is None and (step == 0 or not self._program.primitives):
            self._expected = outputs
        if self._expected is None and (self._program.flops or 0) <= MAX_REFERENCE_FLOPS:
            arrays, prepare = self._loaded(self._program.lowered(0))
            prepare()()
            self._expected = [arrays[i].view().copy() for i in self._program.outputs]
        return None if self._expected is None else compare(outputs, self._expected)

    def _numpy(self) -> Measurement | None:
        call, source = self._numpy_call()
        if call is None:
            return None
        measurement = self._measurement("numpy", "NumPy", time_calls(call), None, None)
        return msgspec.structs.replace(measurement, note=source)

    def _numpy_call(self) -> tuple[Callable[[], object] | None, str]:
        """Compute the expected outputs with NumPy where it can, and return what is to be timed, and its source."""
        call: Callable[[], object] | None = None
        source = ""
        try:
            self._expected, program = self._program.reference(self._inputs)
            call, source = program, program.source
        except NoNumPyProgram:
            self._expected = None  # then the steps are compared with the result of the unscheduled definition
        if self._numpy_text:
            function = eval(self._numpy_text, {"np": np})
            inputs = [a for i, a in enumerate(self._inputs) if i not in self._program.outputs]
            call, source = partial(function, *inputs), self._numpy_text
        return call, source

    @cached_property
    def _arithmetic(self) -> Arithmetic:
        """What kind of arithmetic the program is: that of its result, where it calls what calculates."""
        try:
            known = usual_arithmetic(self._program.definition())
        except TVMError:
            known = None
        written = self._program.parameters[self._program.outputs[0]].dtype
        return known or Arithmetic(written, written, written)

    def _peak(self) -> Measurement | None:
        if not self._program.flops:
            return None
        if (dtype := peak_of(self._arithmetic, Target("llvm"))) is None:  # of this machine, whatever code is for
            return None
        operations, fastest = fastest_run(dtype, self._options.threads)
        return Measurement(
            name="peak",
            kind="peak",
            seconds=0.0,
            gflops=operations / fastest / 1e9,
            disturbed=fastest.is_disturbed,
            threads=self._options.threads,
            cpu=CPU,
            note=f"measured peak of this machine's multiply-adds of {dtype}",
        )

    def _bandwidth(self) -> Measurement:
        measured = measure_bandwidth(self._options.threads, CACHES)
        return Measurement(
            name="memory bandwidth",
            kind="bandwidth",
            seconds=float(measured.seconds),
            disturbed=measured.seconds.is_disturbed,
            traffic=float(measured.bytes),
            threads=self._options.threads,
            cpu=CPU,
            note=f"{measured.rate / 1e9:.3g} GB/s: the fastest of several copies of an array that no cache holds",
        )

    def _measurement(
        self, kind: MeasurementKind, name: str, timing: Timing | None, check: Check | None, step: int | None
    ) -> Measurement:
        seconds = timing.median if timing else 0.0
        return Measurement(
            name=name,
            kind=kind,
            seconds=seconds,
            spread=timing.spread if timing else 0.0,
            disturbed=timing.is_disturbed if timing else False,
            repeats=len(timing.seconds) if timing else 0,
            number=timing.number if timing else 0,
            threads=self._options.threads,
            flops=self._program.flops,
            gflops=self._program.flops / seconds / 1e9 if self._program.flops and seconds else None,
            checked="unchecked" if check is None else "ok" if check.ok else "wrong",
            error=check.largest_error if check else None,
            cpu=CPU,
            target=str(self._target),
            step=step,
            note="" if timing else "the result is wrong, so it was not measured",
        )


def steadied(first: Measurement, second: Measurement) -> Measurement:
    """Combine two measurements of a reference: the faster one, with their difference as spread.

    Parameters
    ----------
    first, second : Measurement
        Measurements of NumPy or the peak, before and after all others.

    Returns
    -------
    Measurement
        Its ``spread`` is at least the difference of the two; for a peak, in GFLOP/s.
    """
    rates = [m.gflops if m.kind == "peak" and m.gflops else 1 / m.seconds for m in (first, second)]
    faster = first if rates[0] > rates[1] else second
    distance = abs(first.seconds - second.seconds) if faster.seconds else abs(rates[0] - rates[1])
    change = max(rates) / min(rates) - 1
    apart = f"{change * 100:.0f} %" if change < 1 else f"{change + 1:.1f} ×"
    drift = f"{apart} apart before and after: the machine was busy" if change > NOISE else ""
    note = " · ".join(text for text in (faster.note, "the faster of two measurements", drift) if text)
    disturbed = faster.disturbed or change > NOISE
    return msgspec.structs.replace(faster, spread=max(faster.spread, distance), disturbed=disturbed, note=note)


def _modelled_traffic(module: IRModule) -> float | None:
    """Return the modelled traffic of a call between memory and the last-level cache, in bytes."""
    last = (CACHES or TYPICAL)[-1]
    return memory_traffic(only_function(module), last.size, last.line)


def reason_of(error: Exception) -> str:
    """Return why a step was not measured."""
    if isinstance(error, TVMError):
        return str(error)
    if isinstance(error, MemoryError):
        return "this needs more memory than a measurement may have"
    return f"the explorer itself failed here: {error!r}"
