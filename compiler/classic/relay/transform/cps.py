"""Continuation-passing style: functions return by calling a continuation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr import RelayExpr
from compiler.ir.function import BaseFunc, GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.types import FuncType, Type, TypeVar
from compiler.relay.adt import Clause, Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from compiler.relay.expr import Call, GraphExpr, If, Let, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.inference.solver import substitute_types
from compiler.relay.transform.normal_form.to_a_normal_form import normal_form
from compiler.relay.transform.rewriter import is_primitive
from compiler.relay.type_functor import TypeMutator

__all__ = ["to_cps", "un_cps"]

_MAIN = "to_cps.main"
_ANSWER = "answer"

Continuation = Callable[[RelayExpr], RelayExpr]
"""What becomes of a value: from its expression to that of the answer."""


def to_cps(func: Function, mod: IRModule | None = None) -> Function:
    """Return a function in continuation-passing style: it calls its last parameter with its result.

    It has no types and is generic in what its continuation returns; operators are called as before.  The functions of
    ``mod`` that it calls get companions in the same style there, whose names end in ``_cps``.  After G. Plotkin,
    "Call-by-name, call-by-value and the lambda-calculus", 1975. Raises ArgumentError if it is not a function.

    Examples
    --------
    ::

        fn (%x: float32) -> float32 { add(%x, %x) }
        ->
        fn [answer](%x: float32, %k: fn (float32) -> answer) -> answer { let %y = add(%x, %x); %k(%y) }
    """
    if not isinstance(func, Function):
        expected("to_cps", "func", "a Function", type(func).__name__)
    module = IRModule() if mod is None else mod
    main = GlobalVar(_MAIN)
    typed = infer_module(module.with_functions({**dict(module.items()), main: func}))
    normal = typed.with_functions({var: _normal(each) for var, each in typed.items()})
    styles = _Module(infer_module(normal))
    styles.convert(main)
    converted = styles.functions.pop(main)
    for var, new in styles.functions.items():
        module[styles.names[var]] = new
    return converted


def _normal(func: BaseFunc) -> BaseFunc:
    """Return a function of a graph with a name for each value."""
    return rebuild(func, body=normal_form(func.body)) if isinstance(func, Function) else func


def un_cps(func: Function) -> Function:
    """Return a function that returns its result from a type-checked one in continuation-passing style (:func:`to_cps`).

    Raises ArgumentError if the last parameter is not a continuation.
    """
    continuation = func.checked_type.arg_types[-1] if isinstance(func, Function) and func.params else None
    if not isinstance(continuation, FuncType) or continuation.ret_type not in func.type_params:
        raise ArgumentError("un_cps: func must be a function whose last parameter is a continuation")
    (result,) = continuation.arg_types
    answer = {continuation.ret_type: result}
    params = [Var(p.name_hint, substitute_types(p.checked_type, answer)) for p in func.params[:-1]]
    x = Var("x", result)
    identity = Function((x,), x, result)
    type_params = tuple(t for t in func.type_params if t != continuation.ret_type)
    return Function(tuple(params), Call(func, (*params, identity)), result, type_params)


class _Types(TypeMutator):
    """Gives the types of functions a continuation as their last parameter."""

    def __init__(self, answer: TypeVar) -> None:
        super().__init__()
        self.answer = answer

    def visit_func_type(self, t: FuncType) -> FuncType:
        continuation = FuncType((self.visit(t.ret_type),), self.answer)
        return FuncType((*map(self.visit, t.arg_types), continuation), self.answer, t.type_params)


class _Module:
    """The functions of a module in the style, as far as they are called."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self.names: dict[GlobalVar, GlobalVar] = {}
        self.functions: dict[GlobalVar, Function] = {}

    def convert(self, var: GlobalVar) -> GlobalVar:
        """Return the name under which a function of the module stands in the style."""
        if var not in self.names:
            self.names[var] = GlobalVar(f"{var.name_hint}_cps")
            answer = TypeVar(_ANSWER)
            function = self._mod[var]
            new = _Converter(self, answer).function(function)
            self.functions[var] = rebuild(new, type_params=(*function.type_params, answer))
        return self.names[var]


