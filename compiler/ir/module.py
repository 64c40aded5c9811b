"""A module: functions by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.instrument import active_instruments
from compiler.ir.node import node
from compiler.ir.op import Op


@node
class GlobalVar(RelayExpr):
    """The name of a function of a module; calling it makes a call of that function."""

    name_hint: str

    def __call__(self, *args: Any) -> Any:
        """Return the call of the function with these arguments."""
        return Op.call_maker(self, args)

    def __repr__(self) -> str:
        return f"@{self.name_hint}"

    __str__ = __repr__


@node
class BaseFunc(RelayExpr):
    """Base of the functions of all levels."""


class IRModule:
    """Functions by their global variables, and type definitions; passes map modules to modules.

    Parameters
    ----------
    functions : mapping of GlobalVar or str to BaseFunc
    attrs : mapping, optional
        Facts about the whole module.
    type_definitions : mapping, optional
        Algebraic data types by their global type variables.
    """

    def __init__(
        self,
        functions: Mapping[Any, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
        type_definitions: Mapping[Any, Any] | None = None,
    ) -> None:
        self.functions: dict[GlobalVar, Any] = {
            GlobalVar(k) if isinstance(k, str) else k: f for k, f in (functions or {}).items()
        }
        self.attrs: dict[str, Any] = dict(attrs or {})
        self.type_definitions: dict[Any, Any] = dict(type_definitions or {})

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

    def get_global_type_var(self, name: str) -> Any:
        """Return the global type variable of that name.

        Raises
        ------
        ArgumentError
            If the module defines no such type.
        """
        for var in self.type_definitions:
            if var.name_hint == name:
                return var
        names = ", ".join(repr(v.name_hint) for v in self.type_definitions) or "none"
        raise ArgumentError(f"IRModule: no type is named {name!r}; there are {names}")

    def get_type(self, name: str) -> tuple[Any, ...]:
        """Return the global type variable of that name, and the constructors of the type."""
        var = self.get_global_type_var(name)
        return (var, *self.type_definitions[var].constructors)

    @staticmethod
    def from_expr(
        func: RelayExpr, functions: Mapping[Any, Any] | None = None, type_defs: Mapping[Any, Any] | None = None
    ) -> IRModule:
        """Return the module of one function, under its global symbol or the name ``main``.

        Parameters
        ----------
        func : BaseFunc or RelayExpr
            Of an expression that is no function, one is made whose parameters are its free variables.
        functions, type_defs : mapping, optional
            What else the module has.

        Raises
        ------
        ArgumentError
            If ``func`` is neither.
        """
        if not isinstance(func, BaseFunc):
            closed = getattr(func, "as_function", None)
            if closed is None:
                raise ArgumentError(f"IRModule.from_expr: expected an expression or a function, got {show(func)}")
            func = closed()
        name = str(getattr(func, "attrs", {}).get("global_symbol", "main"))
        module = IRModule({**(functions or {}), name: func}, type_definitions=type_defs)
        for instrument in active_instruments():
            instrument.module_created(module)
        return module

    def __getitem__(self, key: GlobalVar | str) -> Any:
        return self.functions[self.get_global_var(key) if isinstance(key, str) else key]

    def __setitem__(self, key: GlobalVar | str, value: Any) -> None:
        """Define a function or, under a global type variable, a type."""
        if isinstance(key, str):
            known = [var for var in self.functions if var.name_hint == key]
            key = known[0] if known else GlobalVar(key)
        (self.functions if isinstance(key, GlobalVar) else self.type_definitions)[key] = value

    def __contains__(self, key: GlobalVar | str) -> bool:
        if isinstance(key, str):
            return any(var.name_hint == key for var in self.functions)
        return key in self.functions

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def items(self) -> list[tuple[GlobalVar, Any]]:
        """Return all functions with their variables, in order of definition."""
        return list(self.functions.items())

    def update_func(self, var: GlobalVar, func: Any) -> None:
        """Replace the function of a variable."""
        self.functions[var] = func

    def update(self, other: IRModule) -> None:
        """Take over the functions and types of another module; those of the same name are replaced."""
        for var, func in other.items():
            self[var.name_hint if var.name_hint in self else var] = func
        self.type_definitions.update(other.type_definitions)

    def with_functions(self, functions: Mapping[GlobalVar, Any]) -> IRModule:
        """Return a module with these functions, or this one if all are the same objects."""
        same = len(functions) == len(self.functions) and all(
            self.functions.get(var) is func for var, func in functions.items()
        )
        return self if same else IRModule(functions, self.attrs, self.type_definitions)

    def shallow_copy(self) -> IRModule:
        """Return another module with the same functions, to change without changing this one."""
        return IRModule(self.functions, self.attrs, self.type_definitions)

    def with_attr(self, key: str, value: Any) -> IRModule:
        """Return this module with one more fact about it."""
        return IRModule(self.functions, {**self.attrs, key: value}, self.type_definitions)

    def get_attr(self, key: str) -> Any:
        """Return a fact about the module, or None."""
        return self.attrs.get(key)

    def __str__(self) -> str:
        return _printer(self).text(self)

    def astext(self, show_meta_data: bool = True) -> str:
        """Return the module in the text format of its level.

        Parameters
        ----------
        show_meta_data : bool
            Whether constants too large to print inline are appended, where the format has a place for them.
        """
        return _printer(self).astext(self, show_meta_data)

    def script(self) -> str:
        """Return the module as TVMScript, or in its own text format where it has no loops yet."""
        return _printer(self).script(self)

    def show(self) -> None:
        """Print the module as :meth:`script` returns it."""
        print(self.script())


class ModulePrinter(NamedTuple):
    """How modules of one level are written."""

    text: Callable[[IRModule], str]
    script: Callable[[IRModule], str]
    astext: Callable[[IRModule, bool], str]


_NONE = ModulePrinter(repr, repr, lambda module, _: repr(module))
_printers: dict[type, ModulePrinter] = {}


def _printer(module: IRModule) -> ModulePrinter:
    """Return the printer for the highest level that the module has functions of: the one registered last."""
    for kind in reversed(_printers):
        if any(isinstance(func, kind) for func in module.functions.values()):
            return _printers[kind]
    return next(iter(_printers.values()), _NONE)


def module_text(module: IRModule) -> str:
    """Return the module as its printer writes it."""
    return _printer(module).text(module)


def set_module_printer(
    function_kind: type,
    text: Callable[[IRModule], str],
    script: Callable[[IRModule], str],
    astext: Callable[[IRModule, bool], str] | None = None,
) -> None:
    """Install the printer of modules with functions of one kind; printers live on higher floors."""
    _printers[function_kind] = ModulePrinter(text, script, astext or (lambda module, _: text(module)))
