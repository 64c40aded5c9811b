"""Allowed host names."""

from __future__ import annotations

from collections.abc import Callable, Collection


def host_check(trusted: Collection[str] | None) -> Callable[[str], bool]:
    """Return whether the host of a request, optionally with a port, is trusted.

    Parameters
    ----------
    trusted : collection of str or None
        Names and addresses, IPv6 ones with or without brackets; a name with a leading dot matches all subdomains.
        None for any.
    """
    if trusted is None:
        return lambda host: True
    names = frozenset(name_of(one) for one in trusted)
    suffixes = tuple(name for name in names if name.startswith("."))

    def check(host: str) -> bool:
        name = name_of(host)
        return name in names or ("." + name).endswith(suffixes)

    return check


def name_of(host: str) -> str:
    """Return a host without port and brackets, in lower case and ASCII."""
    if host.startswith("["):
        name = host[1:].partition("]")[0]
    else:
        name = host if host.count(":") > 1 else host.partition(":")[0]
    try:
        return name.lower().encode("idna").decode("ascii")
    except UnicodeError:
        return name.lower()
