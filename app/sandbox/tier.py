"""The strength of the isolation on this host."""

from __future__ import annotations

from enum import Enum, StrEnum

import msgspec


class FileAccess(Enum):
    """File access allowed by the system call filter; other mechanisms restrict the paths."""

    NONE = "none"
    READ = "read"
    WRITE = "write"


class Mechanism(StrEnum):
    """An isolation mechanism that the operating system may offer."""

    SECCOMP = "seccomp"
    """An allowlist of system calls."""
    LANDLOCK = "landlock"
    """An allowlist of paths.  It limits what may be opened; ``stat`` still tells a script whether any path exists, its
    size and its dates, which only a private root hides."""
    PRIVATE_ROOT = "private root"
    """A private mount namespace, in which other paths do not exist, with the working directory in memory."""
    PROCESSES = "process namespace"
    NETWORK = "network namespace"
    """Private network, inter-process communication and host name."""
    USERS = "user namespace"
    USER_ID = "own user id"
    """A dedicated user id."""


CONTROL_GROUP = "control group"
"""Limits on all scripts together; not isolation, so no tier depends on it."""


class Tier(msgspec.Struct, frozen=True, kw_only=True):
    """A set of enabled mechanisms, with a name for its strength."""

    mechanisms: frozenset[Mechanism] = frozenset()
    reasons: dict[str, str] = {}
    """The reason for each missing mechanism."""
    bounded_together: bool = False
    """Whether a control group limits all scripts together."""
    as_root: bool = False
    """Whether scripts run as root, whose number of threads the kernel does not limit."""

    @property
    def name(self) -> str:
        """``full``, ``seccomp+landlock``, ``seccomp`` or ``unsafe-local``."""
        if Mechanism.SECCOMP not in self.mechanisms:
            return "unsafe-local"
        if Mechanism.LANDLOCK not in self.mechanisms:
            return "seccomp"
        isolated = {Mechanism.PRIVATE_ROOT, Mechanism.PROCESSES, Mechanism.NETWORK} <= self.mechanisms
        return "full" if isolated else "seccomp+landlock"

    @property
    def active(self) -> list[str]:
        """Names of the enabled mechanisms, including the control group."""
        return sorted([*self.mechanisms, *([CONTROL_GROUP] if self.bounded_together else [])])

    @property
    def safe_for_public(self) -> bool:
        """Whether the tier is strong enough for untrusted users."""
        return Mechanism.SECCOMP in self.mechanisms and not self.as_root

    @property
    def files(self) -> FileAccess:
        """The file access that this tier permits.

        Writing requires a private, size-limited file system; without a mechanism that restricts paths, no file may be
        opened.
        """
        if Mechanism.PRIVATE_ROOT in self.mechanisms:
            return FileAccess.WRITE
        return FileAccess.READ if Mechanism.LANDLOCK in self.mechanisms else FileAccess.NONE

    @property
    def executes(self) -> bool:
        """Whether a job may execute a program: if Landlock restricts it to one path, or without any sandbox."""
        return Mechanism.LANDLOCK in self.mechanisms or Mechanism.SECCOMP not in self.mechanisms

    def __str__(self) -> str:
        active = ", ".join(self.active) or "no isolation"
        missing = "; ".join(f"no {name}: {why}" for name, why in sorted(self.reasons.items()))
        return f"{self.name} ({active})" + (f" [{missing}]" if missing else "")
