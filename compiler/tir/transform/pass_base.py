"""Base classes of function passes on TIR."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, PassContext
from compiler.tir.statements.function import PrimFunc


class PrimFuncPass(Pass, abstract=True):
    """A pass over the functions of a module, one at a time: its work is ``transform_function``.

    Functions of other levels stay as they are.
    """

    prefix: ClassVar[str] = "tir."
    method: ClassVar[str] = "transform_function"

    @abstractmethod
    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        """Return the transformed function, or ``func`` itself where nothing changed."""

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Run ``transform_function`` on every PrimFunc; return ``mod`` itself where nothing changed.

        Raises ArgumentError if the method returns something else than a function.
        """
        return mod.with_functions({var: self._apply(func, mod, ctx) for var, func in mod.items()})

    def _apply(self, func: object, mod: IRModule, ctx: PassContext) -> object:
        if not isinstance(func, PrimFunc):
            return func
        result = self.transform_function(func, mod, ctx)
        if not isinstance(result, PrimFunc):
            raise ArgumentError(f"pass {self.info.name}: must return a PrimFunc, returned {type(result).__name__}")
        return result


class FunctionRewrite(PrimFuncPass, abstract=True):
    """A pass that needs nothing of a function's module and of the context: its work is ``rewrite``."""

    method: ClassVar[str] = "rewrite"

    @abstractmethod
    def rewrite(self, func: PrimFunc) -> PrimFunc:
        """Return the transformed function, or ``func`` itself where nothing changed."""

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        return self.rewrite(func)


def prim_func_pass(
    pass_func: Callable[..., PrimFunc] | type | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Create a pass over PrimFuncs; the parameters are those of :func:`tvm.relay.transform.function_pass`.

    Raises ArgumentError if a class has no method ``transform_function``.

    Examples
    --------
    >>> @tvm.tir.transform.prim_func_pass(opt_level=1)
    ... def mark(func, mod, ctx):
    ...     return func.with_attr("marked", True)
    >>> mark(mod)
    """
    return PrimFuncPass.made_of(pass_func, opt_level, name, required)
