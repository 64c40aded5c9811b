"""Identification of clients: the address that limits and queues count by, and the browser tab."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import NamedTuple


class Client(NamedTuple):
    """The sender of requests: an address, and a browser tab."""

    address: str
    """The network address, which users behind one router share."""
    tab: str = ""
    """The name of a page; empty for clients whose requests never supersede each other."""


def network_of(address: str) -> str:
    """Return the subscriber's part of an address: all of IPv4, the first 64 bits of IPv6."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(int(parsed) >> 64 << 64))
