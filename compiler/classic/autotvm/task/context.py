"""The context that chooses the configuration of a template."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import ClassVar, Self

from compiler.classic.autotvm.env import GLOBAL_SCOPE
from compiler.classic.autotvm.task.space import ConfigSpace, FallbackConfigEntity
from compiler.classic.autotvm.task.workload import Workload
from compiler.ir.error import undefined
from compiler.target.target import Target


class DispatchContext:
    """Chooses configurations in a ``with`` block; what it has none for, the one around it is asked."""

    current: ClassVar[DispatchContext]

    def __init__(self) -> None:
        self._outer: list[DispatchContext] = []

    def query(self, target: Target | None, workload: Workload | None) -> ConfigSpace:
        """Return the configuration of a call, or the space that a task is defining."""
        chosen = self._query_inside(target, workload)
        return self._outer[-1].query(target, workload) if chosen is None and self._outer else chosen or self._none()

    def _none(self) -> ConfigSpace:
        return FallbackConfigEntity()

    def _query_inside(self, target: Target | None, workload: Workload | None) -> ConfigSpace | None:
        """Return what this context chooses; None if it has nothing."""
        undefined(self, "_query_inside")

    def update(self, target: Target, workload: Workload, cfg: ConfigSpace) -> None:
        """Choose a configuration from now on.

        Raises UndefinedMethodError if this context goes by a rule instead.
        """
        undefined(self, "update")

    def __enter__(self) -> Self:
        self._outer.append(DispatchContext.current)
        DispatchContext.current = self
        return self

    def __exit__(self, *exc: object) -> None:
        DispatchContext.current = self._outer.pop()


class ApplyConfig(DispatchContext):
    """Chooses one configuration for everything."""

    def __init__(self, config: ConfigSpace) -> None:
        super().__init__()
        self._config = config
        self.workload: Workload | None = None

    def _query_inside(self, target: Target | None, workload: Workload | None) -> ConfigSpace:
        self.workload = workload
        return self._config

    def update(self, target: Target, workload: Workload, cfg: ConfigSpace) -> None:
        self.workload = workload
        self._config = cfg


class ApplyFixedConfig(DispatchContext):
    """Chooses the configurations of some tasks, ``task.config`` or none."""

    def __init__(self, tasks: Sequence[object], schedule_names: str | Sequence[str]) -> None:
        super().__init__()
        self._schedule_names = [schedule_names] if isinstance(schedule_names, str) else list(schedule_names)
        self._configs = {getattr(task, "workload", None): getattr(task, "config", None) for task in tasks}

    def _query_inside(self, target: Target | None, workload: Workload | None) -> ConfigSpace:
        chosen = self._configs.get(workload)
        if not isinstance(chosen, ConfigSpace):
            chosen = FallbackConfigEntity()
        if workload is not None and workload[0] in self._schedule_names:
            chosen.cost = 0.0
            chosen.is_fallback = False
        return chosen


class FallbackContext(DispatchContext):
    """Chooses the default of a template, with a warning for each workload; it is around all others."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[tuple[str, Workload | None], ConfigSpace] = {}

    def _query_inside(self, target: Target | None, workload: Workload | None) -> ConfigSpace:
        key = (str(target), workload)
        if key not in self.memory:
            if not GLOBAL_SCOPE.silent:
                warnings.warn(
                    f"Cannot find config for target={target}, workload={workload}. A fallback configuration is used, "
                    "which may bring great performance regression.",
                    stacklevel=5,
                )
            self.memory[key] = FallbackConfigEntity()
        return self.memory[key]

    def clear_cache(self, target: Target, workload: Workload) -> None:
        """Forget what was chosen for a workload."""
        self.memory.pop((str(target), workload), None)

    def update(self, target: Target, workload: Workload, cfg: ConfigSpace) -> None:
        self.memory[str(target), workload] = cfg


def clear_fallback_cache(target: Target, workload: Workload) -> None:
    """Forget what the outermost context chose for a workload."""
    context = DispatchContext.current
    while context._outer:
        context = context._outer[-1]
    assert isinstance(context, FallbackContext), "the outermost context has a default for everything"
    context.clear_cache(target, workload)


DispatchContext.current = FallbackContext()
