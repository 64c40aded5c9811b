"""Permalinks: workspaces stored under a keyed hash of their content.

A link's id is a prefix of the hash, as long as needed to be the only one.  It is written in an alphabet without
look-alikes and without vowels, so that it spells no words.  An id does not reveal whether some content was shared, as
the key stays in the database; opening a link computes the hash again, which detects damage.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import sqlite3
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from app.artifacts import FORMAT, Workspace
from app.config import ConfigurationError
from app.errors import Damaged, Forbidden, NotFound
from app.store.canonical import canonical_bytes

ALPHABET = "23456789bcdfghjkmnpqrstvwxyz"
MIN_LENGTH, MAX_LENGTH = 8, 40
"""Characters of an id."""

TABLES = MetaData()
_settings = Table(
    "settings",
    TABLES,
    Column("name", String(32), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
_links = Table(
    "links",
    TABLES,
    Column("id", String(MAX_LENGTH), primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("created", Float, nullable=False),
    Column("compiler", String(64), nullable=False),
    Column("cpu", String(128), nullable=False, server_default=""),
    Column("outputs", String(400), nullable=False, server_default="{}"),
)
_tokens = Table(
    "tokens",
    TABLES,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("link", ForeignKey("links.id", ondelete="CASCADE"), nullable=False, index=True),
)

ViewValue = Annotated[str, Meta(max_length=2000)] | int | float | bool


class SharedState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a link: the workspace, and which panes and steps were shown."""

    workspace: Workspace
    view: dict[Annotated[str, Meta(max_length=64)], ViewValue] = {}


class SavedLink(Struct, frozen=True, kw_only=True):
    """A link that was just created."""

    id: str
    delete_token: str
    """Deletes the link; returned once.  Content that was shared several times goes when each token was used."""


class OpenedLink(Struct, frozen=True, kw_only=True):
    """A link and its content."""

    id: str
    state: SharedState
    created: float
    """Seconds since 1970."""
    compiler: str
    """Version of the compiler that the link was created with."""
    cpu: str
    """Model of the processor that it was created on."""
    outputs: dict[str, str] = {}
    """Fingerprint of each pane's text when the link was created, where one was recorded."""


_decoders: dict[int, msgspec.msgpack.Decoder[SharedState]] = {1: msgspec.msgpack.Decoder(SharedState)}
"""By format version; old ones are kept for ever."""


def canonical(state: SharedState) -> bytes:
    """Return the canonical encoding of a state, which its id is made from."""
    return bytes([FORMAT]) + canonical_bytes(state)


def decode(content: bytes) -> SharedState:
    """Read what :func:`canonical` wrote, now or in an earlier version."""
    return _decoders[content[0]].decode(content[1:])


def spell(digest: bytes) -> str:
    """Return a hash in the alphabet of ids."""
    number, letters = int.from_bytes(digest, "big"), []
    for _ in range(MAX_LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)


