"""PartialEvaluate: evaluates static values and control flow at compile time."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.relay.transform.partial_values import (
    Block,
    Environment,
    KnownCell,
    KnownData,
    KnownFunction,
    KnownTensor,
    KnownTuple,
    Value,
)
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.structural import structural_equal
from compiler.ir.transform import ModulePass, PassContext
from compiler.ir.types import Type, TypeVar
from compiler.relay.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from compiler.relay.analysis import all_type_vars
from compiler.relay.analysis.scopes import is_kernel
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_copies, with_copies
from compiler.relay.operator import RelayOp, operator_of
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.relay.transform.fold.fold_constant import FoldConstantExpr
from compiler.relay.transform.normal_form.to_a_normal_form import normal_form

_MAX_DEPTH = 120
"""Calls inside of each other that are evaluated; beyond, they are left to the running program."""
_MAX_CALLS = 20_000
"""Calls that are evaluated in one function of the module."""


class PartialEvaluate(ModulePass, opt_level=1):
    """Evaluate functions as far as their code decides: calls of known functions, branches on known values, matches of
    known data, reads of known references, operators on constants.

    Level 1.  What is left is in A-normal form, with variables that nothing uses; :class:`DeadCodeElimination` removes
    them, and :class:`RemoveUnusedFunctions` the functions that nothing calls any more.  See N. D. Jones, C. K. Gomard
    and P. Sestoft, "Partial Evaluation and Automatic Program Generation", Prentice Hall 1993.

    Examples
    --------
    ``PartialEvaluate(), RemoveUnusedFunctions()``::

        def @main(%x: float32) { @power(%x, 2) }
        def @power(%b: float32, %n: int32) -> float32 {
          if (equal(%n, 0)) { 1f } else { multiply(%b, @power(%b, subtract(%n, 1))) }
        }
        ->
        def @main(%x: float32) {
          let %a = multiply(%x, 1f);
          let %b = multiply(%x, %a);
          %b
        }

    ``PartialEvaluate(), DeadCodeElimination(ignore_impurity=True)``::

        def @main(%x: float32) {
          let %r = ref(%x);
          let %u = ref_write(%r, exp(%x));
          ref_read(%r)
        }
        ->
        def @main(%x: float32) {
          let %a = exp(%x);
          %a
        }
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions: dict[GlobalVar, RelayExpr] = {}
        given, mod = mod, with_copies(mod)
        for var, func in mod.items():
            functions[var] = func
            if isinstance(func, Function) and not is_kernel(func):
                with derived_from(func.span):
                    functions[var] = _Evaluator(mod).module_function(var, func)
        result = mod.with_functions(functions)
        return given if result is mod else infer_copies(result)


