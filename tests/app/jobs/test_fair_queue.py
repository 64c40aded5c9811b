"""FairQueue: how many hold one, who is next, and what those who wait are told."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Busy, Superseded
from app.jobs.fair_queue import FairQueue, Ticket


def make(capacity: int = 1, waiting: int = 8, waiting_per_client: int = 4) -> FairQueue:
    return FairQueue(capacity, waiting=waiting, waiting_per_client=waiting_per_client)


def test_a_free_turn_is_held_at_once() -> None:
    queue = make(capacity=2)
    first, second, third = (queue.enter(name) for name in "abc")
    assert (first.granted, second.granted, third.granted) == (True, True, False)
    assert (queue.held, queue.waiting) == (2, 1)
    second.end()
    assert third.granted


def test_who_waits_is_told_the_place_whenever_it_changes() -> None:
    queue = make()
    holder, second, third = (queue.enter(name) for name in "abc")
    places = third.places(poll_seconds=0.001)
    assert next(places) == 2
    holder.end()
    assert next(itertools.dropwhile(lambda place: place == 2, places)) == 1
    second.end()
    assert list(places) in ([], [1])
    assert third.granted


def test_clients_are_served_in_rotation() -> None:
    queue = make()
    holder = queue.enter("greedy")
    greedy = [queue.enter("greedy") for _ in range(3)]
    modest = queue.enter("modest")
    assert next(modest.places()) == 1, "who holds nothing comes before who holds one"
    assert [next(ticket.places()) for ticket in greedy] == [2, 3, 4]
    holder.end()
    assert modest.granted
    modest.end()
    assert [ticket.granted for ticket in greedy] == [True, False, False]


def test_too_many_are_sent_away_with_a_time() -> None:
    queue = make(waiting=3, waiting_per_client=2)
    queue.enter("a")
    queue.enter("a")
    queue.enter("a")
    with pytest.raises(Busy, match="2 of your requests") as mine:
        queue.enter("a")
    assert mine.value.retry_after is not None
    assert mine.value.retry_after >= 1
    queue.enter("b")
    with pytest.raises(Busy, match="3 requests are waiting"):
        queue.enter("c")


def test_giving_up_frees_the_place_and_tells_the_waiter() -> None:
    queue = make()
    holder, quitter, other = (queue.enter(name) for name in "abc")
    heard: list[type[Exception]] = []

    def wait() -> None:
        try:
            quitter.wait()
        except Superseded as error:
            heard.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    quitter.end()
    thread.join(10)
    assert heard == [Superseded]
    assert next(other.places()) == 1
    holder.end()
    assert other.granted


def test_a_turn_is_given_back_when_its_work_fails() -> None:
    queue = make()
    with pytest.raises(ZeroDivisionError), queue.enter("a"):
        raise ZeroDivisionError
    assert queue.held == 0


def test_a_tab_hears_of_its_own_places() -> None:
    queue = make()
    for tab in ("a", "b", "a"):
        queue.enter("class", tab)
    assert queue.places_of("class") == [1, 2]
    assert (queue.places_of("class", "b"), queue.places_of("class", "a")) == ([1], [2])
    assert queue.places_of("class", "c") == queue.places_of("other") == []


@given(st.integers(1, 3), st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=40))
def test_never_more_than_the_capacity_and_never_idle(capacity: int, moves: list[tuple[bool, int]]) -> None:
    queue = make(capacity, waiting=100, waiting_per_client=100)
    alive: list[Ticket] = []
    for enters, which in moves:
        if enters:
            alive.append(queue.enter(f"client {which}"))
        elif alive:
            alive.pop(which % len(alive)).end()
        assert queue.held == min(capacity, len(alive))
        assert queue.waiting == len(alive) - queue.held
        assert sum(ticket.granted for ticket in alive) == queue.held
