"""Names and documentation of generated functions, and the exports of the ``topi`` packages."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Container
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def named(function: F, name: str, /, **words: str) -> F:
    """Give one function of a family its public name, and its own words in place of ``{word}`` in its docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (function.__doc__ or "").format(**words)
    return function


def summary_of(definition: Callable[..., Any]) -> str:
    """Return the first paragraph of a definition's documentation, which its operator has too."""
    return " ".join((definition.__doc__ or "").partition("\n\n")[0].split())


def load_definitions(package: dict[str, Any], aside: Container[str] = ()) -> list[str]:
    """Import every module of a package, but for those ``aside``, and export what it lists in ``__all__``.

    A folder that lists nothing itself exports what its modules list.
    """
    names: list[str] = []
    for info in pkgutil.iter_modules(package["__path__"]):
        if info.name not in aside:
            module = importlib.import_module(f"{package['__name__']}.{info.name}")
            listed = module.__all__ if hasattr(module, "__all__") else load_definitions(vars(module), aside)
            package.update({name: getattr(module, name) for name in listed})
            names += listed
    return sorted(names)
