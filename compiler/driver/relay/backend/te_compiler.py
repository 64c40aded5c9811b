"""The compiler of kernels, under TVM's name for it: ``tvm.relay.backend.te_compiler``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.driver.build import build
from compiler.driver.relay.backend.utils import mangle_module_name
from compiler.driver.relay.groups import StructuralKey, kernel_name, structural_key
from compiler.driver.relay.kernels import clear_cache
from compiler.driver.relay.lower import LoweredKernel, lower_group
from compiler.ir.extension import public_module
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.relay.op_strategy import get_valid_implementations, select_implementation
from compiler.runtime.module import Module
from compiler.target.target import Target
from compiler.te import create_prim_func
from compiler.te.schedule import Schedule
from compiler.te.tensor import Tensor
from compiler.tir.function import PrimFunc

__all__ = ["CachedFunc", "TECompiler", "get", "get_valid_implementations", "lower_to_primfunc", "select_implementation"]


@dataclass(frozen=True, slots=True, eq=False)
class CachedFunc:
    """A function of operators as loops, made once for each target.

    Attributes
    ----------
    kernel : LoweredKernel
    target : Target
    """

    kernel: LoweredKernel
    target: Target

    @property
    def prim_fn_var(self) -> GlobalVar:
        """The kernel's name."""
        return GlobalVar(self.kernel.name)

    @property
    def inputs(self) -> list[Tensor]:
        """The parameters that it reads."""
        return self.kernel.inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The parameters that it writes."""
        return self.kernel.outputs

    @property
    def schedule(self) -> Schedule:
        """How the outputs are computed."""
        return self.kernel.schedule

    @property
    def funcs(self) -> IRModule:
        """The loops as a module."""
        return IRModule({self.kernel.name: self.kernel.prim_func})

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as another.

        Parameters
        ----------
        other : object

        Returns
        -------
        bool
        """
        return self is other


class TECompiler:
    """What makes kernels of functions of operators, and keeps those that it has made."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, StructuralKey], CachedFunc] = {}

    def lower(self, source_func: Function, target: Target | str | None = None, mod_name: str = "default") -> CachedFunc:
        """Lower a function of operators to loops; equal ones are lowered once.

        Parameters
        ----------
        source_func : Function
            Type-checked.
        target : Target or str, optional
            The current one, else this machine's, when left out.
        mod_name : str
            Accepted as TVM does.

        Returns
        -------
        CachedFunc

        Raises
        ------
        ArgumentError
            If an operator has no definition as tensor expressions.
        """
        chosen = Target.target_or_current(target)
        key = (str(chosen), structural_key(source_func))
        if key not in self._made:
            name = kernel_name(source_func, mangle_module_name("default"))
            self._made[key] = CachedFunc(lower_group(source_func, name, chosen), chosen)
        return self._made[key]

    def jit(self, source_func: Function, target: Target | str | None = None) -> Module:
        """Compile a function of operators.

        Parameters
        ----------
        source_func : Function
            Type-checked.
        target : Target or str, optional
            The current one, else this machine's, when left out.

        Returns
        -------
        Module
            Called with the function's arguments and what it writes its results to.
        """
        lowered = self.lower(source_func, target)
        return build(lowered.funcs, target=lowered.target)

    def clear(self) -> None:
        """Forget the kernels that were made."""
        self._made.clear()
        clear_cache()


_COMPILER = TECompiler()


def get() -> TECompiler:
    """Return the compiler of kernels; there is one.

    Returns
    -------
    TECompiler
    """
    return _COMPILER


def lower_to_primfunc(relay_func: Function, target: Target | str) -> PrimFunc:
    """Return a function of operators as blocks in loops, before any schedule.

    Parameters
    ----------
    relay_func : Function
        Type-checked.
    target : Target or str
        The definitions that it prefers are taken.

    Returns
    -------
    PrimFunc
        Of the parameters and of what the results are written to.

    Raises
    ------
    ArgumentError
        If an operator has no definition as tensor expressions.
    """
    lowered = _COMPILER.lower(relay_func, target)
    return create_prim_func([*lowered.inputs, *lowered.outputs])


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.relay.backend.te_compiler", __all__)
