"""Programs of graphs as Python programs: ``tvm.relay.testing.py_converter``."""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from compiler.driver.relay.executor import runtime_value
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.names import take_name
from compiler.relay import operator
from compiler.relay.adt import Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var, as_expr
from compiler.relay.function import Function
from compiler.relay.interpreter import ConstructorValue, RefValue, apply_operator
from compiler.relay.operator import RelayOp
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.runtime.arrays.ndarray import NDArray, array
from compiler.runtime.container import ADT

__all__ = ["run_as_python", "to_python"]

_RESULT = "result"


def to_python(expr: GraphExpr, mod: IRModule | None = None, target: object = None) -> ast.Module:
    """Return a program as the syntax tree of a Python module, which calls its value ``result``.

    ``mod`` has the functions and data types that it names; operators are computed by NumPy, whatever the target. Raises
    ArgumentError if there is an expression that has no value.
    """
    return ast.parse(_Writer(mod or IRModule()).program(as_expr(expr)))


def run_as_python(expr: GraphExpr, mod: IRModule | None = None, target: object = None) -> Any:
    """Return the value of an expression, computed by the Python program that :func:`to_python` makes of it."""
    module = mod or IRModule()
    names = environment(module)
    exec(compile(to_python(expr, module, target), "<relay>", "exec"), names)
    return names[_RESULT]


def environment(mod: IRModule) -> dict[str, Any]:
    """Return the names that converted programs read."""
    constructors = {
        (header.name_hint, con.name_hint): con
        for header, data in mod.type_definitions.items()
        for con in data.constructors
    }
    return {
        "ADT": ADT,
        "ConstructorValue": ConstructorValue,
        "RefValue": RefValue,
        "array": lambda values, dtype: array(np.asarray(values, dtype)),
        "constructors": constructors,
        "inf": math.inf,
        "nan": math.nan,
        "operator": _operator,
        "no_match": _no_match,
    }


def _operator(name: str, attrs: dict[str, object], *args: object) -> object:
    """Return what an operator makes of values."""
    op = operator.get(name)
    return runtime_value(apply_operator(op, op.complete_attrs(attrs), [_numpy(a) for a in args]))


def _numpy(value: object) -> object:
    if isinstance(value, ADT):
        return tuple(_numpy(part) for part in value)
    return value.view() if isinstance(value, NDArray) else value


def _no_match(value: object) -> NoReturn:
    raise TVMError(f"no clause of a match matches {show(value)}")


