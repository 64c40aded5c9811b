"""A tracker lends servers to clients, by key: of those who wait, first who has the highest priority.

::

    server  ── offer(key, port, ticket) ──→  tracker  ←── request(key, priority) ──  client
                                                      ──── host, port, ticket ────→
    server  ←─────────────────────── hello(ticket) ──────────────────────────────  client

A server repeats its offer while nobody comes, so that one that was lent to a client that vanished is lent again, and
offers itself anew to a tracker that was restarted.  One whose connection ends is not lent any more.
"""

from __future__ import annotations

import itertools
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from compiler.ir.error import ArgumentError, RPCError, did_you_mean, show
from compiler.runtime.rpc.client import RPCSession, session_on
from compiler.runtime.rpc.frames import Channel, ClosedError, is_hung_up
from compiler.runtime.rpc.handshake import Text, connected, introduce, welcome
from compiler.runtime.rpc.listening import Listening
from compiler.runtime.rpc.messages import Done, Failed, Request

REPEATING = 10.0
"""Seconds between two offers of a server that nobody comes to."""
_UNKNOWN = 3 * REPEATING
"""Seconds that a key may be asked for that no server has: all servers come back to a restarted tracker before."""
_PATIENCE, _RETRYING = 2.0, 0.5

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


@dataclass
class _Server:
    """A connection of a server, and what it offers."""

    key: str
    host: str
    port: int
    ticket: str
    is_free: bool = True
    lent_at: float = 0.0


class Tracker(Listening):
    """Lends servers, in threads of this process, until :meth:`end`."""

    def __init__(self, listener: socket.socket, secret: bytes = b"") -> None:
        super().__init__(listener, secret)
        self._servers: dict[Channel, _Server] = {}
        self._keys: set[str] = set()  # also of servers that are gone: they may come back
        self._waiting: list[tuple[int, int, str]] = []
        self._numbers = itertools.count()

    def converse(self, channel: Channel, host: str) -> bool:
        if welcome(channel, "tracker", None, "tracker", self.secret) is None:
            return False
        channel.sock.settimeout(None)
        while True:
            request, _ = channel.receive(Request)
            try:
                answer: Done | Failed = Done(self._carry_out(channel, host, request))
            except (ArgumentError, msgspec.ValidationError) as failed:
                answer = Failed(str(failed))
            channel.send(answer)

    def close(self, channel: Channel) -> None:
        with self.changed:
            self._servers.pop(channel, None)
        super().close(channel)

    def _carry_out(self, channel: Channel, host: str, request: Request) -> object:
        if request.operation == "offer":
            key, port, address, ticket = msgspec.convert(request.arguments, tuple[Text, Port, Text, Text])
            self._offer(channel, _Server(key, address or host, port, ticket))
            return None
        if request.operation == "request":
            return self._request(channel, *msgspec.convert(request.arguments, tuple[Text, int]))
        if request.operation == "summary":
            return self.summary()
        raise ArgumentError(f"a tracker has no operation {show(request.operation)}")

    def _offer(self, channel: Channel, offered: _Server) -> None:
        with self.changed:
            self._keys.add(offered.key)
            known = self._servers.get(channel)
            if known is None or known.ticket != offered.ticket or time.monotonic() - known.lent_at > REPEATING:
                self._servers[channel] = offered  # otherwise who has the ticket may be on the way
            self.changed.notify_all()

    def _request(self, channel: Channel, key: str, priority: int) -> tuple[str, int, str]:
        """Wait for a server and lend it; ArgumentError if none has ever offered the key, nor does for some time."""
        mine, asked_at = (-priority, next(self._numbers), key), time.monotonic()

        def find() -> tuple[str, int, str] | None:
            if key not in self._keys and time.monotonic() - asked_at > _UNKNOWN:
                known = ", ".join(map(repr, sorted(self._keys))) or "none"
                hint = did_you_mean(key, self._keys)
                raise ArgumentError(f"no server has offered the key {key!r}; the keys of the tracker: {known}{hint}")
            return self._lent(mine)

        with self.changed:
            self._waiting.append(mine)
        try:
            return self.wait(channel, find)
        finally:
            with self.changed:
                self._waiting.remove(mine)
                self.changed.notify_all()

    def _lent(self, mine: tuple[int, int, str]) -> tuple[str, int, str] | None:
        if mine == min(waiting for waiting in self._waiting if waiting[2] == mine[2]):
            for server in self._servers.values():
                if server.is_free and server.key == mine[2]:
                    server.is_free, server.lent_at = False, time.monotonic()
                    return server.host, server.port, server.ticket
        return None

    def summary(self) -> dict[str, Any]:
        """Return how many servers of each key are free, how many clients wait, and the servers' addresses."""
        with self.changed:
            servers, waiting = list(self._servers.values()), [key for _, _, key in self._waiting]
        return {
            "queue_info": {
                key: {
                    "free": sum(server.key == key and server.is_free for server in servers),
                    "pending": waiting.count(key),
                }
                for key in dict.fromkeys([*(server.key for server in servers), *waiting])
            },
            "server_info": [{"key": f"server:{s.key}", "addr": [s.host, s.port]} for s in servers],
        }


