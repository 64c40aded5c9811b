"""The rules of inference, one for each kind of expression.

Rules are generators: they yield the expressions whose types they need, and a loop with a stack of its own drives them.
So a chain of any number of operators needs no more of Python's stack than one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from types import GeneratorType
from typing import Any

from compiler.ir.error import TVMError
from compiler.ir.function import BaseFunc, GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.types import FuncType, InferredTypes, Type
from compiler.relay.adt import Constructor, Match
from compiler.relay.analysis import check_kind
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.inference.errors import Diagnostic, UnificationError, conflict, diagnose
from compiler.relay.inference.matching import constructor_type, infer_pattern, missing_cases
from compiler.relay.inference.operators import OperatorCalls
from compiler.relay.inference.solver import Solver, bind_dims, instantiate
from compiler.relay.operator import RelayOp
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.relay.ty import IncompleteType, RefType, TensorType, TupleType, scalar_type

Rule = Generator[Any, Type, Type]

_BOOL = scalar_type("bool")


class Inference:
    """One run over expressions that belong together.

    With ``reuse``, types that expressions have already are taken over without looking inside.
    """

    def __init__(self, mod: IRModule | None, reuse: bool = False) -> None:
        self.mod = mod
        self.reuse = reuse
        self.solver = Solver()
        self.types: dict[Any, Type] = {}
        self.free: list[Var] = []
        """Variables that were used where nothing defines them."""
        self.errors: list[Diagnostic] = []
        self.operators = OperatorCalls(self.solver, self.error)
        self.type_args: dict[Call, Sequence[Type]] = {}
        """What generic functions are applied to, where it is not written."""
        self._globals: dict[GlobalVar, Type] = {}
        self._headers: dict[Function, FuncType] = {}
        self._matches: list[Match] = []

    def error(self, message: str, expr: GraphExpr, for_renderers: Sequence[str] = ()) -> Type:
        """Record an error; return a fresh type variable, which unifies with everything."""
        self.errors.append(diagnose(message, expr.span, for_renderers))
        return IncompleteType()

    def visit(self, expr: GraphExpr) -> Type:
        """Return the type of an expression, as far as it is known now."""
        types, rules = self.types, _RULES
        stack: list[tuple[GraphExpr, Rule]] = []
        current: GraphExpr = expr
        sent: Any = None
        while True:
            answer: Any = types.get(current)
            if answer is None and self.reuse:
                answer = current.checked_type_
            if answer is None:
                rule = rules.get(type(current))
                answer = self._unknown(current) if rule is None else rule(self, current)
            while True:
                if type(answer) is GeneratorType:
                    stack.append((current, answer))
                    sent = None
                else:
                    types[current] = answer
                    if not stack:
                        return types[current]
                    sent = answer
                current, running = stack[-1]
                try:
                    current = running.send(sent)
                    break
                except StopIteration as end:
                    stack.pop()
                    answer = end.value

    def _unknown(self, expr: GraphExpr) -> Type:
        return self.error(f"{type(expr).__name__} is not an expression that has a type", expr)

    def unify(self, expected: Type, got: Type, expr: GraphExpr, what: Callable[[], str]) -> Type:
        """Make two types the same; where they cannot be, ``what()`` says of what at ``expr``."""
        try:
            return self.solver.unify(expected, got)
        except UnificationError as error:
            said = conflict(self.solver.resolve(expected), self.solver.resolve(got))
            return self.error(f"{what()}: {error}", expr, said)

    def annotated(self, t: Type | None, expr: GraphExpr) -> Type:
        """Return an annotation if it makes sense; a variable where there is none."""
        if t is None:
            return IncompleteType()
        if type(t) is not TensorType:
            try:
                check_kind(t, self.mod)
            except TVMError as error:
                return self.error(str(error), expr)
        return t

    # leaves

    def _constant(self, const: Constant) -> Type:
        return const.tensor_type

    def _var(self, var: Var) -> Type:
        self.free.append(var)
        return self.annotated(var.type_annotation, var)

    def _global_var(self, gvar: GlobalVar) -> Type | Rule:
        header = self._globals.get(gvar)
        if header is not None:
            return header
        func = self._definition(gvar)
        if not isinstance(func, Function):
            if gvar.checked_type_ is not None:
                return gvar.checked_type_
            fault = "is not defined in the module" if func is None else f"is a {type(func).__name__} without a type"
            return self.error(f"{gvar} {fault}", gvar)
        header = self._globals[gvar] = self.header(func)
        if self.solver.unknown_in(header) is None:
            return header
        return self._header_of(func, header)

    def _header_of(self, func: Function, header: FuncType) -> Rule:
        yield func
        return header

    def _definition(self, gvar: GlobalVar) -> BaseFunc | None:
        if self.mod is None:
            return None
        func = self.mod.functions.get(gvar)
        return self.mod[gvar.name_hint] if func is None and gvar.name_hint in self.mod else func

    def _constructor(self, con: Constructor) -> Type:
        try:
            return constructor_type(con, self.mod)
        except TVMError as error:
            return self.error(str(error), con)

    def _op(self, op: Op) -> Type:
        return self.error(f"operator {op.name} can only be called, it is not a value", op)

    # functions and calls

    def header(self, func: Function) -> FuncType:
        """Return what the annotations of a function say about its type, with variables for what they leave open."""
        header = self._headers.get(func)
        if header is None:
            params = tuple(self._param(p) for p in func.params)
            header = FuncType(params, self.annotated(func.ret_type, func), func.type_params)
            self._headers[func] = header
        return header

    def _param(self, param: Var) -> Type:
        t = self.types.get(param)
        if t is None:
            # What uses it may have its type already, and say nothing about it again.
            annotation = param.type_annotation or (param.checked_type_ if self.reuse else None)
            t = self.types[param] = self.annotated(annotation, param)
        return t

    def _function(self, func: Function) -> Rule:
        header = self.header(func)
        body = yield func.body
        self.unify(header.ret_type, body, func.body, lambda: "the function's body is not what its ret_type says")
        return header

    def _call(self, call: Call) -> Rule:
        types = self.types
        args = []
        for arg in call.args:
            args.append(types[arg] if arg in types else (yield arg))
        op = call.op
        if isinstance(op, RelayOp):
            return self.operators.apply(call, op, args)
        callee = types[op] if op in types else (yield op)
        return self._apply(call, self.solver.shallow(callee), args)

    def _apply(self, call: Call, callee: Type, args: Sequence[Type]) -> Type:
        """Return the type of the call of a function or constructor."""
        name = _name(call.op)
        if isinstance(callee, IncompleteType):
            result = IncompleteType()
            self.unify(callee, FuncType(tuple(args), result), call, lambda: f"call of {name}")
            return result
        if not isinstance(callee, FuncType):
            return self.error(f"{name} is called but is not a function, it is {self.solver.resolve(callee)}", call)
        if len(callee.arg_types) != len(args):
            takes, got = len(callee.arg_types), len(args)
            return self.error(f"{name} takes {takes} argument{'s' * (takes != 1)}, it is called with {got}", call)
        type_args = () if type(call.type_args) is InferredTypes else call.type_args
        if type_args and len(type_args) != len(callee.type_params):
            takes, got = len(callee.type_params), len(type_args)
            return self.error(f"{name} is generic in {takes} types, it is called with {got}", call)
        # What the body told of the result may name the type parameters, which are others for each use.
        if callee.type_params and isinstance(resolved := self.solver.resolve(callee), FuncType):
            callee = resolved
        if not type_args:
            type_args = self.type_args[call] = tuple(IncompleteType() for _ in callee.type_params)
        use = instantiate(callee, type_args)
        for i, (param, arg) in enumerate(zip(use.arg_types, args, strict=True)):
            self.unify(param, arg, call, partial("argument {} of {}".format, i + 1, name))
        try:
            ret_type = self.solver.resolve(use.ret_type)
            return bind_dims(use.arg_types, [self.solver.resolve(a) for a in args], ret_type)
        except UnificationError as error:
            return self.error(f"call of {name}: {error}", call)

    # control

    def _let(self, let: Let) -> Rule:
        var, value = let.var, let.value
        if isinstance(value, Function):  # it may call itself
            self.types[var] = self.header(value)
        t = yield value
        if var.type_annotation is not None:
            annotation = self.annotated(var.type_annotation, var)
            self.unify(annotation, t, let, lambda: f"the value of %{var.name_hint}")
            t = annotation
        self.types[var] = t
        return (yield let.body)

    def _if(self, i: If) -> Rule:
        cond = yield i.cond
        self.unify(_BOOL, cond, i.cond, lambda: "the condition of if must be a bool scalar")
        left = yield i.true_branch
        right = yield i.false_branch
        return self.unify(left, right, i, lambda: "the branches of if have different types")

    def _match(self, m: Match) -> Rule:
        data = yield m.data
        result: Type = IncompleteType()
        for clause in m.clauses:
            infer_pattern(self, clause.lhs, data, m)
            rhs = yield clause.rhs
            result = self.unify(result, rhs, clause.rhs, lambda: "the clauses of match have different types")
        if m.complete:
            self._matches.append(m)
        return result

    def check_matches(self) -> None:
        """Record the matches that must be exhaustive and are not."""
        for m in self._matches:
            missing = missing_cases(m, self.mod)
            if missing:
                self.error(f"match does not cover {', '.join(missing)}", m)

    # data

    def _tuple(self, tup: Tuple) -> Rule:
        fields = []
        for field in tup.fields:
            fields.append((yield field))
        return TupleType(tuple(fields))

    def _tuple_getitem(self, get: TupleGetItem) -> Rule:
        t = self.solver.shallow((yield get.tuple_value))
        if isinstance(t, TupleType):
            if 0 <= get.index < len(t.fields):
                return t.fields[get.index]
            return self.error(f"there is no element {get.index} in a tuple of {len(t.fields)}", get)
        if isinstance(t, IncompleteType):
            return self.operators.element_later(get, t)
        return self.error(f"only tuples have elements, this is {self.solver.resolve(t)}", get)

    def _ref_create(self, r: RefCreate) -> Rule:
        return RefType((yield r.value))

    def _ref_read(self, r: RefRead) -> Rule:
        return self._cell((yield r.ref), r)

    def _ref_write(self, r: RefWrite) -> Rule:
        held = self._cell((yield r.ref), r)
        value = yield r.value
        self.unify(held, value, r, lambda: "the value written to a reference")
        return TupleType(())

    def _cell(self, t: Type, expr: GraphExpr) -> Type:
        held = IncompleteType()
        self.unify(RefType(held), t, expr, lambda: "only references can be read and written")
        return held


def _name(callee: GraphExpr) -> str:
    """Return what a message calls the thing that is called."""
    match callee:
        case GlobalVar():
            return str(callee)
        case Var():
            return f"%{callee.name_hint}"
        case Constructor():
            return callee.name_hint
        case _:
            return "the function"


_RULES: dict[type, Callable[..., Any]] = {
    Call: Inference._call,
    Constant: Inference._constant,
    Constructor: Inference._constructor,
    Function: Inference._function,
    GlobalVar: Inference._global_var,
    If: Inference._if,
    Let: Inference._let,
    Match: Inference._match,
    RelayOp: Inference._op,
    RefCreate: Inference._ref_create,
    RefRead: Inference._ref_read,
    RefWrite: Inference._ref_write,
    Tuple: Inference._tuple,
    TupleGetItem: Inference._tuple_getitem,
    Var: Inference._var,
}
