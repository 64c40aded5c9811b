"""``tvm.meta_schedule.builder``: what makes artifacts of programs, which runners measure."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from compiler.driver.build import build
from compiler.ir.module import IRModule
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import get_global_func
from compiler.search.measurer import REFUSALS
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
        """Build programs.  Raises NotImplementedError in this class."""
        raise NotImplementedError


PyBuilder = Builder


class LocalBuilder(Builder):
    """Builds libraries in folders of their own; ``f_build``, or its registered name, builds a program.

    It builds one after another in this process: ``max_workers`` and ``timeout_sec`` change nothing.
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
        return [self._built(given) for given in build_inputs]

    def _built(self, given: BuilderInput) -> BuilderResult:
        try:
            if self.f_build is None:
                built = build(given.mod, target=given.target)
            else:
                built = self.f_build(given.mod, given.target, given.params)
            path = Path(tempfile.mkdtemp(prefix="meta_schedule_")) / "program.tar"
            built.export_library(str(path))
        except REFUSALS as error:
            return BuilderResult(None, f"{type(error).__name__}: {error}")
        return BuilderResult(str(path), None)
