"""Strata, a compiler explorer for tensor programs.

``strata serve`` starts the page, ``strata python x.py`` runs a program with ``import tvm``.  In a program of one's
own, ``strata_explorer.install()`` gives ``import tvm`` its meaning.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from app import __version__

if TYPE_CHECKING:
    from app.notebook import load_ipython_extension, show
    from compiler.classic.alias import install

_HOMES = {"install": "compiler.classic.alias", "load_ipython_extension": "app.notebook", "show": "app.notebook"}

__all__ = ["__version__", "install", "load_ipython_extension", "show"]


def __getattr__(name: str) -> object:
    """Import a function on first use: the commands begin here as well, and what they load can be interrupted."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
