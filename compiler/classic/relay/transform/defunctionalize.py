"""Defunctionalization: replaces function values by algebraic data types.

Each type of functions becomes a data type with a constructor for every function that is a value somewhere; the
constructor holds what that function captures.  A function ``apply`` of the module matches the constructors and computes
what each of their functions does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.names import take_name
from compiler.ir.op import Op
from compiler.ir.structural import structural_equal
from compiler.ir.types import FuncType, Type, TypeVar
from compiler.relay.adt import Clause, Constructor, Match, PatternConstructor, PatternVar, TypeData
from compiler.relay.analysis.kinds import free_type_vars, type_parts
from compiler.relay.analysis.variables import free_vars
from compiler.relay.expr import Call, Let, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference.solver import substitute_types
from compiler.relay.transform.rewriter import type_of
from compiler.relay.ty import GlobalTypeVar, TypeCall
from compiler.relay.type_functor import TypeMutator

__all__ = ["Defunctionalization"]

Types: TypeAlias = Mapping[Type, Type]
"""What type variables of a function stand for in one of its instances."""


def Defunctionalization(func: Function, mod: IRModule) -> Function:
    """Return a function that passes no functions around, and computes what the given one does.

    The functions that it calls are copied for the types and functions that they are called with; ``mod`` gets the
    copies, the data types, and the functions that apply their values.  After J. C. Reynolds, "Definitional interpreters
    for higher-order programming languages", ACM 1972. Raises ArgumentError if ``func`` is generic or takes or returns
    functions, or if a generic function is a value whose type nothing says.
    """
    scheme = _function_type(func)
    if func.type_params or any(map(_has_functions, (*scheme.arg_types, scheme.ret_type))):
        raise ArgumentError(f"Defunctionalization: func must be neither polymorphic nor higher-order, got {scheme}")
    program = _Program(mod)
    result = program.instance(func, {})
    program.define_types()
    return result


def _has_functions(t: Type) -> bool:
    return isinstance(t, FuncType) or any(map(_has_functions, type_parts(t)))


def _function_type(expr: RelayExpr) -> FuncType:
    t = type_of(expr)
    assert isinstance(t, FuncType)
    return t


@dataclass
class _Closures:
    """The data type of the functions of one type."""

    type: FuncType
    header: GlobalTypeVar
    apply: GlobalVar
    constructors: list[Constructor] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    arguments: tuple[Var, ...] = ()
    of_function: dict[RelayExpr, Constructor] = field(default_factory=dict)
    """The constructors of functions that capture nothing: those of the module, operators, constructors."""


class _Program:
    """The module, with what has been made of it so far."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self._closures: list[_Closures] = []
        self._instances: list[tuple[GlobalVar, tuple[Type, ...], GlobalVar]] = []
        self._names = {var.name_hint for var in (*mod.functions, *mod.type_definitions)}

    def instance(self, func: Function, types: Types) -> Function:
        """Return a function for some types, without functions as values."""
        copy, result = _Instance(self, types), _function_type(func).ret_type
        params = tuple(map(copy.visit_bound, func.params))
        return Function(params, copy.value(func.body, result), copy.encoded(result), (), func.attrs)

    def function(self, var: GlobalVar, type_args: Sequence[Type]) -> GlobalVar:
        """Return the variable of a function's copy for type arguments."""
        for original, args, copy in self._instances:
            if original is var and len(args) == len(type_args) and all(map(structural_equal, args, type_args)):
                return copy
        func = self.mod[var]
        copy = GlobalVar(self.fresh(f"{var.name_hint}FuncType"))
        self._instances.append((var, tuple(type_args), copy))
        self.mod[copy] = self.instance(func, dict(zip(func.type_params, type_args, strict=True)))
        return copy

    def closures(self, t: FuncType) -> _Closures:
        for closures in self._closures:
            if structural_equal(closures.type, t):
                return closures
        if free_type_vars(t) or t.type_params:
            raise ArgumentError(
                f"Defunctionalization: cannot determine the type arguments of a polymorphic function: {t}"
            )
        closures = _Closures(t, GlobalTypeVar(self.fresh("DefuncFuncType")), GlobalVar(self.fresh("applyFuncType")))
        self._closures.append(closures)
        closures.arguments = tuple(Var("y", _Encode(self).visit(arg)) for arg in t.arg_types)
        return closures

    def define_types(self) -> None:
        """Define the data types and the functions that apply their values."""
        for closures in self._closures:
            self.mod.type_definitions[closures.header] = TypeData(closures.header, (), tuple(closures.constructors))
            chosen = Var("x", closures.header())
            result = _Encode(self).visit(closures.type.ret_type)
            body = Match(chosen, tuple(closures.clauses), bool(closures.clauses))
            self.mod[closures.apply] = Function((chosen, *closures.arguments), body, result)

    def fresh(self, hint: str) -> str:
        return take_name(hint, self._names)


class _Encode(TypeMutator):
    """Puts data types in place of the types of functions."""

    def __init__(self, program: _Program) -> None:
        self._program = program

    def visit_func_type(self, ft: FuncType) -> Type:
        return self._program.closures(ft).header()


