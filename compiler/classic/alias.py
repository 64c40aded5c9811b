"""Lets ``import tvm`` mean this package: finders on ``sys.meta_path``.

Every module is loaded once, under its own name; ``tvm.te`` and ``compiler.te`` are the same object.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

import compiler
from compiler.classic.names.older import OLDER_PACKAGES
from compiler.classic.names.resolution import module_of, note_older, public_of
from compiler.classic.names.unavailable import unavailable, unavailable_module
from compiler.ir.deprecation import deprecated
from compiler.ir.error import unknown_name
from compiler.ir.extension import public_module

ALIAS = "tvm"
_PACKAGE = compiler.__name__
_COMMANDS = "tvm.exec."
"""What ``python -m`` runs as it is, and not by a ``__main__`` within it."""


def install() -> None:
    """Let ``tvm`` and everything below it be imported from this package, from now on.

    A TVM that is installed as well is hidden.  Calling it again changes nothing.
    """
    if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        for name in [n for n in sys.modules if n == ALIAS or n.startswith(ALIAS + ".")]:
            del sys.modules[name]
        sys.meta_path[:0] = [AliasFinder(ALIAS, ALIAS), *(AliasFinder(*names) for names in OLDER_PACKAGES.items())]
        sys.meta_path.append(Explainer())


class AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``tvm.x.y`` as the very module that it stands for."""

    def __init__(self, alias: str, public: str) -> None:
        self._alias = alias
        self._public = public

    def _is_programs_own(self, fullname: str) -> bool:
        """Return whether a program has a package of that name itself."""
        if fullname == self._alias:
            return importlib.machinery.PathFinder.find_spec(fullname) is not None
        package = sys.modules.get(self._alias)
        return package is not None and not package.__name__.startswith(_PACKAGE)

    def _public_name(self, fullname: str) -> str:
        return self._public + fullname[len(self._alias) :]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._alias and not fullname.startswith(self._alias + "."):
            return None
        if self._alias in OLDER_PACKAGES and self._is_programs_own(fullname):
            return None
        public = self._public_name(fullname)
        if unavailable(public):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if not _exists(module_of(public)):
            # Without ``name`` the error is shown as it is, also by ``from tvm.te import …``.
            raise ModuleNotFoundError(_explain(public))
        is_command = fullname.endswith(".__main__") or public.startswith(_COMMANDS)
        return importlib.machinery.ModuleSpec(fullname, self, origin=public, is_package=not is_command)

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of a command such as ``tvm.driver.tvmc.__main__``, for ``python -m``."""
        real = module_of(self._public_name(fullname))
        spec = importlib.util.find_spec(real)
        loader: Any = spec.loader if spec is not None else None
        code: CodeType | None = loader.get_code(real)
        return code

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        public = self._public_name(spec.name)
        if unavailable(public):
            return unavailable_module(public)
        if spec.name in OLDER_PACKAGES:
            deprecated(spec.name, public)
        note_older(public)
        module = importlib.import_module(module_of(public))
        if not hasattr(module, "__getattr__"):
            module.__getattr__ = public_module(public, dir(module))[0]  # type: ignore[method-assign]
        _keep_function(public)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back: importing it under the alias must not change it."""
        alias_spec = module.__spec__
        if alias_spec is not None and alias_spec.loader is self and not unavailable(module.__name__):
            module.__spec__ = alias_spec.loader_state


class _FunctionPackage(ModuleType):
    """A package with functions that are named as modules of it: importing such a module does not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType) or isinstance(getattr(self, name, value), ModuleType):
            super().__setattr__(name, value)


def _keep_function(fullname: str) -> None:
    """Prepare the package of a module that is imported for being given the module as its attribute."""
    parent, _, name = fullname.rpartition(".")
    package = sys.modules.get(parent)
    if type(package) is ModuleType and not isinstance(getattr(package, name, package), ModuleType):
        package.__class__ = _FunctionPackage


class Explainer(importlib.abc.MetaPathFinder):
    """Comes last and explains what does not exist: ``from tvm import x`` looks for ``compiler.x``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.startswith(_PACKAGE + "."):
            parent, _, name = fullname.rpartition(".")
            raise ModuleNotFoundError(_explain(f"{public_of(parent)}.{name}"))
        return None


def _exists(real: str) -> bool:
    try:
        return real in sys.modules or importlib.util.find_spec(real) is not None
    except ModuleNotFoundError:
        return False


def _explain(fullname: str) -> str:
    parent, _, name = fullname.rpartition(".")
    try:
        package = importlib.import_module(module_of(parent))
    except ModuleNotFoundError:
        return f"there is no module {parent!r}"
    return f"{fullname} is not a module" if hasattr(package, name) else str(unknown_name(parent, name, dir(package)))
