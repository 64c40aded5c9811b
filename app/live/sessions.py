"""Live workspaces: two to five people see what each other writes, selects and pins, and one of them writes at a time.

Whoever has the link takes part.  Who holds the pen writes: each change names the version that it is based on, and is
refused if that is not the newest.  The pen can be taken when nobody holds it, when its holder was not heard of for
:data:`ABSENT_SECONDS`, or has written nothing for :data:`RESTING_SECONDS`; otherwise the holder learns who asks for it.
Freezing makes an ordinary link of the workspace, after which nobody writes any more.

The database has the state of a session, so that it outlives a restart and its people may come to different servers
(:mod:`app.store.following`).  All of it is bounded, and deleted once nobody was there for :data:`IDLE_SECONDS`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import ColumnElement, Connection, Row, insert, select

from app.artifacts import Options, Workspace
from app.errors import Busy, Forbidden, TooLarge
from app.live import people
from app.live.people import Place
from app.store.following import Change, Followed, Following
from app.store.links import SharedState, ViewValue
from app.store.tables import LIVE, digest_of

__all__ = [
    "Attendance",
    "Company",
    "LiveSession",
    "LiveSessions",
    "LiveState",
    "PenAnswer",
    "Person",
    "Setting",
    "Written",
]

MAX_PEOPLE = 5
MAX_LISTENERS = 15
"""Streams per session on a server; somebody may have several tabs."""
MAX_SESSIONS = 300
MAX_SESSIONS_PER_CLIENT = 64
"""Sessions made from one address, which a school shares."""
MAX_SCRIPT = 100_000
"""Characters of a script that several people edit, as each change sends it whole."""
MAX_SETTING_BYTES = 1 << 20
"""Of everything else as JSON: attached files, options and chosen steps."""
IDLE_SECONDS = 2 * 3600.0
MAX_AGE_SECONDS = 24 * 3600.0
AWAY_SECONDS = 20.0
"""After this time without a report, somebody has left; pages report every five seconds."""
ABSENT_SECONDS = 12.0
"""After this time without a report, the pen can be taken from its holder."""
RESTING_SECONDS = 10.0
"""After this time in which its holder writes nothing, too."""
ASKED_SECONDS = 30.0
"""How long the holder is told that somebody asks for the pen."""


class Setting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a link has besides the script."""

    files: dict[Annotated[str, Meta(max_length=120)], bytes] = {}
    """Attached files by name; base64 in JSON."""
    uploads: dict[Annotated[str, Meta(max_length=120)], Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]] = {}
    options: Options = Options()
    view: dict[Annotated[str, Meta(max_length=64)], ViewValue] = {}

    def with_script(self, script: str) -> SharedState:
        """Return the content of a link."""
        workspace = Workspace(script=script, files=self.files, uploads=self.uploads, options=self.options)
        return SharedState(workspace=workspace, view=self.view)


class Person(Struct, frozen=True, kw_only=True):
    """Somebody in a live workspace."""

    seat: int
    """From 1 on; a colour stands for it."""
    name: str
    writes: bool
    asks: bool
    """Whether they ask for the pen."""
    place: Place


class Company(Struct, frozen=True, kw_only=True):
    """Who is in a live workspace, sent as events."""

    people: list[Person]
    link: str
    """The permalink that it was frozen to; empty before."""


class Attendance(Struct, frozen=True, kw_only=True):
    """What a page is told of itself."""

    seat: int
    name: str
    listener: str
    """What the address of their events names."""


class Written(Struct, frozen=True, kw_only=True):
    """Whether a change was taken."""

    accepted: bool
    version: int
    """The newest version of the text."""


class PenAnswer(Struct, frozen=True, kw_only=True):
    """Whether the pen was given."""

    yours: bool


class LiveState(Struct, frozen=True):
    """What listeners are told, encoded once for all."""

    written: int
    arranged: int
    script: bytes
    setting: bytes
    company: bytes
    listeners: frozenset[str]
    """Those who are there: nobody hears anything whom the others do not see."""


