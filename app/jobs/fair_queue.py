"""A fair queue for a limited number of slots.

Who goes next is decided by decay usage scheduling (:mod:`app.jobs.slot_time`) at two levels: the address that holds
fewest slots and has used least slot time lately, then of its tabs the one of which the same is true, then the request
that came first.  What counts is the time a slot is held: a script that sleeps counts like one that computes.

- One address never holds all slots: the last one is for whoever comes.
- How many of one address may wait, and how many of its tabs compete, is bounded.  An address with a class behind it has
  as many places more as students sit there, and those places count for nobody else.
- A request that has held its slot for a quantum, and belongs to somebody who has used far more than one who waits, goes
  on in overtime: its slot is granted to the other.  Once the places for overtime are taken, it is asked to make way.
  Somebody who has waited for long may make anyone past the quantum do so.  Demoting long jobs is what multi-level
  feedback queues do: F. J. Corbató et al., "An Experimental Time-Sharing System", AFIPS 1962.
- Waiting counts in one's favour, so that no stream of newcomers starves anybody.
- Long requests come after short ones, at the pace of :mod:`app.jobs.long_jobs`.
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

from app.counts import WAITS
from app.errors import Busy, Superseded
from app.jobs.callers import waiting
from app.jobs.long_jobs import LongJobs
from app.jobs.slot_time import SlotTime

AGEING = 0.125
"""Seconds of use that are forgiven per second of waiting."""
PATIENCE_QUANTA = 2.0
"""The waiting time, in quanta, after which any slot held for a quantum may be reclaimed."""
REVIEW_SECONDS = 0.25
"""The interval at which waiting requests check for slots to reclaim."""
FRESH_TAB_SECONDS = 30.0
"""The initial use of a new tab, so that opening tabs gives no advantage."""
MAX_REMEMBERED = 4096
"""The maximum number of addresses and of tabs whose use is remembered."""
MAX_TABS_PER_CLIENT = 48
"""The maximum number of competing tabs per address, besides one for each seat; further ones share a place."""
TAB_MEMORY_SECONDS = 600.0
"""The time after which an idle tab no longer counts among those of its address."""
_SMOOTHING = 0.2


class Flow(NamedTuple):
    """A tab of an address, the unit that competes for slots."""

    client: str
    tab: str


Group = TypeVar("Group", str, Flow)


class Ticket:
    """A request in the queue, which waits for, holds and releases a slot; a context manager that releases it."""

    def __init__(self, queue: FairQueue, flow: Flow, tab: str, entered: float, *, long: bool) -> None:
        self._queue = queue
        self.flow = flow
        self.tab = tab
        self.long = long
        self.entered = entered
        self.began = 0.0
        self.granted = False
        self.ended = False
        self.asked = False
        """Whether its slot is reclaimed."""
        self._on_asked: Callable[[], None] | None = None
        self.settled = threading.Condition(queue._lock)
        """Notified when it is granted or ended; one for all would wake everybody who waits each time."""

    def places(self, poll_seconds: float | None = None) -> Iterator[int]:
        """Yield the place in the queue (1 is next) whenever it changes, until a slot is granted.

        Parameters
        ----------
        poll_seconds
            Yield the unchanged place at least this often.

        Raises
        ------
        Superseded
            If another thread ended the ticket.
        """
        return self._queue._places(self, poll_seconds)

    def wait(self) -> Self:
        """Wait until a slot is granted."""
        for _ in self.places():
            continue
        return self

    def when_asked(self, make_way: Callable[[], None]) -> None:
        """Register ``make_way``, which is called once, from any thread, when the slot is reclaimed."""
        self._on_asked = make_way
        if self.asked:
            self._tell()

    def _tell(self) -> None:
        make_way, self._on_asked = self._on_asked, None
        if make_way is not None:
            make_way()

    def end(self) -> None:
        """Release the slot or leave the queue; idempotent."""
        self._queue._end(self)

    def __enter__(self) -> Self:
        return self.wait()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.end()


class FairQueue:
    """Grants slots to clients by their recent slot time.

    Parameters
    ----------
    capacity : int
        The number of slots.
    name : str
        What it is called where waits are counted.
    waiting : int
        The maximum number of waiting requests, besides those that have a seat.
    waiting_per_client : int
        The same for one client.
    typical_seconds : float
        The initial estimate of the holding time, which determines the retry time of rejected requests.
    quantum_seconds : float
        The guaranteed holding time.
    overtime : int
        The number of requests past the quantum that may run in addition to those with slots.
    seats : callable
        Returns how many students of classes a client brings; each has a seat, a place for one waiting request.
    first : FairQueue, optional
        The queue of short requests on the same processors; then all of this one are long.
    long_patience : float
        Seconds after which a long request is no longer held back for short ones; see :mod:`app.jobs.long_jobs`.
    clock : callable
        Returns seconds; replaced in tests.
    """

    def __init__(
        self,
        capacity: int,
        *,
        name: str = "",
        waiting: int,
        waiting_per_client: int,
        typical_seconds: float = 1.0,
        quantum_seconds: float = 2.0,
        overtime: int = 0,
        seats: Callable[[str], int] = lambda client: 0,
        first: FairQueue | None = None,
        long_patience: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capacity = capacity
        self._name = name
        self.quantum_seconds = quantum_seconds
        self._max_held = max(1, capacity - 1)
        self._max_overtime = overtime
        self._max_waiting = waiting
        self._max_waiting_per_client = waiting_per_client
        self._typical = typical_seconds
        self._seats = seats
        self._clock = clock
        self._first = first
        self._long_jobs = LongJobs(long_patience)
        self._clients: OrderedDict[str, SlotTime] = OrderedDict()
        self._tabs: OrderedDict[Flow, SlotTime] = OrderedDict()
        self._queue: list[Ticket] = []
        self._ordered = True
        self._holding: list[Ticket] = []
        self._overtime: list[Ticket] = []
        self._next_review = 0.0
        self._lock = threading.RLock()

    def resize(self, capacity: int, overtime: int = 0) -> None:
        """Change the number of slots; excess ones are removed when they are released.

        Parameters
        ----------
        capacity : int
            The number of slots.
        overtime : int
            The number of requests past the quantum that may run in addition to those with slots.
        """
        with self._lock:
            self.capacity = capacity
            self._max_held = max(1, capacity - 1)
            self._max_overtime = overtime
            self._grant()

    def enter(self, client: str, tab: str = "", *, long: bool = False) -> Ticket:
        """Join the queue.

        Parameters
        ----------
        client : str
            The address, among which slots are shared.
        tab : str
            The tab, among which the slots of a client are shared.
        long : bool
            Whether short requests go first.

        Raises
        ------
        Busy
            If too many requests of this client or in total are waiting; includes the retry time.
        """
        with self._lock:
            self._check_places(client)
            long = long or self._first is not None
            ticket = Ticket(self, self._flow_of(client, tab), tab, self._clock(), long=long)
            self._remember(ticket.flow)
            self._queue.append(ticket)
            self._grant()
        self.review()
        return ticket

    @contextmanager
    def turn(self, client: str, tab: str = "", *, long: bool = False) -> Iterator[Ticket]:
        """Wait for a slot and hold it within the context; cancelled if the caller disconnects.

        Parameters
        ----------
        client, tab, long
            As in :meth:`enter`.

        Raises
        ------
        Busy
            If too many requests are waiting.
        Superseded
            If the caller has disconnected.
        """
        ticket = self.enter(client, tab, long=long)
        with waiting(ticket.end):
            try:
                ticket.wait()
                yield ticket
            finally:
                ticket.end()

    @property
    def held(self) -> int:
        """The number of requests that hold a slot or are in overtime."""
        with self._lock:
            return len(self._holding) + len(self._overtime)

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        with self._lock:
            return len(self._queue)

    @property
    def hurried(self) -> bool:
        """Whether short requests wait, or hold half of the slots, which all processors are busy with."""
        with self._lock:
            short = sum(not ticket.long for ticket in self._holding)
            return 2 * short >= self.capacity or not all(ticket.long for ticket in self._queue)

    def places_of(self, client: str, tab: str = "") -> list[int]:
        """Return the places of a client's waiting tickets in ascending order, optionally of one tab."""
        with self._lock:
            return [
                place
                for place, ticket in enumerate(self._in_order(), 1)
                if ticket.flow.client == client and tab in ("", ticket.tab)
            ]

    def review(self) -> None:
        """Reclaim slots of the heaviest users for waiting requests, if due."""
        with self._lock:
            now = self._clock()
            self._next_review = now + REVIEW_SECONDS
            if any(ticket.long for ticket in self._queue):
                self._grant()
            asked = self._make_way(now)
        for ticket in asked:
            ticket._tell()

    # who goes next

    def _check_places(self, client: str) -> None:
        """Refuse a request if all seats of its client are taken, and there are too many without one."""
        waiting = Counter(ticket.flow.client for ticket in self._queue)
        mine, seats = waiting[client], self._seats(client)
        if mine < seats:
            return
        retry = max(1, math.ceil(self._typical * (len(self._queue) + 1) / self.capacity))
        if mine - seats >= self._max_waiting_per_client:
            raise Busy(f"{mine} of your requests are waiting already", retry_after=retry)
        if sum(max(0, count - self._seats(name)) for name, count in waiting.items()) >= self._max_waiting:
            raise Busy(f"the server is busy: {len(self._queue)} requests are waiting", retry_after=retry)

    def _flow_of(self, client: str, tab: str) -> Flow:
        """Return the flow of a request: its tab, unless its address has too many.

        Tab names are chosen by the page, so that many tabs do not prove many users.
        """
        flow = Flow(client, tab)
        if flow in self._tabs:
            return flow
        tabs = [other for other in self._tabs if other.client == client]
        if len(tabs) < MAX_TABS_PER_CLIENT + self._seats(client):
            return flow
        now, present = self._clock(), self._present()
        absent = [other for other in tabs if other not in present and self._tabs[other].idle(now) > TAB_MEMORY_SECONDS]
        for other in absent:
            del self._tabs[other]
        return flow if absent else Flow(client, "")

    def _present(self) -> set[Flow]:
        """Return the tickets that hold a slot or wait."""
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
        """Forget the flows that have been idle the longest."""
        if len(self._clients) <= MAX_REMEMBERED and len(self._tabs) <= MAX_REMEMBERED:
            return
        present = self._present()
        clients = {flow.client for flow in present}
        for client in [name for name in self._clients if name not in clients][: len(self._clients) - MAX_REMEMBERED]:
            del self._clients[client]
        for flow in [flow for flow in self._tabs if flow not in present][: len(self._tabs) - MAX_REMEMBERED]:
            del self._tabs[flow]

    def _in_order(self) -> list[Ticket]:
        """Return the waiting tickets in the order in which they would get slots."""
        if not self._ordered:
            now = self._clock()
            by_tab = _ranked(self._queue, lambda ticket: ticket.flow, self._tabs, now)
            ranked = _ranked(by_tab, lambda ticket: ticket.flow.client, self._clients, now)
            # Long ones that are due, short ones, long ones that are not.
            self._queue = sorted(ranked, key=lambda each: 1 if not each.long else 0 if self._due(each, now) else 2)
            self._ordered = True
        return self._queue

    def _due(self, ticket: Ticket, now: float) -> bool:
        """Whether a request need not be held back for short ones."""
        if not ticket.long:
            return True
        running = sum(other.long for other in (*self._holding, *self._overtime))
        hurried = self.hurried or (self._first is not None and self._first.hurried)
        waited = now - ticket.entered
        return self._long_jobs.may_begin(running, waited, now, hurried=hurried, slots=self.capacity)

    def _grant(self) -> None:
        """Grant free slots; remaining ones go to requests in overtime."""
        self._ordered = False
        while len(self._holding) < self.capacity and (ticket := self._next()) is not None:
            self._queue.remove(ticket)
            self._hold(ticket, 1)
            self._holding.append(ticket)
            ticket.granted = True
            ticket.began = self._clock()
            ticket.settled.notify_all()
            WAITS.add(self._name, ticket.began - ticket.entered)
            self._ordered = False
        while not self._queue and self._overtime and len(self._holding) < self.capacity:
            self._holding.append(self._overtime.pop(0))

    def _next(self) -> Ticket | None:
        """Return the request that gets the next slot."""
        now = self._clock()
        return next((each for each in self._in_order() if not self._at_limit(each) and self._due(each, now)), None)

    def _at_limit(self, ticket: Ticket) -> bool:
        return self._clients[ticket.flow.client].held >= self._max_held

    def _hold(self, ticket: Ticket, slots: int) -> None:
        now = self._clock()
        charged = not ticket.long or self._first is not None  # what came after short requests is not held against them
        self._clients[ticket.flow.client].hold(now, slots, charged=charged)
        self._tabs[ticket.flow].hold(now, slots, charged=charged)

    def _end(self, ticket: Ticket) -> None:
        with self._lock:
            if ticket.ended:
                return
            ticket.ended = True
            ticket.settled.notify_all()
            if ticket.granted:
                (self._overtime if ticket in self._overtime else self._holding).remove(ticket)
                self._hold(ticket, -1)
                if ticket.long:
                    self._long_jobs.ended(ticket.began, self._clock())
                self._typical += _SMOOTHING * (self._clock() - ticket.began - self._typical)
            else:
                self._queue.remove(ticket)
            self._grant()
        self.review()

    # who makes way

    def _make_way(self, now: float) -> list[Ticket]:
        """Grant the slots of requests that enter overtime, and return the newly reclaimed tickets."""
        asked: list[Ticket] = []
        passed_over = sum(ticket.asked for ticket in (*self._holding, *self._overtime))
        while passed_over < len(self._queue):
            waiter = self._in_order()[passed_over]
            holder = self._heaviest(waiter, now) if self._due(waiter, now) else None
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
        """Return the ticket to reclaim for a waiting one: the heaviest user among those that may be asked."""
        candidates = [ticket for ticket in (*self._holding, *self._overtime) if self._may_ask(ticket, waiter, now)]
        if self._at_limit(waiter):  # another flow's slot would not help
            candidates = [ticket for ticket in candidates if ticket.flow.client == waiter.flow.client]
        return max(candidates, key=lambda ticket: self._use(ticket, now), default=None)

    def _may_ask(self, holder: Ticket, waiter: Ticket, now: float) -> bool:
        """Whether a holder is past the quantum and longer, a much heavier user, or has been waited for long."""
        if holder.asked or now - holder.began < self.quantum_seconds:
            return False
        if holder.long > waiter.long or now - waiter.entered >= PATIENCE_QUANTA * self.quantum_seconds:
            return True
        same = holder.flow.client == waiter.flow.client
        used, other = (self._use(ticket, now)[same] for ticket in (holder, waiter))
        return used >= 2.0 * other + self.quantum_seconds

    def _use(self, ticket: Ticket, now: float) -> tuple[float, float]:
        """Return the slot time that a ticket's address and its tab have recently used."""
        return self._clients[ticket.flow.client].at(now), self._tabs[ticket.flow].at(now)

    # waiting

    def _places(self, ticket: Ticket, poll_seconds: float | None) -> Iterator[int]:
        last, reported = 0, self._clock()
        while True:
            if self._clock() >= self._next_review:
                self.review()
            with self._lock:
                if ticket.ended:
                    raise Superseded("cancelled while it waited in the queue")
                if ticket.granted:
                    return
                place = self._in_order().index(ticket) + 1
                due = poll_seconds is not None and self._clock() - reported >= poll_seconds
                if place == last and not due:
                    ticket.settled.wait(min(REVIEW_SECONDS, poll_seconds or REVIEW_SECONDS))
                    continue
            last, reported = place, self._clock()
            yield place


def _ranked(
    tickets: list[Ticket], group_of: Callable[[Ticket], Group], used: Mapping[Group, SlotTime], now: float
) -> list[Ticket]:
    """Sort tickets by their groups: fewest slots held, least slot time used, first come."""
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
