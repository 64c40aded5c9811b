"""HTTP connections, with time limits on requests and responses."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import struct
import time
from typing import TYPE_CHECKING, cast

import h11

from app.counts import REQUESTS
from app.errors import MalformedBody, RequestError, TooLarge
from app.logs import quoted
from app.serving.environ import Address, add_body, make_environ
from app.serving.replies import Reply, refusal
from app.spool import Spool
from app.web.streams import Stream

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

    from app.serving.gateway import Gateway, RequestCaller

log = logging.getLogger(__name__)
access = logging.getLogger("app.access")
SLICE = 1 << 16
"""Bytes that are read or written at one time."""
_ANOTHER_LINE = re.compile(rb"(?<!\r)\n|\r\n[ \t]")
"""Ends of lines that h11 accepts, and that programs in front of this server may not see as such: a line feed alone, and
one whose line is continued on the next."""


class ClientDisconnected(Exception):
    """The client has closed the connection."""


class SlowRequest(RequestError):
    """A request that did not come within its time."""

    status, code, title = 408, "timeout", "The request came too slowly"


class MalformedRequest(RequestError):
    """What was sent is not HTTP."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Connection(asyncio.BufferedProtocol):
    """A connection of a client; a task of its own serves it.

    Reading pauses after each slice until more is needed, and each slice of a response has reached the kernel before the
    next is written: what a connection holds in memory stays small, whatever its client does.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._bounds = gateway.bounds
        self._wakeup = asyncio.Event()
        self._writable = asyncio.Event()
        self._closed = False
        self._refused = False
        self._caller: RequestCaller | None = None
        self._request_id = ""
        self.address = ""

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve, unless too many connections are open."""
        self._transport = cast(asyncio.Transport, transport)
        self._client: Address = (transport.get_extra_info("peername") or ("", 0))[:2]
        self.address = self._client[0]
        if not self._gateway.admit(self):
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(0)
        connected = transport.get_extra_info("socket")
        if connected is not None:  # head and body are written one after the other, and neither waits for the other
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport.pause_reading()
        self._writable.set()
        self._server: Address = (transport.get_extra_info("sockname") or ("", 0))[:2]
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=self._bounds.head_bytes)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer that all connections read into, one after the other."""
        return self._gateway.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take what was read, and read no more until it is asked for."""
        if self._refused:
            return
        self._transport.pause_reading()
        self._http.receive_data(bytes(self._gateway.buffer[:nbytes]))
        self._wakeup.set()

    def eof_received(self) -> bool:
        """Close: a client that says nothing any more wants nothing any more."""
        return False

    def pause_writing(self) -> None:
        """Wait with the next slice."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Go on with the next slice."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up what the client waited for."""
        self._closed = True
        self._wakeup.set()
        self._writable.set()
        if self._caller is not None:
            self._caller.leave()
        self._gateway.forget(self)

    def close(self) -> None:
        """Reset the connection at once: what the kernel has not sent yet is dropped too."""
        connected: socket.socket | None = self._transport.get_extra_info("socket")
        if connected is not None and not self._closed:
            with contextlib.suppress(OSError):  # the client was faster
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    # What its task does

    async def _serve(self) -> None:
        try:
            while await self._exchange():
                self._http.start_next_cycle()
        except (ClientDisconnected, TimeoutError):
            self.close()
        except Exception:
            log.exception("a connection failed")
            self.close()
        finally:
            self._transport.close()

    async def _exchange(self) -> bool:
        """Read a request and send its response; return whether another may follow."""
        began = time.monotonic()
        request, self._request_id = None, ""
        try:
            request = await self._read_head()
            if request is None:
                return False
            began = time.monotonic()
            self._request_id = self._gateway.request_id(request)
            reply = await self._answer(request)
        except RequestError as error:
            reply = refusal(error, self._request_id)
        if self._request_id:
            reply.headers.append(("X-Request-ID", self._request_id))
        REQUESTS.add(str(reply.status))
        close = self._http.their_state is not h11.DONE
        try:
            sent = await self._send(reply, request, close)
        finally:
            reply.close()
        self._note(request, reply.status, sent, time.monotonic() - began)
        if close:
            await self._linger()
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _read_head(self) -> h11.Request | None:
        """Return the next request, or None if none comes."""
        self._gateway.idle(self)
        begun = False
        try:
            async with asyncio.timeout(self._bounds.idle_seconds) as deadline:
                while (event := self._next_head()) is h11.NEED_DATA:
                    partial = bool(self._http.trailing_data[0])
                    if partial and not begun:
                        begun = True
                        deadline.reschedule(asyncio.get_running_loop().time() + self._bounds.head_seconds)
                    await self._more()
        except TimeoutError:
            if not begun:
                return None
            limit = f"within {self._bounds.head_seconds:g} s"
            raise SlowRequest("the head of the request did not arrive in time", expected=limit) from None
        if isinstance(event, h11.Request) and not event.http_version.startswith(b"1."):
            raise MalformedRequest(f"HTTP/{event.http_version.decode()} is not supported", 505)
        return event if isinstance(event, h11.Request) else None

    async def _answer(self, request: h11.Request) -> Reply:
        environ = make_environ(request, self._client, self._server)
        client = self._gateway.client_of(environ)
        body = self._gateway.spool(client)
        try:
            await self._read_body(environ, body)
            self._gateway.busy(self)
            add_body(environ, body)
            self._caller = self._gateway.caller(environ, client, self._request_id)
            self._transport.resume_reading()  # to notice that the client goes
            return await self._gateway.handle(environ, client, self._caller)
        finally:
            self._caller = None
            body.close()

    async def _read_body(self, environ: WSGIEnvironment, body: Spool) -> None:
        """Read the body of a request, within its limit and its time."""
        limit = self._gateway.body_rule(environ).limit
        self._check_size(int(environ.get("CONTENT_LENGTH") or 0), limit)
        if self._http.they_are_waiting_for_100_continue:
            self._begin_writing()
            await self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])))
        chunks, loop = 0, asyncio.get_running_loop()
        began = loop.time() + self._bounds.grace_seconds
        try:
            async with asyncio.timeout_at(began) as deadline:
                while not isinstance(event := self._next_event(), h11.EndOfMessage):
                    if isinstance(event, h11.Data):
                        chunks += 1
                        self._check_size(body.size + len(event.data), limit)
                        self._check_chunks(chunks, body.size)
                        await self._store(body, bytes(event.data))
                        deadline.reschedule(began + body.size / self._bounds.bytes_per_second)
                    elif event is h11.NEED_DATA:
                        await self._more()
                    else:
                        raise ClientDisconnected
        except TimeoutError:
            slowest = f"at least {self._bounds.bytes_per_second:,} bytes a second"
            raise SlowRequest("the body of the request arrives too slowly", expected=slowest) from None

    async def _store(self, body: Spool, data: bytes) -> None:
        if body.in_memory and body.size + len(data) <= self._bounds.memory_bytes:
            body.write(data)
        else:  # a disk may be slow
            await self._gateway.threads.call(lambda: body.write(data))

    @staticmethod
    def _check_size(size: int, limit: int) -> None:
        if size > limit:
            raise TooLarge("the request is larger than this server accepts", expected=f"at most {limit:,} bytes")

    def _check_chunks(self, chunks: int, size: int) -> None:
        if chunks > self._bounds.chunks + size // self._bounds.chunk_bytes:
            expected = f"pieces of {self._bounds.chunk_bytes} bytes or more"
            raise MalformedBody("the body arrives in too many small pieces", expected=expected)

    def _next_head(self) -> object:
        """Return the next event before a request, whose lines must end and begin as every reader of HTTP sees them."""
        head, _, _ = self._http.trailing_data[0].partition(b"\r\n\r\n")
        if _ANOTHER_LINE.search(head):
            raise MalformedRequest(
                "a line of the head ends without a carriage return, or is continued on the next", 400
            )
        return self._next_event()

    def _next_event(self) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise MalformedRequest(str(error), error.error_status_hint) from error

    async def _more(self) -> None:
        """Wait until more was received."""
        if self._closed:
            raise ClientDisconnected
        self._wakeup.clear()
        self._transport.resume_reading()
        await self._wakeup.wait()
        if self._closed:
            raise ClientDisconnected

    async def _send(self, reply: Reply, request: h11.Request | None, close: bool) -> int:
        """Send a response and return the size of its body; its bytes have all left when this returns."""
        bodiless = request is not None and request.method == b"HEAD"
        try:
            head = self._http.send(reply.head(bodiless=bodiless, close=close))
        except h11.LocalProtocolError:
            log.exception("a response is not HTTP")
            raise ClientDisconnected from None
        sent = 0
        self._begin_writing()
        await self._write(head)
        if isinstance(reply.body, Stream):
            sent = await self._follow(reply.body)
        elif not bodiless:
            sent = await self._send_body(reply.body)
        await self._write(self._http.send(h11.EndOfMessage()))
        return sent

    async def _send_body(self, body: bytes | Spool) -> int:
        if isinstance(body, bytes):
            await self._write(self._http.send(h11.Data(data=body)))
            return len(body)
        file, sent = body.rewind(), 0
        while part := file.read(SLICE):
            await self._write(self._http.send(h11.Data(data=part)))
            sent += len(part)
        return sent

    async def _follow(self, stream: Stream) -> int:
        """Send a stream's parts as they come, and its heartbeat where none comes."""
        loop, sent = asyncio.get_running_loop(), 0

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._wakeup.set)

        self._transport.resume_reading()  # to notice that the client goes
        stream.attach(wake)
        while True:
            self._wakeup.clear()
            part = stream.read()
            if part is None:
                return sent
            part = part or await self._heartbeat(stream)
            self._begin_writing()
            await self._write(self._http.send(h11.Data(data=part)))
            sent += len(part)

    async def _heartbeat(self, stream: Stream) -> bytes:
        """Wait for news of a stream; return what is sent where there is none."""
        if self._closed:
            raise ClientDisconnected
        try:
            async with asyncio.timeout(stream.heartbeat_seconds):
                await self._wakeup.wait()
        except TimeoutError:
            return stream.heartbeat
        return b""

    def _begin_writing(self) -> None:
        """Begin something whose bytes must leave in the time that the slowest client needs for them."""
        self._written_by = asyncio.get_running_loop().time() + self._bounds.grace_seconds

    async def _write(self, data: bytes | None) -> None:
        """Write bytes, and wait until they have left.

        Raises
        ------
        TimeoutError
            The client is slower than any that is served.
        """
        if self._closed:
            raise ClientDisconnected
        if not data:
            return
        self._transport.write(data)
        self._written_by += len(data) / self._bounds.bytes_per_second
        if not self._writable.is_set():
            async with asyncio.timeout_at(self._written_by):
                await self._writable.wait()
        if self._closed:
            raise ClientDisconnected

    async def _linger(self) -> None:
        """Throw away what a refused client still sends, since it reads the response only if nothing is reset."""
        self._refused = True
        if self._transport.can_write_eof() and not self._closed:
            self._transport.write_eof()
        try:
            async with asyncio.timeout(self._bounds.linger_seconds):
                while not self._closed:
                    self._wakeup.clear()
                    self._transport.resume_reading()
                    await self._wakeup.wait()
        except TimeoutError:
            return

    def _note(self, request: h11.Request | None, status: int, size: int, seconds: float) -> None:
        """Write a line into the access log: the client's own words are quoted, and no line's end is among them."""
        if access.isEnabledFor(logging.INFO):
            request_line = f"{request.method.decode()} {request.target.decode()}" if request else "no request"
            line = self.address, quoted(request_line), status, size, seconds * 1000
            access.info("%s %s %d %d bytes %.0f ms", *line, extra={"request": self._request_id})
