"""A trace of LLVM's optimiser: the module after every pass that changes it."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.ir.error import BuildError
from compiler.runtime.llvm import binding
from compiler.runtime.parallel.forks import hold_while_forking
from compiler.target.codegen.llvm import pipeline
from compiler.target.codegen.llvm.tracing.pass_summaries import SUMMARIES
from compiler.target.target import Target

MAX_EMITTED = 200_000
"""The maximum number of characters of a traced module, which LLVM prints about 150 times."""
_HEADER = re.compile(r"^; \*\*\* IR Dump After (\S+|\S+<.*>) on (.*?) \*\*\*.*\n", re.M)
_INVISIBLE = re.compile(r",? !dbg !\d+|^(?:!|; Preheader:|; Loop:|; Exit blocks|; ModuleID).*\n", re.M)
"""Differences between printed modules that do not count: debug locations, and markers of a pass."""
_BOOKKEEPING = ("InvalidateAnalysisPass<", "RequireAnalysisPass<")
"""Passes that compute or invalidate analyses, and never change the program."""
CALL_GRAPH_WALK = "ModuleToPostOrderCGSCCPassAdaptor"
"""Runs passes on functions bottom-up, and finally deletes those that were inlined everywhere.  LLVM prints the module
without them only after the pass that invalidates the analyses."""
_STANDARD_ERROR = 2
_BLOCK_BYTES = 1 << 16
_PAUSE_SECONDS = 0.001
"""The polling interval of the pipe: LLVM writes word by word, and each write would wake a blocked reader."""
_lock = threading.Lock()
hold_while_forking(_lock)


@dataclass(frozen=True, slots=True)
class PassRun:
    """A run of a pass on part of a module."""

    name: str
    """LLVM's name of the pass, such as ``LoopVectorize``."""
    place: str
    """The IR unit: ``"[module]"``, the name of a function, or ``"loop %body in function main"``."""
    text: str | None
    """The module after the pass; None if unchanged."""

    @property
    def summary(self) -> str:
        """A one-sentence description of the pass; empty for rare passes."""
        return SUMMARIES.get(self.name, "")


def trace_passes(emitted: str, target: Target) -> list[PassRun]:
    """Run LLVM's optimisation pipeline for a target, and record every pass with the module after it.

    LLVM prints the module after each pass to the process's standard error, which is captured; the output of other
    threads to it is lost in the meantime.  ``emitted`` has at most :data:`MAX_EMITTED` characters.
    """
    if len(emitted) > MAX_EMITTED:
        raise BuildError(
            f"trace_passes: expected LLVM IR of at most {MAX_EMITTED:,} characters, got {len(emitted):,}: it would be "
            "printed after each of some hundred and fifty passes"
        )
    module = pipeline.parse(emitted)
    before = str(module)
    with _lock, _standard_error() as written, _printing():
        pipeline.optimise(module, target)
    return list(_runs(before, b"".join(written).decode(errors="replace")))


def _runs(before: str, printed: str) -> Iterator[PassRun]:
    """Parse the printed passes; a pass that deleted its loop has only a header."""
    last = _visible(before)
    _, *parts = _HEADER.split(printed)
    for name, place, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        visible = _visible(text)
        changed = bool(visible.strip()) and visible != last
        last = visible if changed else last
        if changed and name.startswith(_BOOKKEEPING):
            yield PassRun(CALL_GRAPH_WALK, "[module]", text)
            changed = False
        yield PassRun(name.removesuffix("Pass"), place, text if changed else None)


def _visible(text: str) -> str:
    return _INVISIBLE.sub("", text).strip()


@contextmanager
def _printing() -> Iterator[None]:
    """Make LLVM print the module after each pass, within the context."""
    binding.set_option("strata", "-print-module-scope")
    binding.set_option("strata", "-print-after-all=1")
    try:
        yield
    finally:
        binding.set_option("strata", "-print-after-all=0")


@contextmanager
def _standard_error() -> Iterator[list[bytes]]:
    """Capture the standard error of the process within the context."""
    written: list[bytes] = []
    reading, writing = os.pipe()
    reader = threading.Thread(target=_drain, args=(reading, written), name="LLVM's passes", daemon=True)
    reader.start()
    saved = os.dup(_STANDARD_ERROR)
    os.dup2(writing, _STANDARD_ERROR)
    os.close(writing)
    try:
        yield written
    finally:
        os.dup2(saved, _STANDARD_ERROR)  # closes the last write end of the pipe, so that the reader reaches the end
        os.close(saved)
        reader.join()


def _drain(pipe: int, written: list[bytes]) -> None:
    while block := os.read(pipe, _BLOCK_BYTES):
        written.append(block)
        time.sleep(_PAUSE_SECONDS)
    os.close(pipe)
