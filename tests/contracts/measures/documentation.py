"""How the public API is documented: everything reachable as ``tvm.*``, read as NumPy documents its own."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from docstring_parser import Docstring, DocstringStyle, parse

from compiler import alias

PACKAGE = "compiler"


@dataclass(frozen=True)
class Documented:
    """A public callable and what its docstring leaves out.

    Attributes
    ----------
    name : str
        Its first public name, such as ``tvm.te.compute``.
    parameters : tuple of str
    lacking : tuple of str
        The parameters that are not described.
    faults : tuple of str
        What else is missing: ``docstring``, ``Returns``, ``Raises``.
    """

    name: str
    place: str
    parameters: tuple[str, ...]
    lacking: tuple[str, ...]
    faults: tuple[str, ...] = field(default=())


def public_callables() -> dict[str, Any]:
    """Return the functions and classes that a user reaches as ``tvm.*``, each once, by its shortest public name."""
    alias.install()
    import tvm

    found: dict[int, tuple[str, Any]] = {}
    seen: set[int] = set()
    todo: list[tuple[str, ModuleType]] = [("tvm", tvm)]
    while todo:
        path, module = todo.pop(0)
        if id(module) in seen:
            continue
        seen.add(id(module))
        for name, value in _public(module):
            public_name = f"{path}.{name}"
            if isinstance(value, ModuleType):
                if value.__name__.startswith(PACKAGE):
                    todo.append((public_name, value))
            elif _ours(value):
                found.setdefault(id(value), (public_name, value))
    return dict(sorted(found.values(), key=lambda item: item[0]))


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    listed = dir(module) if "__dir__" in vars(module) else getattr(module, "__all__", dir(module))
    for name in listed:
        if not name.startswith("_"):
            yield name, getattr(module, name)


def _ours(value: Any) -> bool:
    return callable(value) and (getattr(value, "__module__", None) or "").split(".")[0] in (PACKAGE, alias.ALIAS)


def public_methods(name: str, cls: type) -> dict[str, Callable[..., Any]]:
    """Return the methods that a public class itself defines, by their full names; what Python calls itself left out."""
    methods = {}
    for attribute, raw in vars(cls).items():
        function = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
        visits = attribute.startswith("visit_")  # a rule is documented by the class that it handles
        if isinstance(function, FunctionType) and not attribute.startswith("_") and not visits:
            methods[f"{name}.{attribute}"] = function
    return methods


def documented(methods: bool = False) -> list[Documented]:
    """Return what each public callable documents, or with ``methods`` what each method of the public classes does."""
    callables = public_callables()
    if methods:
        classes = {name: value for name, value in callables.items() if isinstance(value, type)}
        callables = {n: m for name, cls in classes.items() for n, m in public_methods(name, cls).items()}
    return [examine(name, value) for name, value in callables.items()]


def examine(name: str, value: Any) -> Documented:
    """Return what the docstring of one callable leaves out."""
    text = inspect.getdoc(value) or ""
    generated = isinstance(value, type) and text.startswith(f"{value.__name__}(")
    inherited = isinstance(value, type) and not (vars(value).get("__doc__") or "")
    missing_text = not text or generated or inherited
    doc = parse("" if missing_text else text, DocstringStyle.NUMPYDOC)
    parameters = _parameters(value)
    described = _described(doc)
    faults = ["docstring"] if missing_text else []
    if _returns_something(value) and doc.returns is None and not doc.many_returns:
        faults.append("Returns")
    if _raises(value) and not doc.raises:
        faults.append("Raises")
    lacking = tuple(p for p in parameters if p not in described)
    return Documented(name, getattr(value, "__module__", "") or "", parameters, lacking, tuple(faults))


def _described(doc: Docstring) -> set[str]:
    """Return the parameters and attributes described; one entry may describe several: ``a, b : Expr``."""
    names = [part.strip() for param in doc.params for part in param.arg_name.split(",")]
    return {name.split(":")[0].strip().lstrip("*") for name in names}


def _parameters(value: Any) -> tuple[str, ...]:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ()
    if isinstance(value, type) and issubclass(value, (enum.Enum, BaseException)):
        return ()
    names = [p.name for p in signature.parameters.values() if p.name not in ("self", "cls")]
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        names = [name for name in names if not (name.startswith("_") or name.endswith("_") or name == "span")]
    return tuple(names)


def _returns_something(value: Any) -> bool:
    if isinstance(value, type):
        return False
    annotation = getattr(inspect.unwrap(value), "__annotations__", {}).get("return")
    return annotation not in (None, "None", "NoReturn", "Never")


def _raises(value: Any) -> bool:
    tree = _tree(inspect.unwrap(value)) if isinstance(value, FunctionType) else None
    return tree is not None and any(isinstance(node, ast.Raise) for node in ast.walk(tree))


@functools.cache
def _tree(function: Callable[..., Any]) -> ast.Module | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return None
