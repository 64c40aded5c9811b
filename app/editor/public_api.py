"""Lookup in the public API: resolution of names, and members of modules and classes."""

from __future__ import annotations

import inspect
from functools import partial
from types import ModuleType

import compiler

ROOT = "tvm"
OURS = (f"{ROOT}.", f"{compiler.__name__}.")
"""How the full names begin of what is the public API; some functions have the public package as ``__module__``."""


def resolve(path: str) -> object | None:
    """Resolve a public name.

    Parameters
    ----------
    path : str
        Fully qualified name, e.g. ``tvm.relay.nn.conv2d``.

    Returns
    -------
    value : object or None
        None if there is no such name.
    """
    root, *names = path.split(".")
    if root != ROOT:
        return None
    value: object = compiler
    for name in names:
        if name not in public_names(value):
            return None
        value = getattr(value, name)
    return value


def public_names(owner: object) -> list[str]:
    """Return the sorted public names of a module or class; empty for other values."""
    if isinstance(owner, ModuleType):
        return sorted(name for name in _module_names(owner) if not name.startswith("_"))
    if inspect.isclass(owner) and _is_ours(owner):
        return sorted(name for name in dir(owner) if not name.startswith(("_", "visit_")) and _is_own(owner, name))
    return []


def _module_names(module: ModuleType) -> list[str]:
    """Return the names listed by a module's own ``__dir__`` or ``__all__``, or else those it defines."""
    if "__dir__" in vars(module):
        return dir(module)
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    belongs = _is_ours if "__path__" in vars(module) else partial(_is_defined_in, module)
    return [name for name, value in vars(module).items() if belongs(value)]


def _is_defined_in(module: ModuleType, value: object) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def _is_own(cls: type, name: str) -> bool:
    """Return whether a class has a name from this project, not just from a base class outside of it."""
    return any(name in vars(base) for base in cls.__mro__ if _is_ours(base))


def _is_ours(value: object) -> bool:
    """Return whether this project defines a module, class or function; no other value is its own."""
    place = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(place, str) and f"{place}.".startswith(OURS)
