"""Opening of links, limited in bytes per client and in total."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import NotFound
from app.services import current_services
from app.store.links import OpenedLink
from app.store.workspace_limits import content_bytes
from app.web.requests import current_client

MAX_INFLATION = 1032
"""How much larger than its compressed form some content may be, by DEFLATE's own limit."""

BASE_BYTES = 1 << 18
"""What opening any link counts as, so that it costs something even if it turns out to be too large."""


@contextmanager
def opened(link: str) -> Iterator[OpenedLink]:
    """Open a link while its turn lasts: what is made of its content is finished within.

    Raises
    ------
    NotFound
        There is no such link.
    Busy
        This client opened too much, or asked for too many links that do not exist.
    Unavailable
        Others open large links now.
    """
    services, address = current_services(), current_client().address
    services.missing.check(address)
    services.opening.charge(address, BASE_BYTES)
    try:
        stored = services.links.stored_bytes(link)
    except NotFound:
        services.missing.charge(address)
        raise
    with services.link_bytes.acquire(min(services.workspace_limits.content_bytes, stored * MAX_INFLATION)):
        content = services.links.open(link)
        services.opening.charge(address, max(0, content_bytes(content.state.workspace) - BASE_BYTES))
        yield content
