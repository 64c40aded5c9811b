"""Searching and building models: ``tvm.meta_schedule.relay_integration``."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.classic.meta_schedule.database import Database, is_meta_schedule_enabled
from compiler.classic.meta_schedule.tune import ExtractedTask, contexts_of, options_of, tune_extracted
from compiler.classic.meta_schedule.tune_context import TuneContext
from compiler.driver.relay.build import BuiltGraph, build
from compiler.ir.error import ArgumentError, TVMError, require_options
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import ArrayLike
from compiler.search.tuning import digest_of
from compiler.target.target import Target, TargetLike

__all__ = [
    "ExtractedTask", "compile_relay", "extract_tasks", "extracted_tasks_to_tune_contexts", "is_meta_schedule_enabled",
    "tune_relay",
]  # fmt: skip

Params = Mapping[str, ArrayLike] | None


def _module(mod: IRModule | Function) -> IRModule:
    return mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)


def extract_tasks(
    mod: IRModule | Function, target: TargetLike, params: Params, *, module_equality: str = "structural",
    pass_config: Mapping[str, object] | None = None, opt_level: int = 3,
) -> list[ExtractedTask]:  # fmt: skip
    """Return the kernels of a model, those that compute the same as one task whose weight is how often it is called.

    Raises ArgumentError if the model needs the virtual machine.
    """
    with PassContext(opt_level=opt_level, config=dict(pass_config or {})):
        built = build(_module(mod), target, params=params)
    if not isinstance(built, BuiltGraph):
        raise ArgumentError("meta_schedule.extract_tasks: only the tasks of a graph executor are extracted")
    calls = Counter(node.get("attrs", {}).get("func_name") for node in json.loads(built.get_graph_json())["nodes"])
    tasks: dict[str, ExtractedTask] = {}
    for name, kernel in built.kernels.items():
        definition = kernel.usual
        try:
            func = definition.blocks()
        except TVMError:
            continue  # an external call, which has no schedules
        task = tasks.setdefault(digest_of(func), ExtractedTask(name, IRModule({"main": func}), Target(target)))
        task.weight += calls[name]
        task.default = task.default or definition.lowered("main")
    return list(tasks.values())


def tune_relay(
    mod: IRModule | Function, params: Params, target: TargetLike, work_dir: str | os.PathLike[str],
    max_trials_global: int, *, pass_config: Mapping[str, object] | None = None, opt_level: int = 3, **options: Any,
) -> Database:  # fmt: skip
    """Search the kernels of a model, and return a database of those that are faster than the default build's.

    The other options are those of :func:`tune_tir`.
    """
    tasks = extract_tasks(mod, target, params, pass_config=pass_config, opt_level=opt_level)
    return tune_extracted("tune_relay", tasks, work_dir, max_trials_global, options)


def extracted_tasks_to_tune_contexts(
    extracted_tasks: Sequence[ExtractedTask], work_dir: str | os.PathLike[str], **options: Any
) -> tuple[list[TuneContext], list[float]]:
    """Return contexts of tasks and their weights; the options are those of :func:`tune_tir` before the search's own."""
    require_options("extracted_tasks_to_tune_contexts", options, options_of(contexts_of))
    return contexts_of(extracted_tasks, **options)


def compile_relay(
    database: Database, mod: IRModule | Function, target: TargetLike, params: Params, *, backend: str = "graph",
    pass_config: Mapping[str, object] | None = None, opt_level: int = 3,
) -> Any:  # fmt: skip
    """Build a model with the kernels of a database, and by default those that it does not have.

    Raises ArgumentError if the ``backend`` is another one than ``graph``.
    """
    if backend != "graph":
        raise ArgumentError(f"meta_schedule.compile_relay: backend must be 'graph', got {backend!r}")
    config = {**(pass_config or {}), "relay.backend.use_meta_schedule": True}
    with database, PassContext(opt_level=opt_level, config=config):
        return build(_module(mod), target, params=params)
