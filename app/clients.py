"""Who asks: the address that limits and queues go by, and the browser tab whose newer requests replace older ones."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from flask import request


class Client(NamedTuple):
    """Where requests come from."""

    address: str
    """Shared by all who sit behind one router."""
    tab: str = ""
    """A name that a page gave itself; empty for clients that never replace their requests."""


def network_of(address: str) -> str:
    """Return what one subscriber has: an IPv4 address, or the first 64 bits of an IPv6 address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(int(parsed) >> 64 << 64))


def present_client(tab: str = "") -> Client:
    """Return who sent the present request."""
    return Client(network_of(request.remote_addr or ""), tab)
