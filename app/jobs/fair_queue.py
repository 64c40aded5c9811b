"""A fair queue for a limited number of slots.

Who goes next is decided by decay usage scheduling (:mod:`app.jobs.slot_time`) at two levels: the address that holds
fewest slots and has used least slot time lately, then of its tabs the one of which the same is true, then the request
that came first.  What counts is the time a slot is held: a script that sleeps counts like one that computes.

- One address never holds all slots: the last one is for whoever comes.
- A request that has held its slot for a quantum, and belongs to somebody who has used far more than one who waits, goes
  on in overtime: its slot is granted to the other.  Once the places for overtime are taken, it is asked to make way.
  Somebody who has waited for long may make anyone past the quantum do so.  Demoting long jobs is what multi-level
  feedback queues do: F. J. Corbató et al., "An Experimental Time-Sharing System", AFIPS 1962.
- Waiting counts in one's favour, so that no stream of newcomers starves anybody.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from app.errors import Busy, Superseded
from app.jobs.callers import waiting
from app.jobs.slot_time import SlotTime

AGEING = 0.125
"""Seconds of use that are forgiven for each second of waiting."""
PATIENCE_QUANTA = 2.0
"""Quanta of waiting after which anybody who has held a slot for a quantum may be asked to make way."""
REVIEW_SECONDS = 0.25
"""How often those who wait look whether somebody has to make way."""
FRESH_TAB_SECONDS = 30.0
"""Use that a tab begins with in the order of its address's tabs: who opens a new one for each request gains nothing."""
MAX_REMEMBERED = 4096
"""Addresses, and tabs, whose use is remembered."""
MAX_TABS_PER_CLIENT = 48
"""Tabs of an address that compete as such, more than a class has; the others compete as if they were one."""
TAB_MEMORY_SECONDS = 600.0
"""How long a tab of which nothing comes counts among those of its address."""
_SMOOTHING = 0.2


class Flow(NamedTuple):
    """Whose requests compete with each other: those of a tab of an address."""

    client: str
    tab: str


Group = TypeVar("Group", str, Flow)


class Ticket:
    """A request's place in the queue: it waits, holds a slot, and releases it.  As a context manager it releases."""

    def __init__(self, queue: FairQueue, flow: Flow, tab: str, entered: float) -> None:
        self._queue = queue
        self.flow = flow
        self.tab = tab
        self.entered = entered
        self.began = 0.0
        self.granted = False
        self.ended = False
        self.asked = False
        """Whether it was asked to make way."""
        self._on_asked: Callable[[], None] | None = None

    def places(self, poll_seconds: float | None = None) -> Iterator[int]:
        """Yield the place in the queue (1 is next) whenever it changes, until a slot is granted.

        Parameters
        ----------
        poll_seconds
            Yield the unchanged place at least this often.

        Raises
        ------
        Superseded
            Another thread ended the ticket while it waited.
        """
        return self._queue._places(self, poll_seconds)

    def wait(self) -> Self:
        """Wait until a slot is granted."""
        for _ in self.places():
            continue
        return self

    def when_asked(self, make_way: Callable[[], None]) -> None:
        """Let ``make_way`` be called, once and from any thread, when others wait for the slot that this one holds."""
        self._on_asked = make_way
        if self.asked:
            self._tell()

    def _tell(self) -> None:
        make_way, self._on_asked = self._on_asked, None
        if make_way is not None:
            make_way()

    def end(self) -> None:
        """Release the slot, or leave the queue; calling it again does nothing."""
        self._queue._end(self)

    def __enter__(self) -> Self:
        return self.wait()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.end()


