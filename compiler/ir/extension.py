"""Extension points: public modules and registries of a lower layer that packages of higher layers complete.

A package imports lower layers only, yet ``tvm.relay`` offers a function of the driver, ``tvm.topi`` what operators of
graphs export, and the registry of passes those of all levels.  Whoever adds something says so here:
:mod:`compiler.public_names`, above all layers, for the names and modules that it lists, a module for what it defines.
Nothing is loaded before it is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from compiler.ir.error import unknown_name
from compiler.ir.late_imports import import_late, importing

__all__ = ["ExtensionPoint", "complete", "extension_point", "lazy_package", "load", "offer", "places", "public_module"]

Loader = Callable[[], object]


class ExtensionPoint:
    """Names that higher layers add, and modules that add more once they are imported."""

    def __init__(self) -> None:
        self._names: dict[str, Loader] = {}
        self._unlisted: set[str] = set()
        self._modules: list[Loader] = []
        self._loading = threading.RLock()

    def add(self, name: str, load: Loader, *, listed: bool = True) -> None:
        """Add a name; ``load``, which returns what it stands for, is called each time that it is looked up.

        Deprecated and unavailable names are not ``listed``: ``dir`` and the editor leave them out.
        """
        self._names[name] = load
        if not listed:
            self._unlisted.add(name)

    def add_module(self, load: Loader) -> None:
        """Add a module; ``load`` imports it, and it adds names here, or rows to the registry that this extends."""
        self._modules.append(load)

    def load_modules(self) -> bool:
        """Import the modules that were not imported yet; return whether there were any."""
        with importing(), self._loading:
            modules, self._modules = self._modules, []
            for load in modules:
                load()
        return bool(modules)

    def has(self, name: str) -> bool:
        """Return whether a name is added, by others than the modules that are yet to be imported."""
        return name in self._names

    def names(self) -> list[str]:
        """Return the listed names that are added, those of all modules included."""
        self.load_modules()
        return [name for name in self._names if name not in self._unlisted]

    def find(self, name: str) -> Loader | None:
        """Return what loads a name; None if not even a module that is yet to be imported adds it."""
        if name not in self._names:
            self.load_modules()
        return self._names.get(name)


_POINTS: dict[str, ExtensionPoint] = {}


def extension_point(name: str) -> ExtensionPoint:
    """Return the extension point of a public module, e.g. ``tvm.topi``, or of a registry, e.g. ``passes``."""
    return _POINTS.setdefault(name, ExtensionPoint())


def public_module(name: str, own: Sequence[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a public module.

    ``__getattr__`` refuses names that neither the module nor a higher floor has, and names the nearest one.
    """
    point = extension_point(name)

    def list_names() -> list[str]:
        return sorted({*own, *point.names()})

    def load(attribute: str) -> Any:
        if attribute.startswith("__") or (attribute.startswith("_") and not point.has(attribute)):
            raise AttributeError(f"{name} has no attribute {attribute!r}", name=attribute)
        loader = point.find(attribute)
        if loader is None:
            raise unknown_name(name, attribute, list_names())
        return loader()

    return load, list_names


def lazy_package(
    name: str, homes: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a public package whose modules are loaded when a name is first used.

    ``homes`` maps the full name of each module to the names that users reach through the package.
    """
    home_of = {public: home for home, names in homes.items() for public in names}
    module_of = {module.rpartition(".")[2]: module for module in modules}
    load_added, list_names = public_module(name, (*home_of, *module_of))

    def load(attribute: str) -> Any:
        if attribute in module_of:
            return import_late(module_of[attribute])
        home = home_of.get(attribute)
        if home is None:
            return load_added(attribute)
        return getattr(import_late(home), attribute)

    return load, list_names


def places(modules: Mapping[str, str], definitions: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return what each public name stands for: a module, or ``module:attribute``.

    ``definitions`` has, by module, the packages and the names that they offer of it, all separated by spaces; ``a=b``
    offers ``b`` as ``a``.
    """
    attributes = {
        f"{package}.{name.partition('=')[0]}": f"{module}:{name.rpartition('=')[2]}"
        for module, offers in definitions.items()
        for packages, names in offers.items()
        for package in packages.split()
        for name in names.split()
    }
    return {**modules, **attributes}


def offer(point: str, names: Iterable[str], definitions: Mapping[str, object]) -> None:
    """Add names to a public module of a lower layer, each looked up in ``definitions`` when it is used."""
    for name in names:
        extension_point(point).add(name, partial(definitions.__getitem__, name))


def load(place: str) -> object:
    """Load a module, or the attribute of a module, ``module:attribute``."""
    module, _, attribute = place.partition(":")
    loaded = import_late(module)
    return getattr(loaded, attribute) if attribute else loaded


def complete(names: Mapping[str, str], modules: Mapping[str, Sequence[str]], *, unlisted: Collection[str] = ()) -> None:
    """Add public names to their packages, and to public modules and registries the modules that extend them."""
    for public, place in names.items():
        parent, _, name = public.rpartition(".")
        extension_point(parent).add(name, partial(load, place), listed=public not in unlisted)
    for point, completing in modules.items():
        for module in completing:
            extension_point(point).add_module(partial(load, module))
