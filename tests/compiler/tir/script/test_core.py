"""Source text, syntax trees and the values of expressions, as programs that parse Python by themselves use them."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import LT, Add, And, Not, Var
from compiler.tir.script.core import doc
from compiler.tir.script.core.diagnostics import Source
from compiler.tir.script.core.evaluator import ExprEvaluator, eval_assign, eval_expr


def double(a: int, b: int) -> int:
    return a * 2 + b


def expression(text: str) -> doc.expr:
    tree = Source(text).as_ast()
    assert isinstance(tree, doc.Module)
    (statement,) = tree.body
    assert isinstance(statement, doc.Expr)
    return statement.value


def value(text: str, names: dict[str, Any] | None = None) -> Any:
    return ExprEvaluator.eval(None, names or {}, expression(text))


def test_the_source_of_a_function() -> None:
    source = Source(double)
    assert source.source_name == __file__
    assert source.source == inspect.getsource(double)
    assert source.full_source == inspect.getsource(sys.modules[__name__])
    assert source.full_source.splitlines()[source.start_line - 1] == "def double(a: int, b: int) -> int:"
    tree = source.as_ast()
    assert isinstance(tree, doc.Module)
    (function,) = tree.body
    assert isinstance(function, doc.FunctionDef)
    assert [a.arg for a in function.args.args] == ["a", "b"]
    assert isinstance(function.body[0], doc.Return)


def test_the_indentation_of_an_inner_function_is_left_out() -> None:
    def inner() -> int:
        return 1

    source = Source(inner)
    assert source.start_column == 4
    assert source.source == "def inner() -> int:\n    return 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "1, 3.14, True, 'str', None",
        "1 + 2, 7 - 2, 3 * 4, 7 / 2, 7 // 2, 7 % 4, 2 ** 5, 6 & 3, 6 | 1, 6 ^ 3, 1 << 3, 8 >> 1",
        "-3, +3, ~3, not 3",
        "1 < 2 < 3, 1 < 2 > 3, 1 == 1, 1 != 1, 2 in [1, 2], 2 not in [1], x is None",
        "0 or 'b', 1 and 0 and 2, 1 or undefined",
        "x if n > 3 else n",
        "a, a[1:], a[:3], a[1:4:2], a[-1], {'k': 1, **{'j': 2}}['j'], {1, 2}, [*a, 9], (*a, 9)",
        "f(1, 2), f(b=1, a=2), f(*[1, 2]), f(**{'a': 1, 'b': 2}), len(a), a.index(3)",
    ],
)
def test_values_are_those_of_python(text: str) -> None:
    names = {"a": [1, 2, 3, 4, 5], "n": 3, "x": None, "f": double}
    assert value(text, names) == eval(text, dict(names))


def test_symbolic_operands_make_expressions() -> None:
    x, y = Var("x", "int32"), Var("y", "int32")
    names = {"x": x, "y": y}
    assert isinstance(value("x + y", names), Add)
    assert isinstance(value("x < y", names), LT)
    both = value("x < y < 8", names)
    assert isinstance(both, And)
    assert isinstance(both.a, LT)
    assert isinstance(value("x < 3 and y < 4", names), And)
    assert isinstance(value("not x < 3", names), Not)


def test_what_has_no_value_is_named() -> None:
    with pytest.raises(NameError, match="'missing'"):
        value("missing + 1")
    with pytest.raises(ArgumentError, match="Lambda: lambda: 1"):
        value("lambda: 1")


def test_targets_of_assignments() -> None:
    target = expression("(a, [b, *c], d)")
    assert eval_assign(None, target, (1, (2, 3, 4), 5)) == {"a": 1, "b": 2, "c": [3, 4], "d": 5}
    assert eval_assign(None, expression("a"), (1, 2)) == {"a": (1, 2)}
    assert eval_assign(None, expression("(*a, b)"), [1]) == {"a": [], "b": 1}
    with pytest.raises(ValueError, match="3 values for 2 targets"):
        eval_assign(None, expression("(a, b)"), (1, 2, 3))
    with pytest.raises(ArgumentError, match=r"cannot assign to a\[0\]"):
        eval_assign(None, expression("a[0]"), 1)


def test_an_expression_without_names() -> None:
    assert eval_expr(None, doc.parse("max(2, 3)", mode="eval"), None) == 3
