"""External compilers: generate code for functions with the attribute ``Compiler``.

A compiler ``NAME`` is a Python function that is registered as ``relay.ext.NAME``: it takes the function and returns a
module, whose function of the name ``global_symbol`` the model calls with inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from compiler import te
from compiler.ir.attrs import Attrs
from compiler.ir.error import BuildError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.ir.types import Type
from compiler.relay.analysis import bottom_up
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.operator import Input, RelayOp
from compiler.relay.transform.infer_type import InferType
from compiler.relay.transform.normal_form.inline import Inline
from compiler.relay.ty import tensor_types
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import get_global_func
from compiler.te.definition.tensor import Tensor
from compiler.tir.expressions.named_calls import call_packed

OWN_COMPILERS = ("ccompiler",)
"""Compilers that TVM brings along, whose functions this compiler compiles with everything else."""


def with_external_code(mod: IRModule) -> tuple[IRModule, list[Module]]:
    """Return a module that calls the code of external compilers, and that code.

    Functions for other compilers have the attributes ``Compiler`` and ``global_symbol``; they are global or stand where
    they are called.
    """
    mod = _with_functions_compiled_here(mod)
    if not any(_has_external(func) for _, func in mod.items()):
        return mod, []
    mod = InferType()(mod)
    calls = _ExternalCalls(mod)
    functions = {
        var: rebuild(func, body=bottom_up(calls, func.body)) if isinstance(func, Function) else func
        for var, func in mod.items()
        if not _is_external(func)
    }
    return InferType()(mod.with_functions(functions)), list(calls.modules.values())


def compiled_here(func: Function) -> Function:
    """Return a function without what makes it a kernel of another compiler."""
    for name in ("Compiler", "Primitive", "global_symbol"):
        func = func.without_attr(name)
    return func.with_attr("Inline", 1)


def _with_functions_compiled_here(mod: IRModule) -> IRModule:
    """Return a module in which the functions of :data:`OWN_COMPILERS` stand where they are called."""
    own = {var for var, func in mod.items() if isinstance(func, Function) and _compiler_of(func) in OWN_COMPILERS}
    if not own:
        return mod
    functions = {var: compiled_here(func) if var in own else func for var, func in mod.items()}
    with PassContext(opt_level=max(PassContext.current().opt_level, 1)):
        return InferType()(Inline()(mod.with_functions(functions)))


def _compiler_of(func: Function) -> str:
    return str(func.attrs.get("Compiler") or "")


def _is_external(func: object) -> TypeGuard[Function]:
    return isinstance(func, Function) and _compiler_of(func) not in ("", *OWN_COMPILERS)


def _has_external(func: object) -> bool:
    return isinstance(func, Function) and any(map(_is_external, post_order(func)))


class _ExternalCalls(ExprMutator):
    """Lets graphs call what external compilers made, each function compiled when it is met first."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__()
        self.modules: dict[str, Module] = {}
        self._mod = mod

    def visit_call(self, call: Call) -> RelayExpr:
        func = self._mod.functions.get(call.op) if isinstance(call.op, GlobalVar) else call.op
        if not _is_external(func):
            return super().visit_call(call)
        return rebuild(call, op=self._operator(func), args=tuple(self.visit(arg) for arg in call.args))

    def visit_function(self, fn: Function) -> RelayExpr:
        """Make a function that is a value one that calls the code."""
        if not _is_external(fn):
            return super().visit_function(fn)
        body: RelayExpr = Call(self._operator(fn), fn.params)
        return Function(fn.params, body, fn.ret_type)

    def visit_global_var(self, gvar: GlobalVar) -> RelayExpr:
        func = self._mod.functions.get(gvar)
        return self.visit_function(func) if _is_external(func) else gvar

    def _operator(self, func: Function) -> RelayOp:
        """Return the operator that runs the code of a function."""
        symbol = str(func.attrs.get("global_symbol") or "")
        if not symbol:
            raise BuildError(f"a function of the external compiler {_compiler_of(func)!r} has no global_symbol")
        if symbol not in self.modules:
            self.modules[symbol] = _compiled(func, symbol)
        return _operator(func, symbol)


def _compiled(func: Function, symbol: str) -> Module:
    name = f"relay.ext.{_compiler_of(func)}"
    compiler = get_global_func(name, allow_missing=True)
    if compiler is None:
        raise BuildError(f"no code can be made for function {symbol!r}: no external compiler is registered as {name!r}")
    module = compiler(func)
    if not isinstance(module, Module):
        raise BuildError(f"{name}: an external compiler must return a module, it returned {show(module)}")
    if not module.implements_function(symbol, True):
        raise BuildError(f"{name}: the module has no function of the symbol {symbol!r}")
    return module


def _operator(func: Function, symbol: str) -> RelayOp:
    """Return an operator whose definition calls a function by its symbol, with inputs and outputs."""

    def compute(attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
        types = tensor_types([out_type])
        made = te.extern(
            [t.shape for t in types],
            list(inputs),
            lambda ins, outs: call_packed(symbol, *ins, *outs),
            name=symbol,
            dtype=[t.dtype for t in types],
        )
        return [made] if isinstance(made, Tensor) else list(made)

    return RelayOp(
        symbol,
        doc=f"The code that {_compiler_of(func)} made.",
        inputs={f"p{i}": Input("An input.") for i in range(len(func.params))},
        relation=lambda types, attrs: func.checked_type.ret_type,
        compute=compute,
        stateful=True,
    )
