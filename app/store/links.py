"""Permalinks: workspaces stored under a keyed hash of their content.

A link's id is the shortest unique prefix of the hash, in an alphabet without look-alikes and vowels, so that it spells
no words.  As the key never leaves the database, an id does not reveal whether some content was shared.  Opening a link
recomputes the hash, which detects corruption.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import URL, Connection, Row, delete, func, insert, select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from app.artifacts import FORMAT, Workspace
from app.config import ConfigurationError
from app.errors import Damaged, Forbidden, FromNewerVersion, NotFound, TooLarge
from app.logs import quoted
from app.store import integrity
from app.store.backups import Backups
from app.store.canonical import canonical_bytes
from app.store.database import complete, database_errors, open_database, open_for_checks, sqlite_file, without_password
from app.store.quota import Quota
from app.store.tables import LINKS, MAX_LENGTH, SETTINGS, TOKENS, create_tables, digest_of

log = logging.getLogger(__name__)

ALPHABET = "23456789bcdfghjkmnpqrstvwxyz"
MIN_LENGTH = 8
"""Minimum length of an id."""
ROW_BYTES = 512
"""Size of a row in the database apart from its content, including the token."""

ViewValue = Annotated[str, Meta(max_length=2000)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | bool


class SharedState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a link: the workspace, and the panes and steps shown."""

    workspace: Workspace
    view: dict[Annotated[str, Meta(max_length=64)], ViewValue] = {}


class SavedLink(Struct, frozen=True, kw_only=True):
    """A newly created link."""

    id: str
    delete_token: str
    """Token for deletion, returned only once.  Content shared several times is deleted after all tokens were used."""


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
    """Fingerprint of each pane's text at the time of creation, if recorded."""


_decoders: dict[int, msgspec.msgpack.Decoder[SharedState]] = {1: msgspec.msgpack.Decoder(SharedState)}
"""Decoders by format version; old versions stay readable."""


def canonical(state: SharedState) -> bytes:
    """Return the canonical encoding of a state, from which its id is computed."""
    return bytes([FORMAT]) + canonical_bytes(state)


def decode(content: bytes) -> SharedState:
    """Decode the output of :func:`canonical`, in this or an earlier format version."""
    return _decoders[content[0]].decode(content[1:])


def spell(digest: bytes) -> str:
    """Encode a hash in the alphabet of ids."""
    number, letters = int.from_bytes(digest, "big"), []
    for _ in range(MAX_LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)


def inflate(content: bytes, limit: int) -> bytes:
    """Decompress content up to a size limit.

    Raises
    ------
    TooLarge
        If the decompressed content exceeds the limit.
    zlib.error
        If the data is invalid or truncated.
    """
    inflater = zlib.decompressobj()
    inflated = inflater.decompress(content, limit + 1)
    if len(inflated) > limit:
        raise _too_large(limit)
    if not inflater.eof:
        raise zlib.error("the content ends early")
    return inflated


def most_compressed(size: int) -> int:
    """Return what content of ``size`` bytes takes compressed at most: zlib makes it larger where it finds nothing."""
    return size + (size >> 12) + (size >> 14) + (size >> 25) + 13


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        "this link holds more than links may hold; it was saved before there was a limit",
        expected=f"at most {limit:,} bytes",
    )


