"""Classes: a group that takes a lesson together, for as long as the server remembers it.

A class has no accounts.  Who holds its secret presents and sees the list; everybody else is a student under a name that
the server gives him.  All that is kept is bounded: the newest state that was presented, one row a student.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from app.artifacts import Options
from app.errors import Busy, Forbidden, InvalidBody, NotFound

__all__ = ["BoardRow", "Classes", "LessonClass", "News", "Presented", "StudentRow"]

MAX_CLASSES = 64
MAX_CLASSES_PER_CLIENT = 16
MAX_STUDENTS = 200
MAX_LISTENERS = 250
"""Streams of one class: a student may have several tabs."""
MAX_STATE_BYTES = 1 << 16
"""Of what a presenter shows."""
MAX_STEPS = 100
IDLE_SECONDS = 2 * 3600.0
"""After which a class that nobody touches gives way to a new one."""
AWAY_SECONDS = 45.0
"""After which a student who says nothing is away."""
ADJECTIVES = (
    *("amber", "azure", "bold", "brave", "bright", "calm", "clever", "coral", "crimson", "eager", "fair"),
    *("gentle", "golden", "green", "happy", "honest", "ivory", "jade", "keen", "kind", "swift"),
)
ANIMALS = (
    *("badger", "crane", "dolphin", "falcon", "fox", "heron"),
    *("ibis", "lynx", "marten", "otter", "raven", "seal"),
)
Clock = Callable[[], float]


class Presented(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a presenter shows."""

    step: Annotated[int, Meta(ge=1, le=MAX_STEPS)]
    script: Annotated[str, Meta(max_length=50_000)]
    options: Options = Options()
    view: dict[Annotated[str, Meta(max_length=64)], Annotated[str, Meta(max_length=400)] | int | float | bool] = {}
    line: Annotated[int, Meta(ge=0, le=100_000)] = 0
    """The line of the script that he points at; 0 for none."""


class StudentRow(Struct, frozen=True, kw_only=True):
    """A student as his teacher sees him."""

    name: str
    step: int
    done: int
    """Steps whose checks the server saw pass."""
    away: bool


class BoardRow(Struct, frozen=True, kw_only=True):
    """A student's best result of a step."""

    name: str
    step: int
    milliseconds: float
    times_numpy: float | None = None
    """How many times faster than NumPy, where that was measured."""


class News(Struct, frozen=True, kw_only=True):
    """What everybody in a class may know; the data of its events."""

    presented: Presented | None = None
    """None while nobody presents."""
    board: list[BoardRow] = []
    students: int = 0


@dataclass(slots=True)
class _Student:
    name: str
    seen: float
    step: int = 1
    done: set[int] = field(default_factory=set)
    best: dict[int, BoardRow] = field(default_factory=dict)


