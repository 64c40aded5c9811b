"""Turns of several searches."""

from __future__ import annotations

from compiler.search.turns import Turns


def test_each_has_a_round_before_the_one_that_takes_most_and_still_gets_faster() -> None:
    seconds, turns, order = [5.0, 8.0, 1.0], Turns(3, "gradient"), []
    for after in ([4.0, 8.0, 1.0], [4.0, 8.0, 1.0], [4.0, 8.0, 1.0], [3.0, 8.0, 1.0], [3.0, 8.0, 1.0]):
        at = turns.next(seconds.__getitem__)
        assert at is not None
        turns.ended(at, seconds[at], after[at], goes_on=True)
        seconds = after
        order.append(at)
    # the second counts half after a round for nothing, as much as the first until that gets faster
    assert order == [0, 1, 2, 0, 1]


def test_in_turns_the_one_with_fewest_rounds_is_next_until_none_goes_on() -> None:
    turns, order = Turns(3, "round-robin"), []
    while (at := turns.next(lambda at: 0.0)) is not None:
        turns.ended(at, 1.0, 1.0, goes_on=at != 1 and order.count(at) < 1)
        order.append(at)
    assert order == [0, 1, 2, 0, 2]


def test_there_is_no_turn_of_no_search() -> None:
    assert Turns(0, "gradient").next(lambda at: 0.0) is None
