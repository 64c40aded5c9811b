"""``tvm.autotvm.env``: process-wide tuning state."""

from __future__ import annotations

__all__ = ["GLOBAL_SCOPE", "AutotvmGlobalScope", "reset_global_scope"]


class AutotvmGlobalScope:
    """Switches that templates and contexts look at; ``current`` are those that hold now.

    While candidates are measured (``in_tuning``), templates may leave out what costs time and no candidate differs in;
    ``silent`` scopes say nothing of workloads without a record.
    """

    current: AutotvmGlobalScope

    def __init__(self) -> None:
        AutotvmGlobalScope.current = self
        self.in_tuning = False
        self.silent = False


GLOBAL_SCOPE = AutotvmGlobalScope()


def reset_global_scope(global_scope: AutotvmGlobalScope) -> None:
    """Let the switches of another scope hold, as processes that build candidates do."""
    vars(GLOBAL_SCOPE).update(vars(global_scope))
    AutotvmGlobalScope.current = global_scope
