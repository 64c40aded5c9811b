"""Boards of challenges: for each problem and processor the fastest entries, measured in one batch.

A board ranks what was measured together.  Whoever enters has all entries of the board measured again beside theirs; a
batch in which others used the machine changes no rank: its new entry waits, without one, for the next.
"""

from __future__ import annotations

import hmac
import secrets
import time
import zlib
from collections.abc import Callable, Collection, Mapping

import msgspec
from msgspec import Struct
from sqlalchemy import URL, ColumnElement, Connection, Row, delete, insert, select, update

from app.artifacts import MAX_PROGRAM, Measurement
from app.errors import Forbidden, NotFound
from app.store.database import database_errors, open_database
from app.store.tables import ENTRIES, MAX_FAILURE, digest_of

__all__ = ["PLACES", "BoardEntry", "Boards", "Ghost", "NewEntry"]

PLACES = 10
"""Ranked entries of a board."""
WAITING = 4
"""Entries of a board without a rank, of which the oldest make way."""
MAX_LADDER = 4 << 20
UNMEASURED = "the batch ended before it was measured"
_WHAT = "the board"


class NewEntry(Struct, frozen=True, kw_only=True):
    """An entry as it comes."""

    name: str
    key: str
    """The key of the browser, of which the digest is kept."""
    script: str
    program: str
    """What is measured: a text of ``compiler.te.program``, or a TensorIR schedule's."""
    ladder: list[Measurement]


class BoardEntry(Struct, frozen=True, kw_only=True):
    """An entry of a board."""

    id: str
    name: str
    seconds: float
    """Of the last batch that nobody disturbed."""
    times_numpy: float | None
    """The speedup over NumPy in that batch."""
    disturbed: bool
    """Whether it has no rank, as others used the machine in every batch that measured it, or as it failed."""
    entered: float
    measured: float
    """When it was entered, and last measured undisturbed, as Unix timestamps."""
    failure: str
    """How it failed when it was measured again."""


class Ghost(Struct, frozen=True, kw_only=True):
    """The ladder of an entry."""

    name: str
    entered: float
    measurements: list[Measurement]


