"""What an attack is, and what it attacks with."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tests.benchmarks.serving.client import JSON, Reply, connect, exchange, json_body

ADDRESS = "127.0.0.66"
"""Where an attack comes from, unless it has several addresses."""
GRACE_SECONDS = 20.0


def crowd(number: int) -> str:
    """Return the address of one of up to 250 attackers."""
    return f"127.0.6.{1 + number % 250}"


class Attacker:
    """Sends an attack's requests and counts what came back.

    Parameters
    ----------
    port : int
    data : Path
        The server's data directory, to look at what an attack left there.
    seconds : float
        How long the attack goes on.
    grace : float
        How long after that its last requests may take.

    Attributes
    ----------
    begun : int
        Requests and connections that were begun.
    outcomes : Counter
        How many requests ended with each status, or with each exception.
    broken : list of str
        Promises of the server that did not hold, beside its bounds of memory and time.
    """

    def __init__(self, port: int, data: Path, seconds: float, grace: float = GRACE_SECONDS) -> None:
        self.port = port
        self.data = data
        self.begun = 0
        self.outcomes: Counter[str] = Counter()
        self.broken: list[str] = []
        self._grace = grace
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()

    @property
    def left(self) -> float:
        """Seconds until the attack is over; negative from then on."""
        return self._end - time.monotonic()

    def wait(self) -> None:
        """Do nothing until the attack is over."""
        time.sleep(max(0.0, self.left))

    def count(self, outcome: str) -> None:
        """Count the end of a request."""
        with self._lock:
            self.outcomes[outcome] += 1

    def connect(self, address: str = ADDRESS) -> socket.socket | None:
        """Open a connection; None where the server refuses it."""
        self.begun += 1
        try:
            return connect(self.port, address, timeout=5.0)
        except OSError as error:
            self.count(type(error).__name__)
            return None

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        address: str = ADDRESS,
        patience: float | None = None,
    ) -> Reply | None:
        """Send a request and count how it ended; None where there was no response.

        Parameters
        ----------
        method, path : str
        body : bytes, optional
        headers : mapping, optional
        address : str
        patience : float, optional
            Seconds after which the attacker goes; by default as long as the attack, and a little longer.
        """
        self.begun += 1
        timeout = max(0.0, self.left) + self._grace if patience is None else patience
        try:
            reply = exchange(self.port, method, path, body, headers, address=address, timeout=timeout)
        except (OSError, http.client.HTTPException) as error:
            self.count(type(error).__name__)
            return None
        self.count(str(reply.status))
        return reply

    def post(self, path: str, value: object, *, address: str = ADDRESS, patience: float | None = None) -> Reply | None:
        """Send a value as JSON; as :meth:`send`."""
        return self.send("POST", path, json_body(value), JSON, address=address, patience=patience)

    def upload(self, content: bytes, address: str = ADDRESS) -> str:
        """Store a file and return its id; empty where the server refuses it."""
        head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n'
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        reply = self.send("POST", "/api/uploads", head + content + b"\r\n--x--\r\n", headers, address=address)
        if reply is None or reply.status != 201:
            return ""
        identifier: str = msgspec.json.decode(reply.body)["id"]
        return identifier

    def swarm(self, size: int, work: Callable[[int], object]) -> None:
        """Let threads repeat some work, each with its own number, until the attack is over, and once at least."""

        def repeat(number: int) -> None:
            try:
                work(number)
                while self.left > 0:
                    work(number)
            except Exception as error:
                with self._lock:
                    self.broken.append(f"the attack itself failed: {error!r}")

        threads = [threading.Thread(target=repeat, args=(number,), daemon=True) for number in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.1, self.left + self._grace))


@dataclass(frozen=True)
class Attack:
    """One way to harm a server."""

    code: str
    """Attacks of one kind share it."""
    name: str
    """What it does, in a few words."""
    run: Callable[[Attacker], None]
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the server, by their name in the environment."""
    arguments: tuple[str, ...] = ()
    """Of the server's command line."""
