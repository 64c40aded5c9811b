"""What the limits of the stores let through, and what they refuse, at their edges."""

from __future__ import annotations

import io
import os
import sqlite3
import zlib
from pathlib import Path

import pytest

from app.artifacts import Workspace
from app.errors import Busy, Damaged, InvalidBody, StorageFull, TooLarge, Unavailable
from app.store import backups as backups_module
from app.store import database as database_module
from app.store import space as space_module
from app.store.backups import INTERVAL_SECONDS, Backups
from app.store.byte_semaphore import ByteSemaphore
from app.store.links import Links, SharedState, canonical, most_compressed
from app.store.space import BLOCK, RECOUNT_SECONDS, Space
from app.store.uploads import READ_BYTES, Uploads
from app.store.workspace_limits import MAX_FILES, WorkspaceLimits
from tests.app.store.doubles import CONTENT_BYTES, Meter, Store


class Clock:
    """Stands for the module ``time``; only sleeping and tests move it on."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    time_ns = monotonic


def test_bytes_beyond_the_total_wait_and_are_refused_when_none_become_free() -> None:
    bytes_at_once = ByteSemaphore(10, patience_seconds=0.0)
    with bytes_at_once.acquire(6):
        with bytes_at_once.acquire(4):
            pass
        with pytest.raises(Unavailable, match="too many large links") as refused, bytes_at_once.acquire(5):
            pass
    assert refused.value.retry_after == 1
    all_of_them = bytes_at_once.acquire(1 << 40)
    with all_of_them, pytest.raises(Unavailable), bytes_at_once.acquire(1):
        pass
    with bytes_at_once.acquire(10):
        pass


def space(directory: Path, capacity: int, reserve: int = 0) -> Space:
    return Space(directory, capacity, reserve, lambda name: name.startswith("f"))


def test_the_capacity_can_be_used_up_and_no_byte_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f1").write_bytes(b"x")
    it = space(tmp_path, 3 * BLOCK)
    monkeypatch.setattr(it, "_recount", lambda: pytest.fail("there was room"))
    it.take(2 * BLOCK)
    assert it.used == it.capacity
    monkeypatch.undo()
    with pytest.raises(StorageFull, match="storage for files is full") as refused:
        it.take(1)
    assert refused.value.expected == "at most 12,288 bytes of all clients together"
    assert it.used == it.capacity, "what is refused takes no space"


def test_what_was_deleted_by_hand_is_noticed_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(space_module, "time", clock)
    (tmp_path / "f1").write_bytes(b"x")
    it = space(tmp_path, BLOCK)
    (tmp_path / "f1").unlink()
    clock.now += RECOUNT_SECONDS
    with pytest.raises(StorageFull):
        it.take(1)
    clock.now += 0.5
    it.take(1)


def test_the_reserve_stays_free_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_module, "disk_free", lambda _: 1000)
    it = space(tmp_path, 1 << 40, reserve=900)
    it.take(100)
    with pytest.raises(StorageFull, match="the disk of this server is full") as refused:
        it.take(101)
    assert refused.value.expected == "at least 900 bytes that stay free"


def test_a_workspace_may_have_as_many_files_and_bytes_as_the_limits_say(tmp_path: Path) -> None:
    limits = WorkspaceLimits(Uploads(tmp_path, 100, 1 << 20), files_bytes=MAX_FILES, uploads_bytes=100)

    def files(count: int, size: int) -> Workspace:
        return Workspace(script="", files={f"f{n}": b"x" * size for n in range(count)})

    assert limits.check(files(MAX_FILES, 1)) == {}
    with pytest.raises(InvalidBody, match=f"has {MAX_FILES + 1} attached files"):
        limits.check(files(MAX_FILES + 1, 0))
    with pytest.raises(TooLarge, match=f"{MAX_FILES + 1} bytes together"):
        limits.check(files(1, MAX_FILES + 1))


class Counted(io.BytesIO):
    """Counts the bytes that were read."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def test_a_file_beyond_the_quota_is_not_read_to_its_end(tmp_path: Path) -> None:
    source = Counted(bytes(20 * READ_BYTES))
    uploads = Uploads(tmp_path, largest=1 << 40, capacity=1 << 40)
    with pytest.raises(Busy):
        uploads.put(source, Meter(limit=2 * READ_BYTES))
    assert source.taken == 3 * READ_BYTES
    assert os.listdir(tmp_path) == []


def test_a_link_may_hold_as_much_as_the_limit_says(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'links.sqlite3'}"
    state = SharedState(workspace=Workspace(script="", files={"noise": os.urandom(4000)}))
    size = len(canonical(state))
    with pytest.raises(TooLarge, match=f"the link would hold {size:,} bytes"):
        Links(url, "1", "cpu", content_bytes=size - 1).create(state, Meter())
    links = Links(url, "1", "cpu", content_bytes=size)
    saved = links.create(state, Meter())
    assert links.open(saved.id).state == state


def test_what_is_stored_of_a_link_is_read_up_to_what_a_link_can_need(tmp_path: Path) -> None:
    links = Store(f"sqlite:///{tmp_path / 'links.sqlite3'}")
    saved = links.create(SharedState(workspace=Workspace(script="")))
    for beyond, error in ((0, Damaged), (1, TooLarge)):
        with sqlite3.connect(tmp_path / "links.sqlite3") as database:
            database.execute("UPDATE links SET content = ?", (bytes(most_compressed(CONTENT_BYTES) + beyond),))
        with pytest.raises(error):
            links.open(saved.id)


@pytest.mark.parametrize("size", [0, 1, 4000, 1 << 20])
def test_what_does_not_compress_is_within_what_is_read(size: int) -> None:
    assert len(zlib.compress(os.urandom(size))) <= most_compressed(size)


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    database = tmp_path / "links.sqlite3"
    links = Store(f"sqlite:///{database}")
    links.create(SharedState(workspace=Workspace(script="x")))
    links.close()
    return Backups(database, tmp_path / "backups")


def test_a_backup_needs_twice_its_size_on_the_disk(backups: Backups, monkeypatch: pytest.MonkeyPatch) -> None:
    size = backups.database.stat().st_size
    monkeypatch.setattr(backups_module, "disk_free", lambda _: 2 * size - 1)
    with pytest.raises(OSError, match="no room for a copy"):
        backups.make()
    monkeypatch.setattr(backups_module, "disk_free", lambda _: 2 * size)
    assert backups.make() is not None


def test_a_backup_is_due_a_day_after_the_last_one(backups: Backups, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(backups_module, "time", clock)
    backups._last = clock.now
    clock.now += INTERVAL_SECONDS - 1
    assert backups.make_if_due() is None
    clock.now += 1
    thread = backups.make_if_due()
    assert thread is not None
    thread.join()
    assert backups.make_if_due() is None


def test_a_database_that_stays_locked_is_given_up_at_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, tried = Clock(), []
    monkeypatch.setattr(database_module, "time", clock)
    monkeypatch.setattr(database_module, "WRITE_AHEAD_RETRY_SECONDS", 0.25)

    class Locked:
        def execute(self, statement: str) -> None:
            tried.append(statement)
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        database_module._write_ahead(Locked(), 500)  # type: ignore[arg-type]
    assert len(tried) == 4, "at 0, 250, 500 and 750 ms"
