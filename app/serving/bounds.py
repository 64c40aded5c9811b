"""Per-client limits of the server: time, bytes, connections, streams, threads."""

from __future__ import annotations

import msgspec

from app.config import MIB, Config

KIB = 1 << 10


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of connections and requests."""

    connections: int = 2048
    """Connections in all; a new one takes the place of the oldest that is idle."""
    connections_per_client: int | None = 512
    """The same for one address, which a whole class may share; None behind a proxy, which brings everybody."""
    opened_per_second: int = 250
    """Connections that one address may open within a second, unless it is a proxy's."""
    idle_seconds: float = 5.0
    """How long a connection may wait with its next request."""
    head_seconds: float = 5.0
    """How long the head of a request may take from its first byte."""
    head_bytes: int = 32 * KIB
    grace_seconds: float = 10.0
    """How long a body may take either way, beside the time that its bytes take at ``bytes_per_second``."""
    bytes_per_second: int = 16 * KIB
    """The slowest client that is served."""
    linger_seconds: float = 2.0
    """How long the rest of a refused request is thrown away, so that the client reads why it was refused."""
    bare_bytes: int = 64 * KIB
    """Size limit of the body of a request that needs none."""
    memory_bytes: int = 16 * KIB
    """Size of a body on its way through the loop that stays in memory; larger ones lie in temporary files."""
    spooled_bytes: int = 1024 * MIB
    """Bodies of all requests and responses that are on their way; one client may have half of it."""
    chunks: int = 1024
    """Pieces of a chunked body that may be tiny; parsing them costs more than their bytes."""
    chunk_bytes: int = 256
    """Average size that further chunks must have."""
    working: int = 6
    """Requests that threads work on at one time; those that wait for a job do not count."""
    working_per_client: int = 4
    waiting: int = 800
    """Requests whose threads wait for a job."""
    waiting_per_client: int = 264
    """The same for one address: all students of the largest class, and what the queues let others of it wait."""
    streams: int = 1024
    """Responses that go on as there is news."""
    streams_per_client: int = 256
    stop_seconds: float = 3.0
    """How long requests may take to end when the server does."""

    @classmethod
    def of(cls, config: Config) -> Bounds:
        """Return the bounds of a server with these settings."""
        per_client = None if config.proxies else min(config.connections, config.connections_per_client)
        return cls(connections=config.connections, connections_per_client=per_client, idle_seconds=config.idle_seconds)