class _Converter:
    """Converts a function in A-normal form; nested functions have the answer of the one around them."""

    def __init__(self, module: _Module, answer: TypeVar) -> None:
        self._module = module
        self._answer = answer
        self._types = _Types(answer)
        self._vars: dict[Var, Var] = {}

    def type(self, t: Type) -> Type:
        converted: Type = self._types.visit(t)
        return converted

    def variable(self, var: Var) -> Var:
        if var not in self._vars:
            self._vars[var] = Var(var.name_hint, self.type(var.checked_type))
        return self._vars[var]

    def function(self, func: Function) -> Function:
        params = tuple(map(self.variable, func.params))
        k = Var("k", FuncType((self.type(func.body.checked_type),), self._answer))
        body = self.visit(func.body, lambda value: Call(k, (value,)))
        return Function((*params, k), body, self._answer, func.type_params)

    def visit(self, expr: GraphExpr, k: Continuation) -> RelayExpr:
        """Return the answer of an expression whose value goes on to a continuation."""
        match expr:
            case Let():
                return self._let(expr, k)
            case If():
                cond = self._atom(expr.cond)
                return self._branches(
                    expr, k, lambda go: If(cond, self.visit(expr.true_branch, go), self.visit(expr.false_branch, go))
                )
            case Match():
                data = self._atom(expr.data)
                return self._branches(expr, k, lambda go: Match(data, self._clauses(expr, go), expr.complete))
            case Call() if _returns_by_continuation(expr):
                args = map(self._atom, expr.args)
                return Call(self._atom(expr.op), (*args, self._reified(expr.checked_type, k)))
        return k(self._atom(expr))

    def _let(self, let: Let, k: Continuation) -> RelayExpr:
        # Bindings of plain values in a row need no recursion, however many they are.
        bindings: list[tuple[Var, RelayExpr]] = []
        expr: GraphExpr = let
        while isinstance(expr, Let) and not _has_control_flow(expr.value):
            bindings.append((self.variable(expr.var), self._atom(expr.value)))
            expr = expr.body
        if isinstance(expr, Let):
            inner = expr
            body = self.visit(
                inner.value, lambda value: Let(self.variable(inner.var), value, self.visit(inner.body, k))
            )
        else:
            body = self.visit(expr, k)
        for var, value in reversed(bindings):
            body = Let(var, value, body)
        return body

    def _branches(self, expr: RelayExpr, k: Continuation, make: Callable[[Continuation], RelayExpr]) -> RelayExpr:
        """Return an expression of branches, which share what comes after them."""
        after = self._reified(expr.checked_type, k)
        name = Var("after", FuncType((self.type(expr.checked_type),), self._answer))
        return Let(name, after, make(lambda value: Call(name, (value,))))

    def _reified(self, t: Type, k: Continuation) -> Function:
        arg = Var("arg", self.type(t))
        return Function((arg,), k(arg), self._answer)

    def _clauses(self, match: Match, k: Continuation) -> tuple[Clause, ...]:
        return tuple(Clause(self._pattern(clause.lhs), self.visit(clause.rhs, k)) for clause in match.clauses)

    def _pattern(self, pattern: Pattern) -> Pattern:
        if isinstance(pattern, PatternVar):
            return PatternVar(self.variable(pattern.var))
        if isinstance(pattern, (PatternConstructor, PatternTuple)):
            return rebuild(pattern, patterns=tuple(map(self._pattern, pattern.patterns)))
        return pattern

    def _atom(self, expr: GraphExpr) -> Any:
        """Return an expression that has no control flow, with its variables and functions converted."""
        if isinstance(expr, Var):
            return self.variable(expr)
        if isinstance(expr, GlobalVar):
            return self._module.convert(expr)
        if isinstance(expr, Function):
            return expr if is_primitive(expr) else self.function(expr)
        return _with_operands(expr, self._atom)


def _with_operands(expr: GraphExpr, convert: Callable[[GraphExpr], GraphExpr]) -> Any:
    if isinstance(expr, (Op, Constructor)):
        return expr
    fields: Mapping[str, Any] = {name: getattr(expr, name) for name in type(expr).children}
    new = {
        name: tuple(map(convert, value)) if isinstance(value, tuple) else convert(value)
        for name, value in fields.items()
    }
    return rebuild(expr, **new) if new else expr


def _returns_by_continuation(call: Call) -> bool:
    """Return whether a call is of a function in the style, not of an operator, a constructor or a kernel."""
    return not isinstance(call.op, (Op, Constructor)) and not is_primitive(call.op)


def _has_control_flow(expr: GraphExpr) -> bool:
    """Return whether what follows an expression becomes a continuation of it."""
    return isinstance(expr, (Let, If, Match)) or (isinstance(expr, Call) and _returns_by_continuation(expr))
