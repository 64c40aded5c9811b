"""``tvm.rpc``: sessions on other machines, and what lends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.classic.rpc.local import LocalSession
from compiler.classic.rpc.server import Server
from compiler.ir.error import expected
from compiler.ir.extension import public_module
from compiler.runtime.rpc.client import RPCSession, session_on
from compiler.runtime.rpc.handshake import shared_secret
from compiler.runtime.rpc.tracker import TrackerSession

__all__ = ["LocalSession", "RPCSession", "Server", "TrackerSession", "connect", "connect_tracker"]


def connect(
    url: str, port: int, key: str = "", session_timeout: float = 0,
    session_constructor_args: Sequence[object] | None = None, enable_logging: bool = False, *,
    secret: str | None = None,
) -> RPCSession:  # fmt: skip
    """Return a session on a server.

    Raises RPCError if nobody answers, or the server refuses.

    Parameters
    ----------
    key : str
        That of the server.
    session_timeout : float
        Seconds after which the server ends the session; 0 for no limit.
    session_constructor_args : sequence, optional
        None: a server does not connect to another one here.
    secret : str, optional
        That of the server; by default the environment variable ``STRATA_RPC_SECRET``, if there is one.
    """
    if session_constructor_args:
        expected("rpc.connect", "session_constructor_args", "None", session_constructor_args)
    return session_on(url, port, key, session_timeout, secret)


def connect_tracker(url: str, port: int, *, secret: str | None = None) -> TrackerSession:
    """Return what asks a tracker for sessions on servers; ``secret`` as for :func:`connect`.

    Raises RPCError if nobody answers, or the tracker refuses.
    """
    return TrackerSession(url, port, shared_secret(secret))


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.rpc", __all__)
