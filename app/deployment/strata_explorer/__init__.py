"""Strata, a compiler explorer for tensor programs.

``strata serve`` starts the page, ``strata python x.py`` runs a program with ``import tvm``.  In a program of one's
own, ``strata_explorer.install()`` gives ``import tvm`` its meaning.
"""

from __future__ import annotations

from app import __version__
from app.notebook import load_ipython_extension, show
from compiler.classic.alias import install

__all__ = ["__version__", "install", "load_ipython_extension", "show"]