class _Writer:
    """Writes Python, a statement for each expression."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._lines: list[str] = []
        self._depth = 0
        self._taken: set[str] = {_RESULT, *environment(mod)}
        self._scopes: list[dict[GraphExpr, str]] = [{}]
        self._globals: dict[GlobalVar, str] = {}

    def program(self, expr: GraphExpr) -> str:
        """Return the text of the program."""
        result = self._value(expr)
        self._line(f"{_RESULT} = {result}")
        return "\n".join(self._lines)

    # lines and names

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        """Write an indented block; what it computes is not known behind it."""
        self._line(head)
        self._depth += 1
        self._scopes.append({})
        yield
        self._scopes.pop()
        self._depth -= 1

    def _name(self, hint: str) -> str:
        name = re.sub(r"\W", "_", hint) or "_"
        return take_name(f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name, self._taken)

    def _assign(self, text: str, hint: str = "t") -> str:
        name = self._name(hint)
        self._line(f"{name} = {text}")
        return name

    # expressions

    def _value(self, expr: GraphExpr) -> str:
        """Return the name of an expression's value, after the statements that compute it."""
        for scope in reversed(self._scopes):
            if expr in scope:
                return scope[expr]
        name = self._compute(expr)
        self._scopes[-1][expr] = name
        return name

    def _values(self, exprs: Sequence[GraphExpr]) -> str:
        return ", ".join([self._value(e) for e in exprs])

    def _compute(self, expr: GraphExpr) -> str:
        match expr:
            case Constant():
                return self._assign(f"array({expr.value.tolist()!r}, {str(expr.data.dtype)!r})", "c")
            case Tuple():
                return self._assign(f"ADT(0, [{self._values(expr.fields)}])")
            case TupleGetItem():
                return self._assign(f"{self._value(expr.tuple_value)}[{expr.index}]")
            case Call():
                return self._call(expr)
            case Let():
                return self._let(expr)
            case Function():
                return self._function(expr, self._name("fn"))
            case GlobalVar():
                return self._global(expr)
            case Constructor():
                return self._assign(
                    f"lambda *fields: ConstructorValue({expr.tag}, fields, {_constructor(expr)})", "con"
                )
            case _:
                return self._effect_or_branch(expr)

    def _effect_or_branch(self, expr: GraphExpr) -> str:
        match expr:
            case If():
                return self._if(expr)
            case Match():
                return self._match(expr)
            case RefCreate():
                return self._assign(f"RefValue({self._value(expr.value)})", "ref")
            case RefRead():
                return self._assign(f"{self._value(expr.ref)}.value")
            case RefWrite():
                ref, value = self._value(expr.ref), self._value(expr.value)
                self._line(f"{ref}.value = {value}")
                return self._assign("ADT(0, [])")
            case _:
                raise ArgumentError(f"to_python: {type(expr).__name__} {show(expr)} has no value")

    def _call(self, call: Call) -> str:
        match call.op:
            case RelayOp():
                attrs = {name: value for name, value in call.attrs.items() if value is not None}
                args = self._values(call.args)
                return self._assign(f"operator({call.op.name!r}, {attrs!r}, {args})")
            case Constructor():
                fields = "".join(f"{self._value(a)}, " for a in call.args)
                return self._assign(f"ConstructorValue({call.op.tag}, ({fields}), {_constructor(call.op)})")
            case _:
                function = self._value(call.op)
                return self._assign(f"{function}({self._values(call.args)})")

    def _let(self, expr: Let) -> str:
        let: GraphExpr = expr
        while isinstance(let, Let):
            if isinstance(let.value, Function):
                name = self._name(let.var.name_hint)
                self._scopes[-1][let.var] = name  # a function may call itself
                self._function(let.value, name)
            else:
                self._scopes[-1][let.var] = self._value(let.value)
            let = let.body
        return self._value(let)

    def _function(self, function: Function, name: str) -> str:
        params: dict[GraphExpr, str] = {p: self._name(p.name_hint) for p in function.params}
        with self._block(f"def {name}({', '.join(params.values())}):"):
            self._scopes[-1].update(params)
            self._line(f"return {self._value(function.body)}")
        return name

    def _global(self, var: GlobalVar) -> str:
        """Return the name of a global function; its definition is written where it is needed first, and at the top."""
        if var not in self._globals:
            function = self._mod[var]
            if not isinstance(function, Function):
                raise ArgumentError(f"to_python: @{var.name_hint} must be a function of a graph, got {show(function)}")
            self._globals[var] = name = self._name(var.name_hint)
            outer = self._lines, self._depth, self._scopes
            self._lines, self._depth, self._scopes = [], 0, [{}]
            self._function(function, name)
            made = self._lines
            self._lines, self._depth, self._scopes = [*made, *outer[0]], outer[1], outer[2]
        return self._globals[var]

    def _if(self, expr: If) -> str:
        result, condition = self._name("t"), self._value(expr.cond)
        for head, branch in ((f"if {condition}.view():", expr.true_branch), ("else:", expr.false_branch)):
            with self._block(head):
                self._line(f"{result} = {self._value(branch)}")
        return result

    def _match(self, match: Match) -> str:
        result, data = self._name("t"), self._value(match.data)
        head = "if"
        for clause in match.clauses:
            tests: list[str] = []
            bound: dict[Var, str] = {}
            _conditions(clause.lhs, data, tests, bound)
            with self._block(f"{head} {' and '.join(tests) or 'True'}:"):
                for var, path in bound.items():
                    self._scopes[-1][var] = self._assign(path, var.name_hint)
                self._line(f"{result} = {self._value(clause.rhs)}")
            head = "elif"
        with self._block("else:" if match.clauses else "if True:"):
            self._line(f"{result} = no_match({data})")
        return result


def _constructor(con: Constructor) -> str:
    return f"constructors[{con.belong_to.name_hint!r}, {con.name_hint!r}]"


def _conditions(pattern: Pattern, path: str, tests: list[str], bound: dict[Var, str]) -> None:
    """Collect what must hold for a pattern to match, and where its variables get their values from."""
    if isinstance(pattern, PatternVar):
        bound[pattern.var] = path
    if isinstance(pattern, PatternConstructor):
        tests.append(f"{path}.constructor is {_constructor(pattern.constructor)}")
        path = f"{path}.fields"
    if isinstance(pattern, (PatternConstructor, PatternTuple)):
        for index, part in enumerate(pattern.patterns):
            _conditions(part, f"{path}[{index}]", tests, bound)