class LessonClass:
    """One class.

    Parameters
    ----------
    lesson : str
        Name of its lesson.
    clock : callable
        Returns seconds.
    """

    def __init__(self, lesson: str, clock: Clock) -> None:
        self.id = secrets.token_urlsafe(9)
        self.lesson = lesson
        self.secret = secrets.token_urlsafe(18)
        self._clock = clock
        self._students: dict[str, _Student] = {}
        self._listeners: dict[object, Callable[[], None]] = {}
        self._presented: Presented | None = None
        self._version = 1
        self._encoded = msgspec.json.encode(News())
        self._lock = threading.RLock()
        self.touched = clock()

    def require(self, secret: str) -> None:
        """Refuse whoever is not its teacher.

        Raises
        ------
        Forbidden
            The secret is not this class's.
        """
        if not hmac.compare_digest(_hashed(secret), _hashed(self.secret)):
            raise Forbidden("only the teacher of this class does that", expected="the secret of the teacher's link")

    def attend(self, key: str, step: int) -> str:
        """Note at which step a student is, and return his name.

        Parameters
        ----------
        key : str
            What his browser calls itself; nobody else is told.
        step : int

        Raises
        ------
        Busy
            The class is full, and nobody is away.
        """
        with self._lock:
            student = self._students.get(key)
            if student is None:
                self._make_room()
                student = self._students[key] = _Student(self._free_name(), self._clock())
                self._publish()
            student.seen, student.step, self.touched = self._clock(), step, self._clock()
            return student.name

    def credit(self, key: str, step: int, seconds: float | None, times_numpy: float | None) -> None:
        """Note that the server saw a student's step pass, and how quick his kernel was."""
        with self._lock:
            student = self._students.get(key)
            if student is None:
                raise NotFound("this student is not in the class", field="student")
            student.done.add(step)
            best = student.best.get(step)
            if seconds and (best is None or seconds * 1e3 < best.milliseconds):
                row = BoardRow(name=student.name, step=step, milliseconds=seconds * 1e3, times_numpy=times_numpy)
                student.best[step] = row
                self._publish()

    def present(self, state: Presented | None) -> None:
        """Show a state to everybody; None ends the presentation.

        Raises
        ------
        InvalidBody
            It is too large.
        """
        if state is not None and len(msgspec.json.encode(state)) > MAX_STATE_BYTES:
            raise InvalidBody("this is too much to present", expected=f"at most {MAX_STATE_BYTES:,} bytes")
        with self._lock:
            self._presented, self.touched = state, self._clock()
            self._publish()

    @property
    def students(self) -> list[StudentRow]:
        """The students, those who came first at the top."""
        with self._lock:
            now = self._clock()
            rows = [
                StudentRow(name=s.name, step=s.step, done=len(s.done), away=now - s.seen > AWAY_SECONDS)
                for s in self._students.values()
            ]
        return sorted(rows, key=lambda row: (row.away, row.name))

    def news(self, after: int) -> tuple[int, bytes] | None:
        """Return the newest version of what everybody may know, and its number, if it is later than ``after``."""
        with self._lock:
            return (self._version, self._encoded) if self._version > after else None

    def admit(self) -> None:
        """Refuse a listener beyond :data:`MAX_LISTENERS`.

        Raises
        ------
        Busy
            That many listen already.
        """
        with self._lock:
            if len(self._listeners) >= MAX_LISTENERS:
                raise Busy("too many follow this class already", retry_after=30)

    def listen(self, listener: object, wake: Callable[[], None]) -> None:
        """Call ``wake``, in any thread, whenever there is news, until ``listener`` leaves."""
        with self._lock:
            self._listeners[listener] = wake

    def leave(self, listener: object) -> None:
        """Listen no more; once more does nothing."""
        with self._lock:
            self._listeners.pop(listener, None)

    def _publish(self) -> None:
        """Encode once what everybody hears, and wake all who listen; the lock is held."""
        board = sorted(
            (row for student in self._students.values() for row in student.best.values()),
            key=lambda row: (row.step, row.milliseconds),
        )
        news = News(presented=self._presented, board=board[:MAX_STUDENTS], students=len(self._students))
        self._encoded = msgspec.json.encode(news)
        self._version += 1
        for wake in list(self._listeners.values()):
            wake()

    def _make_room(self) -> None:
        """Of too many students let one go who is away, first those who have done least; the lock is held."""
        if len(self._students) < MAX_STUDENTS:
            return
        away = [key for key, student in self._students.items() if self._clock() - student.seen > AWAY_SECONDS]
        if not away:
            raise Busy("this class is full", retry_after=round(AWAY_SECONDS))
        del self._students[min(away, key=lambda key: (len(self._students[key].done), self._students[key].seen))]

    def _free_name(self) -> str:
        taken = {student.name for student in self._students.values()}
        names = [f"{adjective} {animal}" for adjective in ADJECTIVES for animal in ANIMALS]
        return secrets.choice([name for name in names if name not in taken])


class Classes:
    """The classes of a server, in its memory.

    Parameters
    ----------
    clock : callable
        Returns seconds.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._classes: dict[str, tuple[str, LessonClass]] = {}
        self._lock = threading.Lock()

    def create(self, lesson: str, client: str) -> LessonClass:
        """Make a class for a lesson.

        Raises
        ------
        Busy
            There are as many as the server remembers, and none of them is idle.
        """
        with self._lock:
            now = self._clock()
            for name, (_, old) in list(self._classes.items()):
                if now - old.touched > IDLE_SECONDS:
                    del self._classes[name]
            own = sum(owner == client for owner, _ in self._classes.values())
            if len(self._classes) >= MAX_CLASSES or own >= MAX_CLASSES_PER_CLIENT:
                raise Busy("there are too many classes now", retry_after=600)
            made = LessonClass(lesson, self._clock)
            self._classes[made.id] = (client, made)
            return made

    def get(self, name: str) -> LessonClass:
        """Return a class.

        Raises
        ------
        NotFound
            There is none of that name any more.
        """
        with self._lock:
            entry = self._classes.get(name)
        if entry is None:
            raise NotFound("there is no such class, or it ended", field="class")
        return entry[1]


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
