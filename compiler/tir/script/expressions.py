"""Evaluates the expressions of a TVMScript program: Python where only Python values meet, nodes where nodes do."""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import TVMError, did_you_mean
from compiler.ir.op import Op
from compiler.ir.origin import derived_from, mint_location
from compiler.ir.primexpr import (
    And,
    Call,
    CommReducer,
    ExprLike,
    Let,
    Not,
    Or,
    PrimExpr,
    StringImm,
    Var,
    as_exprs,
    const,
    convert,
    is_const_int,
)
from compiler.tir.buffer import Buffer, BufferLoad
from compiler.tir.builtin import IF_THEN_ELSE
from compiler.tir.script import expression_words
from compiler.tir.script.definitions import BufferSlice, Declaration, Scope
from compiler.tir.script.operators import BINARY, BITWISE, COMPARISONS, binary_node, call_op, is_symbolic, matched
from compiler.tir.script.source import ScriptError, Source

__all__ = ["Expressions", "described"]

_BUILTINS = {name: getattr(builtins, name) for name in ("bool", "float", "int", "len", "range", "str")}


class Expressions:
    """Evaluates expressions with the names that are visible.

    Parameters
    ----------
    source : Source
        For errors.
    environment : mapping of str to object
        What the user's file defines around the program.
    """

    def __init__(self, source: Source, environment: Mapping[str, Any]) -> None:
        self.source = source
        self.names: dict[str, Any] = {}
        self._environment = environment

    @contextmanager
    def at(self, n: ast.AST) -> Iterator[None]:
        """Let what is built inside come from the line of ``n``, and let errors say it."""
        try:
            with derived_from(mint_location(self.source.line(n).strip(), self.source.location(n))):
                yield
        except ScriptError:
            raise
        except (TVMError, TypeError, ValueError, AttributeError, LookupError) as error:
            raise self.source.error(n, str(error)) from error

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end what is defined inside."""
        saved = dict(self.names)
        try:
            yield
        finally:
            self.names = saved

    def expr(self, n: ast.expr) -> PrimExpr:
        """Return the value of ``n`` as an expression."""
        value = self.value(n)
        if isinstance(value, (Declaration, Scope)):
            raise self.source.error(n, "expected an expression; what this declares needs a name: `x = …`")
        try:
            return StringImm(value) if isinstance(value, str) else convert(value)
        except TVMError as error:
            raise self.source.error(n, str(error)) from error

    def value(self, n: ast.expr) -> Any:
        """Return the value of ``n``: an expression, a buffer, or whatever Python object it is."""
        method = getattr(self, f"_{type(n).__name__}", None)
        if method is None:
            raise self.source.error(n, f"{described(n)} is not part of TVMScript")
        return method(n)

    # names and literals

    def _Constant(self, n: ast.Constant) -> Any:
        return n.value

    def _Name(self, n: ast.Name) -> Any:
        for table in (self.names, self._environment, _BUILTINS):
            if n.id in table:
                return table[n.id]
        raise self.source.error(n, f"the name {n.id!r} is not defined{did_you_mean(n.id, self.names)}")

    def _Attribute(self, n: ast.Attribute) -> Any:
        if n.attr.startswith("_"):
            raise self.source.error(n, f"{n.attr!r} is private")
        value = self.value(n.value)
        try:
            return getattr(value, n.attr)
        except AttributeError as error:
            raise self.source.error(n, str(error)) from None

    def _Tuple(self, n: ast.Tuple) -> tuple[Any, ...]:
        return tuple([self.value(e) for e in n.elts])

    def _List(self, n: ast.List) -> list[Any]:
        return [self.value(e) for e in n.elts]

    def _Dict(self, n: ast.Dict) -> dict[Any, Any]:
        if any(key is None for key in n.keys):
            raise self.source.error(n, "`**` in a dictionary is not part of TVMScript")
        return {self.value(key): self.value(value) for key, value in zip(n.keys, n.values, strict=True) if key}

    # operators

    def _BinOp(self, n: ast.BinOp) -> Any:
        a, b = self.value(n.left), self.value(n.right)
        kind = type(n.op)
        if kind in BINARY:
            python, node = BINARY[kind]
            if not (is_symbolic(a) or is_symbolic(b)):
                return self._python(n, python, a, b)
            with self.errors(n):
                return binary_node(node, a, b)
        if kind not in BITWISE:
            raise self.source.error(n, f"{described(n.op)} is not part of TVMScript")
        python, name = BITWISE[kind]
        if not (is_symbolic(a) or is_symbolic(b)):
            return self._python(n, python, a, b)
        with self.errors(n):
            return call_op(Op.get(name), *matched(a, b, name))

    def _UnaryOp(self, n: ast.UnaryOp) -> Any:
        value = self.value(n.operand)
        symbolic = is_symbolic(value)
        match n.op:
            case ast.Not():
                return Not(convert(value)) if symbolic else not value
            case ast.Invert():
                return call_op(Op.get("tir.bitwise_not"), value) if symbolic else ~value
            case ast.USub():
                return -value
        return value

    def _BoolOp(self, n: ast.BoolOp) -> Any:
        kind = And if isinstance(n.op, ast.And) else Or
        result = self.value(n.values[0])
        for operand in n.values[1:]:
            other = self.value(operand)
            with self.errors(n):
                if is_symbolic(result) or is_symbolic(other):
                    result = binary_node(kind, result, other)
                else:
                    result = (result and other) if kind is And else (result or other)
        return result

    def _Compare(self, n: ast.Compare) -> Any:
        if len(n.ops) > 1:
            raise self.source.error(n, "comparisons do not chain: write `a < b and b < c`")
        if type(n.ops[0]) not in COMPARISONS:
            raise self.source.error(n, f"{described(n.ops[0])} is not part of TVMScript")
        python, node = COMPARISONS[type(n.ops[0])]
        a, b = self.value(n.left), self.value(n.comparators[0])
        if not (is_symbolic(a) or is_symbolic(b)):
            return self._python(n, python, a, b)
        with self.errors(n):
            return binary_node(node, a, b)

    def _IfExp(self, n: ast.IfExp) -> Any:
        condition = self.value(n.test)
        if not is_symbolic(condition):
            return self.value(n.body if condition else n.orelse)
        then, other = self.expr(n.body), self.expr(n.orelse)
        return Call(then.dtype, IF_THEN_ELSE, (convert(condition), then, other))

    # memory and calls

    def _Subscript(self, n: ast.Subscript) -> Any:
        target = self.value(n.value)
        if not isinstance(target, Buffer):
            if isinstance(target, Var):
                return self.behind_pointer(n, target, self.expr(n.slice), None)
            with self.errors(n):
                return target[self.value(n.slice)]
        indices = self._completed_indices(n, target)
        if any(isinstance(i, slice) for i in indices):
            return BufferSlice(target, indices)
        return BufferLoad(target, indices)

    def _completed_indices(self, n: ast.Subscript, target: Buffer) -> tuple[Any, ...]:
        """Return an index for each dimension; trailing dimensions of one element need none."""
        indices = self.indices(n.slice)
        count = len(target.shape)
        if len(indices) > count or not all(is_const_int(dim, 1) for dim in target.shape[len(indices) :]):
            raise self.source.error(n, f"{target.name!r} has {count} dimensions, got {len(indices)} indices")
        return indices + tuple([const(0, dim.dtype) for dim in target.shape[len(indices) :]])

    def indices(self, n: ast.expr) -> tuple[Any, ...]:
        """Return the indices of a subscript: expressions, and slices of them."""
        parts = n.elts if isinstance(n, ast.Tuple) else [n]
        return tuple([self._slice(p) if isinstance(p, ast.Slice) else self._index(p) for p in parts])

    def _index(self, n: ast.expr) -> PrimExpr:
        index = self.expr(n)
        if dt.is_float(dt.element(index.dtype)):
            raise self.source.error(n, f"an index is an integer, got {index.dtype}")
        return index

    def _slice(self, n: ast.Slice) -> slice:
        if n.upper is None:
            raise self.source.error(n, "a slice needs an end")
        low = convert(0) if n.lower is None else self.expr(n.lower)
        return slice(low, self.expr(n.upper), None if n.step is None else self.value(n.step))

    def _Call(self, n: ast.Call) -> Any:
        function = self.value(n.func)
        if function is expression_words.Let:
            return self._let_expression(n)
        if function is expression_words.comm_reducer:
            return self._reducer(n)
        if any(isinstance(a, ast.Starred) for a in n.args) or any(k.arg is None for k in n.keywords):
            raise self.source.error(n, "`*` and `**` in a call are not part of TVMScript")
        args = [self.value(a) for a in n.args]
        options = {k.arg: self.value(k.value) for k in n.keywords if k.arg is not None}
        with self.errors(n):
            if function in (expression_words.load, expression_words.store):
                return self.pointer_access(n, function, args, options)
            return function(*args, **options)

    @abstractmethod
    def behind_pointer(self, n: ast.AST, pointer: Var, index: PrimExpr, dtype: str | None) -> BufferLoad:
        """Return the element that a pointer and an index stand for."""

    @abstractmethod
    def pointer_access(
        self, n: ast.AST, word: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        """Return what ``T.load`` or ``T.store`` mean."""

    def _reducer(self, n: ast.Call) -> CommReducer:
        """``T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`` combines values."""
        if len(n.args) != 2 or not isinstance(n.args[0], ast.Lambda):
            raise self.source.error(n, "expected T.comm_reducer(lambda x, y: …, [identity])")
        function, given = n.args[0], self.value(n.args[1])
        identity = as_exprs(given)
        names = [argument.arg for argument in function.args.args]
        if len(names) != 2 * len(identity):
            raise self.source.error(function, f"expected {2 * len(identity)} parameters, got {len(names)}")
        with self.scope():
            variables = [Var(name, value.dtype) for name, value in zip(names, identity * 2, strict=True)]
            self.names.update(zip(names, variables, strict=True))
            body = function.body.elts if isinstance(function.body, ast.Tuple) else [function.body]
            results = tuple([self.expr(part) for part in body])
        half = len(identity)
        return CommReducer(tuple(variables[:half]), tuple(variables[half:]), results, identity)

    def _let_expression(self, n: ast.Call) -> PrimExpr:
        """``T.Let(body, where={name: value})`` defines the name for the body."""
        where = n.keywords[0].value if n.keywords else n.args[-1]
        names = where.keys if isinstance(where, ast.Dict) else []
        if len(names) != 1 or not isinstance(names[0], ast.Name) or not isinstance(where, ast.Dict):
            raise self.source.error(n, "expected T.Let(body, where={name: value})")
        value = self.expr(where.values[0])
        with self.scope():
            var = self.names[names[0].id] = Var(names[0].id, value.dtype)
            return Let(var, value, self.expr(n.args[0]))

    def _python(self, n: ast.expr, python: Any, a: ExprLike, b: ExprLike) -> Any:
        with self.errors(n):
            return python(a, b)

    @contextmanager
    def errors(self, n: ast.AST) -> Iterator[None]:
        """Let errors say the line of ``n``."""
        try:
            yield
        except ScriptError:
            raise
        except (TVMError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise self.source.error(n, str(error)) from error


def described(n: ast.AST) -> str:
    """Return what a part of Python's grammar is called."""
    names = {
        "AugAssign": "an augmented assignment",
        "Await": "await",
        "ClassDef": "a class",
        "FunctionDef": "a function inside of a function",
        "In": "in",
        "Is": "is",
        "IsNot": "is not",
        "JoinedStr": "an f-string",
        "Lambda": "a lambda",
        "ListComp": "a list comprehension",
        "MatMult": "@",
        "NamedExpr": ":=",
        "NotIn": "not in",
        "Pow": "**",
        "Return": "return",
        "Try": "try",
    }
    name = type(n).__name__
    return names.get(name, name.lower())
