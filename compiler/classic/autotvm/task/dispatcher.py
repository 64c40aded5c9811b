"""Dispatch contexts: choose the configuration of a template."""

from compiler.classic.autotvm.task.context import (
    ApplyConfig,
    ApplyFixedConfig,
    DispatchContext,
    FallbackContext,
    clear_fallback_cache,
)
from compiler.classic.autotvm.task.history import ApplyGraphBest, ApplyHistoryBest

__all__ = [
    "ApplyConfig", "ApplyFixedConfig", "ApplyGraphBest", "ApplyHistoryBest", "DispatchContext", "FallbackContext",
    "clear_fallback_cache",
]  # fmt: skip
