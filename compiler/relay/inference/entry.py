"""Inference over modules and over single expressions."""

from __future__ import annotations

from collections.abc import Set
from typing import Any
from weakref import WeakKeyDictionary

from compiler.ir.expr import RelayExpr, set_checked_type
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import duplicate, rebuild
from compiler.ir.op import Op
from compiler.ir.origin import derived_from
from compiler.ir.types import FuncType, InferredTypes, Type
from compiler.relay.adt import Constructor
from compiler.relay.analysis import bottom_up
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call, GraphExpr, TupleGetItem, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference.engine import Inference
from compiler.relay.inference.errors import TypeInferenceError, tell_renderer
from compiler.relay.operator import RelayOp, operator_of
from compiler.relay.ty import IncompleteType


def infer_module(mod: IRModule) -> IRModule:
    """Find the types of all expressions of a module that nobody else holds, and write them on these.

    The result types of its functions and the types of their parameters are filled in; it is the same module where they
    were there already.
    """
    if _done.get(mod) == _contents(mod):
        return mod
    result = _inferred(mod)
    _done[result] = _contents(result)
    return result


def infer_copies(mod: IRModule) -> IRModule:
    """Find the types of all expressions of a module that a program may hold, which stay as they are.

    The result has copies of expressions that had no type; it is the same module where all types were there already.
    """
    return mod if _done.get(mod) == _contents(mod) else infer_module(with_copies(mod))


def with_copies(mod: IRModule) -> IRModule:
    """Return a module whose expressions without types are copies, so that types may be written on them."""
    copier = _Copier()
    graphs = {var: func for var, func in mod.items() if isinstance(func, Function)}
    copies = {}
    for var, func in graphs.items():
        with derived_from(func.span):
            copies[var] = bottom_up(copier, func)
    return mod.with_functions({**dict(mod.items()), **copies}) if copies else mod


class _Copier(ExprMutator):
    """Copies expressions that have no type, and what is made of them."""

    def visit(self, expr: GraphExpr) -> RelayExpr:
        known = expr in self.memo_map
        new = super().visit(expr)
        if known or new is not expr or expr.checked_type_ is not None or isinstance(expr, _SHARED):
            return new
        with derived_from(expr.span):
            new = self.memo_map[expr] = duplicate(expr, {})
        return new


_SHARED = (Op, GlobalVar, Constructor, Var)
"""What all programs have in common, and variables, which are what they are to whoever holds them."""


_done: WeakKeyDictionary[IRModule, Any] = WeakKeyDictionary()
"""What was in modules when their types were inferred: passes ask again and again for what nothing has changed."""


def _contents(mod: IRModule) -> Any:
    return (list(mod.functions.items()), list(mod.type_definitions.items()))


def _inferred(mod: IRModule) -> IRModule:
    run = _run(mod)
    bare = {expr for expr in run.types if _is_bare(expr)}
    annotated = {gvar: _annotated(func, bare) for gvar, func in mod.items()}
    result = mod.with_functions(annotated)
    if any(new is not mod.functions[var] and new.body is not mod.functions[var].body for var, new in result.items()):
        _run(result)  # expressions were rebuilt around parameters that had no type
        return result
    for gvar, func in result.items():
        if isinstance(func, Function):
            set_checked_type(func, run.types[gvar])
    return result


def _run(mod: IRModule) -> Inference:
    run = Inference(mod)
    for gvar, func in mod.items():
        if isinstance(func, Function):
            run.visit(gvar)
            run.visit(func)
    for var in run.free:
        run.error(f"variable %{var.name_hint} is used but nothing defines it", var)
    _finish(run)
    return run


def infer_expr(expr: GraphExpr, mod: IRModule | None = None) -> Type:
    """Find the type of one expression, and of all that it is made of.

    Types that are there already are taken over, so that a graph can be built and asked node by node.
    """
    earlier = getattr(expr, "checked_type_", None)
    if isinstance(earlier, Type):
        return earlier
    run = Inference(mod, reuse=True)
    run.visit(expr)
    _finish(run)
    inferred = expr.checked_type_
    assert isinstance(inferred, Type)
    return inferred


