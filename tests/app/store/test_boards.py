"""Boards: their order, who may do what, what they have room for, and how old databases get them."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect

from app.artifacts import Measurement
from app.errors import Forbidden, NotFound
from app.store.boards import PLACES, WAITING, Boards, NewEntry
from app.store.tables import ENTRIES, TABLES, create_tables

CPU = "A processor"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'boards.sqlite3'}"


@pytest.fixture
def boards(url: str) -> Iterator[Boards]:
    with create_engine(url).begin() as connection:
        create_tables(connection)
    ticks = itertools.count(1e9)
    made = Boards(url, lambda: next(ticks))
    yield made
    made.close()


def took(seconds: float, disturbed: bool = False) -> Measurement:
    return Measurement(name="0", kind="kernel", seconds=seconds, disturbed=disturbed)


def by(name: str, key: str | None = None) -> NewEntry:
    return NewEntry(name=name, key=key or name, script=f"# {name}", program=f"{{{name}}}", ladder=[took(1.0)])


def enter(
    boards: Boards, name: str, seconds: float, *others: float, key: str = "", disturbed: bool = False
) -> str | None:
    """Enter with a batch that measures the board's entries anew, in the order that they have now."""
    old = boards.programs("matmul", CPU)
    now = [one.seconds for one in boards.entries("matmul", CPU)]
    batch = {one: took(s) for one, s in zip(old, others or now, strict=True)}
    return boards.enter("matmul", CPU, by(name, key or None), {**batch, "": took(seconds, disturbed)}, took(1.0), {})


def names(boards: Boards) -> list[str]:
    return [one.name for one in boards.entries("matmul", CPU)]


def test_ranks_are_those_of_the_last_batch(boards: Boards) -> None:
    enter(boards, "ada", 0.5)
    enter(boards, "bob", 0.25)
    assert names(boards) == ["bob", "ada"]
    enter(boards, "cem", 0.75, 0.9, 0.6)  # measured beside cem, ada is faster than bob
    assert names(boards) == ["ada", "cem", "bob"]
    assert [one.times_numpy for one in boards.entries("matmul", CPU)] == [1 / 0.6, 1 / 0.75, 1 / 0.9]
    assert boards.heads(CPU, ["matmul"])["matmul"].name == "ada"
    assert boards.entries("matmul", "another") == []
    assert boards.processors("matmul") == [CPU]


def test_lists_of_entries_read_none_of_their_programs(boards: Boards, url: str) -> None:
    enter(boards, "ada", 0.5)
    with create_engine(url).begin() as connection:
        for name in ("owner", "script", "program", "ladder"):
            connection.exec_driver_sql(f"ALTER TABLE {ENTRIES.name} RENAME COLUMN {name} TO unread_{name}")
    assert names(boards) == ["ada"]
    assert list(boards.heads(CPU, ["sigmoid", "matmul"])) == ["matmul"]
    assert boards.heads(CPU, ["sigmoid"]) == {}


def test_what_was_disturbed_has_no_rank_and_changes_none(boards: Boards) -> None:
    enter(boards, "ada", 0.5)
    enter(boards, "bob", 0.1, 0.9, disturbed=True)
    first, second = boards.entries("matmul", CPU)
    assert (first.name, first.seconds, first.disturbed) == ("ada", 0.5, False)
    assert (second.name, second.disturbed) == ("bob", True)
    assert boards.heads(CPU, ["matmul"])["matmul"].name == "ada"
    batch = dict(zip(boards.programs("matmul", CPU), (took(0.5), took(0.1)), strict=True))
    assert boards.enter("matmul", CPU, None, batch, None, {}) is None
    assert names(boards) == ["bob", "ada"]


def test_what_a_batch_did_not_measure_loses_its_rank(boards: Boards) -> None:
    ada = enter(boards, "ada", 0.1)
    boards.enter("matmul", CPU, by("bob"), {"": took(0.5)}, None, {})
    assert names(boards) == ["bob", "ada"]
    assert [one.id for one in boards.entries("matmul", CPU) if one.disturbed] == [ada]


def test_a_board_keeps_the_fastest_and_one_of_each_owner(boards: Boards) -> None:
    for place in range(PLACES):
        enter(boards, f"name {place}", 1.0 + place)
    assert enter(boards, "late", 99.0) is None
    assert enter(boards, "early", 0.5)
    assert names(boards) == ["early", *(f"name {place}" for place in range(PLACES - 1))]
    assert enter(boards, "early", 0.6) is None
    assert enter(boards, "early again", 0.4, key="early")
    assert names(boards)[:2] == ["early again", "name 0"]
    for place in range(WAITING + 2):
        enter(boards, f"waits {place}", 1.0, disturbed=True)
    assert names(boards)[PLACES:] == [f"waits {place}" for place in range(2, WAITING + 2)]


def test_a_name_belongs_to_who_took_it(boards: Boards) -> None:
    enter(boards, "Ada", 0.5, key="k")
    boards.check_name("matmul", CPU, "ada", "k")
    boards.check_name("sigmoid", CPU, "ada", "other")
    with pytest.raises(Forbidden, match="is taken"):
        boards.check_name("matmul", CPU, "aDA", "other")


@pytest.mark.parametrize("disturbed", [False, True])
def test_a_name_that_another_took_while_both_were_waiting_is_refused(boards: Boards, disturbed: bool) -> None:
    for key in ("k", "other"):
        boards.check_name("matmul", CPU, "ada", key)
    enter(boards, "Ada", 0.5, key="k")
    with pytest.raises(Forbidden, match="is taken"):
        enter(boards, "ada", 0.1, 0.9, key="other", disturbed=disturbed)
    assert [(one.name, one.seconds) for one in boards.entries("matmul", CPU)] == [("Ada", 0.5)]


def test_an_entry_shows_its_ladder_to_all_and_its_script_to_its_owner(boards: Boards) -> None:
    ada = enter(boards, "ada", 0.5) or ""
    assert boards.ghost("matmul", ada).measurements == [took(1.0)]
    assert boards.script("matmul", ada, "ada") == "# ada"
    for refused in (boards.script, boards.withdraw):
        with pytest.raises(Forbidden):
            refused("matmul", ada, "bob")
    boards.withdraw("matmul", ada, "ada")
    for unknown in (ada, "é", "\0"):
        with pytest.raises(NotFound):
            boards.ghost("matmul", unknown)
    with pytest.raises(NotFound):
        boards.ghost("mat\0mul", "ada")


def test_an_entry_belongs_to_its_problem(boards: Boards) -> None:
    ada = enter(boards, "ada", 0.5) or ""
    with pytest.raises(NotFound):
        boards.ghost("sigmoid", ada)
    boards.forget("sigmoid")
    assert names(boards) == ["ada"]
    boards.forget("matmul")
    assert names(boards) == []


def test_a_database_from_before_there_were_boards_gets_them(tmp_path: Path) -> None:
    file = tmp_path / "old.sqlite3"
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        TABLES.create_all(connection, tables=[table for table in TABLES.sorted_tables if table is not ENTRIES])
    with sqlite3.connect(file) as old:
        old.execute("INSERT INTO settings VALUES ('schema', X'31')")
    with engine.begin() as connection:
        create_tables(connection)
        create_tables(connection)
        assert {column["name"] for column in inspect(connection).get_columns(ENTRIES.name)} == set(ENTRIES.c.keys())
        assert [index["name"] for index in inspect(connection).get_indexes(ENTRIES.name)] == ["challenge_boards"]
    boards = Boards(engine.url)
    assert enter(boards, "ada", 0.5)
