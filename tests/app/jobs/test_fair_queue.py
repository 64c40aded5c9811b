"""FairQueue: how many hold one, who is next, and what those who wait are told."""

from __future__ import annotations

import itertools
import statistics
import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config import Config
from app.errors import Busy, Superseded
from app.jobs.fair_queue import MAX_TABS_PER_CLIENT, REVIEW_SECONDS, TAB_MEMORY_SECONDS, FairQueue, Ticket
from app.jobs.long_jobs import OVERDUE, REST, LongJobs
from app.jobs.slot_time import HALF_LIFE_SECONDS, SlotTime
from tests.app.jobs.simulation import MAKES_WAY_SECONDS, Simulation


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


def test_a_class_waits_in_seats_of_its_own() -> None:
    students = {"school": 5}
    queue = FairQueue(1, waiting=3, waiting_per_client=2, seats=lambda client: students.get(client, 0))
    queue.enter("attacker")
    for _ in range(2):
        queue.enter("attacker")
    queue.enter("another attacker")
    with pytest.raises(Busy, match="3 requests are waiting"):
        queue.enter("visitor")
    seated = [queue.enter("school", f"student {number}") for number in range(5)]
    assert queue.waiting == 8
    with pytest.raises(Busy, match="8 requests are waiting"):
        queue.enter("school", "a guest")
    seated[0].end()
    queue.enter("school", "student 0")
    students.clear()  # they left: those who wait stay, nobody follows
    with pytest.raises(Busy, match="5 of your requests"):
        queue.enter("school", "student 1")


def test_a_class_brings_no_more_than_its_students_and_the_bound_of_an_address() -> None:
    queue = FairQueue(1, waiting=100, waiting_per_client=2, seats=lambda client: 3)
    queue.enter("other")
    for _ in range(5):
        queue.enter("school")
    with pytest.raises(Busy, match="5 of your requests"):
        queue.enter("school")


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
        sent = Counter(ticket.flow.client for ticket in alive)
        useful = sum(min(max(1, capacity - 1), requests) for requests in sent.values())
        assert queue.held == min(capacity, useful)
        assert queue.waiting == len(alive) - queue.held
        assert sum(ticket.granted for ticket in alive) == queue.held


# On a simulated clock


def test_one_address_leaves_a_slot_to_whoever_comes() -> None:
    simulation = Simulation()
    for tab in range(40):
        simulation.keep_sending("attacker", 8.0, tab=str(tab))
    victims = [simulation.send("victim", 5.0 * n, 0.3) for n in range(1, 20)]
    simulation.run(110.0)
    assert max(victim.waited for victim in victims) == 0.0


@given(addresses=st.integers(1, 12), sleep=st.floats(0.5, 8.0), begin=st.floats(15.0, 30.0))
@settings(deadline=None, max_examples=12)
def test_a_newcomer_waits_for_a_quantum_however_many_addresses_sleep(
    addresses: int, sleep: float, begin: float
) -> None:
    simulation = Simulation()
    for number in range(addresses):
        for tab in "abc":
            simulation.keep_sending(f"attacker {number}", sleep, tab)
    victim = simulation.send("victim", begin, 0.3)
    simulation.run(begin + 15.0)
    assert victim.ended is not None
    assert victim.waited <= simulation.quantum + MAKES_WAY_SECONDS + 2 * REVIEW_SECONDS


def test_a_short_run_does_not_wait_for_a_ladder() -> None:
    simulation = Simulation(capacity=1, overtime=0, quantum=20.0)
    simulation.keep_sending("climber", 600.0)
    victim = simulation.send("victim", 50.0, 1.0)
    soon = simulation.send("another", 55.0, 1.0)
    simulation.run(100.0)
    assert victim.waited <= MAKES_WAY_SECONDS + 2 * REVIEW_SECONDS
    assert soon.waited <= simulation.quantum + 2.0


def two_queues(long_patience: float = 30.0) -> tuple[list[float], FairQueue, FairQueue]:
    """Return a clock, and the queues of a server with two processors: of compilations and of measurements."""
    now = [0.0]
    compiling = FairQueue(4, waiting=100, waiting_per_client=100, clock=lambda: now[0])
    measuring = FairQueue(
        1, waiting=100, waiting_per_client=100, first=compiling, long_patience=long_patience, clock=lambda: now[0]
    )
    return now, compiling, measuring


