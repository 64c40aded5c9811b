"""The explorer: a Flask application over the compiler and the sandbox.

Importing this package imports nothing else: the sandbox's processes are part of it as well, and each child pays for
what its zygote has imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.server import create_app, start_runner

__all__ = ["create_app", "start_runner"]


def __getattr__(name: str) -> object:
    """Import the functions that make a server on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from app import server

    value: object = getattr(server, name)
    return value
