"""Per-client limits of the server: time, bytes, connections, streams, threads."""

from __future__ import annotations

import msgspec

from app.config import MIB, Config

KIB = 1 << 10


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of connections and requests."""

    connections: int = 2048
    """Maximum number of connections; beyond it, a new one replaces the oldest idle one."""
    connections_per_client: int | None = 512
    """Maximum per client address, which a classroom may share; None behind a proxy, where all clients share one."""
    opened_per_second: int = 250
    """Maximum number of connections that one address opens per second; not enforced behind a proxy."""
    idle_seconds: float = 5.0
    """Keep-alive timeout between requests."""
    head_seconds: float = 5.0
    """Timeout for the request head, from its first byte."""
    head_bytes: int = 32 * KIB
    grace_seconds: float = 10.0
    """Time allowed for sending or receiving a body, in addition to its size divided by ``bytes_per_second``."""
    bytes_per_second: int = 16 * KIB
    """Minimum transfer rate of a client."""
    linger_seconds: float = 2.0
    """How long the rest of a rejected request is discarded, so that the client can read the error response."""
    bare_bytes: int = 64 * KIB
    """Size limit of request bodies on routes that expect none."""
    memory_bytes: int = 16 * KIB
    """Size up to which a body is kept in memory; larger ones go to temporary files."""
    spooled_bytes: int = 1024 * MIB
    """Total size of the request and response bodies in transit; one client may use half of it."""
    chunks: int = 1024
    """Number of chunks of a chunked body that may be tiny; parsing a chunk costs more than its bytes."""
    chunk_bytes: int = 256
    """Minimum average size of the chunks after those."""
    working: int = 6
    """Maximum number of requests that threads handle concurrently, not counting those that wait for a job."""
    working_per_client: int = 4
    waiting: int = 512
    """Maximum number of requests that wait for a job."""
    waiting_per_client: int = 192
    streams: int = 1024
    """Maximum number of open event streams."""
    streams_per_client: int = 128
    stop_seconds: float = 3.0
    """Grace period for open requests on shutdown."""

    @classmethod
    def of(cls, config: Config) -> Bounds:
        """Return the limits for a configuration."""
        per_client = None if config.proxies else min(config.connections, config.connections_per_client)
        return cls(
            connections=config.connections,
            connections_per_client=per_client,
            idle_seconds=config.idle_seconds,
        )
