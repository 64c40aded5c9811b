"""Graphs deeper than Python's stack go through visitors, mutators, passes and the printer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.transform import parse_pass
from compiler.relay.analysis import free_vars, post_order_visit
from compiler.relay.interpreter import Interpreter
from compiler.relay.transform import build_passes
from compiler.target.target import Target

OPERATORS = 3_000


def chain() -> relay.Function:
    x = relay.var("x", shape=(4,))
    y: Any = x
    for k in range(OPERATORS):
        y = relay.nn.relu(y) if k % 2 else relay.add(y, x)
    return relay.Function([x], y)


def lets() -> relay.Function:
    x = relay.var("x", shape=(4,))
    names = [relay.var(f"v{k}", shape=(4,)) for k in range(OPERATORS)]
    body: Any = names[-1]
    for k in reversed(range(OPERATORS)):
        body = relay.Let(names[k], relay.add(names[k - 1] if k else x, x), body)
    return relay.Function([x], body)


@pytest.fixture(params=[chain, lets])
def make(request: pytest.FixtureRequest) -> Callable[[], relay.Function]:
    assert sys.getrecursionlimit() < OPERATORS
    return request.param  # type: ignore[no-any-return]


class PreOrder(relay.ExprVisitor):
    """Counts calls, and goes on by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def visit_call(self, call: relay.Call) -> None:
        self.calls += 1
        for arg in call.args:
            self.visit(arg)


class PostOrder(relay.ExprVisitor):
    """Counts calls, and lets the base class go on."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def visit_call(self, call: relay.Call) -> None:
        super().visit_call(call)
        self.calls += 1


class NoSums(relay.ExprMutator):
    def visit_call(self, call: relay.Call) -> Any:
        new = super().visit_call(call)
        return relay.multiply(*new.args) if new.op.name == "add" else new


@pytest.mark.parametrize("visitor", [PreOrder, PostOrder])
def test_users_visitors(make: Callable[[], relay.Function], visitor: type) -> None:
    counter = visitor()
    counter.visit(make())
    assert counter.calls == OPERATORS


def test_users_mutators(make: Callable[[], relay.Function]) -> None:
    function = make()
    sums = function.astext().count("add(")
    assert sums >= OPERATORS // 2
    text = NoSums().visit(function).astext()
    assert text.count("multiply(") == sums
    assert "add(" not in text
    assert relay.ExprMutator().visit(function) is function


def test_analyses(make: Callable[[], relay.Function]) -> None:
    function, twin = make(), make()
    assert tvm.ir.structural_equal(function, twin)
    assert tvm.ir.structural_hash(function) == tvm.ir.structural_hash(twin)
    assert free_vars(function) == []
    seen: list[Any] = []
    post_order_visit(function, seen.append)
    assert seen[-1] is function
    assert relay.bind(function, {function.params[0]: relay.const(np.zeros(4, "float32"))}).params == ()


@pytest.fixture(scope="module", params=[chain, lets])
def module(request: pytest.FixtureRequest) -> tvm.IRModule:
    return relay.transform.InferType()(tvm.IRModule.from_expr(request.param()))  # type: ignore[no-any-return]


def test_text_is_read_back(module: tvm.IRModule) -> None:
    assert tvm.ir.structural_equal(relay.parse(module.astext()), module)


def test_the_interpreter(module: tvm.IRModule) -> None:
    value = Interpreter(module).evaluate("main", [np.zeros(4, "float32")])
    np.testing.assert_array_equal(value, np.zeros(4))


def test_patterns(module: tvm.IRModule) -> None:
    pattern = relay.dataflow_pattern
    sums = pattern.is_op("add")(pattern.wildcard(), pattern.wildcard())
    assert relay.analysis.list_op_freqs(tvm.IRModule({"main": sums.partition(module["main"])}))["add"] >= OPERATORS // 2


def test_gradients(module: tvm.IRModule) -> None:
    pair = relay.transform.gradient(module["main"], mode="first_order")
    assert pair.checked_type.ret_type.fields[0] == module["main"].checked_type.ret_type


DEFAULT = sorted({repr(each) for each in build_passes(Target("llvm"))})
FUNCTIONAL = ["DeadCodeElimination()", "LambdaLift()", "PartialEvaluate()", "ToANormalForm()", "ToGraphNormalForm()"]


@pytest.mark.parametrize("module", [chain], indirect=True)
@pytest.mark.parametrize("text", [text for text in DEFAULT if "_is_narrow_cast" not in text])
def test_default_passes(module: tvm.IRModule, text: str) -> None:
    with tvm.transform.PassContext(opt_level=4):
        assert len(parse_pass(text)(module)["main"].params) == 1


@pytest.mark.parametrize("text", [*FUNCTIONAL, "EliminateCommonSubexpr()", "FuseOps()"])
def test_passes(module: tvm.IRModule, text: str) -> None:
    with tvm.transform.PassContext(opt_level=4):
        assert len(parse_pass(text)(module)["main"].params) == 1


def test_what_a_subclass_does_around_a_visit_happens_once() -> None:
    class Twice(relay.ExprMutator):
        def visit(self, expr: Any) -> Any:
            new = super().visit(expr)
            return relay.negative(new) if isinstance(expr, relay.Var) else new

    x = relay.var("x", shape=(4,))
    assert tvm.ir.structural_equal(Twice().visit(x), relay.negative(x))
