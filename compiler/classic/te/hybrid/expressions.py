"""Expressions of hybrid scripts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from compiler.arith import Analyzer
from compiler.classic.te.hybrid.scopes import LoopVariable, Scalar, Scopes
from compiler.classic.te.hybrid.words import WORDS, constant_int
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr.primexpr import FloatImm, IntImm, Not, PrimExpr, ProducerLoad, Select, const, convert, match_types
from compiler.te.definition.tensor import Tensor
from compiler.tir.expressions import op
from compiler.tir.script.source import ScriptError, Source


class HybridError(ScriptError, ArgumentError):
    """A function that is not a hybrid script; the message shows the line."""


def _divide(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Divide; by a constant, multiply by its reciprocal as classic TVM does."""
    if isinstance(b, FloatImm) and b.value:
        return a * const(1.0 / b.value, b.dtype)
    return a / b


_Operation = Callable[[Any, Any], object]
_BINARY: dict[type[ast.operator], _Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: op.power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_COMPARE: dict[type[ast.cmpop], _Operation] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class ExpressionReader:
    """Reads the expressions of a script."""

    def __init__(self, source: Source, arguments: Mapping[str, object], captured: Mapping[str, object]) -> None:
        self.source = source
        self.scopes = Scopes({name: _value(value) for name, value in arguments.items()})
        self.captured = captured
        self.analyzer = Analyzer()

    def error(self, n: ast.AST, message: str) -> HybridError:
        """Return the error about a part of the script."""
        at = self.source.location(n)
        return HybridError(message, at.file, at.line, getattr(n, "col_offset", 0) + 1, self.source.line(n))

    def value(self, n: ast.expr) -> Any:
        """Return what an expression stands for: a scalar expression, a tensor, a tuple, a text or a function."""
        read = getattr(self, f"_{type(n).__name__}", None)
        if read is None:
            raise self.error(n, f"{type(n).__name__} is not supported in hybrid script")
        try:
            return read(n)
        except ScriptError:
            raise
        except (TVMError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise self.error(n, str(error)) from error

    def scalar(self, n: ast.expr) -> PrimExpr:
        """Return an expression that must be a scalar; :meth:`value` says more."""
        value = self.value(n)
        if not isinstance(value, PrimExpr):
            raise self.error(n, f"expected a scalar, got {show(value)}")
        return value

    def condition(self, n: ast.expr) -> PrimExpr:
        """Return a condition, simplified; a number holds if it is not zero."""
        value = self.scalar(n)
        return self.analyzer.simplify(value if value.dtype == "bool" else value != 0)

    def place(self, n: ast.expr) -> tuple[Tensor, tuple[PrimExpr, ...]] | None:
        """Return the element of a tensor that an expression is; None if it is not one."""
        value = self.scalar(n)
        return (value.producer, value.indices) if isinstance(value, ProducerLoad) else None

    def _Constant(self, n: ast.Constant) -> object:
        if n.value is None or isinstance(n.value, str):
            return n.value
        if isinstance(n.value, (bool, int, float)):
            return convert(n.value)
        raise self.error(n, f"a constant of type {type(n.value).__name__} is not supported in hybrid script")

    def _Name(self, n: ast.Name) -> object:
        try:
            symbol = self.scopes.find(n.id)
        except KeyError:
            symbol = self._word(n)
        if isinstance(symbol, Scalar):
            return ProducerLoad(symbol.tensor, (const(0, "int32"),))
        return symbol.value if isinstance(symbol, LoopVariable) else symbol

    def _word(self, n: ast.Name) -> object:
        if n.id in WORDS:
            return WORDS[n.id]
        if n.id in self.captured:
            return _value(self.captured[n.id])
        raise self.error(n, f"undeclared variable {n.id!r}")

    def _Tuple(self, n: ast.Tuple) -> object:
        return tuple(self.value(e) for e in n.elts)

    _List = _Tuple

    def _Attribute(self, n: ast.Attribute) -> object:
        owner = self.value(n.value)
        if isinstance(owner, (PrimExpr, Tensor)) and n.attr not in ("shape", "dtype"):
            raise self.error(n, f"only the attributes shape and dtype of a tensor are supported, got {n.attr!r}")
        return _value(getattr(owner, n.attr))

    def _Subscript(self, n: ast.Subscript) -> object:
        owner, index = self.value(n.value), self.value(n.slice)
        indices = index if isinstance(index, tuple) else (index,)
        if isinstance(owner, Tensor):
            return owner(*indices)
        for i in indices:
            at = constant_int(self.analyzer.simplify(i) if isinstance(i, PrimExpr) else i, "the index of a list")
            owner = owner[at]
        return owner

    def _BinOp(self, n: ast.BinOp) -> object:
        return self.combined(n.op, self.value(n.left), self.value(n.right))

    def combined(self, operation: ast.operator, left: PrimExpr, right: PrimExpr) -> object:
        """Return the result of an operator."""
        compute = _BINARY.get(type(operation))
        if compute is None:
            raise ArgumentError(f"operator {type(operation).__name__} is not supported in hybrid script")
        return compute(left, right)

    def _UnaryOp(self, n: ast.UnaryOp) -> object:
        value = self.scalar(n.operand)
        if isinstance(n.op, ast.Not):
            return Not(value) if value.dtype == "bool" else value == 0
        if isinstance(n.op, ast.USub):
            return -value
        return ~value if isinstance(n.op, ast.Invert) else value

    def _BoolOp(self, n: ast.BoolOp) -> object:
        values = [self.scalar(e) for e in n.values]
        conditions = [v if v.dtype == "bool" else v != 0 for v in values]
        return op.all(*conditions) if isinstance(n.op, ast.And) else op.any(*conditions)

    def _Compare(self, n: ast.Compare) -> object:
        values = [self.value(e) for e in (n.left, *n.comparators)]
        results = []
        for a, b, kind in zip(values, values[1:], n.ops, strict=False):
            compare = _COMPARE.get(type(kind))
            if compare is None:
                raise self.error(n, f"operator {type(kind).__name__} is not supported in hybrid script")
            results.append(convert(compare(a, b)).astype("bool"))
        return reduce(lambda a, b: op.all(a, b), results)

    def _IfExp(self, n: ast.IfExp) -> object:
        condition = self.condition(n.test)
        if isinstance(condition, IntImm):
            return self.value(n.body if condition.value else n.orelse)
        then, other = match_types(self.scalar(n.body), self.scalar(n.orelse), "if")
        return Select(condition, then, other)

    def _Call(self, n: ast.Call) -> object:
        function = self.value(n.func)
        if not callable(function):
            raise self.error(n, f"{ast.unparse(n.func)} is not a function")
        args = [self.value(a) for a in n.args]
        return _value(function(*args, **{k.arg: self.value(k.value) for k in n.keywords if k.arg is not None}))


def _value(value: object) -> object:
    """Return what a Python value stands for: numbers are constants, and so are those in lists."""
    if isinstance(value, (bool, int, float)):
        return convert(value)
    if isinstance(value, (tuple, list)):
        return tuple(_value(v) for v in value)
    return value
