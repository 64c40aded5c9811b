"""The settings of a server, from the command line or the environment, and their defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from compiler.runtime.machine import available_cores

if TYPE_CHECKING:
    from sqlalchemy import URL

MIB = 1 << 20
PREFIX = "STRATA_"
"""Prefix of environment variables: ``STRATA_DATA_DIR`` is the setting ``data_dir``, and so on."""
_AT = re.compile(r" - at `\$\.(\w+)`")
"""How msgspec says where a value is."""


class ConfigurationError(Exception):
    """The configuration does not permit the server to start."""


class Unprotected(ConfigurationError):
    """Nothing on this system would isolate scripts, however long one waits."""


def default_data_dir() -> Path:
    """Return the default data directory, following the XDG base directory specification.

    Raises
    ------
    ConfigurationError
        If this user has no home directory, as in a container that was given just a number for one.
    """
    try:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError:
        raise ConfigurationError(
            f"this user has no home directory for the permalinks: expected one in --data or {PREFIX}DATA_DIR"
        ) from None
    return Path(base) / "strata"


def default_scripts_memory() -> int:
    """Return three quarters of this machine's memory; a single script may use more than a gigabyte."""
    if not hasattr(os, "sysconf"):
        return 4096 * MIB
    return max(1024 * MIB, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4)


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a server."""

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8000
    data_dir: Path = msgspec.field(default_factory=default_data_dir)
    database: str = ""
    """SQLAlchemy URL of the permalink database; empty for SQLite in the data directory."""
    store: str = ""
    """fsspec URL of the file store shared by several servers; empty for a single server."""
    scheduler: str = ""
    """Address of a Dask scheduler whose workers run scripts; empty to run them on this machine."""
    machine: str = ""
    """Name of this machine in the results of a cluster; by default its host name."""
    lessons_dir: Path | None = None
    """Directory of a teacher's own lessons, which are reloaded when they change."""
    unsafe_local: bool = False
    """Run scripts without a sandbox, on loopback only."""
    unsafe_public: bool = False
    """Accept public connections without a sandbox."""
    origins: str = ""
    """Other sites whose pages may use the stateless routes of the API, such as ``https://course.example``, separated by
    commas, or ``*`` for any; empty for any, or for none on loopback.  None may where there is no sandbox."""
    proxies: int = 0
    """Number of trusted proxies in front of the server, whose ``X-Forwarded-For`` identifies the client."""
    connections: Annotated[int, msgspec.Meta(ge=16)] = 2048
    """Maximum number of connections; beyond it, a new one replaces the oldest idle one."""
    connections_per_client: Annotated[int, msgspec.Meta(ge=8)] = 512
    """Maximum per client address, which a classroom may share; ignored behind proxies, where all clients share one."""
    idle_seconds: Annotated[float, msgspec.Meta(gt=0)] = 5.0
    """Keep-alive timeout between requests."""
    access_log: bool = False
    """Log a line for each request."""
    log: Literal["text", "json"] = "text"
    """Format of the log; JSON has one object a line."""
    contact: Annotated[str, msgspec.Meta(pattern=r"^((mailto:|https://)[!-~]{1,200})?\Z")] = ""
    """The operator, ``mailto:…`` or ``https://…``, whom ``/.well-known/security.txt`` names; empty for nobody."""
    metrics_token: str = ""
    """Bearer token that lets other machines read ``/metrics``; empty for this machine only."""
    hosts: str = ""
    """Allowed host names, separated by commas; empty for any, or for this machine's names on loopback."""
    pool: int = 2
    """Number of zygotes kept ready for scripts."""
    compiling: int = msgspec.field(default_factory=lambda: max(3, 2 * available_cores()))
    """Number of scripts compiled concurrently, plus half as many in overtime, since sleeping needs no core."""
    waiting: int = 128
    """Maximum number of requests waiting in a queue, besides one for each student who is in a class."""
    waiting_per_client: int = 64
    """The same per client address; addresses get equal shares of the slots."""
    body_bytes: int = 104 * MIB
    files_bytes: int = 32 * MIB
    """Maximum total size of the attached files of a workspace."""
    upload_bytes: int = 100 * MIB
    """Maximum size of an uploaded file, such as a model."""
    workspace_uploads_bytes: int = 200 * MIB
    """Maximum total size of the uploaded files of a workspace; a file used twice counts twice."""
    uploads_bytes: int = 20 * 1024 * MIB
    """Maximum total size of all uploaded files.  The server never deletes any, as permalinks may refer to them."""
    reserve_bytes: int = 256 * MIB
    """Free disk space below which uploads are rejected and health is degraded, so that links can still be saved."""
    memory: Annotated[int, msgspec.Meta(ge=512 * MIB)] = 1024 * MIB
    """Memory limit in bytes of the server and its rendering processes; ``app.memory`` divides it."""
    scripts_memory: Annotated[int, msgspec.Meta(ge=1024 * MIB)] = msgspec.field(default_factory=default_scripts_memory)
    """Memory limit in bytes of all scripts together, on hosts with control groups."""
    rate_limit: int = 3000
    """Maximum number of compilations and other writes per minute and client address, which a hundred students may
    share; 0 for no limit.  The queues share the processors out, whatever this limit is."""
    built_file_bytes: Annotated[int, msgspec.Meta(ge=1 * MIB)] = 256 * MIB
    """Maximum size of a file built from a function or model, such as a library with weights."""
    stored_bytes: int = 1024 * MIB
    """Bytes per day that a client may store in links and uploads; 0 for no limit."""
    opened_bytes: int = 512 * MIB
    """Bytes of links per minute that a client may open; 0 for no limit."""
    compile_seconds: float = 8.0
    run_seconds: float = 120.0
    ladder_seconds: float = 600.0

    @property
    def loopback(self) -> bool:
        """Whether the server listens on a loopback address."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def trusted_hosts(self) -> list[str] | None:
        """The allowed host names of requests; None for any.

        On loopback, these are this machine's names only, as a defence against DNS rebinding.
        """
        named = [host.strip() for host in self.hosts.split(",") if host.strip()]
        if named:
            return named
        return ["localhost", "127.0.0.1", "::1", self.host] if self.loopback else None

    @property
    def links_database(self) -> str | URL:
        """The SQLAlchemy URL of the permalink database."""
        from sqlalchemy import URL

        return self.database or URL.create("sqlite", database=str(self.data_dir.absolute() / "strata.sqlite3"))

    @classmethod
    def read(cls, settings: Mapping[str, object] | None = None, environment: Mapping[str, str] = os.environ) -> Config:
        """Read settings given by name, in upper or lower case; take the others from the environment.

        ``STRATA_DATABASE_FILE`` names a file with the value of ``STRATA_DATABASE``, and so on for every setting, so
        that secrets need not be in the environment.

        Raises
        ------
        ConfigurationError
            If a name is unknown, a value has the wrong type, or a file cannot be read.
        """
        values: dict[str, object] = {
            name: value
            for name in cls.__struct_fields__
            if (value := _from_environment(PREFIX + name.upper(), environment)) is not None
        }
        values.update({name.lower(): value for name, value in (settings or {}).items()})
        try:
            return msgspec.convert(values, cls, strict=False, dec_hook=_path)
        except msgspec.ValidationError as error:
            raise ConfigurationError(f"configuration: {_AT.sub(_by_name, str(error))}") from error


def _by_name(place: re.Match[str]) -> str:
    return f" for {PREFIX}{place[1].upper()}"


def _from_environment(name: str, environment: Mapping[str, str]) -> str | None:
    """Return a variable's value, or what the file holds that the variable with ``_FILE`` at its end names.

    One that is empty, as Compose passes those that nobody set, says nothing.
    """
    file = environment.get(f"{name}_FILE")
    if not file:
        return environment.get(name) or None
    if name in environment:
        raise ConfigurationError(f"configuration: {name} and {name}_FILE are both set; expected one of them")
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"configuration: {name}_FILE: {file} cannot be read: {error}") from error


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str | Path):
        return Path(value)
    raise msgspec.ValidationError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")
