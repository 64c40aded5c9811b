"""Inline: inlines function calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from
from compiler.ir.transform import ModulePass, PassContext
from compiler.relay.analysis import Effects, bottom_up, post_order
from compiler.relay.analysis.scopes import is_atom
from compiler.relay.expr import Call, GraphExpr, Let, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.transform.normal_form.alpha_rename import alpha_renamed


class Inline(ModulePass, opt_level=1):
    """Replace calls of functions with the attribute ``Inline`` by their bodies, and remove those functions.

    Level 1.  A function that calls itself, directly or not, stays, and so does one that no other uses: a program enters
    there.  One that an external compiler gets (attribute ``Compiler``), or that is used as a value, stands as a
    function where it is used.

    Examples
    --------
    ``Inline()``::

        def @main(%x: Tensor[(3), float32]) { @twice(nn.relu(%x)) }
        def @twice(%y: Tensor[(3), float32], Inline=1) { add(%y, %y) }
        ->
        def @main(%x: Tensor[(3), float32]) {
          %0 = nn.relu(%x);
          add(%0, %0)
        }
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        calls = {var: _used(func) for var, func in mod.items() if isinstance(func, Function)}
        order = _callees_first(calls)
        inlined = {var for var in order if mod[var].attrs.get("Inline") and not _recursive(var, calls)}
        functions = dict(mod.items())
        for var in order:
            bodies = {callee: functions[callee] for callee in calls[var] if callee in inlined}
            if bodies:
                with derived_from(mod[var].span):
                    functions[var] = bottom_up(_Inliner(bodies, Effects(mod[var], mod)), functions[var])
        still_used = {used for var in order if var not in inlined for used in _used(functions[var])}
        entered = set(order) - {used for var in order for used in calls[var]}
        gone = inlined - still_used - entered
        return mod.with_functions({var: func for var, func in functions.items() if var not in gone})


class _Inliner(ExprMutator):
    def __init__(self, bodies: Mapping[GlobalVar, Function], effects: Effects) -> None:
        super().__init__()
        self._bodies = bodies
        self._effects = effects

    def visit_call(self, call: Call) -> RelayExpr:
        func = self._bodies.get(call.op) if isinstance(call.op, GlobalVar) else None
        if func is None or func.attrs.get("Compiler"):
            return super().visit_call(call)
        return inlined(func, [self.visit(arg) for arg in call.args], any(self._effects.of(arg) for arg in call.args))

    def visit_global_var(self, var: GlobalVar) -> RelayExpr:
        return self._bodies.get(var, var)


def inlined(func: Function, args: Sequence[RelayExpr], in_order: bool = False) -> RelayExpr:
    """Return what a call of a function computes, as an expression of its own.

    With ``in_order`` the arguments are evaluated before the body, each once, whatever the body does with them.
    """
    named: list[tuple[Var, RelayExpr]] = []
    new: dict[GraphExpr, RelayExpr] = {}
    for param, arg in zip(func.params, args, strict=True):
        new[param] = arg
        if in_order and not is_atom(arg):
            new[param] = var = Var(param.name_hint)
            named.append((var, arg))
    body = alpha_renamed(func.body, new, func.type_params)
    for var, arg in reversed(named):
        body = Let(var, arg, body)
    return body


def _used(func: RelayExpr) -> list[GlobalVar]:
    return [part for part in post_order(func) if isinstance(part, GlobalVar)]


def _callees_first(calls: Mapping[GlobalVar, Sequence[GlobalVar]]) -> list[GlobalVar]:
    order: dict[GlobalVar, None] = {}
    visited: set[GlobalVar] = set()
    stack = [(var, False) for var in reversed(list(calls))]
    while stack:
        var, ready = stack.pop()
        if ready:
            order[var] = None
        elif var not in visited:
            visited.add(var)
            stack.append((var, True))
            stack.extend((callee, False) for callee in calls[var] if callee in calls)
    return list(order)


def _recursive(var: GlobalVar, calls: Mapping[GlobalVar, Sequence[GlobalVar]]) -> bool:
    reached: set[GlobalVar] = set()
    todo = list(calls[var])
    while todo:
        callee = todo.pop()
        if callee not in reached:
            reached.add(callee)
            todo.extend(calls.get(callee, ()))
    return var in reached
