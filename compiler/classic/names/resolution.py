"""Resolution of public names by the tables of :mod:`compiler.classic.names.public`."""

from __future__ import annotations

import importlib
from functools import partial

from compiler import public_names
from compiler.classic.names.older import OLDER, OLDER_MODULES
from compiler.classic.names.package_modules import MODULES_OF_PACKAGES
from compiler.classic.names.public import COMPLETED_BY, DEFINITIONS, FUNCTIONS, MODULES
from compiler.classic.names.unavailable import UNAVAILABLE, unavailable_module
from compiler.ir.deprecation import deprecated
from compiler.ir.extension import complete, extension_point, load, places

_OWN = places(MODULES, DEFINITIONS)
PUBLIC = {**places(public_names.MODULES, public_names.DEFINITIONS), **_OWN}
"""What each public name of TVM stands for that is not found by its path: a module, or ``module:attribute``."""


def module_of(name: str) -> str:
    """Return the module that a public name stands for, e.g. ``compiler.runtime.arrays.ndarray`` for ``tvm.nd``."""
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
    return f"{public_names.__package__}{name.removeprefix('tvm')}"


def public_of(module: str) -> str:
    """Return the name by which programs know a module: the shortest of several."""
    parent, _, last = module.rpartition(".")
    by_path = f"{public_of(parent)}.{last}" if parent else "tvm"
    return min((by_path, *(name for name, place in PUBLIC.items() if place == module)), key=len)


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
    complete(_OWN, COMPLETED_BY, unlisted=OLDER_MODULES)
    for point, functions in FUNCTIONS.items():
        for name, place in functions.items():
            extension_point(point).add(name, partial(load, place))
    for public in UNAVAILABLE:
        parent, _, name = public.rpartition(".")
        extension_point(parent).add(name, partial(unavailable_module, public), listed=False)
