"""``IRModule``: functions by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.renamed_calls import CallRenamer
from compiler.ir.extension import extension_point
from compiler.ir.function import BaseFunc, DefinedName, GlobalVar, as_function
from compiler.ir.instrument import active_instruments
from compiler.ir.node import Node
from compiler.ir.printing.format import Annotation, TextFormat, format_of
from compiler.ir.scriptable import Scriptable

if TYPE_CHECKING:
    from compiler.relay.ty import GlobalTypeVar

STANDARD_MODULES = "standard modules"
"""The extension point of what :meth:`IRModule.import_from_std` adds: functions of a module."""

Definer = Callable[["IRModule", str], None]
"""Adds to a module what a library has under a name; nothing for other names."""


Definitions: TypeAlias = Mapping[Any, Any]
"""Functions or types of a module, by their variables or names."""


class _Entries(dict[Any, Any]):
    """What a module has, by its names; as of TVM's maps, the items are a list: ``mod.functions.items()[0]``."""

    __slots__ = ()

    def items(self) -> Any:
        """Return the pairs of names and what they name."""
        return list(super().items())


class IRModule(Scriptable):
    """Functions by their global variables, and type definitions; passes map modules to modules.

    ``global_infos`` is what its functions refer to together, such as devices, by their kinds.
    """

    def __init__(
        self,
        functions: Definitions | None = None,
        type_definitions: Definitions | None = None,
        attrs: Mapping[str, object] | None = None,
        global_infos: Mapping[str, Sequence[object]] | None = None,
    ) -> None:
        named = {GlobalVar(k) if isinstance(k, str) else k: f for k, f in (functions or {}).items()}
        self.functions: dict[GlobalVar, Any] = _Entries(named)
        self.attrs: dict[str, Any] = dict(attrs or {})
        self.type_definitions: dict[Any, Any] = _Entries(type_definitions or {})
        self.global_infos: dict[str, list[object]] = {kind: list(infos) for kind, infos in (global_infos or {}).items()}
        self._definers: tuple[Definer, ...] = ()

    def _with(self, functions: Definitions | None = None, attrs: Mapping[str, object] | None = None) -> IRModule:
        """Return a module with other functions or attributes, and the rest of this one."""
        made = IRModule(
            self.functions if functions is None else functions,
            self.type_definitions,
            self.attrs if attrs is None else attrs,
            self.global_infos,
        )
        made._definers = self._definers
        return made

    def define_on_demand(self, definer: Definer) -> None:
        """Let ``definer(module, name)`` define functions and data types when a program first names them."""
        if definer not in self._definers:
            self._definers = (*self._definers, definer)

    def _demand(self, name: str) -> bool:
        """Ask the libraries for a name, and return whether one of them has added anything."""
        definers, self._definers = self._definers, ()  # they look for names themselves
        before = len(self.functions), len(self.type_definitions)
        for definer in definers:
            definer(self, name)
        self._definers = definers
        return before != (len(self.functions), len(self.type_definitions))

    def _move(self) -> IRModule:
        """Return this module, as TVM's programs hand one over that they do not use any more."""
        return self

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the variable of a function.

        ``main`` is also the only function of a module, if its program states no symbol for it (older releases of TVM
        called it so). Raises ArgumentError if the module has no such function.
        """
        for var in self.functions:
            if var.name_hint == name:
                return var
        if name == "main" and len(self.functions) == 1:
            ((only, func),) = self.functions.items()
            if isinstance(getattr(func, "attrs", {}).get("global_symbol"), DefinedName):
                return only
        if self._demand(name):
            return self.get_global_var(name)
        names = ", ".join(repr(v.name_hint) for v in self.functions) or "none"
        raise ArgumentError(f"IRModule: no function is named {name!r}; there are {names}")

    def get_global_vars(self) -> list[GlobalVar]:
        """Return the variables of all functions."""
        return list(self.functions)

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """Return the variable of an algebraic data type.

        Raises ArgumentError if the module defines no such type.
        """
        for var in self.get_global_type_vars():
            if var.name_hint == name:
                return var
        if self._demand(name):
            return self.get_global_type_var(name)
        names = ", ".join(repr(v.name_hint) for v in self.type_definitions) or "none"
        raise ArgumentError(f"IRModule: no type is named {name!r}; there are {names}")

    def get_type(self, name: str) -> tuple[Any, ...]:
        """Return an algebraic data type."""
        var = self.get_global_type_var(name)
        return (var, *self.type_definitions[var].constructors)

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        """Return the variables of all algebraic data types."""
        return list(self.type_definitions)

    def get_constructor(self, tag: int) -> Any:
        """Return the constructor of a tag.

        Raises ArgumentError if no type of the module has one of this tag.
        """
        for definition in self.type_definitions.values():
            for constructor in definition.constructors:
                if constructor.tag == tag:
                    return constructor
        raise ArgumentError(f"IRModule: no constructor has the tag {tag}")

    @staticmethod
    def from_expr(
        expr: RelayExpr, functions: Definitions | None = None, type_defs: Definitions | None = None
    ) -> IRModule:
        """Return the module of one function, under its global symbol or the name ``main``.

        An expression that is not a function becomes one whose parameters are its free variables.
        """
        expr = as_function(expr)
        name = str(getattr(expr, "attrs", {}).get("global_symbol", "main"))
        module = IRModule({**(functions or {}), name: expr}, type_definitions=type_defs)
        for instrument in active_instruments():
            instrument.module_created(module)
        return module

    def __getitem__(self, key: GlobalVar | str) -> Any:
        """Return a function or, under a global type variable, the definition of a type."""
        if not isinstance(key, (str, GlobalVar)):
            return self.type_definitions[key]
        return self.functions[self.get_global_var(key) if isinstance(key, str) else key]

    def __setitem__(self, key: GlobalVar | str, value: object) -> None:
        """Define a function, of an expression that of its free variables, or, under a global type variable, a type."""
        if isinstance(key, str):
            variables = [var for var in self.functions if var.name_hint == key]
            key = variables[0] if variables else GlobalVar(key)
        if isinstance(value, RelayExpr) and not isinstance(value, BaseFunc):
            value = as_function(value)
        (self.functions if isinstance(key, GlobalVar) else self.type_definitions)[key] = value

    def __delitem__(self, key: GlobalVar | str) -> None:
        """Remove a function."""
        del self.functions[self.get_global_var(key) if isinstance(key, str) else key]

    def __contains__(self, key: GlobalVar | str) -> bool:
        if isinstance(key, str):
            return any(var.name_hint == key for var in self.functions)
        return key in self.functions

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def items(self) -> list[tuple[GlobalVar, Any]]:
        """Return all functions with their variables."""
        return list(self.functions.items())

    def update_func(self, var: GlobalVar, func: object) -> None:
        """Define the function of a variable, or replace it."""
        self.functions[var] = func

    def _add(self, var: GlobalVar | str, val: object, update: bool = False) -> None:
        """Define a function, as older programs spell it."""
        if var in self and not update:
            raise ArgumentError(f"IRModule: {var} is already defined; pass update=True to replace it")
        self[var] = val

    def update(self, other: IRModule) -> None:
        """Take over the functions and types of another module, in place of those of the same name."""
        for var, func in other.items():
            self[var.name_hint if var.name_hint in self else var] = func
        self.type_definitions.update(other.type_definitions)

    def update_global_info(self, name: str, global_info: Sequence[object]) -> None:
        """Replace what the functions of the module refer to together of a kind, such as ``vdevice``."""
        self.global_infos[name] = list(global_info)

    def replace_global_vars(self, replacements: Mapping[GlobalVar | str, GlobalVar | str]) -> IRModule:
        """Return a module whose functions have other global variables, where they are called too.

        A symbol that a function states for other modules becomes the new name. Raises ArgumentError if the module has
        no such function, or two would have one name.
        """
        renamed: dict[Node, GlobalVar] = {
            self.get_global_var(old) if isinstance(old, str) else old: GlobalVar(new) if isinstance(new, str) else new
            for old, new in replacements.items()
        }
        names = [renamed.get(var, var).name_hint for var in self.functions]
        for name in names:
            if names.count(name) > 1:
                raise ArgumentError(f"replace_global_vars: two functions would be named {name!r}")
        calls = CallRenamer(renamed)
        functions = {}
        for var, func in self.functions.items():
            changed = calls.visit(func)
            if var in renamed and getattr(func, "attrs", {}).get("global_symbol") is not None:
                changed = changed.with_attr("global_symbol", renamed[var].name_hint)
            functions[renamed.get(var, var)] = changed
        return self._with(functions)

    def with_functions(self, functions: Mapping[GlobalVar, Any]) -> IRModule:
        """Return a module with other functions; this one if all of them are the same objects."""
        same = len(functions) == len(self.functions) and all(
            self.functions.get(var) is func for var, func in functions.items()
        )
        return self if same else self._with(functions)

    def same_as(self, other: object) -> bool:
        """Return whether another module is this very object."""
        return self is other

    def shallow_copy(self) -> IRModule:
        """Return another module with the same functions, to change without changing this one."""
        return self._with()

    def clone(self) -> IRModule:
        """Return another module with the same functions, as :meth:`shallow_copy` does."""
        return self.shallow_copy()

    def functions_items(self) -> list[tuple[GlobalVar, object]]:
        """Return the functions with their global variables, by name."""
        return sorted(self.functions.items(), key=lambda item: item[0].name_hint)

    def with_attr(self, attr_key: str, attr_value: object) -> IRModule:
        """Return a module with one more attribute."""
        return self.with_attrs({attr_key: attr_value})

    def with_attrs(self, attr_map: Mapping[str, object]) -> IRModule:
        """Return a module with more attributes."""
        return self._with(attrs={**self.attrs, **attr_map})

    def without_attr(self, attr_key: str) -> IRModule:
        """Return a module without an attribute, which need not be there."""
        return self._with(attrs={key: value for key, value in self.attrs.items() if key != attr_key})

    def import_from_std(self, file_to_import: str) -> None:
        """Add the types and functions of ``prelude.rly``, ``core.rly``, ``gradient.rly`` or ``nat.rly``.

        Raises ArgumentError if there is none with this name.
        """
        load = extension_point(STANDARD_MODULES).find(file_to_import)
        if load is None:
            names = ", ".join(sorted(extension_point(STANDARD_MODULES).names()))
            raise ArgumentError(f"import_from_std: expected one of {names}, got {file_to_import!r}")
        add: Any = load()
        add(self)

    def get_attr(self, attr_key: str) -> Any:
        """Return an attribute; None if the module does not have it."""
        return self.attrs.get(attr_key)

    def _text_format(self) -> TextFormat:
        return _format(self)

    def __str__(self) -> str:
        return _format(self).text(self)

    def astext(self, show_meta_data: bool = True, annotate: Annotation | None = None) -> str:
        """Return the module in the text format of its level.

        Constants too large to print inline are appended (``show_meta_data``) where the format has a place for them;
        ``annotate(expr)`` is the text after an expression, in place of the comment with its type.
        """
        return _format(self).astext(self, show_meta_data, annotate)


def _format(module: IRModule) -> TextFormat:
    """Return the format of the most abstract functions that the module has."""
    formats = {format_of(func) for func in module.functions.values()}
    formats |= {format_of(header) for header in module.type_definitions}
    return max(formats, key=lambda f: f.abstraction) if formats else format_of(module)
