"""Resolution of public names by the tables of :mod:`compiler.names`."""

from __future__ import annotations

import importlib
from functools import partial

from compiler.ir.deprecation import deprecated
from compiler.ir.extension import extension_point
from compiler.names import COMPLETED_BY, PUBLIC, STANDARD_MODULES
from compiler.older_names import OLDER, OLDER_MODULES
from compiler.package_modules import MODULES_OF_PACKAGES
from compiler.unavailable import UNAVAILABLE, unavailable_module

__all__ = ["module_of", "note_older"]


def module_of(name: str) -> str:
    """Return the module that a public name stands for, e.g. ``compiler.runtime.ndarray`` for ``tvm.nd``."""
    head, tail = name, ""
    while head:
        if head in OLDER:
            return module_of(OLDER[head] + tail)
        place = PUBLIC.get(head)
        if place is not None and ":" not in place:
            return place + tail
        head, _, last = head.rpartition(".")
        if not tail and last in MODULES_OF_PACKAGES.get(head, "").split():
            continue
        tail = f".{last}{tail}"
    return "compiler" + name.removeprefix("tvm")


def load(place: str) -> object:
    """Load the module, or the attribute of a module, that a definition names."""
    module, _, attribute = place.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def note_older(name: str) -> None:
    """Issue a deprecation warning if a name belongs to an older release."""
    if name in OLDER:
        deprecated(name, OLDER[name])


def _load_older(name: str) -> object:
    note_older(name)
    parent, _, attribute = OLDER[name].rpartition(".")
    return getattr(importlib.import_module(module_of(parent)), attribute)


def extend() -> None:
    """Register the tables with the extension points of all layers."""
    for older in OLDER:
        parent, _, name = older.rpartition(".")
        extension_point(parent).add(name, partial(_load_older, older), listed=False)
    for public, place in PUBLIC.items():
        parent, _, name = public.rpartition(".")
        extension_point(parent).add(name, partial(load, place), listed=public not in OLDER_MODULES)
    for name, place in STANDARD_MODULES.items():
        extension_point("standard modules").add(name, partial(load, place))
    for public in UNAVAILABLE:
        parent, _, name = public.rpartition(".")
        extension_point(parent).add(name, partial(unavailable_module, public), listed=False)
    for point, modules in COMPLETED_BY.items():
        for module in modules:
            extension_point(point).add_module(partial(load, module))
