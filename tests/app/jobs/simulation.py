"""A fair queue on a clock of its own: clients send scripts, which hold slots, end, or make way when they are asked."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from app.jobs.fair_queue import REVIEW_SECONDS, FairQueue, Ticket

MAKES_WAY_SECONDS = 0.5
"""How long a script takes to end when it is asked to."""


@dataclass
class Sent:
    """A script that a client sent."""

    client: str
    tab: str
    at: float
    seconds: float
    long: bool = False
    ticket: Ticket | None = None
    running: bool = False
    ended: float | None = None

    @property
    def waited(self) -> float:
        """Seconds until a slot was granted."""
        assert self.ticket is not None
        return self.ticket.began - self.at


@dataclass
class Simulation:
    """Runs what clients send against a queue, event by event."""

    capacity: int = 4
    overtime: int = 2
    quantum: float = 2.0
    waiting: int = 10_000
    waiting_per_client: int = 10_000
    seats: int = 0
    now: float = 0.0
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.queue = FairQueue(
            self.capacity,
            waiting=self.waiting,
            waiting_per_client=self.waiting_per_client,
            quantum_seconds=self.quantum,
            overtime=self.overtime,
            seats=lambda client: self.seats,
            clock=lambda: self.now,
        )
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._ends: list[tuple[Sent, Callable[[], None]]] = []

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Let something happen."""
        heapq.heappush(self._events, (when, next(self._numbers), action))

    def send(
        self,
        client: str,
        when: float,
        seconds: float,
        tab: str = "",
        then: Callable[[], None] = lambda: None,
        *,
        long: bool = False,
    ) -> Sent:
        """Let a client send a script that holds a slot for so long, and do something when it has ended."""
        script = Sent(client, tab, when, seconds, long)
        self.sent.append(script)

        def enter() -> None:
            script.ticket = self.queue.enter(client, tab, long=long)
            script.ticket.when_asked(lambda: self.at(self.now + MAKES_WAY_SECONDS, end))

        def end() -> None:
            assert script.ticket is not None
            if script.ended is None and script.ticket.granted:
                script.ended = self.now
                script.ticket.end()
                then()

        self.at(when, enter)
        self._ends.append((script, end))
        return script

    def keep_sending(self, client: str, seconds: float, tab: str = "", at: float = 0.0) -> None:
        """Let a client send the next script whenever one has ended."""
        self.send(client, at, seconds, tab, then=lambda: self.keep_sending(client, seconds, tab, self.now))

    def run(self, until: float) -> None:
        """Let time pass."""
        while self.now < until:
            self.now = min(until, self.now + REVIEW_SECONDS / 2)
            while self._events and self._events[0][0] <= self.now:
                heapq.heappop(self._events)[2]()
            self.queue.review()
            for script, end in list(self._ends):
                if script.ended is not None:
                    self._ends.remove((script, end))
                elif script.ticket is not None and script.ticket.granted and not script.running:
                    script.running = True
                    self.at(script.ticket.began + script.seconds, end)
            self.check()

    def check(self) -> None:
        """Hold the queue to what is always true: its bounds, and that no slot is free that somebody may have."""
        running = [s for s in self.sent if s.ticket is not None and s.ticket.granted and s.ended is None]
        waiting = [s for s in self.sent if s.ticket is not None and not s.ticket.granted and s.ended is None]
        held = Counter(script.client for script in running)
        most = max(1, self.capacity - 1)
        assert len(running) == self.queue.held <= self.capacity + self.overtime
        assert all(slots <= most for slots in held.values())
        if len(running) < self.capacity:
            assert all(held[script.client] >= most or script.long for script in waiting)
