"""``strata tune``: lets a search find the schedule, and writes it as a script."""

from __future__ import annotations

import argparse
import math
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from typing import Any

from threadpoolctl import threadpool_limits

from app.shell.failures import WRONG_COMMAND, WRONG_PROGRAM, Failure
from compiler.classic import alias
from compiler.driver.build import build
from compiler.driver.templates import BlockTemplate, Template, TensorTemplate
from compiler.ir.error import TVMError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.search import Outcome, Progress, filled
from compiler.search import tune as search
from compiler.search.tuning import random_arrays
from compiler.target.target import Target
from compiler.te.definition.numpy_reference import NoNumPyProgram, numpy_program
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.schedule.schedule import Schedule as TIRSchedule
from compiler.tir.schedule.writing import write_script
from compiler.tir.statements.function import PrimFunc

__all__ = ["Built", "built_by", "found_script", "search", "seconds_of", "template_of", "tune"]

NATIVE = "llvm -mcpu=native"
_TURNS = 5


class Built(Instrument):
    """Notes what a program lowers last: the definition, how what the program made of it is built, and for what."""

    def __init__(self) -> None:
        self.definition: PrimFunc | None = None
        self.default: tuple[Any, Any] = (None, None)
        self.target = NATIVE
        self.template: Template | None = None
        self.tensors: list[Tensor] = []
        self._begun: list[tuple[TIRSchedule, IRModule]] = []

    def tir_schedule_created(self, schedule: TIRSchedule, parent: TIRSchedule | None) -> None:
        self._begun.append((schedule, schedule.mod))

    def lower_begin(self, name: str, source: Schedule | PrimFunc | IRModule, args: Sequence[object] | None) -> None:
        self.default, self.target = (source, args), NATIVE
        self.tensors, self.template = [arg for arg in args or () if isinstance(arg, Tensor)], None
        if isinstance(source, Schedule):
            if not self.tensors or len(self.tensors) < len(args or ()):
                raise Failure("tune: the parameters of the function must be tensors")
            self.definition = create_prim_func(self.tensors)
            self.template = TensorTemplate(source, self.tensors) if source.primitives else None
            return
        made, begun = next((each for each in reversed(self._begun) if each[0].mod is source), (None, source))
        functions = [begun] if isinstance(begun, PrimFunc) else begun.functions.values()
        self.definition = next((f for f in functions if isinstance(f, PrimFunc)), None)
        if made is not None and made.trace is not None and self.definition is not None:
            self.template = BlockTemplate(self.definition, made.trace)

    def build_begin(self, name: str, module: IRModule, target: Target, lowered: IRModule) -> None:
        self.target = NATIVE if target.is_native else str(target)


def tune(given: argparse.Namespace) -> int:
    """Run a program, search for a faster schedule of the function that it builds last, and write that as a script."""
    _check_options(given)
    name = Path(given.output or f"{Path(given.script).stem}_tuned.py")
    if name.is_dir() or not os.access(name if name.exists() else name.parent, os.W_OK):
        raise Failure(f"{name} cannot be written: expected a file of yours in a folder that exists", WRONG_COMMAND)
    built = built_by(given.script)
    if built.definition is None:
        raise Failure("the script builds no function")
    target, threads = given.target or built.target, given.threads or 1
    source, args = built.default
    began = time.monotonic()

    def told(progress: Progress) -> None:
        spent = time.monotonic() - began
        best, default = _time(progress.best), _time(progress.default)
        print(f"{progress.trials:5d} trials, {progress.failed} failed, {spent:6.1f} s: best {best}, default {default}")

    ending = _Ending()
    before = signal.signal(signal.SIGINT, ending.ask)
    try:
        found = search(
            built.definition, target, trials=given.trials, seconds=given.seconds, seed=given.seed, threads=threads,
            log=given.log, default=lambda: build(source, args, target), told=told, clock=ending.clock,
            template=template_of(built),
        )  # fmt: skip
    except TVMError as error:
        raise Failure(str(error), WRONG_PROGRAM) from None
    finally:
        signal.signal(signal.SIGINT, before)
    print(f"default  {_time(found.default_seconds)}")
    if (seconds := _numpy_seconds(built)) is not None:
        print(f"NumPy    {_time(seconds)}, on one thread")
    if found.choices is None:
        print("nothing was found that is faster than the default, which stays as it is")
        return 0
    print(f"found    {_time(found.seconds)}, {found.seconds / found.default_seconds:.2f} of the default's time")
    try:
        title = f"A schedule that strata tune found: {found.seconds / found.default_seconds:.2f} of the default's time."
        name.write_text(found_script(built, found, target, title), encoding="utf-8")
    except OSError as error:
        raise Failure(f"{name} cannot be written: {error.strerror}", WRONG_COMMAND) from None
    print(name)
    return 0