class TrackerSession:
    """What a client or a server asks a tracker; see :func:`tvm.rpc.connect_tracker`.

    It waits ``patience`` seconds for an answer: as long as it takes by default.
    """

    def __init__(self, host: str, port: int, secret: bytes = b"", patience: float | None = None) -> None:
        self.peer = f"{host}:{port}"
        self._address, self._secret, self._patience = (host, port), secret, patience
        self._lock = threading.Lock()
        self._channel = self._connected()

    def _connected(self) -> Channel:
        channel = connected(*self._address, "the tracker")
        try:
            channel.sock.settimeout(self._patience or REPEATING)
            introduce(channel, "tracker", "", self._secret)
            channel.sock.settimeout(self._patience)
        except (RPCError, TimeoutError) as exc:
            channel.close()
            raise exc if isinstance(exc, RPCError) else RPCError(f"{self.peer}: the tracker does not answer") from None
        return channel

    @property
    def is_lost(self) -> bool:
        """Whether the tracker closed the connection."""
        return is_hung_up(self._channel.sock)

    def ask(self, operation: str, *arguments: object) -> Any:
        """Return what the tracker answers; one that was restarted meanwhile is asked again.

        Raises RPCError if it does not answer, or refuses.
        """
        with self._lock:
            try:
                answer = self._answer(operation, arguments)
            except ClosedError:
                self._channel = self._connected()
                answer = self._answer(operation, arguments)
        if isinstance(answer, Failed):
            raise RPCError(f"{self.peer}: {operation}: {answer.reason}")
        return answer.value

    def _answer(self, operation: str, arguments: tuple[object, ...]) -> Done | Failed:
        try:
            self._channel.send(Request(operation, list(arguments)))
            answer: Done | Failed = self._channel.receive(Done | Failed)[0]  # type: ignore[arg-type]
        except BaseException as exc:
            self._channel.close()  # so that a late answer is none to the next question
            if isinstance(exc, TimeoutError):
                raise RPCError(f"{self.peer}: {operation}: no answer within {self._patience:g} seconds") from None
            raise
        return answer

    def summary(self) -> dict[str, Any]:
        """Return how many servers of each key are free and how many clients wait, and the servers' addresses."""
        found: dict[str, Any] = self.ask("summary")
        return found

    def text_summary(self) -> str:
        """Return the summary as a table."""
        found = self.summary()
        rule = "-" * 30
        lines = ["Server List", rule, "server-address           key", rule]
        for server in sorted(found["server_info"], key=lambda s: s["key"]):
            lines.append(f"{':'.join(map(str, server['addr'])):>21}    {server['key']}")
        queues: dict[str, dict[str, int]] = found["queue_info"]
        total = {key: sum(s["key"] == f"server:{key}" for s in found["server_info"]) for key in queues}
        width = max(map(len, queues), default=0) + 3
        rule = "-" * (width + 21)
        lines += ["-" * 30, "", "Queue Status", rule, f"{'key':<{width}}total  free  pending", rule]
        for key in sorted(queues):
            lines.append(f"{key:<{width}}{total[key]:<7}{queues[key]['free']:<6}{queues[key]['pending']:<7}")
        return "\n".join([*lines, rule, ""])

    def request(
        self,
        key: str,
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 5,
        session_constructor_args: None = None,
    ) -> RPCSession:
        """Return a session on a server with a key, once there is one that is free.

        Raises RPCError if none of them answers, or the tracker does not, or no server has ever offered the key; those
        that are lent or gone are waited for.

        Parameters
        ----------
        priority : int
            Who has a greater one does not wait for those with a smaller one.
        session_timeout : float
            Seconds after which the server ends the session; 0 for no limit.
        max_retry : int
            How many servers are tried that the tracker believes to be there.
        """
        if session_constructor_args:
            raise ArgumentError("request: session_constructor_args must be None")
        failed = RPCError("max_retry is 0")
        for _ in range(max_retry):
            host, port, ticket = self.ask("request", key, int(priority))
            try:
                return session_on(host, port, ticket, session_timeout, self._secret.decode(), f"session for {key!r}")
            except RPCError as exc:
                failed = exc
        raise RPCError(f"{self.peer}: request of {key!r}: {max_retry} times no session: {failed}")

    def request_and_run(
        self,
        key: str,
        func: Callable[[RPCSession], Any],
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 2,
    ) -> Any:
        """Call a function with a session, and again with another one if the session fails; return what it returns.

        Raises RPCError: what the function raised the last time.
        """
        for left in reversed(range(max_retry)):
            try:
                with self.request(key, priority, session_timeout, max_retry) as session:
                    return func(session)
            except RPCError:
                if not left:
                    raise
        raise ArgumentError("request_and_run: max_retry must be positive")

    def close(self) -> None:
        """End the connection with the tracker; sessions go on."""
        self._channel.close()


class Offering:
    """What a server offers a tracker, again and again; ``address`` is its host, unless the tracker shall see that."""

    def __init__(self, tracker: tuple[str, int], key: str, port: int, address: str, secret: bytes) -> None:
        self._tracker, self._secret = tracker, secret
        self._offer = key, port, address
        self._session: TrackerSession | None = None
        self._next = 0.0
        self.ticket = secrets.token_hex(16)
        self.trouble = ""

    def renew(self) -> None:
        """Offer another ticket at once, and let no one come with the last."""
        self.ticket, self._next = secrets.token_hex(16), 0.0

    def keep(self) -> None:
        """Make the offer if it is time to, or the tracker closed the connection; later again if it does not answer."""
        if time.monotonic() < self._next and not (self._session and self._session.is_lost):
            return
        try:
            self._session = self._session or TrackerSession(*self._tracker, self._secret, _PATIENCE)
            self._session.ask("offer", *self._offer, self.ticket)
            self.trouble, self._next = "", time.monotonic() + REPEATING
        except RPCError as exc:
            self.close()
            self.trouble, self._next = str(exc), time.monotonic() + _RETRYING

    def close(self) -> None:
        """End the connection."""
        if self._session is not None:
            self._session.close()
        self._session = None
