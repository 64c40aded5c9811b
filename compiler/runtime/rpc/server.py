"""A server of sessions: accepts one connection at a time, each served by a fork of this process.

The fork has a folder of its own, and ends with its time limit, when its client is gone, or when the code that it was
sent crashes; the server then says why, removes the folder, ends what the fork had started, and accepts the next one.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import secrets
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compiler.ir.error import RPCError, UnavailableError
from compiler.runtime.rpc.frames import Channel, DamagedError, Ended, is_hung_up
from compiler.runtime.rpc.handshake import Hello, Refused, connected, welcome
from compiler.runtime.rpc.listening import GREETING
from compiler.runtime.rpc.session import Session
from compiler.runtime.rpc.tracker import Offering

_REFUSED = 3
"""The status of a process that served nobody."""
_TICK = 0.5
"""Seconds between two looks at whether a client is still there."""
_ABANDONED = 3.0
"""Seconds that a session may go on without its client."""


@dataclass
class _Running:
    """A session's process."""

    pid: int
    conn: socket.socket
    folder: str
    gone_since: float = 0.0


@dataclass
class Server:
    """Serves sessions until it is told to end.

    Parameters
    ----------
    listener : socket or tuple
        Listens; or host and port of a proxy, to which the server connects.
    key : str
        Which clients have to name.
    limit : float
        Seconds that a session may take at most; 0 for no limit but the client's.
    libraries : sequence of str
        Shared libraries that are loaded before, for ``system_lib`` and functions that they have.
    tracker : tuple, optional
        Host and port of the tracker that lends the server; others than its clients are refused.
    address : str
        The host that the tracker's clients connect to; by default where the tracker sees the server connect from.
    """

    listener: socket.socket | tuple[str, int]
    key: str = ""
    secret: bytes = b""
    limit: float = 0.0
    libraries: tuple[str, ...] = ()
    is_silent: bool = False
    tracker: tuple[str, int] | None = None
    address: str = ""
    _running: _Running | None = field(default=None, init=False)
    _is_ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not hasattr(os, "fork"):
            raise UnavailableError("rpc: a server needs processes that fork, which this system does not have")
        for library in self.libraries:
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        self._selector = selectors.DefaultSelector()
        self._offering: Offering | None = None
        self._dialled: socket.socket | None = None
        if self.tracker is not None:
            port = self.port
            self._offering = Offering(self.tracker, self.key, port, self.address, self.secret)

    @property
    def port(self) -> int:
        """Where it listens, or where its proxy does."""
        return int(self.listener[1] if isinstance(self.listener, tuple) else self.listener.getsockname()[1])

    def end(self) -> None:
        """End the server as soon as its loop goes on."""
        self._is_ended = True

    def serve(self, until: Any = None) -> None:
        """Accept and serve sessions, in the main thread, until a pipe is closed or :meth:`end` is called."""
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)
        handlers = {signal.SIGCHLD: lambda *_: None, signal.SIGTERM: lambda *_: self.end()}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        woken_before = signal.set_wakeup_fd(wake.fileno())
        self._selector.register(woken, selectors.EVENT_READ, lambda: woken.recv(4096))
        self._listen(True)
        if until is not None:
            self._selector.register(until, selectors.EVENT_READ, self.end)
        try:
            while not self._is_ended:
                for chosen, _ in self._selector.select(_TICK):
                    chosen.data()
                self._look_after_session()
                self._keep_offered()
                self._wait_at_proxy()
        finally:
            self._kill()
            if self._offering is not None:
                self._offering.close()
            signal.set_wakeup_fd(woken_before)
            for number, handler in before.items():
                signal.signal(number, handler)
            for used in (woken, wake, self._dialled, self.listener):
                if isinstance(used, socket.socket):
                    used.close()
            self._selector.close()

    def _keep_offered(self) -> None:
        if self._offering is not None and self._running is None:
            before = self._offering.trouble
            self._offering.keep()
            if self._offering.trouble != before:
                self._say(self._offering.trouble or "the tracker answers")

    def _listen(self, is_free: bool) -> None:
        """Accept connections or none, where the server listens itself."""
        if isinstance(self.listener, socket.socket) and is_free:
            self._selector.register(self.listener, selectors.EVENT_READ, self._accept)
        elif isinstance(self.listener, socket.socket):
            self._selector.unregister(self.listener)

    def _wait_at_proxy(self) -> None:
        """Connect to the proxy, where a client's first frame will arrive."""
        if isinstance(self.listener, socket.socket) or self._dialled is not None or self._running is not None:
            return
        try:
            channel = connected(*self.listener, "the proxy")
            channel.send(Hello("server", self.key, secrets.token_bytes(32)))
        except RPCError:
            return  # it is tried again
        channel.sock.settimeout(None)
        self._dialled = channel.sock
        self._selector.register(channel.sock, selectors.EVENT_READ, self._called)

    def _called(self) -> None:
        assert self._dialled is not None
        conn, self._dialled = self._dialled, None
        self._selector.unregister(conn)
        self._start(conn, "a client of the proxy")

    def _accept(self) -> None:
        assert isinstance(self.listener, socket.socket)
        try:
            conn, address = self.listener.accept()
        except OSError:  # the client is gone already
            return
        self._start(conn, f"{address[0]}:{address[1]}")

    def _start(self, conn: socket.socket, peer: str) -> None:
        """Serve a connection in a process, and accept no other one meanwhile."""
        self._say(f"session with {peer}")
        folder = ""
        try:
            folder = tempfile.mkdtemp(prefix="rpc-")
            pid = os.fork()
        except OSError as failed:
            shutil.rmtree(folder, ignore_errors=True)
            Channel(conn, peer).part(Refused(f"no session can begin here: {failed.strerror}"))
            conn.close()
            return
        if not pid:
            status = 0
            try:
                status = self._be_session(conn, peer, Path(folder))
            except BaseException:  # the fork must not go on as the server
                traceback.print_exc()
            finally:
                os._exit(status)
        self._running = _Running(pid, conn, folder)
        self._listen(False)

    def _be_session(self, conn: socket.socket, peer: str, folder: Path) -> int:
        """Be the process of a session, and return the status to exit with."""
        faulthandler.disable()  # what crashes is told to the client
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.setsid()
        self._selector.close()
        if isinstance(self.listener, socket.socket):
            self.listener.close()
        if self._offering is not None:
            self._offering.close()
        os.chdir(folder)
        _limit_resources()
        channel = Channel(conn, peer)
        signal.setitimer(signal.ITIMER_REAL, GREETING)
        try:
            expected = self._offering.ticket if self._offering is not None else self.key
            hello = welcome(channel, "session", expected, self.key, self.secret)
        except DamagedError as damaged:
            channel.part(Refused(str(damaged)))
            return _REFUSED
        except RPCError:
            return _REFUSED
        if hello is None:
            return _REFUSED
        limits = [seconds for seconds in (hello.timeout, self.limit) if seconds]
        signal.setitimer(signal.ITIMER_REAL, min(limits, default=0.0))
        Session(channel, folder).serve()
        return 0

    def _look_after_session(self) -> None:
        running = self._running
        if running is None:
            return
        if is_hung_up(running.conn):
            running.gone_since = running.gone_since or time.monotonic()
            if time.monotonic() - running.gone_since > _ABANDONED:
                _end_group(running.pid)
        pid, status = os.waitpid(running.pid, os.WNOHANG)
        if pid:
            self._finish(running, os.waitstatus_to_exitcode(status))

    def _finish(self, running: _Running, code: int) -> None:
        self._running = None
        _end_group(running.pid)
        reason, is_late = "", code == -signal.SIGALRM
        if code < 0:
            ended = f"the process of the session ended with {signal.Signals(-code).name}"
            reason = "the time of the session is over" if is_late else ended
            with contextlib.suppress(RPCError, OSError):
                running.conn.settimeout(1.0)
                Channel(running.conn, "client").send(Ended(reason, is_late))
        if self._offering is not None and code != _REFUSED:
            self._offering.renew()
        self._say(reason or "the session is over")
        running.conn.close()
        shutil.rmtree(running.folder, ignore_errors=True)
        if not self._is_ended:
            self._listen(True)

    def _kill(self) -> None:
        """End the session that runs, if any."""
        running = self._running
        if running is not None:
            _end_group(running.pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGKILL)
            self._finish(running, os.waitstatus_to_exitcode(os.waitpid(running.pid, 0)[1]))

    def _say(self, text: str) -> None:
        if not self.is_silent and not self._is_ended:
            with contextlib.suppress(OSError):  # nobody reads it any more
                print(f"rpc server {self.key!r}: {text}", file=sys.stderr, flush=True)


def _limit_resources() -> None:
    """Let a crash leave no dump."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _end_group(pid: int) -> None:
    """End all processes that a session's process started, and itself."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
