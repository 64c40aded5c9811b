"""The settings of a server, from the command line or the environment, and their defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import msgspec
from sqlalchemy import URL

from compiler.runtime.threads import available_cores

MIB = 1 << 20
PREFIX = "STRATA_"
"""``STRATA_DATA_DIR`` in the environment is the setting ``data_dir``, and so on for every setting."""


class ConfigurationError(Exception):
    """The server cannot start as configured."""


def default_data_dir() -> Path:
    """Return the default data directory, by the XDG rules."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "strata"


def default_scripts_memory() -> int:
    """Return three quarters of this machine's memory; one script may take more than a gigabyte."""
    if not hasattr(os, "sysconf"):
        return 4096 * MIB
    return max(1024 * MIB, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4)


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a server."""

    host: str = "127.0.0.1"
    port: int = 8000
    data_dir: Path = msgspec.field(default_factory=default_data_dir)
    database: str = ""
    """SQLAlchemy URL of the permalinks; empty is SQLite in the data directory."""
    store: str = ""
    """fsspec URL of the files that several servers share; empty if there is one server."""
    scheduler: str = ""
    """Address of a Dask scheduler on whose workers scripts run; empty if they run on the server's own machine."""
    machine: str = ""
    """What results call this machine where it works in a cluster; its host name by default."""
    lessons_dir: Path | None = None
    """Directory of a teacher's own lessons; they are read again when they change."""
    unsafe_local: bool = False
    """Run scripts without a sandbox; on loopback only."""
    unsafe_public: bool = False
    """Accept public connections without a sandbox."""
    proxies: int = 0
    """Trusted proxies in front of the server, whose ``X-Forwarded-For`` names the client."""
    connections: Annotated[int, msgspec.Meta(ge=16)] = 2048
    """Connections that may be open; a new one takes the place of the oldest that is idle."""
    connections_per_client: Annotated[int, msgspec.Meta(ge=8)] = 512
    """The same for one address, which a class may share; behind proxies, which bring everybody, it means nothing."""
    idle_seconds: Annotated[float, msgspec.Meta(gt=0)] = 5.0
    """How long a connection may wait with its next request."""
    access_log: bool = False
    """Write a line into the log for each request."""
    hosts: str = ""
    """Host names the server answers to, with commas; empty means any, or this machine's own names on loopback."""
    pool: int = 2
    """Idle zygotes that are kept ready for scripts."""
    compiling: int = msgspec.field(default_factory=lambda: max(3, 2 * available_cores()))
    """Scripts that are compiled at one time, half as many again in overtime; those that sleep need no core."""
    waiting: int = 128
    """Requests that may wait in a queue, all clients together."""
    waiting_per_client: int = 64
    """The same for one address, which a whole class may share; addresses get equal shares of the slots."""
    body_bytes: int = 104 * MIB
    files_bytes: int = 32 * MIB
    """Attached files of one workspace together."""
    upload_bytes: int = 100 * MIB
    """Of one large file, such as a model, that is stored and then named by its hash."""
    workspace_uploads_bytes: int = 200 * MIB
    """Stored files that one workspace names, together; one that is named twice counts twice."""
    uploads_bytes: int = 20 * 1024 * MIB
    """All stored files of all clients together.  None is ever deleted by the server: a permalink may name it."""
    reserve_bytes: int = 256 * MIB
    """Free disk space below which files are refused, so that links can still be saved, and the health is degraded."""
    memory: Annotated[int, msgspec.Meta(ge=512 * MIB)] = 1024 * MIB
    """Bytes of memory that the server and the processes that render for it may take; ``app.memory`` divides them."""
    scripts_memory: Annotated[int, msgspec.Meta(ge=1024 * MIB)] = msgspec.field(default_factory=default_scripts_memory)
    """Bytes of memory that all scripts may take together, where the host has control groups."""
    rate_limit: int = 1200
    """Compilations and other writes a minute that a client may request; 0 means any number."""
    built_file_bytes: Annotated[int, msgspec.Meta(ge=1 * MIB)] = 256 * MIB
    """Of one file that a function or a model becomes, such as a library with its weights."""
    stored_bytes: int = 1024 * MIB
    """Bytes a day that a client may store in links and uploads; 0 means any number."""
    opened_bytes: int = 512 * MIB
    """Bytes a minute that a client may open of links; 0 means any number."""
    compile_seconds: float = 8.0
    run_seconds: float = 120.0
    ladder_seconds: float = 600.0

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def trusted_hosts(self) -> list[str] | None:
        """Host names in requests that are answered; None means any.

        On loopback it is this machine's names only, so that a web page whose name resolves to 127.0.0.1 cannot talk
        to the server (DNS rebinding).
        """
        named = [host.strip() for host in self.hosts.split(",") if host.strip()]
        if named:
            return named
        return ["localhost", "127.0.0.1", "::1", self.host] if self.loopback else None

    @property
    def links_database(self) -> str | URL:
        """The SQLAlchemy URL of the permalinks."""
        return self.database or URL.create("sqlite", database=str(self.data_dir.absolute() / "strata.sqlite3"))

    @classmethod
    def read(cls, settings: Mapping[str, object] | None = None, environment: Mapping[str, str] = os.environ) -> Config:
        """Read settings, in upper or lower case; the others come from the environment.

        Raises
        ------
        ConfigurationError
            If a name is unknown or a value is not of its type.
        """
        values: dict[str, object] = {
            name: environment[PREFIX + name.upper()]
            for name in cls.__struct_fields__
            if PREFIX + name.upper() in environment
        }
        values.update({name.lower(): value for name, value in (settings or {}).items()})
        try:
            return msgspec.convert(values, cls, strict=False, dec_hook=_path)
        except msgspec.ValidationError as error:
            raise ConfigurationError(f"configuration: {error}") from error


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str | Path):
        return Path(value)
    raise msgspec.ValidationError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")
