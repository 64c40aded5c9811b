"""The tool that takes checks away, on a small room: what is caught, what nobody misses, and what never ends."""

from __future__ import annotations

import pytest

from tests.outside.mutations.mutants import mutated
from tests.outside.mutations.rooms import ROOMS, Room
from tests.outside.mutations.survey import Limits, Survey, survey

CODE = """
def positive(n):
    if n <= 0:
        raise ValueError("not positive")
    return n


def small(n):
    if n > 10 or n < -10:
        raise ValueError("not small")
    return n


def countdown(n):
    while n != 0:
        if n < 0:
            raise ValueError("never ends")
        n -= 1


def check_even(n):
    if n % 2:
        raise ValueError("odd")


def half(n):
    check_even(n)
    return n // 2


def is_digit(n) -> bool:
    return 0 <= n <= 9


def square_root(n):
    if n is None:
        return None
    try:
        return {0: 0, 1: 1, 4: 2}[n]
    except KeyError:
        return None


def is_lighter(n, m) -> bool:
    return n < m


def spoilt(n):
    if n:
        raise NotImplementedError
"""

TESTS = """
import subprocess, sys
import pytest
from limits.code import countdown, half, is_digit, is_lighter, positive, small

def test_positive():
    assert positive(1) == 1
    with pytest.raises(ValueError):
        positive(-1)

def test_small():
    assert small(1) == 1
    try:
        small(11)
    except ValueError:
        pass

def test_countdown():
    countdown(3)
    with pytest.raises(ValueError):
        countdown(-1)

def test_half_in_another_process():
    code = "from limits.code import half; half(4); half(5)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ValueError: odd" in ended.stderr

@pytest.fixture(scope="module")
def lighter():
    return is_lighter(1, 2)

def test_first_of_those_that_share_a_fixture(lighter):
    pass

def test_last_of_those_that_share_a_fixture(lighter):
    assert lighter

def test_digits():
    assert is_digit(3)
    assert not is_digit(10)

def test_that_fails_anyway():
    assert half(2) == 2
"""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Room:
    root = tmp_path_factory.mktemp("room")
    files = {"limits/__init__.py": '"""Limits."""\n', "limits/code.py": CODE, "checks/test_limits.py": TESTS}
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    return Room("limits", ["checks"], root=root)


@pytest.fixture(scope="module")
def result(room: Room) -> Survey:
    mutants, _ = mutated(room)
    return survey(room, mutants, Limits(jobs=2, slack=1))


def verdicts(result: Survey, kind: str) -> dict[str, str]:
    return {t.mutant.text: t.verdict for t in result.tried if t.mutant.kind == kind}


def test_a_mutant_is_caught_survives_or_is_not_reached(result: Survey) -> None:
    assert verdicts(result, "raise") == {
        "raise ValueError('not positive')  →  pass": "caught",
        "raise ValueError('not small')  →  pass": "survived",
        "raise ValueError('never ends')  →  pass": "caught",
        "raise ValueError('odd')  →  pass": "caught",
    }
    assert verdicts(result, "part") == {
        "n > 10  →  False (or …)": "survived",
        "n < -10  →  False (or …)": "unreached",
        "0 <= n  →  True (and …)": "unreached",
        "n <= 9  →  True (and …)": "caught",
    }
    assert verdicts(result, "answer") == {
        "return 0 <= n <= 9  →  return False": "caught",
        "return 0 <= n <= 9  →  return True": "caught",
        "return n < m  →  return False": "caught",
        "return n < m  →  return True": "unreached",
    }


def test_a_boundary_is_reached_only_by_what_lies_on_it(result: Survey) -> None:
    assert set(verdicts(result, "boundary").values()) == {"unreached"}
    assert result.counts("boundary").total() == 7


def test_an_exit_at_the_end_of_a_function_makes_no_mutant(result: Survey) -> None:
    assert verdicts(result, "exit") == {"return None  →  pass": "unreached"}
    assert result.counts("exit").total() == 1


def test_a_mutant_that_never_ends_is_stopped(result: Survey) -> None:
    (endless,) = (t for t in result.tried if "never ends" in t.mutant.text)
    assert endless.how == "too slow"
    assert endless.by.endswith("::test_countdown")


def test_a_mutant_is_one_in_other_processes_too(result: Survey) -> None:
    assert verdicts(result, "check") == {"check_even(n)  →  pass": "caught"}
    (odd,) = (t for t in result.tried if "odd" in t.mutant.text)
    assert odd.by.endswith("::test_half_in_another_process")


def test_tests_that_fail_without_a_mutant_catch_none(result: Survey) -> None:
    assert [test.rpartition("::")[2] for test in result.failing] == ["test_that_fails_anyway"]


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_tests_and_mutants(name: str) -> None:
    room = ROOMS[name]
    mutants, sources = mutated(room)
    assert mutants
    assert [mutant.number for mutant in mutants] == list(range(len(mutants)))
    assert all((room.root / path).exists() for path in (*room.tests, *sources))
    for path, text in sources.items():
        compile(text, path, "exec")
    for pattern in room.bounds:
        assert list((room.root / room.source).glob(pattern)), pattern
