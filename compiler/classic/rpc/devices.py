"""Sessions for tuners, on machines that a tracker lends: by default that of ``TVM_TRACKER_HOST`` and its ``_PORT``."""

from __future__ import annotations

import os

from compiler.ir.error import RPCError
from compiler.runtime.rpc.client import RPCSession
from compiler.runtime.rpc.handshake import shared_secret
from compiler.runtime.rpc.tracker import TrackerSession


def request_remote(
    device_key: str, host: str | None = None, port: int | None = None, priority: int = 1, timeout: float = 60
) -> RPCSession:
    """Return a session on a machine of a key, which ends after ``timeout`` seconds."""
    return _tracker(host, port, None).request(device_key, priority, timeout)


def check_remote(
    target: object, device_key: str, host: str | None = None, port: int | None = None, priority: int = 100,
    timeout: float = 10,
) -> bool:  # fmt: skip
    """Return whether a tracker lends a machine of a key within ``timeout`` seconds."""
    try:
        _tracker(host, port, timeout).request(device_key, priority, max_retry=1).close()
    except RPCError:
        return False
    return True


def _tracker(host: str | None, port: int | None, patience: float | None) -> TrackerSession:
    address = host or os.environ.get("TVM_TRACKER_HOST", "127.0.0.1")
    number = int(port or os.environ.get("TVM_TRACKER_PORT", "9190"))
    return TrackerSession(address, number, shared_secret(None), patience)
