"""Reverse-mode differentiation of whole programs: closures, branches, recursion, references and ADTs.

Every tensor becomes a pair of its value and a cell for its gradient.  One more cell holds what is left to do backwards,
a closure; each operator puts one before it that adds to the gradients of its arguments.  When the program has run,
calling what is in that cell goes back through all operators that were really computed.  See Wang et al., "Demystifying
differentiable programming: shift/reset the penultimate backpropagator" (2019).
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from
from compiler.ir.types import FuncType, Type
from compiler.relay.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    TypeData,
)
from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference import infer_expr
from compiler.relay.inference.solver import map_parts
from compiler.relay.operator import RelayOp, call_op
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.relay.transform.derivatives.gradient_values import map_tensors, ones, operator_gradient, zeros
from compiler.relay.transform.normal_form.beta_reduce import beta_reduced
from compiler.relay.transform.normal_form.to_a_normal_form import normal_form
from compiler.relay.ty import RefType, TensorType, TupleType

_NOTHING = TupleType(())
_BACKWARD = RefType(FuncType((), _NOTHING))


def higher_order(func: Function, mod: IRModule | None) -> Function:
    """Return the function of a program's result and gradients.

    The functions of the module that it calls get companions in the module, named after them with ``_grad``.
    """
    t = _typed(func, mod)
    backward = Var("backward", _BACKWARD)
    lets = _Lets()
    lets.add(RefCreate(Function((), Tuple(()), _NOTHING)), backward)
    program = _Program(mod, {})
    pairs = {p: lets.add(_with_cells(p, p.checked_type)) for p in t.params}
    result = lets.add(_Block(program, backward, pairs, lets).expr(t.body))
    result_type = t.body.checked_type
    value = lets.add(_map_pairs(result_type, result, lambda pair, _: TupleGetItem(pair, 0)), Var("value", result_type))
    _start(lets, result_type, result, value)
    lets.add(Call(RefRead(backward), ()))
    grads = [lets.add(_map_pairs(p.checked_type, pairs[p], _read)) for p in t.params]
    result_and_grads = Tuple((value, Tuple(tuple(grads))))
    return Function(t.params, lets.around(result_and_grads), None, func.type_params, func.attrs)


def _typed(func: Function, mod: IRModule | None) -> Function:
    """Return a function in A-normal form, with the types of all expressions."""
    body = normal_form(beta_reduced(func.body))
    typed = Function(func.params, body, func.ret_type, func.type_params, func.attrs)
    infer_expr(typed, mod)
    return typed


class _Lets:
    """A block that is being written."""

    def __init__(self) -> None:
        self._bindings: list[tuple[Var, RelayExpr]] = []

    def add(self, value: RelayExpr, var: Var | None = None) -> Var:
        if isinstance(value, Var) and var is None:
            return value
        var = Var("x") if var is None else var
        self._bindings.append((var, value))
        return var

    def around(self, body: RelayExpr) -> RelayExpr:
        for var, value in reversed(self._bindings):
            body = Let(var, value, body)
        return body


class _Program:
    """The functions of the module, and their companions."""

    def __init__(self, mod: IRModule | None, companions: dict[GlobalVar, GlobalVar]) -> None:
        self.mod = mod
        self._companions = companions

    def companion(self, gvar: GlobalVar) -> GlobalVar:
        """Return the function that takes the cell of what is left to do, and the pairs of a function's arguments."""
        if gvar not in self._companions:
            assert self.mod is not None
            name = f"{gvar.name_hint}_grad"
            companion = self.mod.get_global_var(name) if name in self.mod else GlobalVar(name)
            self._companions[gvar] = companion
            func = _typed(self.mod[gvar], self.mod)
            backward = Var("backward", _BACKWARD)
            made = _Block(self, backward, {}, _Lets()).function(func)
            self.mod[companion] = Function((backward, *made.params), made.body, made.ret_type, func.type_params)
        return self._companions[gvar]


