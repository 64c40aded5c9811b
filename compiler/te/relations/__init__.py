"""Axis relations: how the axes of a stage derive from one another, one file per relation and its primitives.

Every module of this package is imported with :mod:`compiler.te.scheduling.stage`; a new relation is a new file here and
nothing else.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from compiler.te.relations.relation import Relation

__all__ = ["Relation", "import_relations"]


def import_relations() -> None:
    """Import all modules of this package, which registers the primitives that stand there."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
