"""The explorer: a Flask application over the compiler and the sandbox.

Importing this package imports nothing else: the sandbox's processes are part of it as well, and each child pays for
what its zygote has imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.runners import start_runner
    from app.server import create_app

_HOMES = {"create_app": "app.server", "start_runner": "app.runners"}

__version__ = "0.1.0"

__all__ = ["create_app", "start_runner"]


def __getattr__(name: str) -> object:
    """Import the functions that make a server on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
