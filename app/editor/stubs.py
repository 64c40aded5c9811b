"""Stub files of the public API, for tools that read programs without running anything.

Most modules make their names when they are asked for, which such a tool cannot follow.  A stub says where each name is
defined: ``from compiler.tir.schedule.schedule import Schedule as Schedule``.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType

import compiler
from app.editor.public_api import OURS, ROOT, public_names

_DEPTH = 4
"""Modules name each other; nothing public is deeper."""
_NAMES = "public.json"


@lru_cache(4)
def stubs_in(parent: str) -> tuple[Path, dict[str, str]]:
    """Return the folder of the stubs, and the public name of each class and function by its full name.

    They are written if they are not there; several processes may do so at once.
    """
    folder = Path(parent, "stubs")
    if not (folder / _NAMES).exists():
        made = Path(tempfile.mkdtemp(dir=parent))
        write_stubs(made)
        with suppress(OSError):  # another process was faster
            os.rename(made, folder)
        shutil.rmtree(made, ignore_errors=True)
    public: dict[str, str] = json.loads((folder / _NAMES).read_text(encoding="utf-8"))
    return folder, public


def write_stubs(folder: Path) -> None:
    """Write a package ``tvm`` of stubs into a folder, and the public names beside it."""
    public: dict[str, str] = {}
    for name, module in _public_modules():
        place = folder.joinpath(*name.split("."))
        place.mkdir(parents=True, exist_ok=True)
        lines = list(_lines(name, module, public))
        (place / "__init__.pyi").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / _NAMES).write_text(json.dumps(public), encoding="utf-8")


def _public_modules() -> Iterator[tuple[str, ModuleType]]:
    """Yield the public modules, those with short names first, each once by every name."""
    level: list[tuple[str, ModuleType]] = [(ROOT, compiler)]
    while level:
        yield from level
        level = [
            (f"{name}.{child}", value)
            for name, module in level
            for child, value in _members(module)
            if isinstance(value, ModuleType) and name.count(".") < _DEPTH
        ]


def _members(module: ModuleType) -> Iterator[tuple[str, object]]:
    for name in public_names(module):
        try:
            yield name, getattr(module, name)
        except ModuleNotFoundError:  # of a library that is not installed
            continue


def _lines(path: str, module: ModuleType, public: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a module's stub, and note the public names of what it has."""
    for name, value in _members(module):
        if isinstance(value, ModuleType):
            yield f"from {path} import {name} as {name}"
            continue
        defined = _definition(value)
        if defined is not None:
            known_as = public.setdefault(".".join(defined), f"{path}.{name}")
            added = _added_methods(value)
            yield f"from {defined[0]} import {defined[1]} as {f'_{name}' if added else name}"
            if added:
                public[f"{path}.{name}"] = known_as
                yield from _with_methods(name, value, added)
            continue
        made_by = _definition(type(value))
        if made_by is not None:
            yield f"from {made_by[0]} import {made_by[1]} as _{name}_type"
            yield f"{name}: _{name}_type"


def _added_methods(value: object) -> dict[str, FunctionType]:
    """Return the methods that a class is given by other modules, such as the primitives of a schedule.

    Methods that return the class itself are among them: what they return has the others as well.
    """
    if not isinstance(value, type):
        return {}
    methods = {name: one for name, one in vars(value).items() if isinstance(one, FunctionType) and name[0] != "_"}
    added = {name: one for name, one in methods.items() if inspect.unwrap(one).__module__ != value.__module__}
    returning = {name: one for name, one in methods.items() if _result(one) == value.__name__}
    return {**added, **returning} if added else {}


def _result(method: FunctionType) -> str:
    return str(inspect.signature(method).return_annotation)


def _with_methods(name: str, owner: object, methods: dict[str, FunctionType]) -> Iterator[str]:
    """Yield the lines of a class with the methods that it is given, and the imports of what these return."""
    for method in methods.values():
        for module in (owner.__module__, inspect.unwrap(method).__module__):
            found = [word for word in re.findall(r"\b[A-Z]\w+", _result(method)) if hasattr(sys.modules[module], word)]
            if found and name not in found:
                yield f"from {module} import {', '.join(found)}"
                break
    yield f"class {name}(_{name}):"
    for method_name, method in methods.items():
        yield f"    def {method_name}(self, *args, **kwargs) -> {_result(method)}: ..."


def _definition(value: object) -> tuple[str, str] | None:
    """Return the module and the name that a class or function of this project has; None for other values."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if not module or not name or "." in name or "<" in name or not module.startswith(OURS):
        return None
    return (module, name) if getattr(sys.modules.get(module), name, None) is value else None