class _Block:
    """The rules, for the expressions of one block in A-normal form."""

    def __init__(self, program: _Program, backward: Var, pairs: dict[Var, Var], lets: _Lets) -> None:
        self._program = program
        self._backward = backward
        self._pairs = pairs
        self._lets = lets

    def expr(self, e: GraphExpr) -> RelayExpr:
        while isinstance(e, Let):
            self._let(e)
            e = e.body
        return self._value(e)

    def _let(self, let: Let) -> None:
        pair = self._pairs[let.var] = Var(let.var.name_hint, pair_type(let.var.checked_type))
        with derived_from(let.value.span):
            self._lets.add(self._value(let.value), pair)

    def _inside(self, e: GraphExpr) -> RelayExpr:
        lets = _Lets()
        return lets.around(_Block(self._program, self._backward, self._pairs, lets).expr(e))

    def _value(self, e: GraphExpr) -> RelayExpr:
        match e:
            case Var():
                return self._pairs[e]
            case Constant():
                return Tuple((e, RefCreate(zeros(e))))
            case Call():
                return self._call(e)
            case If():
                cond = TupleGetItem(self._value(e.cond), 0)
                return If(cond, self._inside(e.true_branch), self._inside(e.false_branch))
            case Match():
                clauses = [Clause(self._pattern(c.lhs), self._inside(c.rhs)) for c in e.clauses]
                return Match(self._value(e.data), tuple(clauses), e.complete)
            case Tuple():
                return Tuple(tuple(self._value(f) for f in e.fields))
            case TupleGetItem():
                return TupleGetItem(self._value(e.tuple_value), e.index)
            case RefCreate():
                return RefCreate(self._value(e.value))
            case RefRead():
                return RefRead(self._value(e.ref))
            case RefWrite():
                return RefWrite(self._value(e.ref), self._value(e.value))
            case Function():
                return self.function(e)
            case GlobalVar() | Constructor():
                return self._function_value(e)
            case _:
                raise ArgumentError(f"gradient: a {type(e).__name__} cannot be differentiated")

    def function(self, func: Function) -> Function:
        """Return the function of pairs for a function."""
        params = []
        for p in func.params:
            self._pairs[p] = Var(p.name_hint, pair_type(p.checked_type))
            params.append(self._pairs[p])
        ret_type = pair_type(func.checked_type.ret_type)
        return Function(tuple(params), self._inside(func.body), ret_type, func.type_params)

    def _pattern(self, pattern: Pattern) -> Pattern:
        match pattern:
            case PatternVar(var=var):
                self._pairs[var] = Var(var.name_hint, pair_type(var.checked_type))
                return PatternVar(self._pairs[var])
            case PatternConstructor(constructor=con, patterns=parts):
                self._check(con)
                return PatternConstructor(con, tuple(self._pattern(p) for p in parts))
            case PatternTuple(patterns=parts):
                return PatternTuple(tuple(self._pattern(p) for p in parts))
            case _:
                return pattern

    def _check(self, con: Constructor) -> None:
        mod = self._program.mod
        data = None if mod is None else mod.type_definitions.get(con.belong_to)
        for made in data.constructors if isinstance(data, TypeData) else (con,):
            if any(pair_type(t) is not t for t in made.inputs):
                raise ArgumentError(
                    f"gradient: {made.name_hint} holds a tensor; its type must be polymorphic to hold gradients as well"
                )

    def _function_value(self, callee: GlobalVar | Constructor) -> Function:
        t = callee.checked_type
        params = tuple(Var("x", pair_type(a)) for a in t.arg_types)
        return Function(params, self._apply(callee, params), pair_type(t.ret_type), t.type_params)

    def _call(self, call: Call) -> RelayExpr:
        if isinstance(call.op, RelayOp):
            return self._operator(call)
        return self._apply(call.op, tuple(self._value(arg) for arg in call.args))

    def _apply(self, callee: GraphExpr, args: tuple[RelayExpr, ...]) -> Call:
        if isinstance(callee, GlobalVar):
            return Call(self._program.companion(callee), (self._backward, *args))
        if isinstance(callee, Constructor):
            self._check(callee)
            return Call(callee, args)
        return Call(self._value(callee), args)

    def _operator(self, call: Call) -> RelayExpr:
        """Compute the value now, and put what it adds to gradients before what is left to do."""
        add = self._lets.add
        args = [add(self._value(arg)) for arg in call.args]
        types = [arg.checked_type for arg in call.args]
        values = [self._forward(t, arg) for t, arg in zip(types, args, strict=True)]
        forward = Call(call.op, tuple(values), call.attrs)
        value = add(forward, Var("v", infer_expr(forward)))
        pair = add(_with_cells(value, call.checked_type))
        rest = add(RefRead(self._backward))
        back = _Lets()
        grad = self._cells_read(back, call.checked_type, pair)
        grads = operator_gradient(forward, grad)
        if all(g is None for g in grads):
            return pair
        for t, arg, part in zip(types, args, grads, strict=True):
            if part is not None:
                part = bottom_up(_Replace(forward, value), part)
                _accumulate(back, t, arg, part)
        add(RefWrite(self._backward, Function((), back.around(Call(rest, ())), _NOTHING)))
        return pair

    def _forward(self, t: Type, pair: RelayExpr) -> RelayExpr:
        """Return the value in a pair, by a name of known type."""
        return _map_pairs(t, pair, lambda p, t: self._lets.add(TupleGetItem(p, 0), Var("v", t)))

    def _cells_read(self, back: _Lets, t: Type, pair: RelayExpr) -> RelayExpr:
        return _map_pairs(t, pair, lambda p, t: back.add(_read(p, t), Var("g", t)))