class Links:
    """Stores and opens links.

    Parameters
    ----------
    url : str or URL
        SQLAlchemy URL of the database.
    compiler : str
        Version of the compiler, stored with each link.
    cpu : str
        Model of this machine's processor, stored with each link.

    Raises
    ------
    ConfigurationError
        If the database cannot be opened, or its driver is not installed.
    """

    def __init__(self, url: str | URL, compiler: str, cpu: str) -> None:
        self.made_with = {"compiler": compiler, "cpu": cpu[:128]}
        try:
            self._engine = open_database(url)
            self._create_tables()
            self._key = self._read_key()
        except (SQLAlchemyError, ImportError) as error:
            raise ConfigurationError(f"the database {_without_password(url)} cannot be used: {error}") from error

    def _create_tables(self) -> None:
        """Create missing tables; several servers may do so at the same time."""
        with self._engine.begin() as connection:
            for table in TABLES.sorted_tables:
                connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))
                self._add_columns(connection, table)

    def _add_columns(self, connection: Connection, table: Table) -> None:
        """Add columns that an older version of this program did not have; each of them has a default."""
        existing = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in existing:
                written = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {written}"))

    def _read_key(self) -> bytes:
        """Return the database's own key; the first server that opens the database creates it."""
        query = select(_settings.c.value).where(_settings.c.name == "link key")
        try:
            with self._engine.begin() as connection:
                key: bytes | None = connection.scalar(query)
                if key is None:
                    key = secrets.token_bytes(32)
                    connection.execute(insert(_settings).values(name="link key", value=key))
                return key
        except IntegrityError:  # another server was first
            with self._engine.begin() as connection:
                return bytes(connection.scalars(query).one())

    def _name(self, content: bytes) -> str:
        return spell(hmac.digest(self._key, content, hashlib.sha256))

    def create(self, state: SharedState, outputs: Mapping[str, str] | None = None) -> SavedLink:
        """Store a state; the same state always gets the same id.

        Parameters
        ----------
        state : SharedState
        outputs : mapping, optional
            Fingerprint of each pane's text, stored beside the content with the compiler's version and the CPU.
        """
        content = canonical(state)
        name = self._name(content)
        token = secrets.token_urlsafe(18)
        for _ in range(MAX_LENGTH):
            try:
                with self._engine.begin() as connection:
                    link = self._place(connection, name, content, outputs or {})
                    connection.execute(insert(_tokens).values(digest=_digest(token), link=link))
                return SavedLink(id=link, delete_token=token)
            except IntegrityError:
                continue  # another request stored or deleted this very id in the meantime: retry
        raise Damaged("the database refuses to store this link")

    def _place(self, connection: Connection, name: str, content: bytes, outputs: Mapping[str, str]) -> str:
        """Return the id of the content; new content is stored under the shortest free prefix of its hash."""
        prefixes = [name[:length] for length in range(MIN_LENGTH, MAX_LENGTH + 1)]
        taken: Sequence[Any] = connection.execute(
            select(_links.c.id, _links.c.content).where(_links.c.id.in_(prefixes))
        ).all()
        for row in taken:
            if zlib.decompress(row.content) == content:
                return str(row.id)
        ids = {row.id for row in taken}
        link = next(prefix for prefix in prefixes if prefix not in ids)
        made = {"created": time.time(), "outputs": msgspec.json.encode(outputs).decode(), **self.made_with}
        row = {"id": link, "content": zlib.compress(content), **made}
        connection.execute(insert(_links).values(row))
        return link

    def open(self, link: str) -> OpenedLink:
        """Return a link's content.

        Raises
        ------
        NotFound
            There is no such link, or it was deleted.
        Damaged
            What is stored does not match the id.
        """
        with self._engine.begin() as connection:
            row = connection.execute(select(_links).where(_links.c.id == link)).one_or_none()
        if row is None:
            raise NotFound(f"there is no link {link!r}; it may have been deleted", field="id")
        try:
            content = zlib.decompress(row.content)
            if not self._name(content).startswith(link):
                raise Damaged(f"the content stored under {link!r} does not match its id")
            state = decode(content)
            outputs = msgspec.json.decode(row.outputs, type=dict[str, str])
        except (zlib.error, KeyError, IndexError, msgspec.DecodeError) as error:
            raise Damaged(f"the content stored under {link!r} cannot be read") from error
        made = {"created": row.created, "compiler": row.compiler, "cpu": row.cpu, "outputs": outputs}
        return OpenedLink(id=link, state=state, **made)

    def delete(self, link: str, token: str) -> None:
        """Delete a link; it stays as long as others who shared the same content have not deleted it.

        Raises
        ------
        NotFound
            There is no such link.
        Forbidden
            The token is not one of this link.
        """
        with self._engine.begin() as connection:
            if connection.execute(select(_links.c.id).where(_links.c.id == link)).one_or_none() is None:
                raise NotFound(f"there is no link {link!r}; it may have been deleted", field="id")
            mine = (_tokens.c.digest == _digest(token)) & (_tokens.c.link == link)
            if connection.execute(delete(_tokens).where(mine)).rowcount == 0:
                raise Forbidden("that token does not delete this link", expected="the token from when it was created")
            if connection.execute(select(_tokens.c.digest).where(_tokens.c.link == link)).first() is None:
                connection.execute(delete(_links).where(_links.c.id == link))

    def check(self) -> None:
        """Query the database; raises SQLAlchemy's error if it does not answer."""
        with self._engine.connect() as connection:
            connection.execute(select(_settings.c.name).limit(1))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def _without_password(url: str | URL) -> str:
    return re.sub(r":[^:@/]*@", ":***@", str(url))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def open_database(url: str | URL) -> Engine:
    """Open a database; SQLite with a write-ahead log, so that readers and a writer do not block each other."""
    engine = create_engine(url, pool_pre_ping=True)
    if make_url(url).get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    for pragma in ("journal_mode=WAL", "busy_timeout=10000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
