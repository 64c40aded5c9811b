"""Rows of the database that live for hours, and that streams follow, on one server or on several that share it.

Whoever follows a row hears at once of what is done through their own server, and within :data:`LOOK_SECONDS` of what is
done by way of another.
"""

from __future__ import annotations

import logging
import re
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy import URL, ColumnElement, Connection, Engine, LargeBinary, Row, Table, delete, select, update

from app.errors import Busy, NotFound, RequestError
from app.store.database import database_errors, open_database

log = logging.getLogger(__name__)

__all__ = ["Change", "Clock", "Followed", "Following"]

LOOK_SECONDS = 0.5
"""The interval at which a server polls the database for rows with local listeners."""
SWEEP_SECONDS = 600.0
"""The interval at which it deletes the rows that have ended."""
Clock = Callable[[], float]
News = TypeVar("News")
One = TypeVar("One", bound="Followed[Any]")


class Change:
    """A transaction that changes a row."""

    def __init__(self, connection: Connection, table: Table, row: Row[tuple[object, ...]]) -> None:
        self.connection = connection
        self.row = row
        """The row as it was, without what may be long."""
        self.seen = False
        """Whether listeners see a difference."""
        self._table = table

    def set(self, **values: object) -> None:
        """Change columns."""
        self.connection.execute(update(self._table).where(self._table.c.id == self.row.id).values(values))


class Followed(ABC, Generic[News]):
    """A row with a version, and who listens to it on this server.

    Parameters
    ----------
    name : str
        Id of the row.
    most : int
        The maximum number of streams; a visitor may have several tabs.
    """

    def __init__(self, rows: Following[Any], name: str, most: int) -> None:
        self.id = name
        self.ended = False
        """Whether the row was deleted while it had listeners."""
        self.rows = rows
        self.most_listeners = most
        self._listeners: dict[object, Callable[[], None]] = {}
        self._version = 0
        self._news: News | None = None
        self._lock = threading.Lock()

    @abstractmethod
    def read(self) -> tuple[int, News] | None:
        """Read the version and what listeners are told from the database; None if the row is gone."""

    @property
    def version(self) -> int:
        """The version that was last read from the database; 0 for none."""
        return self._version

    @property
    def followed(self) -> bool:
        """Whether there are listeners on this server."""
        return bool(self._listeners)

    def news(self, after: int) -> tuple[int, News] | None:
        """Return the current version and its news, if it is later than ``after``."""
        if not self._version:
            self.refresh()
        with self._lock:
            return (self._version, self._news) if self._news is not None and self._version > after else None

    def admit(self) -> None:
        """Check that another listener is allowed, and load the current state.

        Raises
        ------
        Busy
            If there are too many.
        """
        if len(self._listeners) >= self.most_listeners:
            raise Busy(f"too many connections follow this {self.rows.what} already", retry_after=30)
        self.refresh()

    def listen(self, listener: object, wake: Callable[[], None]) -> None:
        """Call ``wake``, in any thread, whenever the state changes, until ``listener`` leaves."""
        with self._lock:
            self._listeners[listener] = wake
        self.rows.watch()

    def leave(self, listener: object) -> None:
        """Remove a listener; idempotent."""
        with self._lock:
            self._listeners.pop(listener, None)

    def refresh(self) -> None:
        """Read the state once for all listeners, and wake them."""
        found = self.read()
        if found is None:
            self.end()
            return
        with self._lock:
            if found[0] <= self._version:  # another thread has already read this state or a later one
                return
            self._version, self._news = found
        self._wake()

    def end(self) -> None:
        """Notify all listeners that the row is gone."""
        self.ended = True
        self._wake()

    def publish(self) -> None:
        """Notify the listeners on this server; other servers poll the database."""
        if self.followed:
            self.refresh()
        else:
            self._version = 0  # whoever asks next reads it

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """Change the row in an exclusive transaction, and tell the listeners if they see a difference.

        Raises
        ------
        NotFound
            If it has ended.
        """
        table, now = self.rows.table, self.rows.clock()
        here = table.c.id == self.id
        short = [column for column in table.c if not (isinstance(column.type, LargeBinary) and not column.type.length)]
        with self.rows.writing() as connection:
            if connection.execute(update(table).where(here).values(touched=now)).rowcount == 0:
                raise self.rows.gone()
            change = Change(connection, table, connection.execute(select(*short).where(here)).one())
            yield change
            if change.seen:
                change.set(version=change.row.version + 1)
        if change.seen:
            self.publish()

    def _wake(self) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for wake in listeners:
            wake()


