"""``tvm.meta_schedule.builder``: what makes artifacts of programs, which runners measure."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from compiler.driver.build import build
from compiler.ir.error import expected, undefined
from compiler.ir.module import IRModule
from compiler.runtime.machine import available_cores
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import get_global_func
from compiler.search.measurer import Measurement, apart
from compiler.target.target import Target


class BuilderInput(NamedTuple):
    """A program to be built."""

    mod: IRModule
    target: Target
    params: Mapping[str, Any] | None = None


class BuilderResult(NamedTuple):
    """The path of what was built, or why nothing was."""

    artifact_path: str | None
    error_msg: str | None


class Builder:
    """Makes artifacts; a program's own one derives from this class, or from its other name ``PyBuilder``."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> Sequence[BuilderResult]:
        """Build programs."""
        undefined(self, "build")


PyBuilder = Builder


class LocalBuilder(Builder):
    """Builds libraries in folders of their own; ``f_build``, or its registered name, builds a program.

    Each has a process of its own, ``max_workers`` at a time, that ``timeout_sec`` seconds by the clock end.
    """

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        f_build: Callable[[IRModule, Target, Mapping[str, Any] | None], Module] | str | None = None,
    ) -> None:
        self.max_workers, self.timeout_sec = max_workers, timeout_sec
        self.f_build = get_global_func(f_build) if isinstance(f_build, str) else f_build

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """Build programs."""
        calls = [partial(self._built, given) for given in build_inputs]
        return [
            BuilderResult(None, f"LocalBuilder: {made.kind}: {made.message}")
            if isinstance(made, Measurement)
            else BuilderResult(made, None)
            for made in apart(calls, self.timeout_sec, self.max_workers or available_cores())
        ]

    def _built(self, given: BuilderInput) -> str:
        built: object
        if self.f_build is None:
            built = build(given.mod, target=given.target)
        else:
            built = self.f_build(given.mod, given.target, given.params)
        if not isinstance(built, Module):
            expected("LocalBuilder", "what f_build returns", "a built module", built)
        path = Path(tempfile.mkdtemp(prefix="meta_schedule_")) / "program.tar"
        built.export_library(str(path))
        return str(path)
