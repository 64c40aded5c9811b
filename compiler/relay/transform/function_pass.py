"""Passes over single Relay functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from
from compiler.ir.transform import Pass, PassContext
from compiler.relay.function import Function
from compiler.relay.inference import infer_copies, infer_module


class FunctionPass(Pass, abstract=True):
    """A pass over the functions of a module, one at a time: its work is ``transform_function``.

    Functions with the attribute ``SkipOptimization`` stay as they are, and so do those that an external compiler gets
    (attribute ``Compiler``).  The result has types, as after ``InferType``, where the pass
    adds them or the module had them.
    """

    method: ClassVar[str] = "transform_function"
    adds_types: ClassVar[bool] = True
    """Whether a module without types has them afterwards; a pass over modules in TVM adds none."""
    keeps_types: ClassVar[bool] = True
    """Whether what the pass has made has types where the module had them."""

    @abstractmethod
    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        """Return what takes the place of one function of the module."""

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Run ``transform_function`` on every Function, and infer the types of the result; ``mod`` itself if nothing
        changed.

        Raises ArgumentError if the method returns something else than a function.
        """
        typed = [getattr(func, "checked_type_", None) is not None for func in mod.functions.values()]
        result = mod.with_functions({var: self._apply(func, mod, ctx) for var, func in mod.items()})
        if not (self.adds_types or (self.keeps_types and any(typed) and result is not mod)):
            return result
        # What has no type in a module that had them was made by the pass, else the program may have it.
        return infer_module(result) if all(typed) else infer_copies(result)

    def _apply(self, func: RelayExpr, mod: IRModule, ctx: PassContext) -> Any:
        if not isinstance(func, Function) or func.attrs.get("SkipOptimization") or func.attrs.get("Compiler"):
            return func
        with derived_from(func.span):
            result = self.transform_function(func, mod, ctx)
        if not isinstance(result, Function):
            raise ArgumentError(f"pass {self.info.name}: must return a Function, returned {type(result).__name__}")
        return result


def function_pass(
    pass_func: Callable[..., Function] | type | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Create a pass over Relay functions from a function ``f(func, mod, ctx) -> func``; also a decorator with options.

    Of a class with a method ``transform_function(self, func, mod, ctx)``, what is returned makes a pass of arguments of
    the class. It runs when the context's level is at least ``opt_level``; ``name`` is that of the function or class
    by default. Raises ArgumentError if a class has no such method.

    Examples
    --------
    >>> @relay.transform.function_pass(opt_level=1)
    ... def without_tuples(func, mod, ctx):
    ...     return relay.Function(func.params, relay.TupleGetItem(func.body, 0))
    >>> without_tuples(mod)
    """
    return FunctionPass.made_of(pass_func, opt_level, name, required)
