"""Operator strategies, and wrappers of compute definitions and schedules: ``relay.op.strategy``."""

from compiler.classic.relay.op_strategy import generic, wrappers
from compiler.classic.relay.op_strategy.generic import *  # noqa: F403
from compiler.classic.relay.op_strategy.generic import __all__ as _names
from compiler.classic.relay.op_strategy.generic import of_name

__all__ = ["generic", "wrappers", *_names]


def __getattr__(name: str) -> object:
    return of_name(name)
