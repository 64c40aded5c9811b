"""The database rows of the people in a live workspace."""

from __future__ import annotations

import hashlib
import secrets
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, update

from app.names import MAX_NAME, free_names
from app.store.tables import PEOPLE

__all__ = ["NOWHERE", "Place", "add", "find", "here", "holder_of", "leave", "listener_of", "note", "note_asked", "reap"]

LineNumber = Annotated[int, Meta(ge=1, le=1_000_000)]
Column = Annotated[int, Meta(ge=0, le=1_000_000)]


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where somebody is in the script: a selection, whose head is the cursor, and the lines that they pinned."""

    line: LineNumber = 1
    column: Column = 0
    """Of the cursor, in UTF-16 units from the beginning of the line."""
    from_line: LineNumber = 1
    from_column: Column = 0
    """The other end of the selection."""
    pin: Annotated[tuple[LineNumber, ...], Meta(max_length=8)] = ()


NOWHERE = Place()


def _of(workspace: str, key: bytes | None = None) -> ColumnElement[bool]:
    rows = PEOPLE.c.workspace == workspace
    return rows if key is None else rows & (PEOPLE.c.key == key)


def here(connection: Connection, workspace: str) -> list[Row[tuple[object, ...]]]:
    """Return the people in a workspace, by seat."""
    return list(connection.execute(select(PEOPLE).where(_of(workspace)).order_by(PEOPLE.c.seat)))


def find(connection: Connection, workspace: str, key: bytes) -> Row[tuple[object, ...]] | None:
    """Return somebody in a workspace, or None."""
    return connection.execute(select(PEOPLE).where(_of(workspace, key))).one_or_none()


def listener_of(key: bytes) -> str:
    """Return what the address of somebody's events names, which may be logged, and so must not be what lets write."""
    return hashlib.sha256(b"listener " + key).hexdigest()[:32]


def holder_of(connection: Connection, workspace: str, seat: int) -> bytes | None:
    """Return the key of who has a seat, or None."""
    return connection.scalar(select(PEOPLE.c.key).where(_of(workspace) & (PEOPLE.c.seat == seat)))


def add(connection: Connection, workspace: str, key: bytes, name: str, place: Place, now: float) -> None:
    """Give somebody the first free seat, and a name that nobody else has there."""
    others = here(connection, workspace)
    seats = {row.seat for row in others}
    seat = next(number for number in range(1, len(seats) + 2) if number not in seats)
    values = {"workspace": workspace, "key": key, "seat": seat, "seen": now, "asked": 0.0}
    name = _unlike(name, {row.name for row in others})
    connection.execute(insert(PEOPLE).values({**values, "name": name, "place": msgspec.json.encode(place)}))


def note(connection: Connection, workspace: str, key: bytes, now: float, name: str, place: Place | None) -> bool:
    """Note what somebody who is there is called, and where they are; return whether others see a difference.

    Parameters
    ----------
    name : str
        Empty to keep the name.
    place : Place or None
        None to stay at the place.
    """
    rows = here(connection, workspace)
    before = next(row for row in rows if row.key == key)
    taken = {row.name for row in rows if row is not before}
    values = {
        "name": _unlike(name, taken) if name and name != before.name else before.name,
        "place": before.place if place is None else msgspec.json.encode(place),
    }
    connection.execute(update(PEOPLE).where(_of(workspace, key)).values(seen=now, **values))
    return bool(values["name"] != before.name or values["place"] != before.place)


def note_asked(connection: Connection, workspace: str, key: bytes, now: float) -> None:
    """Note that somebody asks for the pen; 0 for no more."""
    connection.execute(update(PEOPLE).where(_of(workspace, key)).values(asked=now))


def leave(connection: Connection, workspace: str, key: bytes) -> bool:
    """Remove somebody; return whether they were there."""
    return connection.execute(delete(PEOPLE).where(_of(workspace, key))).rowcount > 0


def reap(connection: Connection, workspace: str, since: float, present: bytes) -> bool:
    """Remove who was not heard of since a time, other than who is ``present``; return whether there were any."""
    gone = _of(workspace) & (PEOPLE.c.seen < since) & (PEOPLE.c.key != present)
    return connection.execute(delete(PEOPLE).where(gone)).rowcount > 0


def _unlike(name: str, taken: set[str]) -> str:
    """Return a name, with a number if somebody else has it; an animal's for an empty one."""
    if not name:
        return secrets.choice(free_names(taken))
    known, wanted, number = {other.casefold() for other in taken}, name, 1
    while name.casefold() in known:
        number += 1
        name = f"{wanted[: MAX_NAME - 2]} {number}"
    return name
