"""Access to the database, with readable errors."""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import URL, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, OperationalError, TimeoutError

from app.errors import Damaged, RequestError, Unavailable
from app.store.faults import disk_full

log = logging.getLogger(__name__)

BUSY_MILLISECONDS = 10_000
"""Lock timeout of requests."""
CHECK_MILLISECONDS = 200
"""Lock timeout of the health check."""
RETRY_SECONDS = 5
WRITE_AHEAD_RETRY_SECONDS = 0.005
_POSTGRESQL_FULL = "53100"
_POSTGRESQL_AWAY = ("08", "57P")
"""Prefixes of the SQLSTATE codes for a PostgreSQL server that is unreachable, shutting down or starting."""
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_PERHAPS_FULL = frozenset({sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_TRUNCATE})
"""SQLite errors besides SQLITE_FULL that a full disk may cause, on the WAL and shared-memory files."""


def open_database(url: str | URL) -> Engine:
    """Return the engine of a database; SQLite uses WAL mode, so that readers and a writer do not block each other."""
    engine = create_engine(url, pool_pre_ping=True)
    _prepare_sqlite(engine, BUSY_MILLISECONDS)
    return engine


def open_for_checks(url: str | URL) -> Engine:
    """Return an engine for health checks, which opens a new connection each time and has a short lock timeout."""
    engine = create_engine(url, poolclass=NullPool)
    _prepare_sqlite(engine, CHECK_MILLISECONDS)
    return engine


def sqlite_file(url: str | URL) -> Path | None:
    """Return the file of a SQLite database; None for in-memory and other databases."""
    parsed = make_url(url)
    in_file = parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:")
    return Path(str(parsed.database)).absolute() if in_file else None


def complete(file: Path) -> None:
    """Move what is in the write-ahead log of a SQLite database into its file, as far as other servers let it."""
    try:
        with closing(sqlite3.connect(file, timeout=BUSY_MILLISECONDS / 1000)) as connection:
            [busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        log.error("%s is complete only together with %s-wal: %s", file, file, error)
        return
    if busy:
        log.warning("%s is complete only together with %s-wal: another process uses it", file, file)


def without_password(url: str | URL) -> str:
    """Return a URL with its password hidden."""
    return re.sub(r":[^:@/]*@", ":***@", str(url))


def _prepare_sqlite(engine: Engine, busy_milliseconds: int) -> None:
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        for pragma in (f"busy_timeout={busy_milliseconds}", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        _write_ahead(connection, busy_milliseconds)

    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", prepare)


def _write_ahead(connection: sqlite3.Connection, busy_milliseconds: int) -> None:
    """Switch a database to WAL mode, retrying while other connections do the same.

    SQLite does not apply ``busy_timeout`` to this statement: two connections that read the old mode and both want to
    write the new one would deadlock, so one of them fails immediately and has to retry.
    """
    deadline = time.monotonic() + busy_milliseconds / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _LOCKED or time.monotonic() > deadline:
                raise
        time.sleep(WRITE_AHEAD_RETRY_SECONDS)


@contextmanager
def database_errors(what: str) -> Iterator[None]:
    """Translate errors of the database for users; request and constraint errors are passed through.

    Parameters
    ----------
    what : str
        Name of the object that is stored or read, e.g. ``the link``.

    Raises
    ------
    StorageFull
        If the disk is full.
    Damaged
        If the database is damaged.
    Unavailable
        If it is locked or does not respond.
    """
    try:
        yield
    except DBAPIError as error:
        raise fault(error, what) or error from error
    except TimeoutError as error:  # the connection pool is exhausted
        raise Unavailable("the database of the links is busy", retry_after=RETRY_SECONDS) from error


def fault(error: DBAPIError, what: str) -> RequestError | None:
    """Return the error to report to the user, or None if the database itself is not at fault."""
    full = disk_full(what)
    if getattr(error.orig, "sqlstate", None) == _POSTGRESQL_FULL:
        return full
    extended = getattr(error.orig, "sqlite_errorcode", None)
    code = extended & 0xFF if isinstance(extended, int) else None
    answers: list[tuple[bool, RequestError]] = [
        (code == sqlite3.SQLITE_FULL or extended in _PERHAPS_FULL, full),
        (code in _DAMAGED, Damaged("the database of the links is damaged here")),
        (code in _LOCKED, Unavailable("the database of the links is busy", retry_after=RETRY_SECONDS)),
        (
            code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY) or _away(error),
            Unavailable("the database of the links does not answer", retry_after=RETRY_SECONDS),
        ),
    ]
    return next((answer for holds, answer in answers if holds), None)


def _away(error: DBAPIError) -> bool:
    """Return whether the server closed the connection or is unreachable, with a matching SQLSTATE or none at all."""
    state = getattr(error.orig, "sqlstate", "")
    unreachable = state is None or state.startswith(_POSTGRESQL_AWAY)
    return error.connection_invalidated or (isinstance(error, OperationalError) and unreachable)
