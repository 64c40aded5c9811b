"""Connections that are held: silent, slow, listening, waiting."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

import msgspec

from tests.benchmarks.availability.attack import Attack, Attacker, crowd

SLEEP = "import time; time.sleep(60)  # {number}"
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY_HEAD = (
    b"POST /api/compile HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"
)


def hold(attacker: Attacker, count: int, feed: Callable[[socket.socket], object] | None = None) -> None:
    """Hold so many connections until the attack is over, opening another one for each that the server ends.

    Parameters
    ----------
    attacker : Attacker
    count : int
    feed : callable, optional
        Sends a little on a connection; called every second or so for each.
    """
    opened: list[socket.socket] = []
    while attacker.left > 0:
        opened = [connection for connection in opened if not _ended(connection)]
        while len(opened) < count and attacker.left > 0 and (connection := attacker.connect()) is not None:
            attacker.count("opened")
            opened.append(connection)
        for connection in opened if feed is not None else ():
            try:
                feed(connection)  # type: ignore[misc]
            except OSError:
                attacker.count("cut while sending")
        time.sleep(0.5)
    for connection in opened:
        connection.close()


def _ended(connection: socket.socket) -> bool:
    """Whether the server has ended a connection; what it sent is read and dropped."""
    try:
        while select.select([connection], [], [], 0)[0]:
            if not connection.recv(1 << 16):
                connection.close()
                return True
    except (OSError, ValueError):
        connection.close()
        return True
    return False


def silent(attacker: Attacker) -> None:
    """Open connections and say nothing."""
    hold(attacker, 200)


def slow_heads(attacker: Attacker) -> None:
    """Send a byte of a request's head at a time."""
    begun: set[socket.socket] = set()

    def feed(connection: socket.socket) -> None:
        connection.sendall(b"a" if connection in begun else HEAD + b"X-A: ")
        begun.add(connection)

    hold(attacker, 200, feed)


def slow_bodies(count: int) -> Callable[[Attacker], None]:
    """Return an attack that sends a byte of some requests' bodies at a time."""

    def attack(attacker: Attacker) -> None:
        begun: set[socket.socket] = set()

        def feed(connection: socket.socket) -> None:
            connection.sendall(b" " if connection in begun else BODY_HEAD)
            begun.add(connection)

        hold(attacker, count, feed)

    return attack


def browsers(attacker: Attacker) -> None:
    """Load the page as seventeen browsers do, each keeping six connections open."""
    asked: set[socket.socket] = set()

    def load(connection: socket.socket) -> None:
        if connection not in asked:
            connection.sendall(HEAD + b"\r\n")
            asked.add(connection)

    hold(attacker, 17 * 6, load)


def slow_readers(attacker: Attacker) -> None:
    """Ask for the page again and again on each connection, and never read what comes."""
    opened = []
    for _ in range(100):
        connection = attacker.connect()
        if connection is None:
            break
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        opened.append(connection)
    while attacker.left > 0:
        for connection in opened:
            try:
                connection.send((HEAD + b"\r\n") * 20)
            except OSError:
                continue  # its buffer is full, or the server has ended it
        time.sleep(0.5)
    for connection in opened:
        connection.close()


def listeners(ladders: int, listening: int) -> Callable[[Attacker], None]:
    """Return an attack that starts ladders which wait in the queue, and listens to each several times."""

    def attack(attacker: Attacker) -> None:
        paths = []
        for number in range(ladders):
            reply = attacker.post("/api/ladders", {"script": SLEEP.format(number=number)}, patience=10.0)
            if reply is not None and reply.status == 202:
                paths.append(msgspec.json.decode(reply.body)["events"])
        requests = [path for path in paths for _ in range(listening)]
        begun: set[socket.socket] = set()

        def listen(connection: socket.socket) -> None:
            if connection not in begun and requests:
                path = requests[len(begun) % len(requests)]
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                begun.add(connection)

        hold(attacker, ladders * listening, listen)

    return attack


def waiting_requests(attacker: Attacker) -> None:
    """Send requests that wait in a queue: compilations and runs of scripts that sleep."""

    def ask(number: int) -> None:
        path = "/api/compile" if number % 2 else "/api/run"
        attacker.post(path, {"script": SLEEP.format(number=f"{number} {attacker.left}")})

    attacker.swarm(132, ask)


def crowd_of_silent(attacker: Attacker) -> None:
    """Open connections from fifty addresses and say nothing."""
    opened: list[socket.socket] = []
    while attacker.left > 0:
        opened = [connection for connection in opened if not _ended(connection)]
        for number in range(len(opened), 800):
            connection = attacker.connect(crowd(number % 50))
            if connection is None:
                break
            attacker.count("opened")
            opened.append(connection)
        time.sleep(0.5)
    for connection in opened:
        connection.close()


def pipelined(attacker: Attacker) -> None:
    """Send a thousand requests on a connection without reading an answer."""

    def flood(_number: int) -> None:
        connection = attacker.connect()
        if connection is None:
            time.sleep(0.1)
            return
        with connection:
            try:
                connection.settimeout(5.0)
                connection.sendall((b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") * 1000)
                attacker.count("sent")
            except OSError as error:
                attacker.count(type(error).__name__)

    attacker.swarm(8, flood)


ATTACKS = (
    Attack("D2", "200 silent connections", silent),
    Attack("D2", "800 silent connections of 50 addresses", crowd_of_silent),
    Attack("D2", "17 browsers, 6 kept connections each", browsers),
    Attack("D2", "200 heads, a byte at a time", slow_heads),
    Attack("D2", "128 bodies, a byte at a time", slow_bodies(128)),
    Attack("D2", "100 connections that never read", slow_readers),
    Attack("D2", "132 requests wait", waiting_requests),
    Attack("D3", "32 ladders, 4 listeners each", listeners(32, 4)),
    Attack("D3", "400 bodies, a byte at a time", slow_bodies(400)),
    Attack("D3", "requests sent without reading answers", pipelined),
)
