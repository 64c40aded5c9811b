"""Call graphs."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.error import ArgumentError
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.relay.analysis.traversal import post_order
from compiler.relay.function import Function


class CallGraph:
    """The global functions that each function of a module uses; the module must have them all."""

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self._callees = {var: _used_by(var, func, module) for var, func in module.items()}

    @property
    def module(self) -> IRModule:
        """The module that the graph was made from."""
        return self._module

    def callees(self, var: GlobalVar | str) -> list[GlobalVar]:
        """Return the functions that a function uses."""
        return list(self._callees[self._var(var)])

    def ref_count(self, var: GlobalVar | str) -> int:
        """Return how many functions use a function, itself included."""
        used = self._var(var)
        return sum(used in callees for callees in self._callees.values())

    def global_call_count(self, var: GlobalVar | str) -> int:
        """Return how many functions a function uses, itself included."""
        return len(self._callees[self._var(var)])

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """Return whether a function uses itself directly."""
        func = self._var(var)
        return func in self._callees[func]

    def print_var(self, var: GlobalVar | str) -> str:
        """Return what the graph says about one function, as text."""
        func = self._var(var)
        sites = [f"  call site: <{func.name_hint}> calls {callee.name_hint}\n" for callee in self._callees[func]]
        return f"Call graph node: {func.name_hint},  #refs = {self.ref_count(func)}\n{''.join(sites)}\n"

    def __str__(self) -> str:
        return "".join(self.print_var(var) for var in self._callers_first())

    def _callers_first(self) -> Iterator[GlobalVar]:
        """Yield each function before those that it alone leads to, beginning at those that nothing uses."""
        entries = sorted(self._callees, key=self.ref_count)
        seen: set[GlobalVar] = set()
        for entry in entries:
            stack = [entry]
            while stack:
                var = stack.pop()
                if var not in seen:
                    seen.add(var)
                    yield var
                    stack.extend(reversed(self._callees[var]))

    def _var(self, var: GlobalVar | str) -> GlobalVar:
        func = self._module.get_global_var(var) if isinstance(var, str) else var
        if func not in self._callees:
            raise ArgumentError(f"CallGraph: the module has no function {func}")
        return func


def _used_by(var: GlobalVar, func: object, module: IRModule) -> tuple[GlobalVar, ...]:
    """Return the global functions that a function uses, each once; functions of loops use none."""
    if not isinstance(func, Function):
        return ()
    callees = tuple(part for part in post_order(func) if isinstance(part, GlobalVar))
    for callee in callees:
        if callee not in module:
            raise ArgumentError(f"CallGraph: {var} uses {callee}, which the module does not have")
    return callees
