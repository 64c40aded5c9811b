"""Outlines, inlines and compiles the functions of external compilers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.ir.transform import ModulePass, PassContext
from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Call
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference import infer_copies
from compiler.relay.transform.normal_form.inline import inlined


def _is_of(func: Any, compiler_filter: str) -> bool:
    compiler = func.attrs.get("Compiler") if isinstance(func, Function) else None
    return bool(compiler) and compiler_filter in ("", str(compiler))


class OutlineCompilerFunctionsWithExistingGlobalSymbols(ModulePass):
    """Make functions of the module of the local functions that an external compiler gets, under their global symbols.

    Level 0.  ``compiler_filter`` is the name of the external compiler; empty for all.

    Examples
    --------
    ``OutlineCompilerFunctionsWithExistingGlobalSymbols('cutlass')``::

        def @main(%x: Tensor[(3), float32]) {
          %0 = fn (%y: Tensor[(3), float32], Primitive=1, Compiler="cutlass", global_symbol="part") { nn.relu(%y) };
          %0(%x)
        }
        ->
        def @main(%x: Tensor[(3), float32]) { @part(%x) }
        def @part(%y: Tensor[(3), float32], Primitive=1, Compiler="cutlass", global_symbol="part") { nn.relu(%y) }
    """

    compiler_filter: str = ""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        outliner = _Outliner(self.compiler_filter)
        functions = {
            var: rebuild(func, body=bottom_up(outliner, func.body)) if isinstance(func, Function) else func
            for var, func in mod.items()
        }
        _check_free(outliner.outlined, mod)
        made = {outliner.variables[name]: func for name, func in outliner.outlined.items()}
        return infer_copies(mod.with_functions({**functions, **made}))


def _check_free(symbols: Iterable[str], mod: IRModule) -> None:
    """Raise where a module has a function of a name that one is to be made under."""
    for name in symbols:
        if name in mod:
            raise ArgumentError(
                f"the module already has a function {name!r}, which is also the symbol of a nested function"
            )


class _Outliner(ExprMutator):
    def __init__(self, compiler_filter: str) -> None:
        super().__init__()
        self.outlined: dict[str, Function] = {}
        self.variables: dict[str, GlobalVar] = {}
        self._filter = compiler_filter

    def visit_function(self, fn: Function) -> RelayExpr:
        if not _is_of(fn, self._filter):
            return super().visit_function(fn)
        symbol = fn.attrs.get("global_symbol")
        if not symbol:
            raise ArgumentError(f"a function of the compiler {fn.attrs['Compiler']!r} has no global_symbol")
        name = str(symbol)
        if not structural_equal(self.outlined.setdefault(name, fn), fn):
            raise ArgumentError(f"two different functions have the global_symbol {name!r}")
        return self.variables.setdefault(name, GlobalVar(name))


class MarkCompilerFunctionsAsExtern(ModulePass):
    """Mark the functions of the module that an external compiler gets as compiled elsewhere: ``Extern=1``.

    Level 0.  They lose their other attributes.  ``compiler_filter`` is the name of the external compiler; empty for
    all.

    Examples
    --------
    ``MarkCompilerFunctionsAsExtern('cutlass')``::

        def @main(%x: Tensor[(3), float32]) { @part(%x) }
        def @part(%y: Tensor[(3), float32], Primitive=1, Compiler="cutlass", global_symbol="part") { nn.relu(%y) }
        ->
        def @main(%x: Tensor[(3), float32]) { @part(%x) }
        def @part(%y: Tensor[(3), float32], Extern=1) { nn.relu(%y) }
    """

    compiler_filter: str = ""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        marked = {
            var: rebuild(func, attrs=DictAttrs(Extern=1)) if _is_of(func, self.compiler_filter) else func
            for var, func in mod.items()
        }
        return mod.with_functions(marked)


class InlineCompilerFunctionsBoundTo(ModulePass):
    """Put the bodies of some functions of external compilers in place of their calls, and remove them.

    Level 0.  ``global_vars`` are these functions or their names; those that are of no external compiler stay.

    Examples
    --------
    ``InlineCompilerFunctionsBoundTo(['part'])``::

        def @main(%x: Tensor[(3), float32]) { @part(%x) }
        def @part(%y: Tensor[(3), float32], Primitive=1, Compiler="cutlass", global_symbol="part") { nn.relu(%y) }
        ->
        def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }
    """

    global_vars: Sequence[GlobalVar | str]

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        names = {var if isinstance(var, str) else var.name_hint for var in self.global_vars}
        bodies = {var: func for var, func in mod.items() if var.name_hint in names and _is_of(func, "")}
        functions = {
            var: _InPlace(bodies).visit(func) if isinstance(func, Function) else func
            for var, func in mod.items()
            if var not in bodies
        }
        return infer_copies(mod.with_functions(functions))


class _InPlace(ExprMutator):
    def __init__(self, bodies: Mapping[GlobalVar, Function]) -> None:
        super().__init__()
        self._bodies = bodies

    def visit_call(self, call: Call) -> RelayExpr:
        if not isinstance(call.op, GlobalVar) or call.op not in self._bodies:
            return super().visit_call(call)
        return inlined(self._bodies[call.op], self._visit_tuple(call.args))
