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
from app.serving.gateway import Gateway

BACKLOG = 1024
"""Connections that the kernel keeps until they are accepted."""
ACCEPTED = 4
"""Connections that are accepted in a row, before those that are open get their turn again."""
OTHER_FILES = 1024
"""Open files beside those of connections: pipes of children, the database, stored files."""


class Server:
    """A server that listens from the moment it is made.

    Parameters
    ----------
    memory : Memory
        Budgets of what requests hold in memory.
    bounds : Bounds, optional
        What clients may take; by default what the configuration says.

    Raises
    ------
    OSError
        The address cannot be listened on.
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
        """The first address and the port that the server listens on."""
        host, port = self._sockets[0].getsockname()[:2]
        return host, port

    @property
    def address(self) -> str:
        """The address of the server for a browser."""
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
        """End :meth:`run` soon, from any thread or a signal's handler."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        gateway = Gateway(self._app, self._config, self._memory, self._bounds)
        listening = [
            await self._loop.create_server(lambda: Connection(gateway), sock=one, backlog=ACCEPTED)
            for one in self._sockets
        ]
        for one in self._sockets:
            one.listen(BACKLOG)  # asyncio takes one number both for this queue and for how much of it is accepted
        await self._stopped.wait()
        for server in listening:
            server.close()
        await self._close(gateway)

    async def _close(self, gateway: Gateway) -> None:
        """Close all connections, and wait a moment for what worked for them."""
        for connection in gateway.connections:
            connection.close()
        ending = asyncio.all_tasks() - {asyncio.current_task()}
        if ending:
            await asyncio.wait(ending, timeout=self._bounds.stop_seconds)


def _listen(host: str, port: int) -> list[socket.socket]:
    """Return a listening socket for each address of a host; all have one port."""
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
    """Let the process open as many files as its connections need, and return bounds that fit what is allowed.

    A connection takes two: its socket, and the file of a large body.
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
