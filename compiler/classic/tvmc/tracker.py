"""Parses the tracker address of the command line."""

from __future__ import annotations

from compiler.classic.tvmc.errors import TVMCException

_PORT = 9090


def tracker_host_port_from_cli(rpc_tracker_str: str | None) -> tuple[str | None, int | None]:
    """Return the host and the port of an address."""
    if not rpc_tracker_str:
        return None, None
    host, _, port = rpc_tracker_str.partition(":")
    if port and not port.isdigit():
        raise TVMCException(f"tvmc: the port of a tracker must be a number, got {rpc_tracker_str!r}")
    return host, int(port or _PORT)
