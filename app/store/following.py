"""Rows of the database that streams follow, on one server or on several that share it.

Whoever follows a row hears at once of what is done through their own server, and within :data:`LOOK_SECONDS` of what is
done by way of another.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy import URL, ColumnElement, Connection, Engine, Table, delete, select

from app.errors import Busy, RequestError
from app.store.database import database_errors, open_database

log = logging.getLogger(__name__)

__all__ = ["Clock", "Followed", "Following"]

LOOK_SECONDS = 0.5
"""The interval at which a server polls the database for rows with local listeners."""
SWEEP_SECONDS = 600.0
"""The interval at which it deletes the rows that have ended."""
Clock = Callable[[], float]
News = TypeVar("News")
One = TypeVar("One", bound="Followed[Any]")


class Followed(ABC, Generic[News]):
    """A row with a version, and who listens to it on this server.

    Parameters
    ----------
    watch : callable
        Has the database polled while there are listeners.
    name : str
        Id of the row.
    what : str
        What messages call it.
    most : int
        The maximum number of streams; a visitor may have several tabs.
    """

    def __init__(self, watch: Callable[[], None], name: str, what: str, most: int) -> None:
        self.id = name
        self.ended = False
        """Whether the row was deleted while it had listeners."""
        self._watch = watch
        self._what = what
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
            raise Busy(f"too many connections follow {self._what} already", retry_after=30)
        self.refresh()

    def listen(self, listener: object, wake: Callable[[], None]) -> None:
        """Call ``wake``, in any thread, whenever the state changes, until ``listener`` leaves."""
        with self._lock:
            self._listeners[listener] = wake
        self._watch()

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

    def _wake(self) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for wake in listeners:
            wake()


class Following(ABC, Generic[One]):
    """The rows of a table that streams on this server follow.

    Parameters
    ----------
    url : str or URL
        SQLAlchemy URL of the database, whose tables exist.
    table : Table
        Has the columns ``id`` and ``version``.
    what : str
        What messages call a row.
    clock : callable
        Returns a Unix timestamp.
    """

    def __init__(self, url: str | URL, table: Table, what: str, clock: Clock = time.time) -> None:
        self.engine: Engine = open_database(url)
        self.clock = clock
        self._table = table
        self._what = what
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

    def sweep(self) -> None:
        """Delete the rows that have ended."""
        with database_errors(self._what), self.engine.begin() as connection:
            self.delete_ended(connection)

    def sweep_regularly(self) -> None:
        """Delete the rows that have ended now and then, in a thread: perhaps nobody comes whose request would."""
        threading.Thread(target=self._sweep_regularly, name=f"sweeping {self._what}", daemon=True).start()

    def _sweep_regularly(self) -> None:
        while not self._closed.is_set():
            with self._going_on():
                self.sweep()
            self._closed.wait(SWEEP_SECONDS)

    def delete_ended(self, connection: Connection) -> None:
        """Delete the rows that have ended, with all that belongs to them."""
        connection.execute(delete(self._table).where(~self.current()))

    def only(self, one: One) -> One:
        """Return the object that stands for a row on this server: ``one``, unless there is another."""
        with self._lock:
            return self._open.setdefault(one.id, one)

    def watch(self) -> None:
        """Poll the database in a thread, as long as there are listeners."""
        with self._lock:
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._poll, name=f"following {self._what}", daemon=True).start()

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
        columns = self._table.c
        query = select(columns.id, columns.version).where(columns.id.in_([one.id for one in followed]))
        with database_errors(self._what), self.engine.connect() as connection:
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
            log.exception("%s could not be read", self._what)
            one.end()

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Log what goes wrong in a thread, which goes on."""
        try:
            yield
        except RequestError as error:
            log.warning("%s: %s", self._what, error.message)
        except Exception:
            log.exception("%s: the database could not be used", self._what)