def _accumulate(back: _Lets, t: Type, pair: RelayExpr, grad: RelayExpr) -> None:
    if isinstance(t, TupleType):
        grad = grad if isinstance(grad, Tuple) else back.add(grad)
        for i, field in enumerate(t.fields):
            part = grad.fields[i] if isinstance(grad, Tuple) else TupleGetItem(grad, i)
            _accumulate(back, field, TupleGetItem(pair, i), part)
        return
    cell = back.add(TupleGetItem(pair, 1))
    back.add(RefWrite(cell, call_op("add", RefRead(cell), grad)))


def _start(lets: _Lets, t: Type, pair: RelayExpr, value: RelayExpr) -> None:
    """Write ones into the cell of a result: of a tuple into that of its first tensor, which is what TVM differentiates.

    An empty tuple has no gradient.
    """
    while isinstance(t, TupleType):
        if not t.fields:
            return
        t, pair, value = t.fields[0], TupleGetItem(pair, 0), TupleGetItem(value, 0)
    lets.add(RefWrite(TupleGetItem(pair, 1), ones(value)))


def _read(pair: RelayExpr, t: Type) -> RelayExpr:
    """Return the gradient that is in the cell of a pair."""
    return RefRead(TupleGetItem(pair, 1))


def pair_type(t: Type) -> Type:
    """Return what becomes of a type: every tensor in it is a pair of a value and a cell for its gradient."""
    return TupleType((t, RefType(t))) if isinstance(t, TensorType) else map_parts(t, pair_type)


def _with_cells(value: RelayExpr, t: Type) -> RelayExpr:
    """Return a value with a cell for the gradient of every tensor."""
    return map_tensors(t, value, lambda tensor: Tuple((tensor, RefCreate(zeros(tensor)))))


def _map_pairs(t: Type, pair: RelayExpr, change: Callable[[RelayExpr, Type], RelayExpr]) -> RelayExpr:
    """Return what has the structure of ``t``, made of the pairs of its tensors."""
    if isinstance(t, TupleType):
        return Tuple(tuple(_map_pairs(f, TupleGetItem(pair, i), change) for i, f in enumerate(t.fields)))
    if not isinstance(t, TensorType):
        raise ArgumentError(f"gradient: the arguments of operators and the result must be tensors, got {t}")
    return change(pair, t)


class _Replace(ExprMutator):
    def __init__(self, old: GraphExpr, new: RelayExpr) -> None:
        super().__init__()
        self.memo_map[old] = new