class FairQueue:
    """Grants a number of slots to clients by the slot time that they have used.

    Parameters
    ----------
    capacity : int
        Slots.
    waiting : int
        Requests that may wait, all clients together.
    waiting_per_client : int
        Requests that one client may have waiting.
    typical_seconds : float
        First estimate of how long a slot is held, a running average from then on; gives the retry time of refusals.
    quantum_seconds : float
        How long anybody may hold a slot whoever waits.
    overtime : int
        Requests past the quantum that may go on beside those that hold the slots.
    clock : callable
        Returns seconds; tests give one of their own.
    """

    def __init__(
        self,
        capacity: int,
        *,
        waiting: int,
        waiting_per_client: int,
        typical_seconds: float = 1.0,
        quantum_seconds: float = 2.0,
        overtime: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capacity = capacity
        self.quantum_seconds = quantum_seconds
        self._max_held = max(1, capacity - 1)
        self._max_overtime = overtime
        self._max_waiting = waiting
        self._max_waiting_per_client = waiting_per_client
        self._typical = typical_seconds
        self._clock = clock
        self._clients: OrderedDict[str, SlotTime] = OrderedDict()
        self._tabs: OrderedDict[Flow, SlotTime] = OrderedDict()
        self._queue: list[Ticket] = []
        self._ordered = True
        self._holding: list[Ticket] = []
        self._overtime: list[Ticket] = []
        self._next_review = 0.0
        self._changed = threading.Condition()

    def resize(self, capacity: int, overtime: int = 0) -> None:
        """Grant so many slots from now on; those that are held beyond them stay so until they are released.

        Parameters
        ----------
        capacity : int
            Slots.
        overtime : int
            Requests past the quantum that may go on beside those that hold the slots.
        """
        with self._changed:
            self.capacity = capacity
            self._max_held = max(1, capacity - 1)
            self._max_overtime = overtime
            self._grant()

    def enter(self, client: str, tab: str = "") -> Ticket:
        """Join the queue.

        Parameters
        ----------
        client : str
            Address; slots are shared between addresses.
        tab : str
            The client's page that asks; the slots of a client are shared between its tabs.

        Raises
        ------
        Busy
            Too many requests wait already, of this client or in all; carries the seconds after which to retry.
        """
        with self._changed:
            mine = sum(ticket.flow.client == client for ticket in self._queue)
            retry = max(1, math.ceil(self._typical * (len(self._queue) + 1) / self.capacity))
            if mine >= self._max_waiting_per_client:
                raise Busy(f"{mine} of your requests are waiting already", retry_after=retry)
            if len(self._queue) >= self._max_waiting:
                raise Busy(f"the server is busy: {len(self._queue)} requests are waiting", retry_after=retry)
            ticket = Ticket(self, self._flow_of(client, tab), tab, self._clock())
            self._remember(ticket.flow)
            self._queue.append(ticket)
            self._grant()
        self.review()
        return ticket

    @contextmanager
    def turn(self, client: str, tab: str = "") -> Iterator[Ticket]:
        """Wait for a slot and hold it inside the block; it is given up where the caller goes.

        Parameters
        ----------
        client, tab : str
            As in :meth:`enter`.

        Raises
        ------
        Busy
            Too many requests wait already.
        Superseded
            The caller has gone.
        """
        ticket = self.enter(client, tab)
        with waiting(ticket.end):
            try:
                ticket.wait()
                yield ticket
            finally:
                ticket.end()

    @property
    def held(self) -> int:
        """Requests that hold a slot now, or go on in overtime."""
        with self._changed:
            return len(self._holding) + len(self._overtime)

    @property
    def waiting(self) -> int:
        """Requests that wait now."""
        with self._changed:
            return len(self._queue)

    def places_of(self, client: str, tab: str = "") -> list[int]:
        """Return the places of a client's waiting tickets, nearest first; only those of ``tab`` if it is given."""
        with self._changed:
            return [
                place
                for place, ticket in enumerate(self._in_order(), 1)
                if ticket.flow.client == client and tab in ("", ticket.tab)
            ]

    def review(self) -> None:
        """Let those who have used most make way for those who wait, where it is due."""
        with self._changed:
            now = self._clock()
            self._next_review = now + REVIEW_SECONDS
            asked = self._make_way(now)
        for ticket in asked:
            ticket._tell()

    # who goes next

    def _flow_of(self, client: str, tab: str) -> Flow:
        """Return whom a request competes as: its tab, unless its address has too many of them already.

        A page chooses the names of its tabs, so that many tabs prove nothing about how many people there are.
        """
        flow = Flow(client, tab)
        if flow in self._tabs:
            return flow
        tabs = [other for other in self._tabs if other.client == client]
        if len(tabs) < MAX_TABS_PER_CLIENT:
            return flow
        now, present = self._clock(), self._present()
        absent = [other for other in tabs if other not in present and self._tabs[other].idle(now) > TAB_MEMORY_SECONDS]
        for other in absent:
            del self._tabs[other]
        return flow if absent else Flow(client, "")

    def _present(self) -> set[Flow]:
        """Return those who hold a slot or wait."""
        return {ticket.flow for ticket in (*self._queue, *self._holding, *self._overtime)}

    def _remember(self, flow: Flow) -> None:
        now = self._clock()
        self._clients.setdefault(flow.client, SlotTime(now))
        self._clients.move_to_end(flow.client)
        if flow not in self._tabs:
            self._tabs[flow] = SlotTime(now, FRESH_TAB_SECONDS)
        self._tabs.move_to_end(flow)
        self._forget()

    def _forget(self) -> None:
        """Drop those that were away for longest; nobody who holds a slot or waits is among them."""
        if len(self._clients) <= MAX_REMEMBERED and len(self._tabs) <= MAX_REMEMBERED:
            return
        present = self._present()
        clients = {flow.client for flow in present}
        for client in [name for name in self._clients if name not in clients][: len(self._clients) - MAX_REMEMBERED]:
            del self._clients[client]
        for flow in [flow for flow in self._tabs if flow not in present][: len(self._tabs) - MAX_REMEMBERED]:
            del self._tabs[flow]

    def _in_order(self) -> list[Ticket]:
        """Return those who wait, in the order in which they would be granted slots if these fell free now."""
        if not self._ordered:
            now = self._clock()
            by_tab = _ranked(self._queue, lambda ticket: ticket.flow, self._tabs, now)
            self._queue = _ranked(by_tab, lambda ticket: ticket.flow.client, self._clients, now)
            self._ordered = True
        return self._queue

    def _grant(self) -> None:
        """Grant free slots; those in overtime that nobody waits for move back into what is left."""
        self._ordered = False
        while self._queue and len(self._holding) < self.capacity:
            ticket = self._in_order()[0]
            if self._at_limit(ticket):  # it holds fewest, so the others are at their limits too
                break
            self._queue.remove(ticket)
            self._hold(ticket, 1)
            self._holding.append(ticket)
            ticket.granted = True
            ticket.began = self._clock()
            self._ordered = False
        while not self._queue and self._overtime and len(self._holding) < self.capacity:
            self._holding.append(self._overtime.pop(0))
        self._changed.notify_all()

    def _at_limit(self, ticket: Ticket) -> bool:
        return self._clients[ticket.flow.client].held >= self._max_held

    def _hold(self, ticket: Ticket, slots: int) -> None:
        now = self._clock()
        self._clients[ticket.flow.client].hold(now, slots)
        self._tabs[ticket.flow].hold(now, slots)

    def _end(self, ticket: Ticket) -> None:
        with self._changed:
            if ticket.ended:
                return
            ticket.ended = True
            if ticket.granted:
                (self._overtime if ticket in self._overtime else self._holding).remove(ticket)
                self._hold(ticket, -1)
                self._typical += _SMOOTHING * (self._clock() - ticket.began - self._typical)
            else:
                self._queue.remove(ticket)
            self._grant()
        self.review()

    # who makes way

    def _make_way(self, now: float) -> list[Ticket]:
        """Grant slots of those who go on in overtime, and return those that are newly asked to end."""
        asked: list[Ticket] = []
        passed_over = sum(ticket.asked for ticket in (*self._holding, *self._overtime))
        while passed_over < len(self._queue):
            waiter = self._in_order()[passed_over]
            holder = self._heaviest(waiter, now)
            if holder is None:
                break
            if holder in self._holding and len(self._overtime) < self._max_overtime and not self._at_limit(waiter):
                self._holding.remove(holder)
                self._overtime.append(holder)
                self._grant()
            else:
                holder.asked = True
                asked.append(holder)
                passed_over += 1
        return asked

    def _heaviest(self, waiter: Ticket, now: float) -> Ticket | None:
        """Return who has to make way for one that waits: of those that may be asked, the one that used most."""
        candidates = [ticket for ticket in (*self._holding, *self._overtime) if self._may_ask(ticket, waiter, now)]
        if self._at_limit(waiter):  # a slot of another's would not help
            candidates = [ticket for ticket in candidates if ticket.flow.client == waiter.flow.client]
        return max(candidates, key=lambda ticket: self._use(ticket, now), default=None)

    def _may_ask(self, holder: Ticket, waiter: Ticket, now: float) -> bool:
        """Whether a holder is past the quantum, and belongs to a far heavier user, or has been waited for for long."""
        if holder.asked or now - holder.began < self.quantum_seconds:
            return False
        if now - waiter.entered >= PATIENCE_QUANTA * self.quantum_seconds:
            return True
        same = holder.flow.client == waiter.flow.client
        used, other = (self._use(ticket, now)[same] for ticket in (holder, waiter))
        return used >= 2.0 * other + self.quantum_seconds

    def _use(self, ticket: Ticket, now: float) -> tuple[float, float]:
        """Return the slot time that a ticket's address and its tab have recently used."""
        return self._clients[ticket.flow.client].at(now), self._tabs[ticket.flow].at(now)

    # waiting

    def _places(self, ticket: Ticket, poll_seconds: float | None) -> Iterator[int]:
        last, told = 0, self._clock()
        while True:
            if self._clock() >= self._next_review:
                self.review()
            with self._changed:
                if ticket.ended:
                    raise Superseded("cancelled while it waited in the queue")
                if ticket.granted:
                    return
                place = self._in_order().index(ticket) + 1
                due = poll_seconds is not None and self._clock() - told >= poll_seconds
                if place == last and not due:
                    self._changed.wait(min(REVIEW_SECONDS, poll_seconds or REVIEW_SECONDS))
                    continue
            last, told = place, self._clock()
            yield place


def _ranked(
    tickets: list[Ticket], group_of: Callable[[Ticket], Group], used: Mapping[Group, SlotTime], now: float
) -> list[Ticket]:
    """Return tickets in the order in which their groups get slots: fewest held, then least used, then first come."""
    oldest: dict[Group, float] = {}
    for ticket in tickets:
        group = group_of(ticket)
        oldest[group] = min(oldest.get(group, ticket.entered), ticket.entered)
    standing = {group: used[group].at(now) - AGEING * (now - since) for group, since in oldest.items()}
    turns: Counter[Group] = Counter()
    rank: dict[Ticket, tuple[int, float, float]] = {}
    for ticket in tickets:
        group = group_of(ticket)
        rank[ticket] = used[group].held + turns[group], standing[group], oldest[group]
        turns[group] += 1
    return sorted(tickets, key=rank.__getitem__)
