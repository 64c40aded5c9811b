"""The strength of the isolation on this host."""

from __future__ import annotations

from enum import Enum, StrEnum

import msgspec


class FileAccess(Enum):
    """What the system call filter lets a script do with files; which files is up to the mechanisms that know paths."""

    NONE = "none"
    READ = "read"
    WRITE = "write"


class Mechanism(StrEnum):
    """An isolation mechanism that the operating system may offer."""

    SECCOMP = "seccomp"
    """Only the system calls of an allowlist."""
    LANDLOCK = "landlock"
    """Only the paths of an allowlist."""
    PRIVATE_ROOT = "private root"
    """Own mounts: other paths do not even exist, and the working directory is in memory."""
    PROCESSES = "process namespace"
    NETWORK = "network namespace"
    """Own network, inter-process communication and host name."""
    USERS = "user namespace"
    USER_ID = "own user id"
    """A user id that nothing else runs under."""


CONTROL_GROUP = "control group"
"""A limit of all scripts together, which isolates none of them: no tier depends on it."""


class Tier(msgspec.Struct, frozen=True, kw_only=True):
    """The mechanisms that are on, under one name."""

    mechanisms: frozenset[Mechanism] = frozenset()
    reasons: dict[str, str] = {}
    """Why each missing mechanism is missing."""
    bounded_together: bool = False
    """Whether a control group bounds what all scripts take together."""
    as_root: bool = False
    """Scripts run as the system's root, whose number of threads the kernel does not limit."""

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
        """Names of the mechanisms that are on, the control group included."""
        return sorted([*self.mechanisms, *([CONTROL_GROUP] if self.bounded_together else [])])

    @property
    def safe_for_public(self) -> bool:
        """Whether untrusted users may be let in."""
        return Mechanism.SECCOMP in self.mechanisms and not self.as_root

    @property
    def files(self) -> FileAccess:
        """What a script may do with files where paths are guarded by this tier.

        Writing needs a size-limited file system of its own; without any guard of paths nothing may be opened.
        """
        if Mechanism.PRIVATE_ROOT in self.mechanisms:
            return FileAccess.WRITE
        return FileAccess.READ if Mechanism.LANDLOCK in self.mechanisms else FileAccess.NONE

    @property
    def executes(self) -> bool:
        """Whether a job may execute a program: only where a mechanism knows which one it is."""
        return Mechanism.LANDLOCK in self.mechanisms or Mechanism.SECCOMP not in self.mechanisms

    def __str__(self) -> str:
        active = ", ".join(self.active) or "no isolation"
        missing = "; ".join(f"no {name}: {why}" for name, why in sorted(self.reasons.items()))
        return f"{self.name} ({active})" + (f" [{missing}]" if missing else "")
