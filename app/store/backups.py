"""Automatic backups of the link database.

A backup is a complete copy of the database, restored by copying one file.  It is checked before it gets its final name,
so that a damaged database never replaces a sound backup.
"""

from __future__ import annotations

import logging
import re
import shlex
import sqlite3
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.store.space import disk_free
from app.store.tables import PASSING

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 24 * 3600.0
KEPT = 7
"""Number of newest backups to keep, in addition to the one with the most links."""
_NAME = re.compile(r"links-(?P<made>\d{8}T\d{6}Z)-(?P<links>\d+)\.sqlite3")
_TIME = "%Y%m%dT%H%M%SZ"
_STATE = """
SELECT (SELECT count(*) FROM links), (SELECT max(rowid) FROM links), (SELECT max(created) FROM links),
       (SELECT count(*) FROM tokens), (SELECT max(rowid) FROM tokens)
"""
"""Query for a state that changes with every link that is created or deleted."""


@dataclass(frozen=True, order=True)
class Backup:
    """A backup: its file, its time, and its number of links."""

    made: datetime
    links: int
    path: Path

    def __str__(self) -> str:
        return f"{self.path} of {self.made:%Y-%m-%d %H:%M} UTC with {self.links:,} links"


class Backups:
    """The backups of a SQLite database.

    Parameters
    ----------
    directory : Path
        Directory of the backups.
    """

    def __init__(self, database: Path, directory: Path) -> None:
        self.database = database
        self.directory = directory
        self._last = time.monotonic()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def all(self) -> list[Backup]:
        """Return the backups, oldest first."""
        if not self.directory.is_dir():
            return []
        matches = [(path, _NAME.fullmatch(path.name)) for path in self.directory.iterdir()]
        return sorted(
            Backup(datetime.strptime(match["made"], _TIME).replace(tzinfo=UTC), int(match["links"]), path)
            for path, match in matches
            if match
        )

    @property
    def newest(self) -> Backup | None:
        """The newest backup, or None."""
        return max(self.all(), default=None)

    def advice(self) -> str:
        """Return advice for an error message: the newest backup, and the command that restores it."""
        backup = self.newest
        if backup is None:
            return f"There is no backup in {self.directory}"
        return f"The newest backup is {backup}; with the server stopped, this restores it: {self.restoring(backup)}"

    def restoring(self, backup: Backup) -> str:
        """Return the shell command that restores a backup and keeps the old database."""
        database, damaged = shlex.quote(str(self.database)), shlex.quote(f"{self.database}.damaged")
        beside = " ".join(shlex.quote(f"{self.database}{end}") for end in ("-wal", "-shm"))
        return f"mv -f {database} {damaged}; rm -f {beside}; cp {shlex.quote(str(backup.path))} {database}"

    def make_if_due(self, *, starting: bool = False) -> threading.Thread | None:
        """Make a backup in the background if the last one is a day old, or the server has just started.

        Returns
        -------
        threading.Thread or None
            The thread that makes it; None if none is due.
        """
        with self._lock:
            if not starting and time.monotonic() - self._last < INTERVAL_SECONDS:
                return None
            self._last = time.monotonic()
        thread = threading.Thread(target=self.make_or_log, name="backup", daemon=True)
        thread.start()
        return thread

    def make_or_log(self) -> None:
        """Make a backup if anything changed since the newest one; log the outcome."""
        try:
            with self._making:
                backup = self.make()
        except (OSError, sqlite3.Error) as error:
            log.error("the links could not be backed up: %s. %s", error, self.advice())
        else:
            if backup is not None:
                log.info("backed up the links: %s", backup)

    def make(self) -> Backup | None:
        """Make a backup, unless nothing changed since the newest one.

        Returns
        -------
        Backup or None
            None if nothing changed, or there is nothing to back up.

        Raises
        ------
        sqlite3.Error
            If the database cannot be read or is damaged.
        OSError
            If the copy cannot be written, e.g. because the disk is full.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.database, timeout=10)) as source:
            state = source.execute(_STATE).fetchone()
            newest = self.newest
            if not state[0] or (newest is not None and state == _state_of(newest.path)):
                return None
            self._check_room()
            temporary = self.directory / f".making-{threading.get_native_id()}-{time.time_ns()}"
            try:
                source.execute("VACUUM INTO ?", (str(temporary),))
                backup = self._name(temporary)
            finally:
                temporary.unlink(missing_ok=True)
        self._drop_old()
        return backup

    def _check_room(self) -> None:
        size = self.database.stat().st_size
        if disk_free(self.directory) < 2 * size:
            raise OSError(f"the disk has no room for a copy of {size:,} bytes")

    def _name(self, temporary: Path) -> Backup:
        """Check a new backup and give it its final name."""
        with closing(sqlite3.connect(temporary)) as copy:
            _leave_out_passing(copy)
            [[verdict], *_] = copy.execute("PRAGMA quick_check(1)").fetchall()
            if verdict != "ok":
                raise sqlite3.DatabaseError(f"the database is damaged: {verdict}")
            [links] = copy.execute("SELECT count(*) FROM links").fetchone()
        made = datetime.now(UTC).replace(microsecond=0)
        path = self.directory / f"links-{made:{_TIME}}-{links}.sqlite3"
        temporary.replace(path)
        return Backup(made, links, path)

    def _drop_old(self) -> None:
        """Delete old backups, but never the one with the most links, in case rows were lost unnoticed."""
        backups = self.all()
        most = max(backups, key=lambda backup: backup.links)
        for backup in backups[:-KEPT]:
            if backup is not most:
                backup.path.unlink(missing_ok=True)


def read_only(path: Path) -> sqlite3.Connection:
    """Open a backup read-only."""
    return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)


def _leave_out_passing(copy: sqlite3.Connection) -> None:
    """Delete from a copy, with overwriting, what was to be kept for hours only, and backups keep for much longer."""
    existing = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for pragma in ("secure_delete", "foreign_keys"):
        copy.execute(f"PRAGMA {pragma}=ON")
    for table in PASSING:
        if table.name in existing:
            copy.execute(f"DELETE FROM {table.name}")
    copy.commit()


def _state_of(path: Path) -> object:
    with suppress(sqlite3.Error), closing(read_only(path)) as backup:  # it may be damaged by now
        return backup.execute(_STATE).fetchone()
    return None