class LiveSession(Followed[LiveState]):
    """A live workspace on this server."""

    def __init__(self, sessions: LiveSessions, name: str) -> None:
        super().__init__(sessions, name, MAX_LISTENERS)
        self._last: LiveState | None = None

    def attend(self, key: str, name: str = "", place: Place | None = None) -> Attendance:
        """Note that somebody is there; the first time, give them a seat.

        Parameters
        ----------
        name : str
            What they want to be called; empty to keep the name, or to be given one.

        Raises
        ------
        Busy
            If all seats are taken.
        """
        digest, now = digest_of(key), self.rows.clock()
        with self._changing(digest) as change:
            known = people.find(change.connection, self.id, digest)
            if known is None:
                if len(people.here(change.connection, self.id)) >= MAX_PEOPLE:
                    words = f"{MAX_PEOPLE} people are in this workspace already"
                    raise Busy(words, field="people", retry_after=15)
                people.add(change.connection, self.id, digest, name, place or people.NOWHERE, now)
                change.seen = True
            elif people.note(change.connection, self.id, digest, now, name, place):
                change.seen = True
            one = people.find(change.connection, self.id, digest)
        assert one is not None
        return Attendance(seat=one.seat, name=one.name, listener=people.listener_of(digest))

    def depart(self, key: str) -> None:
        """Note that somebody leaves; if they hold the pen, they hand it back to who was there first."""
        digest = digest_of(key)
        with self._changing(digest) as change:
            if people.leave(change.connection, self.id, digest):
                change.seen = True
                if change.row.pen == digest:
                    rest = people.here(change.connection, self.id)
                    change.set(pen=rest[0].key if rest else None, penned=self.rows.clock())

    def write(
        self, key: str, base: int, script: str | None, setting: Setting | None, place: Place | None = None
    ) -> Written:
        """Take a change of who holds the pen, unless it is based on an older version.

        Raises
        ------
        TooLarge
            If the script or the setting is too large.
        """
        digest, values, now = digest_of(key), _packed(script, setting), self.rows.clock()
        with self._changing(digest) as change:
            if change.row.pen != digest or change.row.written != base or change.row.link:
                return Written(accepted=False, version=change.row.written)
            people.note(change.connection, self.id, digest, now, "", place)
            if not values:  # nothing is written, and so nothing sent
                return Written(accepted=True, version=base)
            version = change.row.version + 1
            values |= {"written": version, "penned": now} | ({"arranged": version} if setting is not None else {})
            change.set(**values)
            change.seen = True
        return Written(accepted=True, version=version)

    def take_pen(self, key: str) -> PenAnswer:
        """Give somebody the pen, or tell its holder that they ask for it.

        Raises
        ------
        Forbidden
            If they are not there.
        """
        digest, now = digest_of(key), self.rows.clock()
        with self._changing(digest) as change:
            self._require(change.connection, digest)
            if change.row.link:
                return PenAnswer(yours=False)
            change.seen = True
            if given := change.row.pen in (None, digest) or self._is_idle(change, now):
                change.set(pen=digest, penned=now)
            people.note_asked(change.connection, self.id, digest, 0.0 if given else now)
        return PenAnswer(yours=given)

    def lay_pen(self, key: str, seat: int = 0) -> None:
        """Lay the pen down, or hand it to who has a seat; nothing happens if somebody else holds it."""
        digest, now = digest_of(key), self.rows.clock()
        with self._changing(digest) as change:
            if change.row.pen != digest:
                return
            heir = people.holder_of(change.connection, self.id, seat)
            change.set(pen=heir, penned=now)
            change.seen = True
            if heir is not None:
                people.note_asked(change.connection, self.id, heir, 0.0)

    def content(self) -> tuple[int, SharedState, str]:
        """Return the version of the text, the content of a link to it, and the link if it was frozen."""
        columns = (LIVE.c.written, LIVE.c.script, LIVE.c.setting, LIVE.c.link)
        with self.rows.reading() as connection:
            row = connection.execute(select(*columns).where(LIVE.c.id == self.id)).one_or_none()
        if row is None:
            raise self.rows.gone()
        setting = msgspec.json.decode(_inflated(row.setting), type=Setting)
        return row.written, setting.with_script(msgspec.json.decode(_inflated(row.script), type=str)), row.link

    def freeze(self, key: str, written: int, link: str) -> bool:
        """Note the link to a version of the text, after which nobody writes.

        Returns
        -------
        bool
            False if the text is another by now, or somebody else holds the pen.
        """
        digest = digest_of(key)
        with self._changing(digest) as change:
            if change.row.pen != digest or change.row.written != written:
                return False
            change.set(pen=None, link=link)
            change.seen = True
        return True

    def require(self, listener: str) -> None:
        """Check that who listens is there.

        Raises
        ------
        Forbidden
            If they are not.
        """
        with self.rows.reading() as connection:
            if listener not in {people.listener_of(one.key) for one in people.here(connection, self.id)}:
                raise _not_there()

    def require_pen(self, key: str) -> None:
        """Check that somebody holds the pen.

        Raises
        ------
        Forbidden
            If they do not.
        """
        with self.rows.reading() as connection:
            pen = connection.scalar(select(LIVE.c.pen).where(LIVE.c.id == self.id))
        if pen != digest_of(key):
            raise Forbidden("only who holds the pen may freeze the workspace", field="key")

    def read(self) -> tuple[int, LiveState] | None:
        """Read what changed, and encode it."""
        last, columns = self._last, (LIVE.c.version, LIVE.c.written, LIVE.c.arranged, LIVE.c.pen, LIVE.c.link)
        here = LIVE.c.id == self.id
        with self.rows.reading() as connection:
            row = connection.execute(select(*columns).where(here)).one_or_none()
            if row is None:
                return None
            rows = people.here(connection, self.id)
            script, setting = (last.script, last.setting) if last else (b"", b"")
            if last is None or last.written != row.written:
                script = _inflated(connection.execute(select(LIVE.c.script).where(here)).scalar_one())
            if last is None or last.arranged != row.arranged:
                setting = _inflated(connection.execute(select(LIVE.c.setting).where(here)).scalar_one())
        now = self.rows.clock()
        company = Company(people=[_person(one, row.pen, now) for one in rows], link=row.link)
        listeners = frozenset(people.listener_of(one.key) for one in rows)
        self._last = LiveState(row.written, row.arranged, script, setting, msgspec.json.encode(company), listeners)
        return row.version, self._last

    def _is_idle(self, change: Change, now: float) -> bool:
        """Return whether who holds the pen is away or writes nothing."""
        holder = people.find(change.connection, self.id, change.row.pen)
        absent = holder is None or now - holder.seen > ABSENT_SECONDS
        return absent or now - change.row.penned > RESTING_SECONDS

    def _require(self, connection: Connection, digest: bytes) -> None:
        if people.find(connection, self.id, digest) is None:
            raise _not_there()

    @contextmanager
    def _changing(self, present: bytes) -> Iterator[Change]:
        """Change the session as :meth:`changing` does, once who is away has left.

        Parameters
        ----------
        present : bytes
            The key of who changes it, and so is there.
        """
        with self.changing() as change:
            if people.reap(change.connection, self.id, self.rows.clock() - AWAY_SECONDS, present):
                change.seen = True
                if change.row.pen is not None and people.find(change.connection, self.id, change.row.pen) is None:
                    change.set(pen=None)
            yield change