def test_a_long_request_comes_after_short_ones_that_came_later() -> None:
    now, queue, _ = two_queues()
    running = queue.enter("holder", long=True)
    holders = [queue.enter(f"holder {number}") for number in range(3)]
    long, short = queue.enter("a", long=True), queue.enter("b")
    assert [next(ticket.places()) for ticket in (short, long)] == [1, 2]
    holders.pop().end()
    assert (short.granted, long.granted) == (True, False)
    now[0] = 1.0
    running.end()
    assert not long.granted, "short ones hold half of the slots, and a long one has just ended"
    holders.pop().end()
    holders.pop().end()
    assert long.granted, "nobody is in a hurry"


def test_a_measurement_waits_for_compilations_and_rests_after_each() -> None:
    now, compiling, measuring = two_queues(long_patience=100.0)
    short = [compiling.enter(name) for name in "ab"]
    first, second = measuring.enter("c"), measuring.enter("d")
    assert (first.granted, second.granted) == (True, False)
    now[0] = 2.0
    first.end()
    assert not second.granted
    now[0] = 2.0 + 2.0 * REST * 0.8
    measuring.review()
    assert not second.granted
    now[0] = 2.0 + 2.0 * REST * 0.9  # a tenth of its patience has passed
    measuring.review()
    assert second.granted
    third = measuring.enter("e")
    now[0] += 1.0
    second.end()
    assert not third.granted
    for ticket in short:
        ticket.end()
    measuring.review()
    assert third.granted, "nobody is in a hurry"


def test_long_requests_end_however_many_short_ones_come() -> None:
    simulation = Simulation()
    for number in range(40):
        simulation.keep_sending(f"typist {number}", 0.5)
    models = [simulation.send(f"modeller {number}", 5.0, 1.5, long=True) for number in range(20)]
    simulation.run(100.0)
    assert all(model.ended is not None and model.waited < 60.0 for model in models)
    typed = [script.waited for script in simulation.sent if not script.long and script.ended is not None]
    assert max(typed) < 2 * statistics.median(typed), "and the others are served in turn meanwhile"


def test_long_requests_run_beside_each_other_once_they_are_overdue() -> None:
    jobs = LongJobs(patience=20.0)
    assert not jobs.may_begin(1, OVERDUE * 20.0, 100.0, hurried=True, slots=4)
    assert jobs.may_begin(1, OVERDUE * 20.0 + 1.0, 100.0, hurried=True, slots=4)
    assert not jobs.may_begin(2, OVERDUE * 20.0 + 1.0, 100.0, hurried=True, slots=4), (
        "half of the slots are for short ones"
    )


def test_a_long_request_does_not_count_against_the_short_ones_of_its_client() -> None:
    now, queue, _ = two_queues()
    model = queue.enter("modeller", long=True)
    now[0] = 8.0
    model.end()
    holders = [queue.enter(f"holder {number}") for number in range(4)]
    mine = queue.enter("modeller")
    now[0] = 9.0
    queue.enter("another")
    assert queue.places_of("modeller") == [1]
    holders[0].end()
    assert mine.granted


def test_nobody_is_stopped_while_nobody_waits() -> None:
    simulation = Simulation(capacity=1, overtime=0, quantum=2.0)
    alone = simulation.send("a", 0.0, 100.0)
    simulation.run(120.0)
    assert alone.ended == pytest.approx(100.0, abs=1.0)


@given(st.lists(st.floats(0.2, 8.0), min_size=2, max_size=6))
@settings(deadline=None, max_examples=6)
def test_addresses_that_always_wait_get_equal_shares_whatever_their_scripts_take(durations: list[float]) -> None:
    simulation = Simulation(capacity=2, overtime=0)
    for number, seconds in enumerate(durations):
        for tab in "ab":
            simulation.keep_sending(f"client {number}", seconds, tab)
    simulation.run(240.0)
    shares: Counter[str] = Counter()
    for script in simulation.sent:
        if script.ticket is not None and script.ticket.granted:
            shares[script.client] += (script.ended or simulation.now) - script.ticket.began
    fair = sum(shares.values()) / len(durations)
    assert all(share == pytest.approx(fair, abs=20.0) for share in shares.values()), shares


def test_a_stream_of_newcomers_starves_nobody() -> None:
    simulation = Simulation(capacity=2, overtime=0)
    simulation.send("heavy", 0.0, 8.0)
    simulation.send("heavy", 8.0, 8.0)
    for number in range(600):
        simulation.send(f"newcomer {number}", 16.0 + number / 2, 1.5)
    late = simulation.send("heavy", 30.0, 1.0)
    simulation.run(250.0)
    assert late.ended is not None


