"""Integrity checks of a SQLite database before it is used.

A server that begins with an empty database where there was a full one answers every link with *not found*, and its next
backups would be as empty; so it refuses, and says which backup there is.
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
"""How long the database is checked at start; a large one is then used unchecked, as it was before."""
TABLES = frozenset({"links", "settings", "tokens"})
_STEPS = 10_000
"""Instructions of SQLite between two looks at the clock."""


def examine(backups: Backups) -> str | None:
    """Return what is wrong with a database, as a sentence; None if it may be used."""
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
    """Let SQLite check the structure of the database, for a limited time."""
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
    """Return whether this is not the database that the backup was made of; warn if it lost its links."""
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
    """Return the key that a database was given when it was made; None if it has none."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'settings'").fetchone():
        return None
    return database.execute("SELECT value FROM settings WHERE name = 'link key'").fetchone()
