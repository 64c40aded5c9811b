"""Permalinks: workspaces stored under a keyed hash of their content.

A link's id is a prefix of the hash, as long as needed to be the only one.  It is written in an alphabet without
look-alikes and without vowels, which spells no words.  Nobody can tell from an id whether a content was shared, as the
key stays in the database; opening a link computes the hash again, so that damage does not go unseen.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
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
SHORTEST, LONGEST = 8, 40
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
    Column("id", String(LONGEST), primary_key=True),
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
    """What a link holds: the workspace, and which panes and steps were looked at."""

    workspace: Workspace
    view: dict[Annotated[str, Meta(max_length=64)], ViewValue] = {}


class SavedLink(Struct, frozen=True, kw_only=True):
    """A link that was just made."""

    id: str
    delete_token: str
    """Takes the link back; told once.  A content that several people shared goes when all have taken it back."""


class OpenedLink(Struct, frozen=True, kw_only=True):
    """A link and what it holds."""

    id: str
    state: SharedState
    created: float
    """Seconds since 1970."""
    compiler: str
    """Version of the compiler that the link was made with."""
    cpu: str
    """Model of the processor that it was made on."""
    outputs: dict[str, str] = {}
    """Fingerprint of what each pane showed when it was made, where that is known."""


_decoders: dict[int, msgspec.msgpack.Decoder[SharedState]] = {1: msgspec.msgpack.Decoder(SharedState)}
"""By format version; an old one stays for ever."""


def canonical(state: SharedState) -> bytes:
    """Return the one encoding of a state that its id is made from."""
    return bytes([FORMAT]) + canonical_bytes(state)


def decode(content: bytes) -> SharedState:
    """Read what :func:`canonical` wrote, now or in an earlier version."""
    return _decoders[content[0]].decode(content[1:])


def spell(digest: bytes) -> str:
    """Write a hash in the alphabet of ids."""
    number, letters = int.from_bytes(digest, "big"), []
    for _ in range(LONGEST):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)


class Links:
    """Stores and opens links.

    Parameters
    ----------
    url : str or URL
        Where the database is, as SQLAlchemy takes it.
    compiler : str
        Version of the compiler, noted with each link.
    cpu : str
        Model of this machine's processor, likewise.

    Raises
    ------
    ConfigurationError
        If the database cannot be opened, or what speaks to it is not installed.
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
        """Create what is missing; several servers may do so at one time."""
        with self._engine.begin() as connection:
            for table in TABLES.sorted_tables:
                connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))
                self._add_columns(connection, table)

    def _add_columns(self, connection: Connection, table: Table) -> None:
        """Add what an older version of this program did not have; every column that came later has a default."""
        there = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in there:
                written = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {written}"))

    def _read_key(self) -> bytes:
        """Return the database's own key; the first server that opens the database makes it."""
        query = select(_settings.c.value).where(_settings.c.name == "link key")
        try:
            with self._engine.begin() as connection:
                found: bytes | None = connection.scalar(query)
                if found is not None:
                    return found
                made = secrets.token_bytes(32)
                connection.execute(insert(_settings).values(name="link key", value=made))
                return made
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
            Fingerprint of what each pane shows now, kept beside the content with the compiler's version and the CPU.
        """
        content = canonical(state)
        name = self._name(content)
        token = secrets.token_urlsafe(18)
        for _ in range(LONGEST):
            try:
                with self._engine.begin() as connection:
                    link = self._place(connection, name, content, outputs or {})
                    connection.execute(insert(_tokens).values(digest=_digest(token), link=link))
                return SavedLink(id=link, delete_token=token)
            except IntegrityError:
                continue  # somebody stored or deleted under this very id in the meantime: look again
        raise Damaged("the database refuses to store this link")

    def _place(self, connection: Connection, name: str, content: bytes, outputs: Mapping[str, str]) -> str:
        """Return the id that the content has, or store it under the shortest that is free."""
        prefixes = [name[:length] for length in range(SHORTEST, LONGEST + 1)]
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
        """Return what a link holds.

        Raises
        ------
        NotFound
            There is no such link, or it was deleted.
        Damaged
            What is stored is not what the link was made of.
        """
        with self._engine.begin() as connection:
            row = connection.execute(select(_links).where(_links.c.id == link)).one_or_none()
        if row is None:
            raise NotFound(f"there is no link {link!r}; it may have been deleted", field="id")
        try:
            content = zlib.decompress(row.content)
            if not self._name(content).startswith(link):
                raise Damaged(f"what is stored under {link!r} is not what it was made of")
            state = decode(content)
            outputs = msgspec.json.decode(row.outputs, type=dict[str, str])
        except (zlib.error, KeyError, IndexError, msgspec.DecodeError) as error:
            raise Damaged(f"what is stored under {link!r} cannot be read any more") from error
        made = {"created": row.created, "compiler": row.compiler, "cpu": row.cpu, "outputs": outputs}
        return OpenedLink(id=link, state=state, **made)

    def delete(self, link: str, token: str) -> None:
        """Take a link back; what others shared too stays for them.

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
                raise Forbidden("that token does not delete this link", expected="the token from when it was made")
            if connection.execute(select(_tokens.c.digest).where(_tokens.c.link == link)).first() is None:
                connection.execute(delete(_links).where(_links.c.id == link))

    def check(self) -> None:
        """Ask the database something; raises what SQLAlchemy raises if it does not answer."""
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
    """Open a database; SQLite with a write-ahead log, so that readers and a writer do not wait for each other."""
    engine = create_engine(url, pool_pre_ping=True)
    if make_url(url).get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    for pragma in ("journal_mode=WAL", "busy_timeout=10000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