class _Evaluator:
    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._bodies: dict[GraphExpr, RelayExpr] = {}
        self._globals: dict[GraphExpr, Value] = {}
        self._cells: dict[KnownCell, Value] = {}
        self._undecided = 0
        """How many undecided branches, and functions that only the running program calls, are around."""
        self._calls = 0
        self._depth = 0
        self._type_params: set[TypeVar] = set()

    def module_function(self, var: GlobalVar, func: Function) -> Function:
        """Return a function of the module with its body evaluated."""
        known = self._global(var).known
        assert isinstance(known, KnownFunction)
        self._type_params.update(func.type_params)
        block, scope = Block(), Environment(None, [(p, Value(None, p)) for p in func.params])
        known.running.append(self._undecided)
        body = block.around(self._value(self._body(func), scope, block).code)
        new = rebuild(func, body=body)
        return func if structural_equal(func, new) else new

    def _body(self, func: Function) -> RelayExpr:
        if func not in self._bodies:
            self._bodies[func] = normal_form(func.body)
        return self._bodies[func]

    # expressions

    def _value(self, e: GraphExpr, scope: Environment, block: Block) -> Value:
        while isinstance(e, Let):
            if isinstance(e.value, Function) and not is_kernel(e.value):
                scope[e.var] = self._closure(e.value, scope, block, e.var)
            else:
                scope[e.var] = self._step(e.value, scope, block, e.var.name_hint)
            e = e.body
        return self._step(e, scope, block, "x")

    def _step(self, e: GraphExpr, scope: Environment, block: Block, name: str) -> Value:
        with derived_from(e.span):
            match e:
                case Var():
                    return scope[e]
                case Constant():
                    return Value(KnownTensor(e), e)
                case GlobalVar():
                    return self._global(e)
                case Call():
                    return self._call(e, scope, block, name)
                case If():
                    return self._if(e, scope, block, name)
                case Match():
                    return self._match(e, scope, block, name)
                case Tuple():
                    fields = tuple(self._step(f, scope, block, "x") for f in e.fields)
                    return Value(KnownTuple(fields), lambda: block.emit(Tuple(_codes(fields)), name))
                case TupleGetItem():
                    value = self._step(e.tuple_value, scope, block, "x")
                    if isinstance(value.known, KnownTuple) and e.index < len(value.known.fields):
                        return value.known.fields[e.index]
                    return Value(None, block.emit(TupleGetItem(value.code, e.index), name))
                case RefCreate() | RefRead() | RefWrite():
                    return self._reference(e, scope, block, name)
                case Function() if not is_kernel(e):
                    return self._closure(e, scope, block, None)
                case Constructor():
                    return Value(KnownFunction(lambda args, at: self._data(e, args, at, "x")), e)
                case _:
                    return Value(None, e)

    def _call(self, call: Call, scope: Environment, block: Block, name: str) -> Value:
        args = [self._step(arg, scope, block, "x") for arg in call.args]
        if isinstance(call.op, RelayOp):
            return self._operator(call, args, block, name)
        if isinstance(call.op, Constructor):
            return self._data(call.op, args, block, name)
        callee = self._step(call.op, scope, block, "x")
        if isinstance(callee.known, KnownFunction) and self._may_evaluate(callee.known):
            return self._evaluate(callee.known, args, block)
        if not (isinstance(call.op, Function) and is_kernel(call.op)):
            self._cells.clear()  # it may write to any reference
        return Value(None, block.emit(Call(callee.code, _codes(args), call.attrs, call.type_args), name))

    def _operator(self, call: Call, args: Sequence[Value], block: Block, name: str) -> Value:
        constants = [c for arg in args if (c := _constant(arg)) is not None]
        if not operator_of(call).stateful and len(constants) == len(args):
            folded = _known(FoldConstantExpr(Call(call.op, tuple(constants), call.attrs), self._mod), block)
            if folded is not None:
                return folded
        return Value(None, block.emit(Call(call.op, _codes(args), call.attrs), name))

    def _data(self, con: Constructor, args: Sequence[Value], block: Block, name: str) -> Value:
        return Value(KnownData(con, tuple(args)), lambda: block.emit(Call(con, _codes(args)), name))

    def _may_evaluate(self, func: KnownFunction) -> bool:
        """Return whether to evaluate a call.

        A function that calls itself is followed as long as nothing undecided lies between the two calls.  Closures that
        make each other anew are no end of functions, so that depth alone ends some programs.
        """
        if self._calls >= _MAX_CALLS or self._depth >= _MAX_DEPTH:
            return False
        return not func.running or func.running[-1] == self._undecided

    def _evaluate(self, func: KnownFunction, args: Sequence[Value], block: Block) -> Value:
        self._calls += 1
        self._depth += 1
        func.running.append(self._undecided)
        try:
            return func.apply(args, block)
        finally:
            func.running.pop()
            self._depth -= 1

    def _reference(self, e: RefCreate | RefRead | RefWrite, scope: Environment, block: Block, name: str) -> Value:
        if isinstance(e, RefCreate):
            value, cell = self._step(e.value, scope, block, "x"), KnownCell()
            self._cells[cell] = value
            return Value(cell, block.emit(RefCreate(value.code), name))
        ref = self._step(e.ref, scope, block, "x")
        cell_known = ref.known if isinstance(ref.known, KnownCell) else None
        if isinstance(e, RefRead):
            if cell_known in self._cells:
                return self._cells[cell_known]
            return Value(None, block.emit(RefRead(ref.code), name))
        value = self._step(e.value, scope, block, "x")
        if cell_known is None:
            self._cells.clear()  # it may be any of them
        else:
            self._cells[cell_known] = value
        return Value(KnownTuple(()), block.emit(RefWrite(ref.code, value.code), name))

    # functions

    def _global(self, gvar: GlobalVar) -> Value:
        if gvar not in self._globals:
            func = self._mod.functions.get(gvar)
            known = self._function(func, None) if isinstance(func, Function) and not is_kernel(func) else None
            self._globals[gvar] = Value(known, gvar)
        return self._globals[gvar]

    def _function(self, func: Function, scope: Environment | None) -> KnownFunction:
        def apply(args: Sequence[Value], block: Block) -> Value:
            if len(args) != len(func.params):
                count = len(func.params)
                raise ArgumentError(f"PartialEvaluate: a function of {count} parameters is called with {len(args)}")
            inner = Environment(scope, zip(func.params, args, strict=True))
            return self._value(self._body(func), inner, block)

        return KnownFunction(apply)

    def _closure(self, func: Function, scope: Environment, block: Block, var: Var | None) -> Value:
        known = self._function(func, scope)
        name = "f" if var is None else var.name_hint

        def write() -> Var:
            itself = Var(name)
            value.stands_for(itself)
            block.define(itself, self._residual(func, known))
            return itself

        value = Value(known, write)
        return value

    def _residual(self, func: Function, known: KnownFunction) -> Function:
        """Return the code of a function that the running program calls, with whatever arguments."""
        outer_types, self._type_params = self._type_params, self._type_params | set(func.type_params)
        params = tuple(Var(p.name_hint, self._written(p.type_annotation or p.checked_type_)) for p in func.params)
        known.running.append(self._undecided)
        cells, self._cells = self._cells, {}
        block = Block()
        self._undecided += 1
        body = block.around(known.apply([Value(None, p) for p in params], block).code)
        self._undecided -= 1
        self._cells = cells
        known.running.pop()
        ret_type = self._written(func.ret_type)
        self._type_params = outer_types
        return Function(params, body, ret_type, func.type_params, func.attrs)

    def _written(self, t: Type | None) -> Type | None:
        """Return a type if it can be written here: not if it speaks of what a function was generic in."""
        return None if t is None or not self._type_params.issuperset(all_type_vars(t)) else t

    # branches

    def _if(self, i: If, scope: Environment, block: Block, name: str) -> Value:
        cond = self._step(i.cond, scope, block, "x")
        if isinstance(cond.known, KnownTensor):
            taken = i.true_branch if bool(cond.known.constant.value) else i.false_branch
            return self._value(taken, Environment(scope), block)
        inner = Environment(scope)
        branches = self._branches([(i.true_branch, inner), (i.false_branch, inner)])
        return Value(None, block.emit(If(cond.code, *branches), name))

    def _match(self, m: Match, scope: Environment, block: Block, name: str) -> Value:
        data = self._step(m.data, scope, block, "x")
        for clause in m.clauses:
            inner = Environment(scope)
            fits = _fits(clause.lhs, data, inner)
            if fits:
                return self._value(clause.rhs, inner, block)
            if fits is None:
                break
        patterns, choices = [], []
        for clause in m.clauses:
            inner = Environment(scope)
            patterns.append(_fresh_pattern(clause.lhs, inner))
            choices.append((clause.rhs, inner))
        clauses = [Clause(p, rhs) for p, rhs in zip(patterns, self._branches(choices), strict=True)]
        return Value(None, block.emit(Match(data.code, tuple(clauses), m.complete), name))

    def _branches(self, choices: Sequence[tuple[RelayExpr, Environment]]) -> list[RelayExpr]:
        """Return the code of branches of which one is taken; afterwards only what none has changed is known."""
        before = self._cells
        codes, after = [], []
        self._undecided += 1
        for e, scope in choices:
            self._cells = dict(before)
            block = Block()
            codes.append(block.around(self._value(e, scope, block).code))
            after.append(self._cells)
        self._undecided -= 1
        self._cells = {cell: v for cell, v in before.items() if all(known.get(cell) is v for known in after)}
        return codes


