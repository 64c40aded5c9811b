"""Classes: groups that take a lesson together, on one server or on several that share a database.

A class has no accounts.  Who holds its secret presents and sees the list; everybody else is a student under a name that
the server gives them, or one that they choose and the teacher can hide.  The teacher can ask to look into a workspace,
which the student then shares (:mod:`app.live`).  All that is kept is bounded: the newest state that was presented, a
row for each student and for each step that they passed.

Whoever has the students' link may join, a classroom behind one address as well.  The teacher can renew the link, and
with it clear the class of those who have no result; who is in the class stays.  From one address come at most
:data:`MAX_PER_ADDRESS` until the teacher lets more in.  In a full class, whoever is away and has no result makes room.
Who is there has a place in the server's queues (:mod:`app.lessons.seats`).

The database has the state of a class, so that it outlives a restart and its students may come to different servers
(:mod:`app.store.following`).
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import secrets
import time
from collections import Counter
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import URL, ColumnElement, Connection, delete, insert, select

from app.artifacts import Options
from app.errors import Busy, Forbidden, InvalidBody, NotFound, RequestError
from app.lessons import class_rows
from app.lessons.class_rows import Attendee, BoardRow
from app.lessons.seats import Seats
from app.names import free_names
from app.store.following import Change, Clock, Followed, Following
from app.store.tables import CLASSES, digest_of

__all__ = ["Admission", "BoardRow", "Classes", "LessonClass", "News", "Presented", "Seat", "StudentRow"]

MAX_CLASSES = 64
MAX_CLASSES_PER_CLIENT = 16
MAX_STUDENTS = 200
MAX_PER_ADDRESS = 120
"""The maximum number of students who join from one address, which a school shares, without being let in."""
MAX_LISTENERS = 250
"""The maximum number of streams per class; a student may have several tabs."""
MAX_STATE_BYTES = 1 << 16
"""The maximum size of the presented state."""
MAX_STEPS = 100
ASKED, DECLINED = "asked", "declined"
"""What becomes of the teacher's wish to look into a workspace, unless it is let in."""
IDLE_SECONDS = 2 * 3600.0
"""After this time without activity, a class ends, and is deleted."""
AWAY_SECONDS = 75.0
"""After this time without a report, a student counts as away; pages report every thirty seconds."""
TURNED_AWAY_SECONDS = 60.0
"""How long the teacher is told that somebody was refused, who asks again every fifteen seconds."""


