"""RemoveUnusedFunctions: removes functions that no entry function reaches."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.relay.analysis import post_order
from compiler.relay.function import Function


class RemoveUnusedFunctions(ModulePass, opt_level=1):
    """Remove the functions that cannot be reached from the functions named ``entry_functions``, by default ``main``.

    Level 1.  Names that the module does not have are passed over.

    Examples
    --------
    ``RemoveUnusedFunctions()``::

        def @main(%x: Tensor[(3), float32]) { @used(%x) }
        def @used(%y: Tensor[(3), float32]) { exp(%y) }
        def @unused(%y: Tensor[(3), float32]) { tanh(%y) }
        ->
        def @main(%x: Tensor[(3), float32]) { @used(%x) }
        def @used(%y: Tensor[(3), float32]) { exp(%y) }
    """

    entry_functions: Sequence[str] | None = None

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        entries = self.entry_functions or ("main",)
        reached = reachable_functions(mod, [name for name in entries if name in mod])
        return mod.with_functions({var: func for var, func in mod.items() if var in reached})


def reachable_functions(mod: IRModule, entries: Sequence[str]) -> set[GlobalVar]:
    """Return the variables of the functions that functions call, directly or not, themselves included."""
    todo = [mod.get_global_var(name) for name in entries]
    reached: set[GlobalVar] = set(todo)
    while todo:
        func = mod[todo.pop()]
        if not isinstance(func, Function):
            continue
        for part in post_order(func):
            if isinstance(part, GlobalVar) and part in mod and part not in reached:
                reached.add(part)
                todo.append(part)
    return reached