class Boards:
    """The boards of the servers that share a database.

    Parameters
    ----------
    url : str or URL
        SQLAlchemy URL of the database, whose tables exist.
    clock : callable
        Returns a Unix timestamp.
    """

    def __init__(self, url: str | URL, clock: Callable[[], float] = time.time) -> None:
        self._engine = open_database(url)
        self._clock = clock

    def entries(self, challenge: str, cpu: str) -> list[BoardEntry]:
        """Return the entries of a board, the fastest first, and those without a rank last."""
        query = select(*_SHOWN).where(_on(challenge, cpu)).order_by(*_ORDER)
        with database_errors(_WHAT), self._engine.connect() as connection:
            return [_entry(row) for row in connection.execute(query)]

    def processors(self, challenge: str) -> list[str]:
        """Return the processors that a problem has boards for."""
        query = select(ENTRIES.c.cpu).where(ENTRIES.c.challenge == challenge).distinct().order_by(ENTRIES.c.cpu)
        with database_errors(_WHAT), self._engine.connect() as connection:
            return list(connection.scalars(query))

    def heads(self, cpu: str, challenges: Collection[str]) -> dict[str, BoardEntry]:
        """Return the first of the boards of some problems on a processor, by problem."""
        ranked = (ENTRIES.c.cpu == cpu) & (ENTRIES.c.disturbed == 0)
        query = select(ENTRIES.c.challenge, *_SHOWN).where(ENTRIES.c.challenge.in_(challenges) & ranked)
        with database_errors(_WHAT), self._engine.connect() as connection:
            rows = connection.execute(query.order_by(ENTRIES.c.seconds.desc(), ENTRIES.c.entered.desc())).all()
        return {row.challenge: _entry(row) for row in rows}

    def programs(self, challenge: str, cpu: str) -> dict[str, str]:
        """Return what is measured of each entry of a board, by id, in the order of the board."""
        columns = (ENTRIES.c.id, ENTRIES.c.program)
        query = select(*columns).where(_on(challenge, cpu)).order_by(*_ORDER)
        with database_errors(_WHAT), self._engine.connect() as connection:
            return {row.id: _inflated(row.program, MAX_PROGRAM * 4) for row in connection.execute(query)}

    def ghost(self, challenge: str, entry: str) -> Ghost:
        """Return the ladder of an entry.

        Raises
        ------
        NotFound
            If there is no such entry.
        """
        row = self._row(challenge, entry)
        measurements = msgspec.json.decode(_inflated(row.ladder, MAX_LADDER), type=list[Measurement])
        return Ghost(name=row.name, entered=row.entered, measurements=measurements)

    def script(self, challenge: str, entry: str, key: str) -> str:
        """Return the script of an entry to its owner.

        Raises
        ------
        NotFound
            If there is no such entry.
        Forbidden
            If the key is another's.
        """
        row = self._row(challenge, entry)
        _require(row.owner, key)
        return _inflated(row.script, MAX_LADDER)

    def check_name(self, challenge: str, cpu: str, name: str, key: str) -> None:
        """Check that a name is free on a board, or belongs to a key.

        Raises
        ------
        Forbidden
            If somebody else has it.
        """
        with database_errors(_WHAT), self._engine.connect() as connection:
            _require_name(connection, challenge, cpu, name, key)

    def enter(
        self,
        challenge: str,
        cpu: str,
        entry: NewEntry | None,
        batch: Mapping[str, Measurement],
        numpy: Measurement | None,
        failed: Mapping[str, str],
    ) -> str | None:
        """Store the measurements of a batch, and the entry that it was made for.

        Parameters
        ----------
        cpu : str
            The processor that the batch was measured on.
        entry : NewEntry, optional
            The new entry; its measurement has the key ``""``.
        batch : mapping of str to Measurement
            Measurements by the id of the entry.
        numpy : Measurement, optional
            NumPy's in this batch.
        failed : mapping of str to str
            Why there is no measurement, by the id of the entry.

        Returns
        -------
        str or None
            The id of the new entry; None if it is slower than all places, or than its owner's earlier one.

        Raises
        ------
        Forbidden
            If somebody else took the name while the batch was waiting; nothing is stored then.
        """
        now = self._clock()
        disturbed = any(measurement.disturbed for measurement in batch.values())
        with database_errors(_WHAT), self._engine.begin() as connection:
            if not disturbed:
                connection.execute(update(ENTRIES).where(_on(challenge, cpu)).values(disturbed=1, failure=UNMEASURED))
                outcomes: dict[str, dict[str, object]] = {
                    old: {"failure": message[:MAX_FAILURE]} for old, message in failed.items()
                }
                for old in batch.keys() - {""}:
                    outcomes[old] = {**_times(batch[old], numpy), "disturbed": 0, "measured": now, "failure": ""}
                for old, values in outcomes.items():
                    connection.execute(update(ENTRIES).where(ENTRIES.c.id == old).values(values))
            made = secrets.token_urlsafe(9)
            if entry is not None:
                row = {
                    "id": made,
                    "challenge": challenge,
                    "cpu": cpu,
                    "name": entry.name,
                    "owner": digest_of(entry.key),
                    "script": zlib.compress(entry.script.encode()),
                    "program": zlib.compress(entry.program.encode()),
                    "ladder": zlib.compress(msgspec.json.encode(entry.ladder)),
                    "disturbed": int(disturbed),
                    "entered": now,
                    "measured": now,
                }
                connection.execute(insert(ENTRIES).values({**row, **_times(batch[""], numpy)}))
                _require_name(connection, challenge, cpu, entry.name, entry.key)
            _make_room(connection, challenge, cpu)
            kept: str | None = connection.scalar(select(ENTRIES.c.id).where(ENTRIES.c.id == made))
        return kept

    def withdraw(self, challenge: str, entry: str, key: str) -> None:
        """Delete an entry of its owner.

        Raises
        ------
        NotFound
            If there is no such entry.
        Forbidden
            If the key is another's.
        """
        _require(self._row(challenge, entry).owner, key)
        with database_errors(_WHAT), self._engine.begin() as connection:
            connection.execute(delete(ENTRIES).where(ENTRIES.c.id == entry))

    def forget(self, challenge: str) -> None:
        """Delete all boards of a problem."""
        with database_errors(_WHAT), self._engine.begin() as connection:
            connection.execute(delete(ENTRIES).where(ENTRIES.c.challenge == challenge))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _row(self, challenge: str, entry: str) -> Row[tuple[object, ...]]:
        query = select(ENTRIES).where((ENTRIES.c.id == entry) & (ENTRIES.c.challenge == challenge))
        row = None
        asked = challenge + entry
        if asked.isascii() and asked.isprintable():  # PostgreSQL cannot represent every character
            with database_errors(_WHAT), self._engine.connect() as connection:
                row = connection.execute(query).one_or_none()
        if row is None:
            raise NotFound("there is no such entry; it may have been overtaken", field="entry")
        return row