class Presented(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state that a presenter shows."""

    step: Annotated[int, Meta(ge=1, le=MAX_STEPS)]
    script: Annotated[str, Meta(max_length=50_000)]
    options: Options = Options()
    view: dict[Annotated[str, Meta(max_length=64)], Annotated[str, Meta(max_length=400)] | int | float | bool] = {}
    line: Annotated[int, Meta(ge=0, le=100_000)] = 0
    """The highlighted line of the script; 0 for none."""


class StudentRow(Struct, frozen=True, kw_only=True):
    """A student in the teacher's list."""

    name: str
    """What the class sees."""
    given: str
    """The name that the server gave them, by which the teacher refers to them."""
    chosen: str
    """The name that they chose; empty for none."""
    hidden: bool
    """Whether the teacher hides it."""
    look: str
    """What became of the wish to look into their workspace: ``asked``, ``declined``, or the id of a live workspace."""
    step: int
    done: int
    """The steps that passed on the server."""
    away: bool


class Admission(Struct, frozen=True, kw_only=True):
    """Whom a class lets in, for its teacher."""

    entry: str
    """The part of the students' link that was renewed; empty for the first link."""
    waiting: bool
    """Whether students wait to be let in, as very many have joined from their address."""
    per_address: int
    """How many may join from one address."""
    anonymous: bool
    """Whether all names that students chose are hidden."""


class News(Struct, frozen=True, kw_only=True):
    """The public state of a class, sent as events."""

    presented: Presented | None = None
    """The presented state, if any."""
    board: list[BoardRow] = []
    students: int = 0
    passed: dict[int, int] = {}
    """How many students passed each step."""
    looks: list[str] = []
    """Tokens of those into whose workspace the teacher asks to look; each student knows their own."""


class Seat(Struct, frozen=True, kw_only=True):
    """What a student is told of themselves."""

    name: str
    """What the class sees."""
    chosen: str
    """What they chose; the teacher may hide it."""
    token: str
    """What stands for them where the teacher asks to look."""


class LessonClass(Followed[bytes]):
    """A class on this server.

    Parameters
    ----------
    school : Classes
        All classes.
    name : str
        The id of this one.
    lesson : str
        Name of its lesson.
    secret : bytes
        Digest of what its teacher holds.
    """

    def __init__(self, school: Classes, name: str, lesson: str, secret: bytes) -> None:
        super().__init__(school, name, MAX_LISTENERS)
        self.lesson = lesson
        self._school = school
        self._secret = secret

    def require(self, secret: str) -> None:
        """Check the teacher's secret.

        Raises
        ------
        Forbidden
            If the secret is wrong.
        """
        if not hmac.compare_digest(digest_of(secret), self._secret):
            raise Forbidden("only the teacher of this class may do that", expected="the secret of the teacher's link")

    def attend(self, key: str, step: int, address: str = "", entry: str = "", chosen: str | None = None) -> str:
        """Record a student's current step, and return how the class calls them.

        Parameters
        ----------
        key : str
            The identifier of their browser, which is not disclosed.
        address : str
            The network address of a student who joins.
        entry : str
            The renewed part of the link that they have.
        chosen : str, optional
            The name that they choose; empty for the one that they were given.

        Raises
        ------
        Forbidden
            If a student who joins has an old link, or another has the name that they choose.
        Busy
            If too many come from their address, or the class is full and nobody makes room.
        """
        digest, now = digest_of(key), self.rows.clock()
        origin = hmac.new(self._secret, address.encode(), hashlib.sha256).hexdigest()[:32]
        with self.changing() as change:
            known = class_rows.note_step(change.connection, self.id, digest, step, now)
            refusal = None if known else self._refusal(change, entry, origin)
            if refusal is None and not known:
                self._join(change, digest, step, origin)
            one = class_rows.find(change.connection, self.id, digest)
            if one is not None and refusal is None and chosen is not None and chosen != one.chosen:
                refusal = self._call(change, one, chosen)
                one = class_rows.find(change.connection, self.id, digest)
        if one is not None:
            self._school.seats.take(self.id, digest, address)
        if one is None or refusal is not None:
            raise refusal or self.rows.gone()
        return one.shown(bool(change.row.anonymous))

    def seat(self, key: str) -> Seat:
        """Return what a student is told of themselves.

        Raises
        ------
        NotFound
            If the student is not in the class.
        """
        digest = digest_of(key)
        with self.rows.reading() as connection:
            one = class_rows.find(connection, self.id, digest)
            anonymous = bool(class_rows.entry(connection, self.id).anonymous)
        if one is None:
            raise _no_such_student()
        return Seat(name=one.shown(anonymous), chosen=one.chosen, token=self._token(digest))

    def _call(self, change: Change, student: Attendee, chosen: str) -> Forbidden | None:
        """Call a student by the name that they choose, unless somebody else has it."""
        others = [one for one in class_rows.students(change.connection, self.id) if one.key != student.key]
        if chosen and chosen.casefold() in {name.casefold() for one in others for name in (one.name, one.chosen)}:
            return Forbidden(f"the name “{chosen}” is taken in this class", field="name")
        class_rows.change(change.connection, self.id, student.key, chosen=chosen)
        change.seen |= student.done > 0  # only the board has names
        return None

    def _token(self, key: bytes) -> str:
        return hmac.new(self._secret, key, hashlib.sha256).hexdigest()[:16]

    def hide_names(self, given: str, hidden: bool) -> None:
        """Hide the name that a student chose, or show it again.

        Parameters
        ----------
        given : str
            The name that they were given; empty for all students, those who come later too.

        Raises
        ------
        NotFound
            If there is no such student.
        """
        with self.changing() as change:
            change.seen = True
            if given:
                key = self._key_of(change.connection, given)
                class_rows.change(change.connection, self.id, key, hidden=int(hidden))
            else:
                change.set(anonymous=int(hidden))

    def ask_to_look(self, given: str, ask: bool = True) -> None:
        """Ask a student to let the teacher look into their workspace, or no more.

        Raises
        ------
        NotFound
            If there is no such student.
        """
        with self.changing() as change:
            change.seen = True
            key = self._key_of(change.connection, given)
            class_rows.change(change.connection, self.id, key, look=ASKED if ask else "")

    def answer_look(self, key: str, session: str) -> None:
        """Let the teacher look, or not.

        Parameters
        ----------
        session : str
            The id of the live workspace; empty to decline.

        Raises
        ------
        NotFound
            If the student is not in the class.
        Forbidden
            If the teacher does not ask.
        """
        with self.changing() as change:
            change.seen = True
            one = class_rows.find(change.connection, self.id, digest_of(key))
            if one is None:
                raise _no_such_student()
            if one.look != ASKED:
                raise Forbidden("the teacher does not ask to look any more", field="look")
            class_rows.change(change.connection, self.id, one.key, look=session or DECLINED)

    def _key_of(self, connection: Connection, given: str) -> bytes:
        for one in class_rows.students(connection, self.id):
            if one.name == given:
                return one.key
        raise NotFound("there is no such student", field="given")

    def results(self) -> str:
        """Return the passed steps as CSV, one line each, with names that students chose even where they are hidden."""
        with self.rows.reading() as connection:
            called = {one.key: one for one in class_rows.students(connection, self.id)}
            rows = class_rows.passed_steps(connection, self.id)
        text = io.StringIO()
        write = csv.writer(text, quoting=csv.QUOTE_ALL).writerow  # some spreadsheets end an unquoted cell at ; too
        write(["name", "given name", "step", "milliseconds", "times NumPy", "machine busy"])
        for row in rows:
            one = called[row.key]
            name = one.chosen or one.name
            times = [number if number is None else f"{number:.6g}" for number in (row.milliseconds, row.times_numpy)]
            guard = "'" if name[0] in "=+-@＝＋－＠" else ""  # what begins so is a formula to some spreadsheet
            write([guard + name, one.name, row.step, *times, "yes" if row.disturbed else "no"])
        return text.getvalue()

    def _join(self, change: Change, key: bytes, step: int, origin: str) -> None:
        """Add a student, under a name that is free."""
        connection, now = change.connection, self.rows.clock()
        self._make_room(connection, now)
        taken = {name for one in class_rows.students(connection, self.id) for name in (one.name, one.chosen.lower())}
        name = secrets.choice(free_names(taken))
        class_rows.add_student(connection, self.id, Attendee(key, name, step, now, 0, origin))
        change.seen = True

    def _refusal(self, change: Change, entry: str, origin: str) -> RequestError | None:
        """Return why a student may not join, if so; note for the teacher that they came."""
        door = change.row
        if not hmac.compare_digest(door.entry.encode(), entry.encode()):
            return Forbidden("the link to this class was renewed; ask your teacher for the new one", field="entry")
        if door.crowds or class_rows.count_from(change.connection, self.id, origin) < MAX_PER_ADDRESS:
            return None
        change.set(turned_away=self.rows.clock())
        words = f"{MAX_PER_ADDRESS} students have joined from your address; your teacher can let more in"
        return Busy(words, field="address", retry_after=15)

    @property
    def admission(self) -> Admission:
        """Whom the class lets in."""
        with self.rows.reading() as connection:
            door = class_rows.entry(connection, self.id)
        waiting = not door.crowds and self.rows.clock() - door.turned_away < TURNED_AWAY_SECONDS
        per_address = MAX_STUDENTS if door.crowds else MAX_PER_ADDRESS
        anonymous = bool(door.anonymous)
        return Admission(entry=door.entry, waiting=waiting, per_address=per_address, anonymous=anonymous)

    def admit_crowds(self) -> None:
        """Let one address bring as many students as there are places."""
        with self.changing() as change:
            change.set(crowds=1)

    def renew_entry(self, clear: bool) -> None:
        """Renew the students' link, so that nobody joins with the old one.

        Parameters
        ----------
        clear : bool
            Whether to remove the students without a result too.
        """
        with self.changing() as change:
            change.set(entry=secrets.token_urlsafe(9), crowds=0, turned_away=0.0)
            if clear:
                class_rows.clear(change.connection, self.id)
                change.seen = True

    def credit(
        self, key: str, step: int, seconds: float | None, times_numpy: float | None, disturbed: bool = False
    ) -> None:
        """Record that a student's step passed on the server, with the time of their kernel.

        Parameters
        ----------
        disturbed : bool
            Whether others used the machine during the measurement.

        Raises
        ------
        NotFound
            If the student is not in the class.
        """
        digest, milliseconds = digest_of(key), seconds * 1e3 if seconds else None
        with self.changing() as change:
            if class_rows.find(change.connection, self.id, digest) is None:
                raise _no_such_student()
            times = (milliseconds, times_numpy, disturbed)
            change.seen = class_rows.note_passed(change.connection, self.id, digest, step, *times)

    def present(self, state: Presented | None) -> None:
        """Present a state to the class; None ends the presentation.

        Raises
        ------
        InvalidBody
            If it is too large.
        """
        encoded = None if state is None else msgspec.json.encode(state)
        if encoded is not None and len(encoded) > MAX_STATE_BYTES:
            raise InvalidBody("what is presented is too large", expected=f"at most {MAX_STATE_BYTES:,} bytes")
        with self.changing() as change:
            change.set(presented=encoded)
            change.seen = True

    def dissolve(self) -> None:
        """End the class: delete its students and results, and notify the listeners.

        Raises
        ------
        NotFound
            If it has already ended.
        """
        with self.changing() as change:
            change.connection.execute(delete(CLASSES).where(CLASSES.c.id == self.id))
        self.end()

    @property
    def students(self) -> list[StudentRow]:
        """The students by name, with absent ones last."""
        now = self.rows.clock()
        with self.rows.reading() as connection:
            attending = class_rows.students(connection, self.id)
            anonymous = bool(class_rows.entry(connection, self.id).anonymous)
        rows = [
            StudentRow(
                name=one.shown(anonymous),
                given=one.name,
                chosen=one.chosen,
                hidden=bool(one.hidden),
                look=one.look,
                step=one.step,
                done=one.done,
                away=now - one.seen > AWAY_SECONDS,
            )
            for one in attending
        ]
        return sorted(rows, key=lambda row: (row.away, row.name))

    def read(self) -> tuple[int, bytes] | None:
        """Read and encode the public state."""
        with self.rows.reading() as connection:
            row = connection.execute(
                select(CLASSES.c.version, CLASSES.c.presented, CLASSES.c.anonymous).where(CLASSES.c.id == self.id)
            ).one_or_none()
            if row is None:
                return None
            attending = class_rows.students(connection, self.id)
            news = News(
                presented=msgspec.json.decode(row.presented, type=Presented) if row.presented is not None else None,
                board=class_rows.board(connection, self.id, MAX_STUDENTS, bool(row.anonymous)),
                students=len(attending),
                passed=class_rows.progress(connection, self.id),
                looks=[self._token(one.key) for one in attending if one.look == ASKED],
            )
        return row.version, msgspec.json.encode(news)

    def _make_room(self, connection: Connection, now: float) -> None:
        """Remove a student from a full class who is away and has no result, from the address that most come from."""
        attending = class_rows.students(connection, self.id)
        if len(attending) < MAX_STUDENTS:
            return
        away = [student for student in attending if now - student.seen > AWAY_SECONDS and not student.done]
        if not away:
            raise Busy(
                "this class is full; its teacher can make room", field="students", retry_after=round(AWAY_SECONDS)
            )
        crowds = Counter(student.origin for student in attending)
        leaving = min(away, key=lambda student: (-crowds[student.origin], student.seen))
        class_rows.remove_student(connection, self.id, leaving.key)


class Classes(Following[LessonClass]):
    """The classes of the servers that share a database."""

    table = CLASSES
    what, several, field = "class", "classes", "class"
    id_bytes = 9

    def __init__(self, url: str | URL, clock: Clock = time.time) -> None:
        super().__init__(url, clock)
        self.seats = Seats(clock, AWAY_SECONDS, MAX_STUDENTS)

    def create(self, lesson: str, client: str) -> tuple[LessonClass, str]:
        """Create a class for a lesson, and return it with the teacher's secret; idle classes are removed.

        Raises
        ------
        Busy
            If there are too many classes and none is idle.
        """
        secret, now = secrets.token_urlsafe(18), self.clock()
        made = {"lesson": lesson, "secret": digest_of(secret), "touched": now, "version": 1}
        with self.making(client, MAX_CLASSES, MAX_CLASSES_PER_CLIENT) as (connection, name):
            connection.execute(insert(CLASSES).values({"id": name, **made}))
        return self.get(name), secret

    def get(self, name: str) -> LessonClass:
        """Return a class.

        Raises
        ------
        NotFound
            If there is no such class.
        """
        row = self.find(name, CLASSES.c.lesson, CLASSES.c.secret)
        return self.only(LessonClass(self, name, row.lesson, row.secret))

    def current(self) -> ColumnElement[bool]:
        """Return the condition of classes that have not ended."""
        return CLASSES.c.touched >= self.clock() - IDLE_SECONDS


def _no_such_student() -> NotFound:
    return NotFound("this student is not in the class", field="student")
