"""The database rows of classes: students and the steps they have passed."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from app.store.tables import CLASSES, PASSED_STEPS, STUDENTS

__all__ = [
    "Attendee",
    "BoardRow",
    "Entry",
    "add_student",
    "board",
    "change",
    "clear",
    "count_from",
    "entry",
    "find",
    "note_passed",
    "note_step",
    "passed_steps",
    "progress",
    "remove_student",
    "shown_name",
    "students",
]


class Attendee(Struct, frozen=True):
    """A student of a class."""

    key: bytes
    name: str
    step: int
    seen: float
    """When they last reported their step, as a Unix timestamp."""
    done: int
    """The steps that passed on the server."""
    origin: str
    """Digest of the address that they joined from."""
    chosen: str = ""
    """The name that they chose."""
    hidden: int = 0
    """Whether the teacher hides it."""
    look: str = ""
    """What became of the teacher's wish to look into their workspace."""

    def shown(self, anonymous: bool) -> str:
        """Return the name that the class sees."""
        return shown_name(self.name, self.chosen, bool(self.hidden) or anonymous)


class Entry(Struct, frozen=True):
    """Whom a class lets in."""

    entry: str
    """The renewed part of the students' link; empty for the first link."""
    crowds: int
    """Whether the teacher lets one address bring as many students as there are places."""
    turned_away: float
    """When a student was refused because of that, as a Unix timestamp; 0 for never."""
    anonymous: int
    """Whether all names that students chose are hidden."""


class BoardRow(Struct, frozen=True, kw_only=True):
    """A student's best result for a step."""

    name: str
    step: int
    milliseconds: float
    times_numpy: float | None = None
    """The speedup over NumPy, if it was measured."""
    disturbed: bool = False
    """Whether others used the machine during the measurement."""


def _student(name: str, key: bytes) -> ColumnElement[bool]:
    return (STUDENTS.c["class"] == name) & (STUDENTS.c.key == key)


def shown_name(given: str, chosen: str, hidden: bool) -> str:
    """Return the name of a student that the class sees."""
    return given if hidden or not chosen else chosen


def find(connection: Connection, name: str, key: bytes) -> Attendee | None:
    """Return a student of the class ``name``, or None."""
    return next(iter(students(connection, name, key)), None)


def change(connection: Connection, name: str, key: bytes, **values: object) -> None:
    """Change columns of a student."""
    connection.execute(update(STUDENTS).where(_student(name, key)).values(values))


def count_from(connection: Connection, name: str, origin: str) -> int:
    """Return the number of students of a class who joined from an address."""
    rows = (STUDENTS.c["class"] == name) & (STUDENTS.c.origin == origin)
    return connection.scalar(select(func.count()).where(rows)) or 0


def entry(connection: Connection, name: str) -> Entry:
    """Return whom a class lets in."""
    columns = (CLASSES.c.entry, CLASSES.c.crowds, CLASSES.c.turned_away, CLASSES.c.anonymous)
    return Entry(*connection.execute(select(*columns).where(CLASSES.c.id == name)).one())


def note_step(connection: Connection, name: str, key: bytes, step: int, now: float) -> bool:
    """Record a student's current step; return whether they are in the class."""
    noted = connection.execute(update(STUDENTS).where(_student(name, key)).values(step=step, seen=now))
    return noted.rowcount > 0


def add_student(connection: Connection, name: str, student: Attendee) -> None:
    """Add a student to a class under an unused name."""
    values = {"class": name, "key": student.key, "name": student.name, "step": student.step, "seen": student.seen}
    connection.execute(insert(STUDENTS).values({**values, "origin": student.origin}))


def remove_student(connection: Connection, name: str, key: bytes) -> None:
    """Remove a student and their passed steps."""
    connection.execute(delete(STUDENTS).where(_student(name, key)))


def clear(connection: Connection, name: str) -> None:
    """Remove the students of a class who have passed no step."""
    passed = select(PASSED_STEPS.c.key).where(PASSED_STEPS.c["class"] == name)
    idle = (STUDENTS.c["class"] == name) & STUDENTS.c.key.not_in(passed)
    connection.execute(delete(STUDENTS).where(idle))


def students(connection: Connection, name: str, key: bytes | None = None) -> list[Attendee]:
    """Return the students of a class, or the one with a key."""
    passed = select(func.count()).where(
        (PASSED_STEPS.c["class"] == STUDENTS.c["class"]) & (PASSED_STEPS.c.key == STUDENTS.c.key)
    )
    columns = (STUDENTS.c.key, STUDENTS.c.name, STUDENTS.c.step, STUDENTS.c.seen, passed.scalar_subquery())
    further = (STUDENTS.c.origin, STUDENTS.c.chosen, STUDENTS.c.hidden, STUDENTS.c.look)
    rows = STUDENTS.c["class"] == name if key is None else _student(name, key)
    query = select(*columns, *further).where(rows)
    return [Attendee(*row) for row in connection.execute(query)]


def note_passed(
    connection: Connection,
    name: str,
    key: bytes,
    step: int,
    milliseconds: float | None,
    times_numpy: float | None,
    disturbed: bool,
) -> bool:
    """Record a passed step with its best time; return whether the board or the progress changes."""
    passed = PASSED_STEPS.c
    row = (passed["class"] == name) & (passed.key == key) & (passed.step == step)
    before = connection.execute(select(passed.milliseconds).where(row)).one_or_none()
    times = {"milliseconds": milliseconds, "times_numpy": times_numpy, "disturbed": int(disturbed)}
    if before is None:
        connection.execute(insert(PASSED_STEPS).values({"class": name, "key": key, "step": step, **times}))
        return True
    if milliseconds is None or (before.milliseconds is not None and before.milliseconds <= milliseconds):
        return False
    connection.execute(update(PASSED_STEPS).where(row).values(times))
    return True


def progress(connection: Connection, name: str) -> dict[int, int]:
    """Return how many students of a class passed each step that somebody passed."""
    passed = PASSED_STEPS.c
    query = select(passed.step, func.count().label("students")).where(passed["class"] == name).group_by(passed.step)
    return {row.step: row.students for row in connection.execute(query)}


def passed_steps(connection: Connection, name: str) -> list[Row[tuple[object, ...]]]:
    """Return the steps that students of a class passed, by student and step."""
    passed = PASSED_STEPS.c
    query = select(PASSED_STEPS).where(passed["class"] == name).order_by(passed.key, passed.step)
    return list(connection.execute(query))


def board(connection: Connection, name: str, length: int, anonymous: bool = False) -> list[BoardRow]:
    """Return the leaderboard of a class: at most ``length`` results per step, the fastest first."""
    passed = PASSED_STEPS.c
    results = (
        select(
            STUDENTS.c.name,
            STUDENTS.c.chosen,
            STUDENTS.c.hidden,
            passed.step,
            passed.milliseconds,
            passed.times_numpy,
            passed.disturbed,
        )
        .join(STUDENTS, (STUDENTS.c["class"] == passed["class"]) & (STUDENTS.c.key == passed.key))
        .where((passed["class"] == name) & passed.milliseconds.is_not(None))
        .order_by(passed.step, passed.milliseconds)
        .limit(length)
    )
    return [
        BoardRow(
            name=shown_name(row.name, row.chosen, bool(row.hidden) or anonymous),
            step=row.step,
            milliseconds=row.milliseconds,
            times_numpy=row.times_numpy,
            disturbed=bool(row.disturbed),
        )
        for row in connection.execute(results)
    ]