def test_a_fresh_tab_does_not_go_before_one_that_is_known() -> None:
    now = [0.0]
    queue = FairQueue(1, waiting=100, waiting_per_client=100, clock=lambda: now[0])
    queue.enter("class", "pupil").end()
    now[0] = 5.0
    holder = queue.enter("class", "attacker")
    forged = [queue.enter("class", f"forged {number}") for number in range(10)]
    pupil = queue.enter("class", "pupil")
    assert queue.places_of("class", "pupil") == [1]
    holder.end()
    assert pupil.granted
    assert not any(ticket.granted for ticket in forged)


def test_tabs_beyond_those_of_a_class_compete_as_one() -> None:
    now = [0.0]
    queue = FairQueue(1, waiting=1000, waiting_per_client=1000, clock=lambda: now[0])
    pupils = [f"pupil {number}" for number in range(MAX_TABS_PER_CLIENT)]
    for tab in pupils:
        queue.enter("class", tab).end()
    forged = [f"forged {number}" for number in range(300)]
    for tab in forged:
        queue.enter("class", tab).end()
    now[0] = TAB_MEMORY_SECONDS / 2  # all are as old, and have used as little
    holder = queue.enter("another", "holder")
    waiting = {tab: queue.enter("class", tab) for tab in (*forged, *pupils)}
    places = {tab: place for place, tab in enumerate(_order_of(holder, waiting), 1)}
    assert max(places[tab] for tab in pupils) <= len(pupils) + 1


def test_a_class_of_a_hundred_behind_one_address_is_served_in_turn() -> None:
    """Each sends the next script six seconds after the last has ended; all waiting at once is nothing special."""
    config = Config()
    simulation = Simulation(seats=100, waiting=config.waiting, waiting_per_client=config.waiting_per_client)

    def work(student: str, when: float) -> None:
        simulation.send("school", when, 1.0, student, then=lambda: work(student, simulation.now + 6.0))

    for number in range(100):
        work(f"student {number}", number / 100)
    simulation.run(120.0)
    waited = sorted(script.waited for script in simulation.sent if script.ticket is not None and script.ticket.granted)
    assert len(waited) > 300
    assert waited[-1] < 1.5 * waited[len(waited) // 2], "nobody waits much longer than the others"


def test_every_student_behind_an_address_competes_on_their_own() -> None:
    queue = FairQueue(1, waiting=8, waiting_per_client=8, seats=lambda client: 60)
    tabs = [f"student {number}" for number in range(MAX_TABS_PER_CLIENT + 60)]
    flows = []
    for tab in tabs:
        with queue.enter("school", tab) as ticket:
            flows.append(ticket.flow.tab)
    assert flows == tabs
    with queue.enter("school", "one more") as ticket:
        assert ticket.flow.tab == ""


def test_tabs_of_which_nothing_came_for_long_make_room_for_others() -> None:
    now = [0.0]
    queue = FairQueue(1, waiting=8, waiting_per_client=8, clock=lambda: now[0])
    for number in range(MAX_TABS_PER_CLIENT):
        queue.enter("class", f"yesterday {number}").end()
    holder = queue.enter("another")
    early = queue.enter("class", "early")
    assert (early.flow.tab, queue.places_of("class", "early")) == ("", [1])
    early.end()
    holder.end()
    now[0] = TAB_MEMORY_SECONDS + 1.0
    assert queue.enter("class", "late").flow.tab == "late"


def _order_of(holder: Ticket, waiting: dict[str, Ticket]) -> list[str]:
    """Return the names of those who wait, in the order in which they get the only slot."""
    order: list[str] = []
    holder.end()
    while len(order) < len(waiting):
        [(tab, ticket)] = [(tab, ticket) for tab, ticket in waiting.items() if ticket.granted and not ticket.ended]
        order.append(tab)
        ticket.end()
    return order


def test_what_was_used_is_forgotten_by_halves() -> None:
    used = SlotTime(0.0)
    used.hold(0.0, 1)
    used.hold(10.0, -1)
    at_ten = used.at(10.0)
    assert 9.0 < at_ten < 10.0
    assert used.at(10.0 + HALF_LIFE_SECONDS) == pytest.approx(at_ten / 2)


def test_who_is_asked_before_it_listens_hears_of_it_then() -> None:
    now = [0.0]
    queue = FairQueue(1, waiting=8, waiting_per_client=4, quantum_seconds=1.0, clock=lambda: now[0])
    holder = queue.enter("a")
    queue.enter("b")
    now[0] = 5.0
    queue.review()
    heard: list[str] = []
    holder.when_asked(lambda: heard.append("asked"))
    assert (holder.asked, heard) == (True, ["asked"])
