"""Damaged, foreign and lost databases: the server says which backup there is, and its command restores it."""

from __future__ import annotations

import logging
import random
import re
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.artifacts import Workspace
from app.config import ConfigurationError
from app.errors import Damaged
from app.store import backups as backups_module
from app.store import integrity
from app.store.backups import KEPT, Backups
from app.store.links import SharedState
from tests.app.store.doubles import Store

LINKS = 60


def state(number: int) -> SharedState:
    noise = random.Random(number).randbytes(3000)
    return SharedState(workspace=Workspace(script=f"x = {number}", files={"noise": noise}))


def wait_for_backups() -> None:
    for thread in threading.enumerate():
        if thread.name == "backup":
            thread.join()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "strata.sqlite3"


@pytest.fixture
def start(database: Path) -> Callable[[], Store]:
    database.parent.mkdir()

    def start() -> Store:
        store = Store(f"sqlite:///{database}", backups=database.parent / "backups")
        wait_for_backups()
        return store

    return start


@pytest.fixture
def saved(start: Callable[[], Store]) -> list[str]:
    """Ids of links that were saved, backed up, and closed."""
    store = start()
    ids = [store.create(state(number)).id for number in range(LINKS)]
    assert store.backups is not None
    made = store.backups.make()
    assert made is not None
    assert made.links == LINKS
    store.close()
    return ids


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite_header(path: Path) -> None:
    path.write_bytes(b"garbage" * 100 + path.read_bytes()[700:])


def overwrite_page(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\x55" * 4096
    path.write_bytes(content)


def put_another_in_its_place(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as another:
        another.execute("CREATE TABLE recipes (title TEXT)")


def put_a_fresh_one_in_its_place(path: Path) -> None:
    path.unlink()
    Store(f"sqlite:///{path}").close()


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (truncate, "is damaged"),
    "garbage": (lambda path: path.write_bytes(b"\x7fELF" * 5000), "is damaged: file is not a database"),
    "header": (overwrite_header, "is damaged"),
    "page": (overwrite_page, "is damaged"),
    "emptied": (lambda path: path.write_bytes(b""), "is empty, but was not before"),
    "gone": (Path.unlink, "is missing, but was not before"),
    "foreign": (put_another_in_its_place, "belongs to another program: its tables are recipes"),
    "fresh": (put_a_fresh_one_in_its_place, "is not the one that its backups were made of"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_start_refuses_a_database_that_is_not_sound_and_says_how_to_restore_it(
    damage: str, database: Path, saved: list[str], start: Callable[[], Store]
) -> None:
    spoil, words = DAMAGES[damage]
    spoil(database)
    with pytest.raises(ConfigurationError) as refused:
        start()
    message = str(refused.value)
    assert words in message
    [backup] = (database.parent / "backups").iterdir()
    assert f"{backup} of " in message
    assert f"with {LINKS} links" in message
    command = message.partition("this restores it: ")[2]
    subprocess.run(command, shell=True, check=True, stderr=subprocess.DEVNULL if damage == "gone" else None)
    restored = start()
    assert [restored.open(link).state for link in saved] == [state(number) for number in range(LINKS)]
    again = restored.create(state(3))
    assert again.id == saved[3], "the restored database has the same key, so the same ids"


def test_without_a_backup_the_refusal_says_so(database: Path, start: Callable[[], Store]) -> None:
    database.write_bytes(b"garbage" * 1000)
    with pytest.raises(ConfigurationError, match=r"is damaged: .*\. There is no backup in .*backups"):
        start()


def test_a_database_that_lost_its_links_starts_with_a_warning(
    database: Path, saved: list[str], start: Callable[[], Store], caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM links")
    with caplog.at_level(logging.WARNING):
        start()
    assert re.search(rf"has 0 links; its newest backup is .* with {LINKS} links", caplog.text)


def test_a_large_database_is_checked_for_a_limited_time(
    database: Path,
    saved: list[str],
    start: Callable[[], Store],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(integrity, "CHECK_SECONDS", -1.0)
    monkeypatch.setattr(integrity, "_STEPS", 10)
    assert start().open(saved[0]).state == state(0)
    assert "is large: it was checked for -1 s only" in caplog.text


def test_damage_that_comes_later_is_named_for_each_link(
    database: Path, saved: list[str], start: Callable[[], Store], caplog: pytest.LogCaptureFixture
) -> None:
    store = start()
    store.close()
    pages = database.stat().st_size // 4096
    content = bytearray(database.read_bytes())
    content[4096 * (pages // 2) : 4096 * (pages // 2 + 1)] = b"\x55" * 4096
    database.write_bytes(content)
    damaged = 0
    for number, link in enumerate(saved):
        try:
            assert store.open(link).state == state(number)
        except Damaged:
            damaged += 1
    assert 0 < damaged < LINKS
    assert store.damage is not None
    assert "The newest backup is" in caplog.text
    with pytest.raises(sqlite3.DatabaseError):
        Backups(database, database.parent / "backups").make()
    assert len(list((database.parent / "backups").iterdir())) == 1, "damage does not become a backup"


def test_a_link_is_saved_beside_a_damaged_one(database: Path, start: Callable[[], Store]) -> None:
    store = start()
    first = store.create(state(1))
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE links SET content = x'00'")
    second = store.create(state(1))
    assert second.id.startswith(first.id)
    assert second.id != first.id
    assert store.open(second.id).state == state(1)


class TestBackups:
    """When backups are made, and which are kept."""

    @pytest.fixture
    def store(self, start: Callable[[], Store]) -> Store:
        return start()

    def test_nothing_changed_nothing_backed_up(self, store: Store) -> None:
        assert store.backups is not None
        assert store.backups.make() is None, "there is nothing to back up"
        link = store.create(state(1))
        assert store.backups.make() is not None
        assert store.backups.make() is None
        store.delete(link.id, link.delete_token)
        store.create(state(2))
        store.create(state(3))
        assert store.backups.make() is not None
        assert [backup.links for backup in store.backups.all()] == [1, 2]

    def test_a_restart_backs_up_what_changed(self, store: Store, start: Callable[[], Store], database: Path) -> None:
        store.create(state(1))
        again = start()
        assert again.backups is not None
        assert [backup.links for backup in again.backups.all()] == [1]
        assert all(path.name.startswith("links-") for path in (database.parent / "backups").iterdir())

    def test_one_a_day(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        assert store.backups is not None
        assert store.backups.make_if_due() is None
        monkeypatch.setattr(backups_module, "INTERVAL_SECONDS", 0.0)
        thread = store.backups.make_if_due()
        assert thread is not None
        thread.join()

    def test_old_ones_go_but_not_the_fullest(self, store: Store, database: Path) -> None:
        assert store.backups is not None
        directory = database.parent / "backups"
        directory.mkdir()
        full = directory / "links-20200101T000000Z-999.sqlite3"
        others = [directory / f"links-202001{day:02}T000000Z-{day}.sqlite3" for day in range(2, 12)]
        for path in (full, *others):
            path.write_bytes(b"")
        store.create(state(1))
        newest = store.backups.make()
        assert newest is not None
        left = {path.name for path in directory.iterdir()}
        assert left == {path.name for path in (full, *others[-KEPT + 1 :], newest.path)}

    def test_a_full_disk_leaves_no_half_copy(
        self, store: Store, database: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert store.backups is not None
        store.create(state(1))
        monkeypatch.setattr(backups_module, "disk_free", lambda _: 0)
        thread = store.backups.make_if_due(starting=True)
        assert thread is not None
        thread.join()
        assert "the disk has no room for a copy" in caplog.text
        assert list((database.parent / "backups").iterdir()) == []
