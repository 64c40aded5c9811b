"""What each pass of LLVM's optimiser does to a module: the module after every pass that changes it."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from llvmlite import binding

from compiler.ir.error import BuildError
from compiler.target.codegen.llvm import pipeline
from compiler.target.codegen.llvm.pass_summaries import SUMMARIES
from compiler.target.target import Target

__all__ = ["CALL_GRAPH_WALK", "MAX_EMITTED", "PassRun", "trace_passes"]

MAX_EMITTED = 200_000
"""Characters of a module whose passes are traced: LLVM prints all of it some hundred and fifty times."""
_HEADER = re.compile(r"^; \*\*\* IR Dump After (\S+|\S+<.*>) on (.*?) \*\*\*.*\n", re.M)
_INVISIBLE = re.compile(r",? !dbg !\d+|^(?:!|; Preheader:|; Loop:|; Exit blocks|; ModuleID).*\n", re.M)
"""What two printed modules may differ in that are the same program: debug locations, and where a pass was at work."""
_BOOKKEEPING = ("InvalidateAnalysisPass<", "RequireAnalysisPass<")
"""Passes that compute or drop an analysis, and never change the program."""
CALL_GRAPH_WALK = "ModuleToPostOrderCGSCCPassAdaptor"
"""Runs passes on the functions of a module, callees first, and at its end deletes those that were inlined everywhere.
LLVM prints the module without them after the pass that drops the analyses."""
_STANDARD_ERROR = 2
_BLOCK_BYTES = 1 << 16
_PAUSE_SECONDS = 0.001
"""Between two looks into the pipe: LLVM writes a word at a time, and each would wake a reader that waits."""
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class PassRun:
    """A pass that ran on a part of a module.

    Attributes
    ----------
    name : str
        LLVM's, such as ``LoopVectorize``.
    place : str
        What it ran on: ``"[module]"``, a function's name, or ``"loop %body in function main"``.
    text : str or None
        The module after it; None if it changed nothing.
    """

    name: str
    place: str
    text: str | None

    @property
    def summary(self) -> str:
        """What the pass does, in a sentence; empty for one that is seldom met."""
        return SUMMARIES.get(self.name, "")


def trace_passes(emitted: str, target: Target) -> list[PassRun]:
    """Run LLVM's pipeline for a target, and return every pass with the module after it.

    LLVM prints the module after each pass to the standard error stream of the process, from where it is read.  What
    other threads write to that stream meanwhile is lost.

    Parameters
    ----------
    emitted : str
        LLVM IR as code generation wrote it, of at most :data:`MAX_EMITTED` characters.
    target : Target

    Returns
    -------
    list of PassRun
        In the order in which they ran.

    Raises
    ------
    BuildError
        If the text is too long, or LLVM does not accept it.
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
    """Yield the passes that LLVM printed; of one that deleted the loop it ran on, there is a header alone."""
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
    """Let LLVM print the module after each pass."""
    binding.set_option("strata", "-print-module-scope")
    binding.set_option("strata", "-print-after-all=1")
    try:
        yield
    finally:
        binding.set_option("strata", "-print-after-all=0")


@contextmanager
def _standard_error() -> Iterator[list[bytes]]:
    """Collect what the process writes to its standard error stream inside the block, however much it is."""
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
        os.dup2(saved, _STANDARD_ERROR)  # closes the pipe's last way in, so that the reader comes to its end
        os.close(saved)
        reader.join()


def _drain(pipe: int, written: list[bytes]) -> None:
    while block := os.read(pipe, _BLOCK_BYTES):
        written.append(block)
        time.sleep(_PAUSE_SECONDS)
    os.close(pipe)
