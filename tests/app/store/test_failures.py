"""What fails in a store is told apart: who may come back later, who is told of a full disk, and who of damage."""

from __future__ import annotations

import errno
import logging
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.pool import QueuePool

from app.artifacts import Workspace
from app.config import ConfigurationError
from app.errors import Damaged, NotFound, RequestError, StorageFull, Unavailable
from app.store import database as database_module
from app.store import shared_results
from app.store.backups import Backups
from app.store.data_directory import open_data_directory
from app.store.database import database_errors, fault
from app.store.faults import is_disk_full, storing
from app.store.links import SharedState
from app.store.liveness import Liveness
from app.store.shared_files import SharedFiles
from app.store.shared_results import PAUSE_SECONDS, SharedResults
from tests.app.store.doubles import Store
from tests.app.store.test_bounds import Clock


class Said(Exception):
    """What a driver of PostgreSQL raises, with the code of the server."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("the server said no")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("kind", "state", "cut", "told"),
    [
        (OperationalError, None, False, Unavailable),  # no server, so no code
        (OperationalError, "08006", False, Unavailable),
        (OperationalError, "57P01", False, Unavailable),
        (OperationalError, "53200", False, None),
        (OperationalError, "53100", False, StorageFull),
        (ProgrammingError, None, False, None),
        (ProgrammingError, "57P01", False, None),
        (ProgrammingError, "42601", True, Unavailable),
        (ProgrammingError, "42601", False, None),
    ],
)
def test_only_a_server_that_is_away_is_told_as_such(
    kind: type[DBAPIError], state: str | None, cut: bool, told: type[RequestError] | None
) -> None:
    error = kind("SELECT 1", {}, Said(state), connection_invalidated=cut)
    assert type(fault(error, "the link")) is (told or type(None))


def test_connections_that_are_all_in_use_are_told_as_a_busy_database() -> None:
    engine = create_engine("sqlite://", poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.01)
    with engine.connect(), pytest.raises(Unavailable, match="is busy"), database_errors("the link"):
        engine.connect()


def test_a_database_that_cannot_be_changed_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "links.sqlite3"
    sqlite3.connect(path).execute("CREATE TABLE links (id)")
    monkeypatch.setattr(database_module, "time", SimpleNamespace(monotonic=Clock().monotonic, sleep=pytest.fail))
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        database_module._write_ahead(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True), 10_000)


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "no space"), True),
        (OSError(errno.EDQUOT, "no quota"), True),
        (OSError(errno.EACCES, "no permission"), False),
        (ValueError(errno.ENOSPC), False),
        (None, False),
    ],
)
def test_a_full_disk_is_told_from_other_errors(error: Exception | None, full: bool) -> None:
    assert is_disk_full(error) is full
    if error is not None:
        with pytest.raises(StorageFull if full else type(error)), storing("the file"):
            raise error


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (__file__, r"is a file \(ENOTDIR\)"),
        ("/proc/nothing", r"cannot be created: No such file or directory \(ENOENT\)"),
        ("/proc/self", "cannot be written to"),
    ],
)
def test_a_data_directory_that_cannot_be_used_is_said_at_the_start(path: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        open_data_directory(Path(path))


def test_a_server_starts_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    open_data_directory(tmp_path / "data")
    assert (tmp_path / "data").is_dir()


def state(script: str = "x = 1") -> SharedState:
    return SharedState(workspace=Workspace(script=script))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "links.sqlite3"


@pytest.fixture
def links(database: Path) -> Store:
    return Store(f"sqlite:///{database}")


def test_a_database_that_takes_no_link_is_told_as_damage(links: Store, database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TRIGGER no BEFORE INSERT ON links BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(Damaged, match="refuses to store this link"):
        links.create(state())


def test_a_link_that_is_deleted_while_it_is_opened_is_not_found(links: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    saved, measured = links.create(state()), links.stored_bytes

    def delete_then(link: str) -> int:
        size = measured(link)
        links.delete(link, saved.delete_token)
        return size

    monkeypatch.setattr(links, "stored_bytes", delete_then)
    with pytest.raises(NotFound):
        links.open(saved.id)


def test_a_copy_that_is_not_sound_does_not_become_a_backup(links: Store, database: Path, tmp_path: Path) -> None:
    links.create(state())
    links.close()
    with sqlite3.connect(database, isolation_level=None) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE links SET outputs = ''")
        rule = ("PRIMARY KEY (id)", "CHECK (outputs <> ''), PRIMARY KEY (id)")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'links'", rule)
    with pytest.raises(sqlite3.DatabaseError, match="the database is damaged: CHECK"):
        Backups(database, tmp_path / "backups").make()
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_database_without_tables_is_a_new_one(database: Path, tmp_path: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA user_version = 1")
    assert database.stat().st_size > 0
    links = Store(f"sqlite:///{database}", backups=tmp_path / "backups")
    assert links.open(links.create(state()).id).state == state()


@pytest.fixture
def backed_up(links: Store, database: Path, tmp_path: Path) -> Callable[[], Store]:
    """Starts a server once more on a database that has a backup of one link."""
    links.create(state())
    links.close()
    assert Backups(database, tmp_path / "backups").make() is not None
    return lambda: Store(f"sqlite:///{database}", backups=tmp_path / "backups")


def the_backup(tmp_path: Path) -> Path:
    [path] = (tmp_path / "backups").iterdir()
    return path


def test_a_backup_that_cannot_be_read_does_not_keep_a_server_from_starting(
    backed_up: Callable[[], Store], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    the_backup(tmp_path).write_bytes(b"garbage" * 1000)
    with caplog.at_level(logging.WARNING):
        backed_up().close()
    assert "cannot be read: file is not a database" in caplog.text


def test_a_backup_of_no_links_says_nothing_of_the_database(backed_up: Callable[[], Store], tmp_path: Path) -> None:
    path = the_backup(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE settings SET value = x'00'")
    with pytest.raises(ConfigurationError, match="is not the one"):
        backed_up()
    path.rename(path.with_name(f"{path.name.rpartition('-')[0]}-0.sqlite3"))
    backed_up().close()


def test_a_database_that_lost_its_key_is_not_the_one_that_was_backed_up(
    backed_up: Callable[[], Store], database: Path
) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("DROP TABLE settings")
    with pytest.raises(ConfigurationError, match="is not the one that its backups were made of"):
        backed_up()


def test_a_database_answers_until_its_check_fails_or_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[Callable[[], object]] = []
    liveness = Liveness(lambda: (outcomes.pop(0)(), None)[1])
    hanging = threading.Event()
    outcomes[:] = [lambda: None, lambda: 1 / 0, lambda: None, hanging.wait, lambda: None]
    assert [liveness.answers() for _ in range(4)] == [True, False, True, True], "it may be the machine that is slow"
    monkeypatch.setattr("app.store.liveness.HANGING_SECONDS", 0.0)
    assert not liveness.answers()
    hanging.set()
    liveness._asking.join()  # type: ignore[union-attr]
    assert liveness.answers()


def test_a_store_whose_package_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'strata-explorer\[store\]'"):
        SharedFiles("s3://bucket/strata")


def test_a_database_whose_package_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match=r"psycopg.*; pip install 'strata-explorer\[postgresql\]'"):
        Store("postgresql://strata@127.0.0.1:1/links")


def test_a_store_of_results_that_fails_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, asked = Clock(), []
    monkeypatch.setattr(shared_results, "time", clock)
    results = SharedResults(f"file://{tmp_path}", "1")
    results._write({"a/b": b"content"})
    assert (results.read("a/b"), results.read("a/c")) == (b"content", None)

    def fail(path: str) -> bytes:
        asked.append(path)
        raise ConnectionError("no route")

    with monkeypatch.context() as failing:
        failing.setattr(results, "_system", SimpleNamespace(cat_file=fail))
        assert results.read("a/b") is results.read("a/b") is None
        assert len(asked) == 1
    assert "does not answer, and is left alone for a while: no route" in caplog.text
    clock.now += PAUSE_SECONDS - 1
    assert results.read("a/b") is None
    clock.now += 1
    assert results.read("a/b") == b"content"
