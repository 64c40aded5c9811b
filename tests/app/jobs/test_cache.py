"""The cache of answers: within its bytes, fair between clients, and found by workspace and by content."""

from __future__ import annotations

import random

import pytest

from app.jobs.answers import StoredAnswer
from app.jobs.cache import ENTRY_BYTES, KEY_BYTES, AnswerCache


def answer(name: str, size: int = 1_000, *listings: str) -> StoredAnswer:
    return StoredAnswer(
        key=name, packed=bytes(size), size=size, status="ok", listings=list(listings), drawings=[f"drawing {name}"]
    )


ONE = 1_000 + ENTRY_BYTES + 2 * KEY_BYTES
"""What an answer of 1,000 bytes with one key, and one workspace, counts as."""


def test_an_answer_is_found_by_workspace_and_by_content() -> None:
    cache = AnswerCache(10 * ONE)
    first, second = answer("a", 10, "shared", "own"), answer("b", 10, "shared")
    cache.put(first, "me", b"w")
    assert cache.get(b"w") is first
    assert cache.get(b"other") is None
    cache.put(second, "me")
    assert cache.holding("own") is first
    assert cache.holding("shared") is second
    assert cache.holding("drawing b") is second
    assert cache.holding("none") is None


def test_the_least_recently_used_goes_first_and_takes_its_keys_along() -> None:
    cache = AnswerCache(2 * ONE)
    for name in "ab":
        cache.put(answer(name), "me", name.encode())
    assert cache.get(b"a")
    cache.put(answer("c"), "me", b"c")
    assert cache.get(b"b") is None
    assert cache.holding("drawing b") is None
    assert cache.get(b"a")
    assert cache.holding("drawing a")
    assert cache.size == 2 * ONE


def test_what_is_shared_stays_with_the_answer_that_stays() -> None:
    cache = AnswerCache(2 * ONE + KEY_BYTES * 2)
    cache.put(answer("a", 1_000, "shared"), "me", b"a")
    cache.put(answer("b", 1_000, "shared"), "me", b"b")
    assert cache.get(b"a")
    cache.put(answer("c"), "me", b"c")
    assert cache.get(b"b") is None
    assert cache.holding("shared") is not None


def test_one_client_cannot_drive_out_the_answers_of_others() -> None:
    cache = AnswerCache(10 * ONE)
    for number in range(3):
        cache.put(answer(f"mine {number}"), "me", f"mine {number}".encode())
    for number in range(100):
        cache.put(answer(f"other {number}"), "greedy", f"other {number}".encode())
    assert all(cache.get(f"mine {number}".encode()) for number in range(3))
    assert cache.size <= 10 * ONE


def test_the_newest_stays_however_large() -> None:
    cache = AnswerCache(100)
    cache.put(answer("a", 1_000), "me", b"a")
    assert cache.get(b"a")
    cache.put(answer("b", 1_000), "me", b"b")
    assert cache.get(b"a") is None
    assert cache.get(b"b")


def test_many_workspaces_of_one_answer_count() -> None:
    cache = AnswerCache(100 * ONE)
    for number in range(1_000):
        cache.put(answer("same"), "me", str(number).encode())
    assert cache.size >= 1_000 * KEY_BYTES


@pytest.mark.parametrize("seed", range(5))
def test_any_use_stays_within_the_bytes_and_counts_them_right(seed: int) -> None:
    rng = random.Random(seed)
    cache = AnswerCache(20_000)
    for _ in range(500):
        name = str(rng.randint(0, 60))
        made = answer(name, rng.randint(0, 3_000), *(f"l{rng.randint(0, 20)}" for _ in range(rng.randint(0, 4))))
        cache.put(made, rng.choice("abc"), name.encode() if rng.random() < 0.7 else None)
        cache.get(str(rng.randint(0, 60)).encode())
        entries = cache._entries.values()
        assert cache.size == sum(entry.size for entry in entries)
        assert cache.size <= 20_000 or len(cache._entries) == 1
        assert set(cache._contents.values()) <= set(cache._entries)
        assert set(cache._workspaces.values()) <= set(cache._entries)
        assert {key for owned in cache._owned.values() for key in owned} == set(cache._entries)