_SHOWN = [ENTRIES.c[name] for name in BoardEntry.__struct_fields__]
"""What boards show: scripts, programs and ladders are megabytes."""
_ORDER = (ENTRIES.c.disturbed, ENTRIES.c.seconds, ENTRIES.c.entered)


def _on(challenge: str, cpu: str) -> ColumnElement[bool]:
    return (ENTRIES.c.challenge == challenge) & (ENTRIES.c.cpu == cpu)


def _entry(row: Row[tuple[object, ...]]) -> BoardEntry:
    return BoardEntry(
        id=row.id,
        name=row.name,
        seconds=row.seconds,
        times_numpy=row.times_numpy,
        disturbed=bool(row.disturbed),
        entered=row.entered,
        measured=row.measured,
        failure=row.failure,
    )


def _times(measurement: Measurement, numpy: Measurement | None) -> dict[str, float | None]:
    ratio = numpy.seconds / measurement.seconds if numpy is not None and measurement.seconds else None
    return {"seconds": measurement.seconds, "times_numpy": ratio}


def _make_room(connection: Connection, challenge: str, cpu: str) -> None:
    """Delete what the board has no place for; each owner keeps the fastest with a rank and the newest without."""
    newest_first = (ENTRIES.c.disturbed == 1, ENTRIES.c.entered.desc(), WAITING)
    for has, order, places in ((ENTRIES.c.disturbed == 0, ENTRIES.c.seconds, PLACES), newest_first):
        query = select(ENTRIES.c.id, ENTRIES.c.owner).where(_on(challenge, cpu) & has)
        first: dict[bytes, str] = {}
        ids = []
        for row in connection.execute(query.order_by(order, ENTRIES.c.entered)):
            ids.append(row.id)
            first.setdefault(row.owner, row.id)
        kept = list(first.values())[:places]
        connection.execute(delete(ENTRIES).where(ENTRIES.c.id.in_(set(ids) - set(kept))))


def _inflated(content: bytes, limit: int) -> str:
    return zlib.decompressobj().decompress(content, limit).decode()


def _require_name(connection: Connection, challenge: str, cpu: str, name: str, key: str) -> None:
    others = select(ENTRIES.c.name).where(_on(challenge, cpu) & (ENTRIES.c.owner != digest_of(key)))
    if name.casefold() in map(str.casefold, connection.scalars(others)):
        raise Forbidden(f"the name “{name}” is taken on this board", field="$.name", expected="another name")


def _require(owner: bytes, key: str) -> None:
    if not hmac.compare_digest(owner, digest_of(key)):
        raise Forbidden("only who made this entry may do that", field="key", expected="the key of its browser")
