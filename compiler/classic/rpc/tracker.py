"""``tvm.rpc.tracker``: a tracker in threads of this process."""

from __future__ import annotations

from compiler.runtime.rpc import tracker
from compiler.runtime.rpc.handshake import listen, ports_from, shared_secret

__all__ = ["Tracker"]


class Tracker:
    """Lends servers of sessions by key, in threads of this process; parameters as of :class:`tvm.rpc.Server`."""

    def __init__(
        self, host: str = "127.0.0.1", port: int = 9190, port_end: int = 9199, silent: bool = False,
        reuse_addr: bool = True, timeout: float | None = None, *, secret: str | None = None,
    ) -> None:  # fmt: skip
        known = shared_secret(secret)
        self._tracker = tracker.Tracker(listen(host, ports_from(port, port_end), known), known)
        self.host, self.port = host, self._tracker.port
        self._tracker.start()

    def terminate(self) -> None:
        """End the tracker; sessions go on, and servers wait for another one at its address."""
        self._tracker.end()

    def __del__(self) -> None:
        if hasattr(self, "_tracker"):
            self.terminate()
