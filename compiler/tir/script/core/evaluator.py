"""Evaluation of Python syntax trees: ``tvm.script.parser.core.evaluator``."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping
from typing import NoReturn

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import And, Not, Or, PrimExpr
from compiler.tir.script.operators import COMPARISONS, PYTHON_COMPARISONS, PYTHON_OPERATORS, Value

_COMPARISONS: dict[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    **{kind: function for kind, (function, _) in COMPARISONS.items()},
    **PYTHON_COMPARISONS,
}
_UNARY: dict[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: lambda value: Not(value) if isinstance(value, PrimExpr) else not value,
}


class ExprEvaluator(ast.NodeVisitor):
    """Works out an expression; of symbolic operands it makes a symbolic expression.

    Names stand for ``values``; Python's own names need not be among them.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    @staticmethod
    def eval(parser: object, value_table: Mapping[str, object], node: ast.AST) -> Value:
        """Return the value of an expression.

        The parser is not used: errors are raised. Raises NameError if a name has no value, and ArgumentError if the
        node is not an expression, or one that defines variables: a lambda or a comprehension.
        """
        return ExprEvaluator(value_table).visit(node)

    def generic_visit(self, node: ast.AST) -> NoReturn:
        """Raises ArgumentError: there is no rule."""
        raise ArgumentError(f"ExprEvaluator: cannot evaluate {type(node).__name__}: {ast.unparse(node)}")

    def visit_Expression(self, node: ast.Expression) -> Value:
        return self.visit(node.body)

    def visit_Expr(self, node: ast.Expr) -> Value:
        return self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> Value:
        return node.value

    def visit_Name(self, node: ast.Name) -> Value:
        if node.id in self._values:
            return self._values[node.id]
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        raise NameError(f"name {node.id!r} is not defined")

    def visit_Tuple(self, node: ast.Tuple) -> tuple[Value, ...]:
        return tuple(self._elements(node.elts))

    def visit_List(self, node: ast.List) -> list[Value]:
        return self._elements(node.elts)

    def visit_Set(self, node: ast.Set) -> set[Value]:
        return set(self._elements(node.elts))

    def visit_Dict(self, node: ast.Dict) -> dict[Value, Value]:
        result: dict[Value, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            result.update(self.visit(value) if key is None else {self.visit(key): self.visit(value)})
        return result

    def _elements(self, nodes: list[ast.expr]) -> list[Value]:
        """Return the values of the elements of a display, with starred ones in full."""
        values: list[Value] = []
        for node in nodes:
            values += self.visit(node.value) if isinstance(node, ast.Starred) else [self.visit(node)]
        return values

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Value:
        return _UNARY[type(node.op)](self.visit(node.operand))

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        return PYTHON_OPERATORS[type(node.op)](self.visit(node.left), self.visit(node.right))

    def visit_BoolOp(self, node: ast.BoolOp) -> Value:
        result = self.visit(node.values[0])
        for each in node.values[1:]:
            if not isinstance(result, PrimExpr) and bool(result) is isinstance(node.op, ast.Or):
                return result
            value = self.visit(each)
            symbolic = isinstance(result, PrimExpr) or isinstance(value, PrimExpr)
            result = (And if isinstance(node.op, ast.And) else Or)(result, value) if symbolic else value
        return result

    def visit_Compare(self, node: ast.Compare) -> Value:
        left, result = self.visit(node.left), True
        for kind, each in zip(node.ops, node.comparators, strict=True):
            right = self.visit(each)
            one = _COMPARISONS[type(kind)](left, right)
            result = And(result, one) if isinstance(result, PrimExpr) else one
            if not isinstance(result, PrimExpr) and not result:
                return result
            left = right
        return result

    def visit_Call(self, node: ast.Call) -> Value:
        named: dict[str, Value] = {}
        for each in node.keywords:
            named.update(self.visit(each.value) if each.arg is None else {each.arg: self.visit(each.value)})
        return self.visit(node.func)(*self._elements(node.args), **named)

    def visit_Attribute(self, node: ast.Attribute) -> Value:
        return getattr(self.visit(node.value), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> Value:
        return self.visit(node.value)[self.visit(node.slice)]

    def visit_Slice(self, node: ast.Slice) -> slice:
        return slice(*[None if e is None else self.visit(e) for e in (node.lower, node.upper, node.step)])

    def visit_IfExp(self, node: ast.IfExp) -> Value:
        return self.visit(node.body if self.visit(node.test) else node.orelse)


def eval_expr(parser: object, node: ast.AST, dict_globals: Mapping[str, object] | None) -> Value:
    """Return the value of an expression.

    The parser is not used: errors are raised.
    """
    return ExprEvaluator.eval(parser, dict_globals or {}, node)


def eval_assign(parser: object, target: ast.expr, source: Value) -> dict[str, Value]:
    """Return the variables that an assignment of a value to a target defines.

    A target is a name, or a tuple or list of targets, of which one may be starred. Raises ValueError if there are more
    or fewer values than targets, and ArgumentError if the target is anything else.
    """
    if isinstance(target, ast.Name):
        return {target.id: source}
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise ArgumentError(f"eval_assign: cannot assign to {ast.unparse(target)}")
    targets, values = target.elts, list(source)
    starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    if len(values) < len(targets) - 1 or (starred is None and len(values) != len(targets)):
        raise ValueError(f"eval_assign: {len(values)} values for {len(targets)} targets")
    if starred is not None:
        end = len(values) - (len(targets) - starred - 1)
        values[starred:end] = [values[starred:end]]
    parts = [t.value if isinstance(t, ast.Starred) else t for t in targets]
    return {k: v for t, value in zip(parts, values, strict=True) for k, v in eval_assign(parser, t, value).items()}
