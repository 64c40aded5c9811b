"""State shared by all connections: the application, its threads, and their use by clients."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import h11
from flask import Flask

from app.config import Config
from app.errors import Busy
from app.jobs.callers import Caller, calling
from app.jobs.clients import network_of
from app.memory import Budget, Memory
from app.serving.bounds import Bounds
from app.serving.connection import SLICE, ClientDisconnected, Connection
from app.serving.environ import client_reader
from app.serving.replies import Reply, reply_of
from app.serving.threads import Threads
from app.serving.turns import ClientQuota, Turns
from app.spool import Spool
from app.web.bodies import body_rules
from app.web.streams import Stream

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths of monitors, whose requests have a turn of their own."""
_REQUEST_ID = re.compile(rb"[\w.-]{1,64}", re.ASCII)


class RequestCaller(Caller):
    """A client whose request a thread works on: while that waits for a job, the turn is another's.

    Parameters
    ----------
    turns : Turns
        Where the request has its turn from.
    waiting : ClientQuota
        Requests that wait for jobs.
    request : str
        Id of the request.
    """

    def __init__(self, client: str, turns: Turns, waiting: ClientQuota, request: str) -> None:
        super().__init__(request)
        self._client = client
        self._turns = turns
        self._waiting = waiting
        self._waits = False
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def waiting(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Call ``cancel`` if the client goes while the block waits; until it ends, the turn is another's."""
        if self._waits:
            with self.cancelling(cancel):
                yield
            return
        if not self._waiting.take(self._client):
            expected = f"at most {self._waiting.per_client} of an address, {self._waiting.capacity} in all"
            raise Busy("too many requests are waiting already", expected=expected, retry_after=5)
        self._waits = True
        self._loop.call_soon_threadsafe(self._turns.give_back, self._client)
        try:
            with self.cancelling(cancel):
                yield
        finally:
            self._waits = False
            self._waiting.give_back(self._client)
            asyncio.run_coroutine_threadsafe(self._turns.take(self._client), self._loop).result()


class Gateway:
    """The application as connections see it, and the accounts of its clients.

    Parameters
    ----------
    memory : Memory
        Budgets of what requests hold in memory.
    """

    def __init__(self, app: Flask, config: Config, memory: Memory, bounds: Bounds) -> None:
        self.bounds = bounds
        self.buffer = memoryview(bytearray(SLICE))
        self.threads = Threads("request")
        self.client_of = client_reader(config.proxies)
        self.body_rule = body_rules(app, config, bounds.bare_bytes)
        self._named_by_proxy = config.proxies > 0
        self._application = app.wsgi_app
        self._bodies = memory.bodies
        self._spooled = Budget("bodies on their way", bounds.spooled_bytes)
        self._turns = Turns(bounds.working, bounds.working_per_client)
        self._probes = Turns(1, 1)
        self._waiting = ClientQuota(bounds.waiting, bounds.waiting_per_client)
        self._streams = ClientQuota(bounds.streams, bounds.streams_per_client)
        self._connections: dict[Connection, str] = {}
        self._per_client: Counter[str] = Counter()
        self._opened: Counter[str] = Counter()
        self._second = 0.0
        self._idle: OrderedDict[Connection, None] = OrderedDict()

    # Connections

    def admit(self, connection: Connection) -> bool:
        """Return whether a new connection may stay; where there are too many, the oldest idle one makes room."""
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
        """Count a new connection, and return whether its client opens more within a second than it may.

        Serving one for a single request takes many times as long as refusing it.
        """
        now = time.monotonic()
        if now - self._second >= 1.0:
            self._second = now
            self._opened.clear()
        self._opened[client] += 1
        return self._opened[client] > self.bounds.opened_per_second

    def forget(self, connection: Connection) -> None:
        """Count a connection no more; once more does nothing."""
        client = self._connections.pop(connection, None)
        self._idle.pop(connection, None)
        if client is not None:
            self._per_client[client] -= 1
            if not self._per_client[client]:
                del self._per_client[client]

    def idle(self, connection: Connection) -> None:
        """Note that a connection has sent no complete request, so that another may take its place."""
        if connection in self._connections:
            self._idle[connection] = None

    def busy(self, connection: Connection) -> None:
        """Note that a connection has sent a complete request."""
        self._idle.pop(connection, None)

    def _close_idle(self, client: str | None = None) -> bool:
        """Close the connection that has been idle for the longest time, of one client or of all."""
        oldest = next((one for one in self._idle if client in (None, self._connections[one])), None)
        if oldest is None:
            return False
        self.forget(oldest)
        oldest.close()
        return True

    @property
    def connections(self) -> list[Connection]:
        """The connections that are open."""
        return list(self._connections)

    # Requests

    def spool(self, client: str) -> Spool:
        """Return a place for a body of a client's."""
        return Spool(self._spooled.claim(0, client), self.bounds.memory_bytes)

    def request_id(self, request: h11.Request) -> str:
        """Return the id of a request: that of a trusted proxy, so that its log and ours go together, or a new one."""
        named = dict(request.headers).get(b"x-request-id", b"") if self._named_by_proxy else b""
        return named.decode() if _REQUEST_ID.fullmatch(named) else secrets.token_hex(6)

    def caller(self, environ: WSGIEnvironment, client: str, request: str) -> RequestCaller:
        """Return the caller that a request is handled for."""
        return RequestCaller(client, self._turns_of(environ), self._waiting, request)

    async def handle(self, environ: WSGIEnvironment, client: str, caller: RequestCaller) -> Reply:
        """Return the application's response to a complete request.

        Raises
        ------
        Busy
            The client has too much in progress.
        ClientDisconnected
            The client went before its turn came.
        """
        turns = self._turns_of(environ)
        held = int(environ["CONTENT_LENGTH"]) if self.body_rule(environ).held else 0
        with self._bodies.claim(held, client):
            await self._wait_for_turn(turns, client, caller)
            try:
                reply = await self.threads.call(lambda: self._work(environ, client, caller))
            finally:
                turns.give_back(client)
        if isinstance(reply.body, Stream):
            self._admit_stream(reply, client)
        return reply

    def _turns_of(self, environ: WSGIEnvironment) -> Turns:
        return self._probes if environ["PATH_INFO"] in PROBES else self._turns

    async def _wait_for_turn(self, turns: Turns, client: str, caller: Caller) -> None:
        place = asyncio.ensure_future(turns.take(client))
        with caller.cancelling(place.cancel):
            await asyncio.wait([place])
        if place.cancelled():
            raise ClientDisconnected

    def _work(self, environ: WSGIEnvironment, client: str, caller: Caller) -> Reply:
        spool = self.spool(client)
        try:
            with calling(caller):
                return reply_of(self._application, environ, spool)
        except BaseException:
            spool.close()
            raise

    def _admit_stream(self, reply: Reply, client: str) -> None:
        if not self._streams.take(client):
            reply.close()
            expected = f"at most {self._streams.per_client} of an address, {self._streams.capacity} in all"
            raise Busy("too many streams are open already", expected=expected, retry_after=10)
        reply.closed = lambda: self._streams.give_back(client)
