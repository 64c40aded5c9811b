"""``tvm.rpc.tracker`` and ``tvm.rpc.proxy``: a tracker and a proxy in threads of this process."""

from __future__ import annotations

from compiler.classic.rpc import proxy_server
from compiler.runtime.rpc import tracker
from compiler.runtime.rpc.handshake import listen, ports_from, shared_secret


class Tracker:
    """Lends servers of sessions by key, in threads of this process; parameters as of :class:`tvm.rpc.Server`."""

    _kind: type[tracker.Tracker | proxy_server.Proxy] = tracker.Tracker

    def __init__(
        self, host: str = "127.0.0.1", port: int = 9190, port_end: int = 9199, silent: bool = False,
        reuse_addr: bool = True, timeout: float | None = None, *, secret: str | None = None,
    ) -> None:  # fmt: skip
        known = shared_secret(secret)
        self._threads = self._kind(listen(host, ports_from(port, port_end), known), known)
        self.host, self.port = host, self._threads.port
        self._threads.start()

    def terminate(self) -> None:
        """End it; sessions that a tracker lent go on, and servers wait for another one at its address."""
        self._threads.end()

    def __del__(self) -> None:
        if hasattr(self, "_threads"):
            self.terminate()


class Proxy(Tracker):
    """Joins clients and servers of the same key that both connect to it."""

    _kind = proxy_server.Proxy
