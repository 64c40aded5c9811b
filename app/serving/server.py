"""The listening server."""

from __future__ import annotations

import asyncio
import socket
import sys

import msgspec
from flask import Flask

from app.config import Config
from app.memory import Memory
from app.serving.bounds import Bounds
from app.serving.connection import Connection
from app.serving.front import Front

BACKLOG = 1024
"""Length of the kernel's queue of connections to accept."""
ACCEPTED = 4
"""Maximum number of connections accepted per iteration of the event loop."""
OTHER_FILES = 1024
"""Open files reserved for everything but connections: pipes of child processes, the database, stored files."""


class Server:
    """A server, which listens from its construction on.

    Parameters
    ----------
    app : Flask
    config : Config
    memory : Memory
        Memory budgets of requests.
    bounds : Bounds, optional
        Limits of clients; by default those of the configuration.

    Raises
    ------
    OSError
        If binding to the address fails.
    """

    def __init__(self, app: Flask, config: Config, memory: Memory, bounds: Bounds | None = None) -> None:
        self._app = app
        self._config = config
        self._memory = memory
        self._bounds = raise_open_files(bounds or Bounds.of(config))
        self._sockets = _listen(config.host, config.port)
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()

    @property
    def where(self) -> tuple[str, int]:
        """The first address and port that the server listens on."""
        host, port = self._sockets[0].getsockname()[:2]
        return host, port

    @property
    def address(self) -> str:
        """The URL of the server."""
        host, port = self.where
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def run(self) -> None:
        """Serve until :meth:`stop`."""
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    def stop(self) -> None:
        """Request :meth:`run` to return; may be called from any thread and from signal handlers."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        front = Front(self._app, self._config, self._memory, self._bounds)
        listening = [
            await self._loop.create_server(lambda: Connection(front), sock=one, backlog=ACCEPTED)
            for one in self._sockets
        ]
        for one in self._sockets:
            one.listen(BACKLOG)  # asyncio uses `backlog` both for this queue and for the number accepted per iteration
        await self._stopped.wait()
        for server in listening:
            server.close()
        await self._close(front)

    async def _close(self, front: Front) -> None:
        """Close all connections, and wait for their tasks within the grace period."""
        for connection in front.connections:
            connection.close()
        ending = asyncio.all_tasks() - {asyncio.current_task()}
        if ending:
            await asyncio.wait(ending, timeout=self._bounds.stop_seconds)


def _listen(host: str, port: int) -> list[socket.socket]:
    """Return a listening socket for each address of a host, all on the same port."""
    out: list[socket.socket] = []
    try:
        for family, _, _, _, where in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE):
            dual = host == "::" and socket.has_dualstack_ipv6()
            chosen = port or (out[0].getsockname()[1] if out else 0)
            place = (where[0], chosen, *where[2:])
            out.append(socket.create_server(place, family=family, backlog=BACKLOG, dualstack_ipv6=dual))
    except OSError:
        for one in out:
            one.close()
        raise
    return out


def raise_open_files(bounds: Bounds) -> Bounds:
    """Raise the limit on open files to what the connections need, and return bounds that fit the limit.

    A connection needs two files: its socket, and the temporary file of a large body.
    """
    if sys.platform == "win32":
        return bounds
    import resource

    needed = 2 * bounds.connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    fitting = max(16, (needed - min(OTHER_FILES, needed // 2)) // 2)
    return bounds if fitting >= bounds.connections else msgspec.structs.replace(bounds, connections=fitting)
