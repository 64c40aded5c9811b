"""``tvm.rpc.server``: a server of sessions in a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from compiler.classic.contrib.popen_pool import PopenWorker
from compiler.runtime.rpc import server
from compiler.runtime.rpc.handshake import listen, ports_from, shared_secret

_SERVERS: list[server.Server] = []
"""In the process of a server the one that it is about to be."""


class Server:
    """A server of sessions in a process of its own, which ends with this one.

    Parameters
    ----------
    host : str
        Only this machine can connect unless another address says otherwise, such as ``0.0.0.0``.
    port, port_end : int
        The first free one of these ports is taken; any with port 0.
    is_proxy : bool
        Whether host and port are those of a proxy, to which the server connects.
    tracker_addr : tuple, optional
        Host and port of a tracker; only its clients are served, which connect to ``custom_addr`` if that is given.
    key, secret : str
        What clients have to name, and to know; the secret is by default that of ``STRATA_RPC_SECRET``, if any.
    load_library : str, optional
        Shared libraries to load first, with colons between.
    server_init_callback : callable, optional
        Called in the process first, e.g. to register functions.
    timeout : float, optional
        Seconds that a session may take at most.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 9091, port_end: int = 9199, is_proxy: bool = False,
        tracker_addr: tuple[str, int] | None = None, key: str = "", load_library: str | None = None,
        custom_addr: str | None = None, silent: bool = False, no_fork: bool = True,
        server_init_callback: Callable[[], object] | None = None, reuse_addr: bool = True,
        timeout: float | None = None, *, secret: str | None = None,
    ) -> None:  # fmt: skip
        self.host, self.key = host, key
        known = shared_secret(secret)
        libraries = tuple(filter(None, (load_library or "").split(":")))
        self.proc = PopenWorker(server_init_callback)
        tracker = None if tracker_addr is None else (tracker_addr[0], int(tracker_addr[1]))
        settings = (key, known, float(timeout or 0), libraries, silent, tracker, custom_addr or "")
        self.proc.send(_prepare, (host, None if is_proxy else ports_from(port, port_end), port, settings))
        self.port: int = self.proc.recv()
        self.proc.send(_serve)

    def terminate(self) -> None:
        """End the server and its session."""
        self.proc.join(_ENDING)
        self.proc.kill()

    def __del__(self) -> None:
        if hasattr(self, "proc"):
            self.terminate()


_ENDING = 5.0


def _prepare(host: str, ports: Sequence[int] | None, port: int, settings: tuple[Any, ...]) -> int:
    made = server.Server((host, port) if ports is None else listen(host, ports, settings[1]), *settings)
    _SERVERS[:] = [made]
    return made.port


def _serve() -> None:
    _SERVERS[0].serve(os.fdopen(int(sys.argv[1]), "rb", closefd=False))
    sys.exit()
