"""Database tables: links, classes, live workspaces and the boards of challenges."""

from __future__ import annotations

import hashlib

from sqlalchemy import (
    Column,
    Connection,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from app.config import ConfigurationError
from app.logs import quoted

MAX_LENGTH = 40
"""Maximum length of an id."""

MAX_FAILURE = 400

_TABLES_LOCK = 0x537472617461
"""Key of the PostgreSQL advisory lock for creating tables; must be unique among the users of the database."""

TABLES = MetaData()
SETTINGS = Table(
    "settings", TABLES, Column("name", String(32), primary_key=True), Column("value", LargeBinary, nullable=False)
)
LINKS = Table(
    "links",
    TABLES,
    Column("id", String(MAX_LENGTH), primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("created", Float, nullable=False),
    Column("compiler", String(64), nullable=False),
    Column("cpu", String(128), nullable=False, server_default=""),
    Column("outputs", String(400), nullable=False, server_default="{}"),
)
TOKENS = Table(
    "tokens",
    TABLES,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("link", ForeignKey("links.id", ondelete="CASCADE"), nullable=False, index=True),
)
CLASSES = Table(
    "classes",
    TABLES,
    Column("id", String(MAX_LENGTH), primary_key=True),
    Column("lesson", String(100), nullable=False),
    Column("secret", LargeBinary(32), nullable=False),
    Column("touched", Float, nullable=False, index=True),
    Column("version", Integer, nullable=False),
    Column("presented", LargeBinary),
    Column("entry", String(MAX_LENGTH), nullable=False, server_default=""),
    Column("crowds", Integer, nullable=False, server_default="0"),
    Column("turned_away", Float, nullable=False, server_default="0"),
    Column("anonymous", Integer, nullable=False, server_default="0"),
)
"""Classes; the secret, the keys of students and their addresses (``origin``) are stored as digests.

``entry`` is the part of the students' link that the teacher has renewed, empty for the first link; ``crowds`` says
whether one address may bring as many students as there are places, and ``turned_away`` when the last one was refused;
``anonymous`` says whether all names that students chose are hidden.
"""
STUDENTS = Table(
    "class_students",
    TABLES,
    Column("class", ForeignKey("classes.id", ondelete="CASCADE"), primary_key=True),
    Column("key", LargeBinary(32), primary_key=True),
    Column("name", String(40), nullable=False),
    Column("step", Integer, nullable=False),
    Column("seen", Float, nullable=False),
    Column("origin", String(32), nullable=False, server_default=""),
    Column("chosen", String(40), nullable=False, server_default=""),
    Column("hidden", Integer, nullable=False, server_default="0"),
    Column("look", String(MAX_LENGTH), nullable=False, server_default=""),
    UniqueConstraint("class", "name"),
)
"""Students; ``name`` was given to them, ``chosen`` is their own choice, and ``hidden`` says whether it is hidden.

``look`` is ``asked`` once the teacher asks to look into the workspace, then ``declined``, or a live workspace's id.
"""
PASSED_STEPS = Table(
    "class_steps",
    TABLES,
    Column("class", String(MAX_LENGTH), primary_key=True),
    Column("key", LargeBinary(32), primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("milliseconds", Float),
    Column("times_numpy", Float),
    Column("disturbed", Integer, nullable=False, server_default="0"),
    ForeignKeyConstraint(["class", "key"], ["class_students.class", "class_students.key"], ondelete="CASCADE"),
)

LIVE = Table(
    "live_workspaces",
    TABLES,
    Column("id", String(MAX_LENGTH), primary_key=True),
    Column("created", Float, nullable=False),
    Column("touched", Float, nullable=False, index=True),
    Column("version", Integer, nullable=False),
    Column("written", Integer, nullable=False),
    Column("arranged", Integer, nullable=False),
    Column("script", LargeBinary, nullable=False),
    Column("setting", LargeBinary, nullable=False),
    Column("pen", LargeBinary(32)),
    Column("penned", Float, nullable=False),
    Column("link", String(MAX_LENGTH), nullable=False, server_default=""),
)
"""Workspaces that several people edit.

``version`` counts every change, ``written`` is the version at which script or setting changed last, ``arranged`` the
one at which the setting did; both are compressed.  ``pen`` is the key of who may write, as a digest, and ``penned``
when they took it or wrote last; ``link`` is the permalink that the workspace was frozen to.
"""
PEOPLE = Table(
    "live_people",
    TABLES,
    Column("workspace", ForeignKey("live_workspaces.id", ondelete="CASCADE"), primary_key=True),
    Column("key", LargeBinary(32), primary_key=True),
    Column("seat", Integer, nullable=False),
    Column("name", String(40), nullable=False),
    Column("seen", Float, nullable=False),
    Column("place", LargeBinary, nullable=False),
    Column("asked", Float, nullable=False, server_default="0"),
    UniqueConstraint("workspace", "seat"),
)
"""Who edits them; keys are stored as digests, and ``asked`` is when somebody asked for the pen last."""

ENTRIES = Table(
    "challenge_entries",
    TABLES,
    Column("id", String(MAX_LENGTH), primary_key=True),
    Column("challenge", String(64), nullable=False),
    Column("cpu", String(128), nullable=False),
    Column("name", String(40), nullable=False),
    Column("owner", LargeBinary(32), nullable=False),
    Column("script", LargeBinary, nullable=False),
    Column("program", LargeBinary, nullable=False),
    Column("ladder", LargeBinary, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("times_numpy", Float),
    Column("disturbed", Integer, nullable=False),
    Column("entered", Float, nullable=False),
    Column("measured", Float, nullable=False),
    Column("failure", String(MAX_FAILURE), nullable=False, server_default=""),
    Index("challenge_boards", "challenge", "cpu"),
)
"""The entries of boards; ``owner`` is the digest of a key that the browser keeps.

``script``, ``program`` (what is measured again) and ``ladder`` are compressed; ``times_numpy`` is NumPy's time in the
same batch divided by ``seconds``.  One that is ``disturbed`` has no rank; ``failure`` says why if it is its own fault.
"""

PASSING = (CLASSES, LIVE)
"""Tables of what is deleted within hours or a day, and so is no part of backups."""

SCHEMA = 1
"""Version of the tables.  A new table or a column with a default needs no new one: older servers ignore it."""
_VERSION = "schema"
"""The setting that has it; a database without one is of version 1."""


def digest_of(secret: str) -> bytes:
    """Return what tables have of a key, token or secret that only its owner knows: 32 bytes."""
    return hashlib.sha256(secret.encode()).digest()


def create_tables(connection: Connection) -> None:
    """Create missing tables and columns; safe to call from several servers concurrently.

    Raises
    ------
    ConfigurationError
        If the tables are of a newer version, which this one would spoil.
    """
    if connection.dialect.name == "postgresql":
        # In PostgreSQL, IF NOT EXISTS is not atomic with a concurrent transaction that creates the table.
        connection.execute(select(func.pg_advisory_xact_lock(_TABLES_LOCK)))
    connection.execute(CreateTable(SETTINGS, if_not_exists=True))
    _check_version(connection)
    for table in TABLES.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))
        _add_columns(connection, table)


def _check_version(connection: Connection) -> None:
    stored: bytes | None = connection.scalar(select(SETTINGS.c.value).where(SETTINGS.c.name == _VERSION))
    if stored is None:
        new = insert(SETTINGS).values(name=_VERSION, value=str(SCHEMA).encode())
        connection.execute(new.prefix_with("OR IGNORE", dialect="sqlite"))  # another server may be faster
    elif not stored.isdigit() or int(stored) > SCHEMA:
        version = quoted(stored.decode("latin-1"))
        raise ConfigurationError(
            f"the database is of a newer version of Strata: its tables have version {version}, "
            f"and this one knows those up to {SCHEMA}. Start the newer version, or name another --database or --data"
        )


def _add_columns(connection: Connection, table: Table) -> None:
    """Add the columns that are new since an older version; each has a default."""
    existing = {column["name"] for column in inspect(connection).get_columns(table.name)}
    for column in table.columns:
        if column.name not in existing:
            written = CreateColumn(column).compile(dialect=connection.dialect)
            connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {written}"))
