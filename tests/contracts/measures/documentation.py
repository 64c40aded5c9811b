"""How the public API is documented: everything reachable as ``tvm.*``, read as NumPy documents its own."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from docstring_parser import Docstring, DocstringStyle, parse

from app.editor.public_api import public_names
from compiler.classic import alias

PACKAGE = "compiler"

_ERRORS = re.compile(r"\bRaises\s+\w*(Error|Exception|NotImplemented)\b")
"""A sentence in place of a section: ``Raises ArgumentError if ``a`` is negative.``"""


@dataclass(frozen=True)
class Documented:
    """A public callable and what is wrong with its docstring.

    Attributes
    ----------
    name : str
        Its first public name, such as ``tvm.te.compute``.
    place : str
        The module that defines it.
    missing : tuple of str
        What the signature does not say and the docstring should: ``summary``, ``Raises``.
    idle : tuple of str
        Parts that the signature says as well: parameters and results with nothing but their type.
    stale : tuple of str
        Described parameters that the signature does not have.
    """

    name: str
    place: str
    missing: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[str, ...]:
        """All of it in words."""
        return (
            *(f"no {part}" for part in self.missing),
            *(f"{part}: only the type" for part in self.idle),
            *(f"{name}: no such parameter" for name in self.stale),
        )


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
        for name in public_names(module):
            value, public_name = getattr(module, name), f"{path}.{name}"
            if isinstance(value, ModuleType):
                if value.__name__.startswith(PACKAGE):
                    todo.append((public_name, value))
            elif _ours(value):
                found.setdefault(id(value), (public_name, value))
    return dict(sorted(found.values(), key=lambda item: item[0]))


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
    """Return how each public callable is documented, or with ``methods`` each method of the public classes."""
    callables = public_callables()
    if methods:
        classes = {name: value for name, value in callables.items() if isinstance(value, type)}
        callables = {n: m for name, cls in classes.items() for n, m in public_methods(name, cls).items()}
    return [examine(name, value) for name, value in callables.items()]


def examine(name: str, value: Any) -> Documented:
    """Hold the docstring of a callable against its signature and its code."""
    text = inspect.getdoc(value) or ""
    generated = isinstance(value, type) and text.startswith(f"{value.__name__}(")
    inherited = isinstance(value, type) and not (vars(value).get("__doc__") or "")
    place = getattr(value, "__module__", "") or ""
    if not text or generated or inherited:
        return Documented(name, place, missing=("summary",))
    doc = parse(text, DocstringStyle.NUMPYDOC)
    return Documented(
        name,
        place,
        missing=("Raises",) if _raises(value) and not doc.raises and not _ERRORS.search(text) else (),
        idle=tuple(_idle(doc)),
        stale=tuple(sorted(_described(doc) - _parameters(value))) if _names_parameters(value) else (),
    )


def _idle(doc: Docstring) -> Iterator[str]:
    """Yield the entries without a description."""
    for param in doc.params:
        if not param.description:
            yield param.arg_name
    if doc.returns is not None and not any(each.description for each in doc.many_returns):
        yield "Returns"


def _described(doc: Docstring) -> set[str]:
    """Return the parameters described; one entry may describe several: ``a, b : Expr``."""
    names = [part.strip() for param in doc.params for part in param.arg_name.split(",")]
    return {name.split(":")[0].strip().lstrip("*") for name in names}


def _names_parameters(value: Any) -> bool:
    """Whether a function lists its parameters, and does not pass on what it is given."""
    if not isinstance(inspect.unwrap(value), FunctionType):
        return False
    passed_on = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return all(p.kind not in passed_on for p in inspect.signature(value).parameters.values())


def _parameters(value: Any) -> set[str]:
    return set(inspect.signature(value).parameters)


def _raises(value: Any) -> bool:
    tree = _tree(inspect.unwrap(value)) if isinstance(value, FunctionType) else None
    return tree is not None and any(isinstance(node, ast.Raise) for node in ast.walk(tree))


@functools.cache
def _tree(function: Callable[..., Any]) -> ast.Module | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return None
