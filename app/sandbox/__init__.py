"""A sandbox for untrusted Python and native code, by isolation mechanisms of the operating system.

:class:`Sandbox` is for Linux.  Elsewhere :class:`UnsafeLocal` offers the same interface without any isolation.
"""

from __future__ import annotations

import sys

from app.sandbox.files import StoredFile, check_name
from app.sandbox.interface import Job, Machine, NoSandbox, Outcome, RemoteRunner, Runner, SandboxError
from app.sandbox.limits import Limits, Shared
from app.sandbox.local import UnsafeLocal
from app.sandbox.tier import Mechanism, Tier

if sys.platform == "linux":
    from app.sandbox.client import Sandbox
else:

    class Sandbox:
        """A stub that raises an error: this system has no sandbox."""

        def __init__(self, *_: object, **__: object) -> None:
            raise NoSandbox(f"sandbox: {sys.platform} does not support one; only --unsafe-local works on this system")


__all__ = [
    "Job",
    "Limits",
    "Machine",
    "Mechanism",
    "NoSandbox",
    "Outcome",
    "RemoteRunner",
    "Runner",
    "Sandbox",
    "SandboxError",
    "Shared",
    "StoredFile",
    "Tier",
    "UnsafeLocal",
    "check_name",
]