def template_of(built: Built) -> Template | None:
    """Return the schedule of a program as a template; None where it is not of the definition alone."""
    with suppress(TVMError):
        if built.template is not None and built.template.digest:
            return built.template
    return None


def found_script(built: Built, found: Outcome, target: str, title: str) -> str:
    """Return what was found as a script: primitives of the search's, or the program's own with other factors."""
    if found.schedule is not None and built.definition is not None:
        return write_script(built.definition, found.schedule, target, title)
    assert built.template is not None
    assert found.choices is not None
    return filled(built.template, found.choices).script(target, title)


def _check_options(given: argparse.Namespace) -> None:
    if not given.seconds > 0:
        raise Failure(f"tune: --seconds must be more than 0, got {given.seconds:g}", WRONG_COMMAND)
    for option, value in (("trials", given.trials), ("threads", given.threads)):
        if value is not None and value < 1:
            raise Failure(f"tune: --{option} must be at least 1, got {value}", WRONG_COMMAND)
    try:
        Target(given.target or NATIVE)
    except TVMError as error:
        raise Failure(f"tune: --target: {error}", WRONG_COMMAND) from None


class _Ending:
    """Lets Ctrl+C end a search after its round, with what was found; once more, at once."""

    def __init__(self) -> None:
        self._is_asked = False

    def ask(self, *_: object) -> None:
        if self._is_asked:
            raise KeyboardInterrupt
        self._is_asked = True
        print("the search ends after this round, with what it has found; Ctrl+C ends it at once", file=sys.stderr)

    def clock(self) -> float:
        return math.inf if self._is_asked else time.monotonic()


def built_by(script: str) -> Built:
    """Run a program from a file, and return what it lowers last."""
    built = Built()
    if not Path(script).is_file():
        raise Failure(f"there is no file {script}", WRONG_COMMAND)
    alias.install()
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        with instrumented(built):
            runpy.run_path(script, run_name="__main__")
    except Failure:
        raise
    except SystemExit as error:
        if error.code:  # a program that ends by itself, well, has built what it builds
            raise Failure(f"{script} ends with {error.code}") from None
    except Exception as error:
        raise Failure(f"{script}{_line(error, script)}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)
    return built


def _line(error: Exception, script: str) -> str:
    """Return the line of a script that an error comes from, as ``:12``; empty if it is not known."""
    if isinstance(error, SyntaxError) and error.filename == script:
        return f":{error.lineno}"
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == script]
    return f":{lines[-1]}" if lines else ""


def _numpy_seconds(built: Built) -> float | None:
    """Return the processor time of the NumPy program of a definition, None where there is none."""
    if built.definition is None or not built.tensors:
        return None
    inputs = {t: a for t, a in zip(built.tensors, random_arrays(built.definition, 0), strict=True) if not _is_made(t)}
    with suppress(NoNumPyProgram):
        _, run = numpy_program([t for t in built.tensors if _is_made(t)], inputs)
        return seconds_of(run)
    return None


def seconds_of(run: Callable[[], object]) -> float:
    """Return the processor time of a call on one thread, the least of a few."""
    with threadpool_limits(1):
        times = []
        for _ in range(_TURNS):
            started = time.thread_time()
            run()
            times.append(time.thread_time() - started)
        return min(times)


def _is_made(tensor: Tensor) -> bool:
    return bool(tensor.op.input_tensors)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.4f} ms" if math.isfinite(seconds) else "not known"