class _Instance(ExprMutator):
    """Rewrites the body of one function for some types."""

    def __init__(self, program: _Program, types: Types) -> None:
        super().__init__()
        self._program = program
        self._types = types

    def exact(self, t: Type) -> Type:
        """Return a type with the type variables of the function replaced."""
        return substitute_types(t, self._types)

    def encoded(self, t: Type) -> Type:
        """Return the type that values of a type have now."""
        encoded: Type = _Encode(self._program).visit(self.exact(t))
        return encoded

    def value(self, expr: RelayExpr, expected: Type) -> RelayExpr:
        """Return an expression, which is a function for the types that are expected if it is a generic one."""
        if isinstance(expr, (Function, GlobalVar, Constructor, Op)) and isinstance(expected, FuncType):
            exact = self.exact(expected)
            assert isinstance(exact, FuncType)
            return self._closure(expr, exact)
        return self.visit(expr)

    def visit_var(self, var: Var) -> RelayExpr:
        return Var(var.name_hint, self.encoded(type_of(var)))

    def visit_function(self, fn: Function) -> RelayExpr:
        return self.value(fn, type_of(fn))

    def visit_global_var(self, gvar: GlobalVar) -> RelayExpr:
        return self.value(gvar, type_of(gvar))

    def visit_constructor(self, con: Constructor) -> RelayExpr:
        return self.value(con, type_of(con))

    def visit_let(self, let: Let) -> RelayExpr:
        if isinstance(let.value, Function):
            self.memo_map[let.value] = self._closure(let.value, self._exact_type(let.value), let.var)
        return super().visit_let(let)

    def visit_call(self, call: Call) -> RelayExpr:
        op, type_args = call.op, tuple(self.exact(t) for t in call.type_args or ())
        if isinstance(op, (Op, Constructor)):
            return Call(op, self._visit_tuple(call.args), call.attrs, ())
        if isinstance(op, Function):
            return self._inlined(op, call, type_args)
        args = self._arguments(_function_type(op), type_args, call.args)
        if isinstance(op, GlobalVar):
            return Call(self._program.function(op, type_args), args)
        return Call(self._program.closures(self._exact_type(op)).apply, (self.visit(op), *args))

    def _exact_type(self, expr: RelayExpr) -> FuncType:
        t = self.exact(type_of(expr))
        assert isinstance(t, FuncType)
        return t

    def _arguments(
        self, scheme: FuncType, type_args: Sequence[Type], args: Sequence[RelayExpr]
    ) -> tuple[RelayExpr, ...]:
        types = dict(zip(scheme.type_params, type_args, strict=True)) if scheme.type_params else {}
        expected = [substitute_types(t, types) for t in scheme.arg_types]
        return tuple(self.value(arg, t) for arg, t in zip(args, expected, strict=True))

    def _inlined(self, fn: Function, call: Call, type_args: Sequence[Type]) -> Call:
        """Return the call of a local function where it is written."""
        args = self._arguments(_function_type(fn), type_args, call.args)
        inner = self._inside(dict(zip(fn.type_params, type_args, strict=True)))
        params = tuple(map(inner.visit_bound, fn.params))
        return Call(Function(params, inner.value(fn.body, _function_type(fn).ret_type), None, ()), args)

    def _inside(self, types: Types) -> _Instance:
        """Return the rewriter of a local function for more types; it knows the variables outside."""
        inner = _Instance(self._program, {**self._types, **types})
        inner.memo_map = {expr: new for expr, new in self.memo_map.items() if isinstance(expr, Var)}
        return inner

    def _closure(self, expr: RelayExpr, t: FuncType, name: Var | None = None) -> RelayExpr:
        """Return the value that stands for a function; ``name`` is the variable by which it may call itself."""
        closures = self._program.closures(t)
        if not isinstance(expr, Function):
            if expr not in closures.of_function:
                closures.of_function[expr] = self._constructor(closures, [])
                self._add_clause(closures, closures.of_function[expr], [], self._applied(expr, closures))
            return Call(closures.of_function[expr], ())
        captured = [var for var in free_vars(expr) if var is not name]
        constructor = self._constructor(closures, captured)
        inner = self._inside(_solve(type_of(expr), t))
        for var in [*captured] if name is None else [*captured, name]:
            inner.memo_map[var] = Var(var.name_hint, self.encoded(type_of(var)))
        held = [inner.visit_bound(var) for var in captured]
        params = tuple(map(inner.visit_bound, expr.params))
        computed = inner.value(expr.body, _function_type(expr).ret_type)
        body = Call(Function(params, computed, None, ()), closures.arguments)
        itself = body if name is None else Let(inner.visit_bound(name), Call(constructor, tuple(held)), body)
        self._add_clause(closures, constructor, held, itself)
        return Call(constructor, tuple(self.visit(var) for var in captured))

    def _applied(self, callee: RelayExpr, closures: _Closures) -> Call:
        """Return the application of a function that captures nothing."""
        if isinstance(callee, GlobalVar):
            types = _solve(type_of(callee), closures.type)
            type_args = [types[param] for param in self._program.mod[callee].type_params]
            callee = self._program.function(callee, type_args)
        return Call(callee, closures.arguments)

    def _constructor(self, closures: _Closures, captured: Sequence[Var]) -> Constructor:
        inputs = tuple(self.encoded(type_of(var)) for var in captured)
        constructor = Constructor(self._program.fresh("Closure"), inputs, closures.header)
        closures.constructors.append(constructor)
        return constructor

    def _add_clause(
        self, closures: _Closures, constructor: Constructor, held: Sequence[Var], result: RelayExpr
    ) -> None:
        pattern = PatternConstructor(constructor, tuple(PatternVar(var) for var in held))
        closures.clauses.append(Clause(pattern, result))


def _solve(scheme: Type, use: Type) -> dict[Type, Type]:
    """Return what the type variables of a type stand for where it is used as another one."""
    if isinstance(scheme, TypeVar):
        return {scheme: use}
    solved: dict[Type, Type] = {}
    for part, used in zip(_inner(scheme), _inner(use), strict=False):
        solved.update(_solve(part, used))
    return solved


def _inner(t: Type) -> Sequence[Type]:
    if isinstance(t, FuncType):
        return (*t.arg_types, t.ret_type)
    return t.args if isinstance(t, TypeCall) else type_parts(t)
