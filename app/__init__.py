"""The explorer: a Flask application over the compiler and the sandbox.

Importing this package imports nothing else.  The sandbox's processes live in it as well, and every child pays for what
the zygote holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.server import create_app, start_runner

__all__ = ["create_app", "start_runner"]


def __getattr__(name: str) -> Any:
    """Return the functions that make a server, imported when somebody asks for them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from app import server

    return getattr(server, name)
