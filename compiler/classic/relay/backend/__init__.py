"""``tvm.relay.backend``: executors, runtimes and the TE compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package

_HOMES = {"compiler.driver.relay.options": ("Executor", "Runtime")}
_MODULES = (
    "compiler.classic.relay.backend.graph_executor_codegen",
    "compiler.classic.relay.backend.interpreter",
    "compiler.classic.relay.backend.name_transforms",
    "compiler.classic.relay.backend.te_compiler",
    "compiler.classic.relay.backend.utils",
)

__all__ = [
    "Executor", "Runtime", "graph_executor_codegen", "interpreter", "name_transforms", "te_compiler", "utils",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_package("tvm.relay.backend", _HOMES, _MODULES)