def _codes(values: Sequence[Value]) -> tuple[RelayExpr, ...]:
    return tuple(v.code for v in values)


def _constant(value: Value) -> RelayExpr | None:
    """Return a value as a constant, or a tuple of constants; None if it is not known."""
    if isinstance(value.known, KnownTensor):
        return value.known.constant
    if not isinstance(value.known, KnownTuple):
        return None
    fields = [f for each in value.known.fields if (f := _constant(each)) is not None]
    return Tuple(tuple(fields)) if len(fields) == len(value.known.fields) else None


def _known(e: GraphExpr, block: Block) -> Value | None:
    if isinstance(e, Constant):
        return Value(KnownTensor(e), e)
    if not isinstance(e, Tuple):
        return None
    fields = [_known(f, block) for f in e.fields]
    known = tuple(f for f in fields if f is not None)
    return Value(KnownTuple(known), lambda: block.emit(e)) if len(known) == len(fields) else None


def _fits(pattern: Pattern, value: Value, scope: Environment) -> bool | None:
    """Return whether a pattern fits a value, None if that is not known; puts what it names into the scope."""
    match pattern:
        case PatternWildcard():
            return True
        case PatternVar(var=var):
            scope[var] = value
            return True
        case PatternConstructor(constructor=con):
            if not isinstance(value.known, KnownData):
                return None
            if value.known.constructor is not con:
                return False
            fields = value.known.fields
        case PatternTuple() if isinstance(value.known, KnownTuple):
            fields = value.known.fields
        case _:
            return None
    if len(pattern.patterns) != len(fields):
        raise ArgumentError(f"PartialEvaluate: a pattern of {len(pattern.patterns)} parts stands for {len(fields)}")
    verdicts = [_fits(p, f, scope) for p, f in zip(pattern.patterns, fields, strict=True)]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _fresh_pattern(pattern: Pattern, scope: Environment) -> Pattern:
    """Return a pattern with fresh variables, bound in the scope in place of those of ``pattern``."""
    match pattern:
        case PatternVar(var=var):
            fresh = Var(var.name_hint)
            scope[var] = Value(None, fresh)
            return PatternVar(fresh)
        case PatternConstructor() | PatternTuple():
            parts = tuple(_fresh_pattern(p, scope) for p in pattern.patterns)
            return rebuild(pattern, patterns=parts)
        case _:
            return pattern