def _finish(run: Inference) -> None:
    """Solve what is left, complain about what cannot be solved, and write the types onto the expressions."""
    run.operators.solve()
    if not run.errors:
        run.check_matches()
    if not run.errors:
        _complain_about_unknowns(run)
    if run.errors:
        tell_renderer(run.errors)
        raise TypeInferenceError(run.errors)
    resolve = run.solver.resolve
    for expr, t in run.types.items():
        resolved = run.types[expr] = resolve(t)
        set_checked_type(expr, resolved)
    for expr in run.types:
        if type(expr) is Call:
            _fill_type_args(expr, run)


def _fill_type_args(call: Call, run: Inference) -> None:
    """Write on a call what it is applied to: an operator to the types of its arguments."""
    if isinstance(call.op, RelayOp):
        types = [arg.checked_type for arg in call.args]
    elif call in run.type_args:
        types = [run.solver.resolve(t) for t in run.type_args[call]]
    else:
        return
    unfrozen: Any = call
    unfrozen.type_args = InferredTypes(types)


def _complain_about_unknowns(run: Inference) -> None:
    for expr, args in run.operators.unsolved():
        if isinstance(expr, Call):
            op = operator_of(expr)
            unknown = [n for n, t in zip(op.inputs, args, strict=False) if run.solver.unknown_in(t) is not None]
            run.error(f"{op.name}: the type of {', '.join(unknown)} is unknown; annotate its variable", expr)
        elif isinstance(expr, TupleGetItem):
            run.error(f"element {expr.index} of something whose type is unknown; annotate its variable", expr)
    if run.errors:
        return
    for expr, t in run.types.items():
        if isinstance(expr, Var) and isinstance(run.solver.shallow(t), IncompleteType):
            run.error(f"the type of %{expr.name_hint} cannot be found; annotate it", expr)
        elif isinstance(t, FuncType) and isinstance(run.solver.shallow(t.ret_type), IncompleteType):
            run.error("the result type of a recursive function cannot be found; annotate its ret_type", expr)


def _annotated(func: RelayExpr, bare: Set[RelayExpr]) -> RelayExpr:
    """Return a function with the types of its variables and result written down, and those of functions in it.

    ``bare`` are all expressions of the module that have a place for a type in which none is written.  Most modules have
    none inside of their functions, which then need no visit.
    """
    if not isinstance(func, Function):
        return func
    func_type = func.checked_type_
    assert isinstance(func_type, FuncType)
    if bare - {func} and any(expr in bare for expr in post_order(func) if expr is not func):
        with derived_from(func.span):
            annotated: Function = bottom_up(_Annotate(), func)
    else:
        annotated = func
    if annotated.ret_type is not None:
        return annotated
    with derived_from(func.span):
        return rebuild(annotated, ret_type=func_type.ret_type)


def _is_bare(expr: RelayExpr) -> bool:
    """Return whether an expression has a place for a type in which none is written."""
    if isinstance(expr, Var):
        return _is_open(expr)
    return isinstance(expr, Function) and expr.ret_type is None


def _is_open(var: Var) -> bool:
    """Return whether the type of a variable is left to inference."""
    return var.type_annotation is None or isinstance(var.type_annotation, IncompleteType)


class _Annotate(ExprMutator):
    """Writes down the types of variables and of functions' results."""

    def visit_var(self, var: Var) -> Var:
        if not _is_open(var):
            return var
        with derived_from(var.span):
            return Var(var.name_hint, var.checked_type)

    def visit_function(self, function: Function) -> RelayExpr:
        new = super().visit_function(function)
        t = function.checked_type_
        if not isinstance(new, Function) or new.ret_type is not None or not isinstance(t, FuncType):
            return new
        return rebuild(new, ret_type=t.ret_type)
