"""``tvm.meta_schedule.runner``: where schedules are measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compiler.classic.rpc.devices import request_remote
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.rpc.client import RPCSession
from compiler.search.pairing import Patience
from compiler.search.remote import RemoteMeasurer

_TURNS = 12
"""As many turns last together what one measurement lasts at least in TVM."""


class RPCConfig(NamedTuple):
    """The tracker, the key of the machines that it lends, and how many seconds a session takes at most."""

    tracker_host: str | None = None
    tracker_port: int | None = None
    tracker_key: str | None = None
    session_priority: int = 1
    session_timeout_sec: int = 10


class EvaluatorConfig(NamedTuple):
    """How long schedules take turns, and whether caches are flushed; turns end when they are certain."""

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False


class RPCRunner:
    """Measures schedules on machines that a tracker lends, one after another, each in a session of its own."""

    def __init__(self, rpc_config: RPCConfig | None = None, evaluator_config: EvaluatorConfig | None = None) -> None:
        self.rpc_config = rpc_config or RPCConfig()
        self.evaluator_config = evaluator_config or EvaluatorConfig()

    def measuring(self, arrays: Sequence[NumPyArray], threads: int) -> RemoteMeasurer:
        """Return what measures with some arguments of a function."""
        config = self.evaluator_config
        patience = Patience(turn=config.min_repeat_ms / 1e3 / _TURNS)
        return RemoteMeasurer(arrays, self._session, threads, patience, config.enable_cpu_cache_flush)

    def _session(self) -> RPCSession:
        host, port, key, priority, seconds = self.rpc_config
        return request_remote(key or "", host, port, priority, seconds)
