"""Supplies of fresh names: ``tvm.ir.supply``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import InternalError
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule


class NameSupply:
    """Gives out names, each of them once, with a prefix unless it is asked for one without."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._count: dict[str, int] = {}

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """Return a name that is not taken, made so by a number, behind an underscore or not, and take it."""
        base = self._full(name, add_prefix)
        unique = base
        while unique in self._count:
            self._count[base] += 1
            unique = f"{base}{'_' if add_underscore else ''}{self._count[base]}"
        self._count[unique] = 0
        return unique

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Take a name."""
        full = self._full(name, add_prefix)
        self._count.setdefault(full, 0)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Return whether a name is taken."""
        return self._full(name, add_prefix) in self._count

    def _full(self, name: str, add_prefix: bool) -> str:
        full = f"{self._prefix}_{name}" if add_prefix and self._prefix else name
        return full.replace(".", "_")


class GlobalVarSupply:
    """Gives out global variables, one for each name.

    Names come from a :class:`NameSupply`, or one made for modules: without the names of their variables, and with the
    prefix that the symbols of the first module have.
    """

    def __init__(self, value: NameSupply | IRModule | Sequence[IRModule] | None = None) -> None:
        modules = [value] if isinstance(value, IRModule) else [] if value is None else value
        self._variables: dict[str, GlobalVar] = {}
        if isinstance(modules, NameSupply):
            self._names = modules
            return
        self._names = NameSupply(f"tvmgen_{modules[0].attrs.get('mod_name', 'default')}" if modules else "")
        for module in modules:
            for variable in module.get_global_vars():
                self.reserve_global(variable)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return a new variable, whose name is not taken."""
        return self._entered(self._names.fresh_name(name, add_prefix))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return the variable of a name, the same one each time."""
        full = self._names.reserve_name(name, add_prefix)
        return self._variables.get(full) or self._entered(full)

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Enter a variable and take its name; with ``allow_conflict`` another variable of the name stays.

        Raises InternalError if the name is another variable's.
        """
        name = self._names.reserve_name(global_var.name_hint, add_prefix=False)
        if name in self._variables and not allow_conflict:
            raise InternalError(f"reserve_global: another variable has the name {name!r}")
        self._variables.setdefault(name, global_var)

    def _entered(self, name: str) -> GlobalVar:
        variable = self._variables[name] = GlobalVar(name)
        return variable
