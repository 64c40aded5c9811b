"""The compiler of kernels, under TVM's name for it: ``tvm.relay.backend.te_compiler``."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.driver.build import build
from compiler.driver.relay.kernels import clear_cache
from compiler.driver.relay.lower import StructuralKey, kernel_name, lower_group, structural_key
from compiler.ir.module import GlobalVar, IRModule
from compiler.relay.function import Function
from compiler.relay.op_strategy import get_valid_implementations, select_implementation
from compiler.runtime.module import Function as NativeFunction
from compiler.target.target import Target
from compiler.te.schedule import Schedule
from compiler.te.tensor import Tensor

__all__ = ["CachedFunc", "TECompiler", "get", "get_valid_implementations", "select_implementation"]


@dataclass(frozen=True, slots=True, eq=False)
class CachedFunc:
    """What the compiler of kernels made of a function of operators.

    Parameters
    ----------
    target : Target
        What it is scheduled for.
    prim_fn_var : GlobalVar
        The name of the kernel.
    inputs, outputs : list of Tensor
        The parameters of the kernel, in order.
    schedule : Schedule
        How the outputs are computed.
    funcs : IRModule
        The kernel, lowered.
    """

    target: Target
    prim_fn_var: GlobalVar
    inputs: list[Tensor]
    outputs: list[Tensor]
    schedule: Schedule
    funcs: IRModule


class TECompiler:
    """What makes kernels of fused functions, and keeps those that it has made."""

    def __init__(self) -> None:
        self._lowered: dict[tuple[str, StructuralKey], CachedFunc] = {}

    def lower(self, source_func: Function, target: Target | str | None = None, mod_name: str = "default") -> CachedFunc:
        """Lower a function of operators, as if it were one fused group.

        Parameters
        ----------
        source_func : Function
            Type-checked; calls of operators, tuples and their elements.
        target : Target or str, optional
            By default the current target, or ``llvm`` where there is none.
        mod_name : str
            The model whose kernel it is, for the name of the kernel.

        Returns
        -------
        CachedFunc
            The same one for functions that compute the same.

        Raises
        ------
        ArgumentError
            If an operator has no definition as tensor expressions.
        """
        on = Target(target) if target is not None else Target.current() or Target("llvm")
        key = str(on), structural_key(source_func)
        if key not in self._lowered:
            name = kernel_name(source_func).replace("_default_", f"_{mod_name}_", 1)
            kernel = lower_group(source_func, name, on)
            funcs = IRModule({name: kernel.prim_func})
            var = funcs.get_global_var(name)
            self._lowered[key] = CachedFunc(on, var, kernel.inputs, kernel.outputs, kernel.schedule, funcs)
        return self._lowered[key]

    def jit(self, source_func: Function, target: Target | str | None = None) -> NativeFunction:
        """Compile a function of operators.

        Parameters
        ----------
        source_func : Function
            As for :meth:`lower`.
        target : Target or str, optional
            By default the current target, or ``llvm`` where there is none.

        Returns
        -------
        compiler.runtime.Function
            Called with the inputs, then the outputs.
        """
        cached = self.lower(source_func, target)
        return build(cached.funcs, target=cached.target)[cached.prim_fn_var.name_hint]

    def items(self) -> list[CachedFunc]:
        """Return what was lowered.

        Returns
        -------
        list of CachedFunc
        """
        return list(self._lowered.values())

    def clear(self) -> None:
        """Forget the kernels that were made."""
        self._lowered.clear()
        clear_cache()


_COMPILER = TECompiler()


def get() -> TECompiler:
    """Return the compiler of kernels; there is one.

    Returns
    -------
    TECompiler
    """
    return _COMPILER
