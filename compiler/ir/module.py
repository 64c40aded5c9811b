"""A module: functions by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.node import Node, node


@node
class GlobalVar(Node):
    """The name of a function of a module."""

    name_hint: str


@node
class BaseFunc(Node):
    """Base of the functions of all levels."""


class IRModule:
    """Functions by their global variables; passes map modules to modules.

    Parameters
    ----------
    functions : mapping of GlobalVar or str to BaseFunc
    attrs : mapping, optional
        Facts about the whole module.
    """

    def __init__(self, functions: Mapping[Any, Any] | None = None, attrs: Mapping[str, Any] | None = None) -> None:
        self.functions: dict[GlobalVar, Any] = {
            GlobalVar(k) if isinstance(k, str) else k: f for k, f in (functions or {}).items()
        }
        self.attrs: dict[str, Any] = dict(attrs or {})

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the variable of that name.

        Raises
        ------
        ArgumentError
            If the module has no such function.
        """
        for var in self.functions:
            if var.name_hint == name:
                return var
        names = ", ".join(repr(v.name_hint) for v in self.functions) or "none"
        raise ArgumentError(f"IRModule: no function is named {name!r}; there are {names}")

    def get_global_vars(self) -> list[GlobalVar]:
        """Return the variables of all functions, in order of definition."""
        return list(self.functions)

    @staticmethod
    def from_expr(func: BaseFunc) -> IRModule:
        """Return the module of one function, under its global symbol or the name ``main``."""
        return IRModule({str(getattr(func, "attrs", {}).get("global_symbol", "main")): func})

    def __getitem__(self, key: GlobalVar | str) -> Any:
        return self.functions[self.get_global_var(key) if isinstance(key, str) else key]

    def __contains__(self, key: GlobalVar | str) -> bool:
        if isinstance(key, str):
            return any(var.name_hint == key for var in self.functions)
        return key in self.functions

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def items(self) -> list[tuple[GlobalVar, Any]]:
        """Return all functions with their variables, in order of definition."""
        return list(self.functions.items())

    def with_functions(self, functions: Mapping[GlobalVar, Any]) -> IRModule:
        """Return a module with these functions, or this one if all are the same objects."""
        same = len(functions) == len(self.functions) and all(
            self.functions.get(var) is func for var, func in functions.items()
        )
        return self if same else IRModule(functions, self.attrs)

    def __str__(self) -> str:
        return module_text(self)

    def script(self) -> str:
        """Return the module as TVMScript."""
        return _script_of[0](self) if _script_of else repr(self)

    def show(self) -> None:
        """Print the module as TVMScript."""
        print(self.script())


_text_of: list[Callable[[IRModule], str]] = []
_script_of: list[Callable[[IRModule], str]] = []


def module_text(module: IRModule) -> str:
    """Return the module as its printer writes it."""
    return _text_of[0](module) if _text_of else repr(module)


def set_module_printer(text: Callable[[IRModule], str], script: Callable[[IRModule], str]) -> None:
    """Install the printers that ``str(module)`` and ``module.script()`` use; printers live on higher floors."""
    _text_of[:] = [text]
    _script_of[:] = [script]
