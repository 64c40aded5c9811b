"""Analyses of modules at any level: ``tvm.ir.analysis``."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import Node, structure


def collect_call_map(module: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    """Return which functions each function of a module calls: each once, in the order of the first calls."""
    return {var: list(_global_vars(func)) for var, func in module.functions.items()}


def _global_vars(func: Node) -> dict[GlobalVar, None]:
    """Return the global variables that a function uses, in order; as graphs are deep, without recursion."""
    callees: dict[GlobalVar, None] = {}
    seen: set[int] = set()
    todo: list[object] = [func]
    while todo:
        n = todo.pop()
        if isinstance(n, GlobalVar):
            callees[n] = None
        elif isinstance(n, Mapping):
            todo.extend(reversed(tuple(n.values())))
        elif isinstance(n, (tuple, list)):
            todo.extend(reversed(n))
        elif isinstance(n, Node) and id(n) not in seen:
            seen.add(id(n))
            todo.extend(getattr(n, name) for name in reversed(structure(type(n))[0]))
    return callees