class LiveSessions(Following[LiveSession]):
    """The live workspaces of the servers that share a database."""

    table = LIVE
    what, several, field = "live workspace", "live workspaces", "session"
    id_bytes = 18

    def create(self, key: str, client: str, name: str, script: str, setting: Setting) -> LiveSession:
        """Make a live workspace, whose maker holds the pen; idle ones are removed.

        Raises
        ------
        TooLarge
            If the script or the setting is too large.
        Busy
            If there are too many sessions and none is idle.
        """
        texts, now = _packed(script, setting), self.clock()
        versions = {"version": 1, "written": 1, "arranged": 1}
        times = {"created": now, "touched": now, "penned": now}
        with self.making(client, MAX_SESSIONS, MAX_SESSIONS_PER_CLIENT) as (connection, made):
            row = {"id": made, "pen": digest_of(key), "link": "", **versions, **times, **texts}
            connection.execute(insert(LIVE).values(row))
            people.add(connection, made, digest_of(key), name, people.NOWHERE, now)
        return self.get(made)

    def get(self, name: str) -> LiveSession:
        """Return a session.

        Raises
        ------
        NotFound
            If there is none.
        """
        self.find(name)
        return self.only(LiveSession(self, name))

    def current(self) -> ColumnElement[bool]:
        """Return the condition of sessions that have not ended."""
        now = self.clock()
        return (LIVE.c.touched >= now - IDLE_SECONDS) & (LIVE.c.created >= now - MAX_AGE_SECONDS)


def _person(row: Row[tuple[object, ...]], pen: bytes | None, now: float) -> Person:
    asks = now - row.asked <= ASKED_SECONDS
    place = msgspec.json.decode(row.place, type=Place)
    return Person(seat=row.seat, name=row.name, writes=row.key == pen, asks=asks, place=place)


def _packed(script: str | None, setting: Setting | None) -> dict[str, object]:
    """Return the columns of texts that change, encoded as listeners get them, and compressed."""
    packed: dict[str, object] = {}
    if script is not None:
        if len(script) > MAX_SCRIPT:
            limit = f"at most {MAX_SCRIPT:,} characters"
            words = f"a script that is edited together has {limit}"
            raise TooLarge(words, field="$.script", expected=limit)
        packed["script"] = zlib.compress(msgspec.json.encode(script), 1)
    if setting is not None:
        encoded = msgspec.json.encode(setting)
        if len(encoded) > MAX_SETTING_BYTES:
            limit = f"at most {MAX_SETTING_BYTES:,} bytes as JSON"
            raise TooLarge("the attached files are too large to edit together", field="$.setting", expected=limit)
        packed["setting"] = zlib.compress(encoded, 1)
    return packed


def _inflated(content: bytes) -> bytes:
    return zlib.decompress(content)


def _not_there() -> Forbidden:
    return Forbidden("you are not in this workspace any more", field="key")
