"""The stack of decision traces recorded by the passes of a context."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ArgumentError


class TraceStack:
    """What a context keeps for passes that try several ways: traces of decisions, and how many were evaluated."""

    trace_stack: list[object]
    make_traceable: list[str] | None
    num_evals: int
    tuning_api_database: object

    def get_trace_stack(self) -> list[object]:
        """Return the traces, the current one last."""
        return self.trace_stack

    def set_trace_stack(self, trace_stack: Sequence[object]) -> None:
        """Replace all traces."""
        self.trace_stack = [*trace_stack]

    def get_trace_stack_size(self) -> int:
        """Return how many traces there are."""
        return len(self.trace_stack)

    def push_trace(self, trace: object) -> None:
        """Make a trace the current one."""
        self.trace_stack.append(trace)

    def pop_trace(self, return_current: bool = True) -> object:
        """Take the current trace off the stack."""
        self.get_current_trace()
        trace = self.trace_stack.pop()
        return trace if return_current else None

    def get_current_trace(self) -> object:
        """Return the current trace."""
        if not self.trace_stack:
            raise ArgumentError("PassContext: there is no trace; push_trace makes one the current one")
        return self.trace_stack[-1]

    def set_num_evals(self, num: int) -> None:
        """Set how many candidates have been evaluated."""
        self.num_evals = num

    def inc_num_evals(self, num: int) -> None:
        """Count evaluated candidates."""
        self.num_evals += num

    def get_tuning_api_database(self) -> object:
        """Return where records of evaluations are kept; None for nowhere."""
        return self.tuning_api_database

    def set_tuning_api_database(self, database: object) -> None:
        """Set where records of evaluations are kept."""
        self.tuning_api_database = database
