"""State shared by all connections: the application, its threads, and their use by clients."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flask import Flask

from app.config import Config
from app.errors import Busy
from app.jobs.callers import Caller, calling
from app.jobs.clients import network_of
from app.memory import Budget, Memory
from app.serving.bounds import Bounds
from app.serving.connection import SLICE, Connection, Gone
from app.serving.environ import client_reader
from app.serving.fairness import FairSemaphore, Quota
from app.serving.replies import Reply, reply_of
from app.serving.threads import Threads
from app.spool import Spool
from app.web.bodies import body_rules
from app.web.streams import Stream

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

HEALTH = "/healthz"
"""Path of the health check, which a thread is reserved for."""


class Served(Caller):
    """The client of a request in progress, which releases its thread slot while it waits for a job.

    Parameters
    ----------
    client : str
    slots : FairSemaphore
        Thread slots; the request holds one of them.
    waiting : Quota
        Requests that wait for jobs.
    """

    def __init__(self, client: str, slots: FairSemaphore, waiting: Quota) -> None:
        super().__init__()
        self._client = client
        self._slots = slots
        self._waiting = waiting
        self._waits = False
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def waiting(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Release the thread slot for the duration of a block; call ``cancel`` if the client disconnects."""
        if self._waits:
            with self.cancelling(cancel):
                yield
            return
        if not self._waiting.acquire(self._client):
            expected = f"at most {self._waiting.per_client} of an address, {self._waiting.capacity} in all"
            raise Busy("too many requests are waiting already", expected=expected, retry_after=5)
        self._waits = True
        self._loop.call_soon_threadsafe(self._slots.release, self._client)
        try:
            with self.cancelling(cancel):
                yield
        finally:
            self._waits = False
            self._waiting.release(self._client)
            asyncio.run_coroutine_threadsafe(self._slots.acquire(self._client), self._loop).result()


class Front:
    """The application as seen by connections, and the resources that each client holds.

    Parameters
    ----------
    app : Flask
    config : Config
    memory : Memory
        Memory budgets of requests.
    bounds : Bounds
    """

    def __init__(self, app: Flask, config: Config, memory: Memory, bounds: Bounds) -> None:
        self.bounds = bounds
        self.buffer = memoryview(bytearray(SLICE))
        self.threads = Threads("request")
        self.client_of = client_reader(config.proxies)
        self.body_rule = body_rules(app, config, bounds.bare_bytes)
        self._application = app.wsgi_app
        self._bodies = memory.bodies
        self._spooled = Budget("bodies on their way", bounds.spooled_bytes)
        self._slots = FairSemaphore(bounds.working, bounds.working_per_client)
        self._health = FairSemaphore(1, 1)
        self._waiting = Quota(bounds.waiting, bounds.waiting_per_client)
        self._streams = Quota(bounds.streams, bounds.streams_per_client)
        self._connections: dict[Connection, str] = {}
        self._per_client: Counter[str] = Counter()
        self._opened: Counter[str] = Counter()
        self._second = 0.0
        self._idle: OrderedDict[Connection, None] = OrderedDict()

    # Connections

    def admit(self, connection: Connection) -> bool:
        """Return whether to accept a new connection; if there are too many, the oldest idle one is closed for it."""
        client = network_of(connection.address)
        most = self.bounds.connections_per_client
        if most is not None and self._opens_too_many(client):
            return False
        if most is not None and self._per_client[client] >= most and not self._close_idle(client):
            return False
        if len(self._connections) >= self.bounds.connections and not self._close_idle():
            return False
        self._connections[connection] = client
        self._per_client[client] += 1
        self.idle(connection)
        return True

    def _opens_too_many(self, client: str) -> bool:
        """Count a new connection, and return whether its client exceeds the rate limit.

        Serving a connection for a single request costs many times as much as rejecting it.
        """
        now = time.monotonic()
        if now - self._second >= 1.0:
            self._second = now
            self._opened.clear()
        self._opened[client] += 1
        return self._opened[client] > self.bounds.opened_per_second

    def forget(self, connection: Connection) -> None:
        """Remove a connection; idempotent."""
        client = self._connections.pop(connection, None)
        self._idle.pop(connection, None)
        if client is not None:
            self._per_client[client] -= 1
            if not self._per_client[client]:
                del self._per_client[client]

    def idle(self, connection: Connection) -> None:
        """Mark a connection as idle: it may be closed in favour of a new one."""
        if connection in self._connections:
            self._idle[connection] = None

    def busy(self, connection: Connection) -> None:
        """Mark a connection as busy: it has sent a complete request."""
        self._idle.pop(connection, None)

    def _close_idle(self, client: str | None = None) -> bool:
        """Close the longest idle connection of one client or of all; return whether there was one."""
        oldest = next((one for one in self._idle if client in (None, self._connections[one])), None)
        if oldest is None:
            return False
        self.forget(oldest)
        oldest.close()
        return True

    @property
    def connections(self) -> list[Connection]:
        """The open connections."""
        return list(self._connections)

    # Requests

    def spool(self, client: str) -> Spool:
        """Return a spool for a request or response body of a client."""
        return Spool(self._spooled.claim(0, client), self.bounds.memory_bytes)

    def caller(self, environ: WSGIEnvironment, client: str) -> Served:
        """Return the caller on whose behalf a request is handled."""
        return Served(client, self._slots_of(environ), self._waiting)

    async def handle(self, environ: WSGIEnvironment, client: str, caller: Served) -> Reply:
        """Return the application's response to a complete request.

        Raises
        ------
        Busy
            If the client has too many requests in progress.
        Gone
            If the client disconnected while the request was queued.
        """
        slots = self._slots_of(environ)
        held = int(environ["CONTENT_LENGTH"]) if self.body_rule(environ).held else 0
        with self._bodies.claim(held, client):
            await self._wait_for_slot(slots, client, caller)
            try:
                reply = await self.threads.call(lambda: self._work(environ, client, caller))
            finally:
                slots.release(client)
        if isinstance(reply.body, Stream):
            self._admit_stream(reply, client)
        return reply

    def _slots_of(self, environ: WSGIEnvironment) -> FairSemaphore:
        return self._health if environ["PATH_INFO"] == HEALTH else self._slots

    async def _wait_for_slot(self, slots: FairSemaphore, client: str, caller: Caller) -> None:
        place = asyncio.ensure_future(slots.acquire(client))
        with caller.cancelling(place.cancel):
            await asyncio.wait([place])
        if place.cancelled():
            raise Gone

    def _work(self, environ: WSGIEnvironment, client: str, caller: Caller) -> Reply:
        spool = self.spool(client)
        try:
            with calling(caller):
                return reply_of(self._application, environ, spool)
        except BaseException:
            spool.close()
            raise

    def _admit_stream(self, reply: Reply, client: str) -> None:
        if not self._streams.acquire(client):
            reply.close()
            expected = f"at most {self._streams.per_client} of an address, {self._streams.capacity} in all"
            raise Busy("too many streams are open already", expected=expected, retry_after=10)
        reply.closed = lambda: self._streams.release(client)
