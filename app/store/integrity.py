"""Integrity checks of a SQLite database before it is used.

A server that starts with an empty database in place of a full one would answer *not found* for every link, and make
empty backups.  It refuses to start instead, and reports the available backup.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from app.store.backups import Backup, Backups, read_only

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
"""Time limit of the check at startup, beyond which a large database is used unchecked."""
TABLES = frozenset({"links", "settings", "tokens"})
_STEPS = 10_000
"""Number of SQLite virtual machine instructions between checks of the time limit."""


def examine(backups: Backups) -> str | None:
    """Return an error message if a database must not be used, else None."""
    path, newest = backups.database, backups.newest
    if not path.exists() or path.stat().st_size == 0:
        lost = newest is not None and newest.links
        return f"the database {path} is {'empty' if path.exists() else 'missing'}, but was not before" if lost else None
    try:
        with closing(sqlite3.connect(path, timeout=10)) as database:
            return _foreign(database, path) or _damage(database, path) or _replaced(database, path, newest)
    except sqlite3.DatabaseError as error:
        return f"the database {path} is damaged: {error}"


def _foreign(database: sqlite3.Connection, path: Path) -> str | None:
    names = {name for [name] in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not names or names & TABLES:
        return None
    return f"the database {path} belongs to another program: its tables are {', '.join(sorted(names)[:5])}"


def _damage(database: sqlite3.Connection, path: Path) -> str | None:
    """Run SQLite's integrity check within the time limit; return an error message if it fails."""
    end = time.monotonic() + CHECK_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        [[verdict], *_] = database.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        log.warning("the database %s is large: it was checked for %g s only", path, CHECK_SECONDS)
        verdict = "ok"
    finally:
        database.set_progress_handler(None, 0)
    return None if verdict == "ok" else f"the database {path} is damaged: {' '.join(verdict.split())}"


def _replaced(database: sqlite3.Connection, path: Path, newest: Backup | None) -> str | None:
    """Return an error message if the newest backup is of a different database; warn if many links were lost."""
    if newest is None or not newest.links:
        return None
    try:
        with closing(read_only(newest.path)) as backup:
            key = _key(backup)
    except sqlite3.DatabaseError as error:
        log.warning("the backup %s cannot be read: %s", newest, error)
        return None
    if _key(database) != key:
        return f"the database {path} is not the one that its backups were made of"
    [links] = database.execute("SELECT count(*) FROM links").fetchone()
    if 2 * links < newest.links:
        log.warning("the database %s has %s links; its newest backup is %s", path, f"{links:,}", newest)
    return None


def _key(database: sqlite3.Connection) -> object:
    """Return the key that a database got when it was created; None if it has none."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'settings'").fetchone():
        return None
    return database.execute("SELECT value FROM settings WHERE name = 'link key'").fetchone()