class Following(ABC, Generic[One]):
    """The rows of a table that streams on this server follow, which end after some time.

    Parameters
    ----------
    url : str or URL
        SQLAlchemy URL of the database, whose tables exist.
    clock : callable
        Returns a Unix timestamp.
    """

    table: ClassVar[Table]
    """Has the columns ``id``, ``version`` and ``touched``."""
    what: ClassVar[str]
    several: ClassVar[str]
    """What messages call a row, and several."""
    field: ClassVar[str]
    """What an error is about that says that there is no such row."""
    id_bytes: ClassVar[int]
    """The random bytes of an id, a multiple of three."""

    def __init__(self, url: str | URL, clock: Clock = time.time) -> None:
        self.engine: Engine = open_database(url)
        self.clock = clock
        self._owners: dict[str, str] = {}
        """The clients that made rows on this server."""
        self._open: WeakValueDictionary[str, One] = WeakValueDictionary()
        """Those in use on this server, each once."""
        self._watching = False
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def close(self) -> None:
        """Close the connections; its threads end."""
        self._closed.set()
        self.engine.dispose()

    @abstractmethod
    def current(self) -> ColumnElement[bool]:
        """Return the condition of rows that have not ended."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read from the database, with readable errors."""
        with database_errors(f"the {self.what}"), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Begin a transaction, with readable errors."""
        with database_errors(f"the {self.what}"), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def making(self, client: str, most: int, most_per_client: int) -> Iterator[tuple[Connection, str]]:
        """Begin a transaction that makes a row with a new id, after those that have ended are deleted.

        Raises
        ------
        Busy
            If there are too many, of all clients or of this one, and none has ended.
        """
        made = secrets.token_urlsafe(self.id_bytes)
        with self.writing() as connection:
            connection.execute(delete(self.table).where(~self.current()))
            left = set(connection.scalars(select(self.table.c.id)))
            with self._lock:
                self._owners = {one: owner for one, owner in self._owners.items() if one in left}
                mine = list(self._owners.values()).count(client)
            if len(left) >= most or mine >= most_per_client:
                raise Busy(f"there are too many {self.several} now", retry_after=600)
            yield connection, made
            with self._lock:
                self._owners[made] = client  # before it is committed: in SQLite nobody counts before that

    def find(self, name: str, *columns: ColumnElement[Any]) -> Row[tuple[object, ...]]:
        """Return columns of a row that has not ended.

        Raises
        ------
        NotFound
            If there is none.
        """
        row = None
        if re.fullmatch(rf"[\w-]{{{self.id_bytes * 4 // 3}}}", name, re.ASCII):
            query = select(self.table.c.id, *columns).where((self.table.c.id == name) & self.current())
            with self.reading() as connection:
                row = connection.execute(query).one_or_none()
        if row is None:
            raise self.gone()
        return row

    def gone(self) -> NotFound:
        """Return the error that says that there is no such row."""
        return NotFound(f"there is no such {self.what}, or it ended", field=self.field)

    def sweep(self) -> None:
        """Delete the rows that have ended, with all that belongs to them."""
        with self.writing() as connection:
            connection.execute(delete(self.table).where(~self.current()))

    def sweep_regularly(self) -> None:
        """Delete the rows that have ended now and then, in a thread: perhaps nobody comes whose request would."""
        threading.Thread(target=self._sweep_regularly, name=f"sweeping {self.several}", daemon=True).start()

    def _sweep_regularly(self) -> None:
        while not self._closed.is_set():
            with self._going_on():
                self.sweep()
            self._closed.wait(SWEEP_SECONDS)

    def only(self, one: One) -> One:
        """Return the object that stands for a row on this server: ``one``, unless there is another."""
        with self._lock:
            return self._open.setdefault(one.id, one)

    def watch(self) -> None:
        """Poll the database in a thread, as long as there are listeners."""
        with self._lock:
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._poll, name=f"following {self.several}", daemon=True).start()

    def _poll(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            with self._lock:
                followed = [one for one in self._open.values() if one.followed]
                if not followed:
                    self._watching = False
                    return
            with self._going_on():
                self.look(followed)

    def look(self, followed: Sequence[One]) -> None:
        """Read the rows that other servers have changed."""
        columns = self.table.c
        query = select(columns.id, columns.version).where(columns.id.in_([one.id for one in followed]))
        with self.reading() as connection:
            versions = {row.id: row.version for row in connection.execute(query)}
        for one in followed:
            if one.id not in versions:
                one.end()
            elif versions[one.id] != one.version:
                self._refresh(one)

    def _refresh(self, one: One) -> None:
        try:
            one.refresh()
        except RequestError:
            raise
        except Exception:  # a row that is damaged keeps no news from those who follow others
            log.exception("a %s could not be read", self.what)
            one.end()

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Log what goes wrong in a thread, which goes on."""
        try:
            yield
        except RequestError as error:
            log.warning("%s: %s", self.several, error.message)
        except Exception:
            log.exception("%s: the database could not be used", self.several)
