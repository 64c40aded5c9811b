"""The exports of the ``topi`` packages, derived from ``__all__`` of their modules."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Container
from typing import Any


def load_definitions(package: dict[str, Any], aside: Container[str] = ()) -> list[str]:
    """Import every module of a package, bind what it names in ``__all__``, and return these names.

    Parameters
    ----------
    package : dict of str to object
        The package's globals.
    aside : container of str
        Modules whose contents are not the package's: they are imported under their own names, or are tools.

    Returns
    -------
    list of str
        Sorted.
    """
    names: list[str] = []
    for info in pkgutil.iter_modules(package["__path__"]):
        if info.name not in aside:
            module = importlib.import_module(f"{package['__name__']}.{info.name}")
            package.update({name: getattr(module, name) for name in module.__all__})
            names += module.__all__
    return sorted(names)
