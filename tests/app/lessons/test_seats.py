"""Seats: how many students an address is known to bring."""

from __future__ import annotations

from dataclasses import dataclass

from app.lessons.seats import Seats


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_seat_is_held_for_a_while_after_each_report() -> None:
    clock = Clock()
    seats = Seats(clock, seconds=75.0, most=200)
    seats.take("class", b"mary", "10.0.0.1")
    clock.now = 60.0
    seats.take("class", b"john", "10.0.0.1")
    seats.take("class", b"mary", "10.0.0.1")
    assert (seats.at("10.0.0.1"), seats.at("10.0.0.2")) == (2, 0)
    clock.now = 130.0
    seats.take("class", b"john", "10.0.0.1")
    clock.now = 136.0
    assert seats.at("10.0.0.1") == 1
    clock.now = 300.0
    assert seats.at("10.0.0.1") == 0


def test_a_student_sits_where_they_reported_last_and_once_for_each_class() -> None:
    seats = Seats(Clock(), seconds=75.0, most=200)
    seats.take("class", b"mary", "school")
    seats.take("another class", b"mary", "school")
    assert seats.at("school") == 2
    seats.take("class", b"mary", "home")
    assert (seats.at("school"), seats.at("home")) == (1, 1)


def test_an_address_has_no_more_seats_than_a_class() -> None:
    seats = Seats(Clock(), seconds=75.0, most=3)
    for number in range(9):
        seats.take(f"class {number % 2}", bytes([number]), "crowd")
    assert seats.at("crowd") == 3