class Links:
    """The permalinks of a database.

    Parameters
    ----------
    url : str or URL
        SQLAlchemy URL of the database.
    compiler : str
        Version of the compiler, stored with each link.
    cpu : str
        Model of this machine's processor, stored with each link.
    content_bytes : int
        Size limit of a link's content.
    backups : Path, optional
        Directory for backups of a SQLite database; no backups by default.

    Attributes
    ----------
    backups : Backups or None
        None without a directory for backups, and for databases that are not SQLite files.
    damage : str or None
        Description of the damage detected since the start.

    Raises
    ------
    ConfigurationError
        If the database cannot be opened, is damaged or of another application, or its driver is missing.
    """

    def __init__(
        self, url: str | URL, compiler: str, cpu: str, *, content_bytes: int, backups: Path | None = None
    ) -> None:
        self.made_with = {"compiler": compiler, "cpu": cpu[:128]}
        self.damage: str | None = None
        self._content_bytes = content_bytes
        try:
            file = self._file = sqlite_file(url)
            self.backups = Backups(file, backups) if file is not None and backups is not None else None
            is_old = self.backups is not None and self._examine(self.backups)
            self._engine = open_database(url)
            self._checks = open_for_checks(url)
            with self._engine.begin() as connection:
                create_tables(connection)
            self._key = self._read_key()
        except (SQLAlchemyError, ImportError) as error:
            extra = "; pip install 'strata-explorer[postgresql]'" if getattr(error, "name", "") == "psycopg" else ""
            reason = getattr(error, "orig", None) or error  # without the statement that could not be executed
            raise ConfigurationError(f"the database {without_password(url)} cannot be used: {reason}{extra}") from error
        if self.backups is not None and is_old:
            self.backups.make_if_due(starting=True)

    def _examine(self, backups: Backups) -> bool:
        """Reject a database that must not be used; return whether it already exists."""
        wrong = integrity.examine(backups)
        if wrong is not None:
            raise ConfigurationError(f"{wrong}. {backups.advice()}")
        return backups.database.exists()

    def _read_key(self) -> bytes:
        """Return the key of the database, which the first server that opens it creates."""
        query = select(SETTINGS.c.value).where(SETTINGS.c.name == "link key")
        try:
            with self._engine.begin() as connection:
                key: bytes | None = connection.scalar(query)
                if key is None:
                    key = secrets.token_bytes(32)
                    connection.execute(insert(SETTINGS).values(name="link key", value=key))
                return key
        except IntegrityError:  # another server created it first
            with self._engine.begin() as connection:
                return bytes(connection.scalars(query).one())

    def _name(self, content: bytes) -> str:
        return spell(hmac.digest(self._key, content, hashlib.sha256))

    def create(self, state: SharedState, quota: Quota, outputs: Mapping[str, str] | None = None) -> SavedLink:
        """Store a state; equal states get equal ids.

        Parameters
        ----------
        quota : Quota
            Charged with the bytes stored; content that exists already costs only its token.
        outputs : mapping, optional
            Fingerprint of each pane's text, stored along with the compiler's version and the CPU.

        Raises
        ------
        TooLarge
            If the content exceeds the size limit of links.
        StorageFull
            If there is no space.
        """
        content = canonical(state)
        if len(content) > self._content_bytes:
            limit = f"at most {self._content_bytes:,} bytes"
            raise TooLarge(f"the link would hold {len(content):,} bytes", field="$.workspace", expected=limit)
        name = self._name(content)
        compressed = zlib.compress(content)
        token = secrets.token_urlsafe(18)
        for _ in range(MAX_LENGTH):
            try:
                with database_errors("the link"), self._engine.begin() as connection:
                    link, is_new = self._choose_id(connection, name, content)
                    quota.charge(ROW_BYTES + (len(compressed) if is_new else 0))
                    if is_new:
                        self._insert(connection, link, compressed, outputs or {})
                    connection.execute(insert(TOKENS).values(digest=digest_of(token), link=link))
                break
            except IntegrityError:
                continue  # another request stored or deleted this id concurrently: retry
        else:
            raise Damaged("the database refuses to store this link")
        if self.backups is not None:
            self.backups.make_if_due()
        return SavedLink(id=link, delete_token=token)

    def _choose_id(self, connection: Connection, name: str, content: bytes) -> tuple[str, bool]:
        """Return the id of the content, and whether it is new; a new id is the shortest free prefix of the hash."""
        prefixes = [name[:length] for length in range(MIN_LENGTH, MAX_LENGTH + 1)]
        taken = connection.execute(select(LINKS.c.id, LINKS.c.content).where(LINKS.c.id.in_(prefixes))).all()
        for row in taken:
            try:
                same = inflate(row.content, len(content)) == content
            except (TooLarge, zlib.error):
                same = False
            if same:
                return str(row.id), False
        ids = {row.id for row in taken}
        return next(prefix for prefix in prefixes if prefix not in ids), True

    def _insert(self, connection: Connection, link: str, compressed: bytes, outputs: Mapping[str, str]) -> None:
        made = {"created": time.time(), "outputs": msgspec.json.encode(outputs).decode(), **self.made_with}
        connection.execute(insert(LINKS).values({"id": link, "content": compressed, **made}))

    def exists(self, link: str) -> bool:
        """Return whether there is a link."""
        try:
            self.stored_bytes(link)
        except NotFound:
            return False
        return True

    def stored_bytes(self, link: str) -> int:
        """Return the compressed size of a link's content, without reading it.

        Raises
        ------
        NotFound
            If there is no such link, or it was deleted.
        Damaged
            If the database is damaged at the link.
        """
        _must_be_an_id(link)
        size: int | None = None
        with self._noting_damage(link), database_errors("the link"), self._engine.connect() as connection:
            size = connection.scalar(select(func.length(LINKS.c.content)).where(LINKS.c.id == link))
        if size is None:
            raise _no_such_link(link)
        return int(size)

    def open(self, link: str) -> OpenedLink:
        """Return a link's content.

        Raises
        ------
        NotFound
            If there is no such link, or it was deleted.
        TooLarge
            If it was stored under a higher limit, and exceeds the current one.
        Damaged
            If the content does not match the id, or the database is damaged at the link.
        """
        if self.stored_bytes(link) > most_compressed(self._content_bytes):
            raise _too_large(self._content_bytes)
        with self._noting_damage(link):
            with database_errors("the link"), self._engine.connect() as connection:
                row = connection.execute(select(LINKS).where(LINKS.c.id == link)).one_or_none()
            if row is None:
                raise _no_such_link(link)
            return self._read(row)

    def _read(self, row: Row[Any]) -> OpenedLink:
        try:
            content = inflate(row.content, self._content_bytes)
            if not self._name(content).startswith(row.id):
                raise Damaged(f"the content stored under {row.id!r} does not match its id")
            outputs = msgspec.json.decode(row.outputs, type=dict[str, str])
        except (zlib.error, msgspec.DecodeError) as error:
            raise Damaged(f"the content stored under {row.id!r} cannot be read") from error
        try:
            state = decode(content)
        except (KeyError, IndexError, msgspec.DecodeError) as error:  # it has its hash: whoever wrote it knew more
            version = row.compiler[:64]
            raise FromNewerVersion(
                f"this link was saved by version {version} of Strata, whose links this server cannot read", field="id"
            ) from error
        made = {"created": row.created, "compiler": row.compiler, "cpu": row.cpu, "outputs": outputs}
        return OpenedLink(id=row.id, state=state, **made)

    @contextmanager
    def _noting_damage(self, link: str) -> Iterator[None]:
        """Record damage for the health check, and log the available backup for the operator."""
        try:
            yield
        except Damaged as error:
            self.damage = error.message
            advice = self.backups.advice() if self.backups is not None else "Restore it from a backup"
            log.error("link %s: %s. %s", quoted(link), error.message, advice)
            raise

    def delete(self, link: str, token: str) -> None:
        """Delete a link; its content stays until everyone who shared it has deleted theirs.

        Raises
        ------
        NotFound
            If there is no such link.
        Forbidden
            If the token does not belong to this link.
        """
        _must_be_an_id(link)
        with database_errors("the deletion"), self._engine.begin() as connection:
            if connection.execute(select(LINKS.c.id).where(LINKS.c.id == link)).one_or_none() is None:
                raise _no_such_link(link)
            mine = (TOKENS.c.digest == digest_of(token)) & (TOKENS.c.link == link)
            if connection.execute(delete(TOKENS).where(mine)).rowcount == 0:
                raise Forbidden("this token cannot delete the link", expected="the token from when it was created")
            if connection.execute(select(TOKENS.c.digest).where(TOKENS.c.link == link)).first() is None:
                connection.execute(delete(LINKS).where(LINKS.c.id == link))

    def check(self) -> None:
        """Query the database on a new connection; raise SQLAlchemy's error if that fails."""
        with self._checks.connect() as connection:
            connection.execute(select(SETTINGS.c.name).limit(1))

    def close(self) -> None:
        """Close the connections; a SQLite database is complete in one file then, and backed up if it has changed."""
        self._engine.dispose()
        if self._file is not None:
            complete(self._file)
        if self.backups is not None:
            self.backups.make_or_log()


def _must_be_an_id(link: str) -> None:
    """Reject malformed ids before querying: PostgreSQL cannot represent every character."""
    if not set(ALPHABET).issuperset(link):
        raise _no_such_link(link)


def _no_such_link(link: str) -> NotFound:
    return NotFound(f"there is no link {link!r}; it may have been deleted", field="id")
