"""Graphs computed with NumPy: every kind of expression, and programs that recurse deeply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.relay.prelude import Prelude
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.module import IRModule
from compiler.relay.interpreter import ConstructorValue, Interpreter, InterpreterError, RefValue
from compiler.relay.operator import Input, RelayOp

nn: Any = relay.op.nn
rng = np.random.default_rng(7)


def evaluate(expr: Any, *args: Any) -> Any:
    return Interpreter().evaluate(expr, args or None)


def test_a_network_computes_what_numpy_computes() -> None:
    x, w, b = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4)), relay.var("b", shape=(3,))
    func = relay.Function((x, w, b), nn.relu(nn.bias_add(nn.dense(x, w), b)))
    values = [rng.standard_normal(shape).astype("float32") for shape in [(2, 4), (3, 4), (3,)]]
    expected = np.maximum(values[0] @ values[1].T + values[2], 0)
    np.testing.assert_allclose(evaluate(func, *values), expected, rtol=1e-6)
    by_name = Interpreter().evaluate(func, dict(zip("xwb", values, strict=True)))
    np.testing.assert_allclose(by_name, expected, rtol=1e-6)


def test_a_shared_expression_is_evaluated_once() -> None:
    count = []

    def reference(attrs: Any, x: Any) -> Any:
        count.append(x)
        return x

    shared = RelayOp("test.counted", inputs={"data": Input("A value.")}, reference=reference)(relay.const(1.0))
    evaluate(relay.Tuple((shared, shared, relay.Tuple((shared,)))))
    assert len(count) == 1


def test_only_the_branch_that_is_taken_is_evaluated() -> None:
    y, c = relay.var("y", shape=()), relay.var("c", "bool")
    func = relay.Function((c, y), relay.If(c, y, relay.var("nobody")))
    assert evaluate(func, True, 3.0) == 3
    with pytest.raises(InterpreterError, match="variable %nobody has no value"):
        evaluate(func, False, 3.0)


def test_closures_see_the_values_of_the_call_that_made_them() -> None:
    x, y, f = relay.var("x", "int32"), relay.var("y", "int32"), relay.var("f")
    make = relay.Function((x,), relay.Function((y,), relay.Tuple((x, y))))
    body = relay.Let(f, relay.Call(make, (relay.const(1),)), relay.Tuple((f(relay.const(2)), f(relay.const(3)))))
    found = evaluate(body)
    assert [[int(v) for v in pair] for pair in found] == [[1, 2], [1, 3]]


def test_references_change_in_the_order_of_the_program() -> None:
    r, a, b = relay.var("r"), relay.var("a"), relay.var("b")
    program = relay.Let(
        r,
        relay.RefCreate(relay.const(1)),
        relay.Let(
            a, relay.RefRead(r), relay.Let(b, relay.RefWrite(r, relay.const(2)), relay.Tuple((a, b, relay.RefRead(r))))
        ),
    )
    before, written, after = evaluate(program)
    assert (int(before), written, int(after)) == (1, (), 2)
    assert isinstance(evaluate(relay.RefCreate(relay.const(1))), RefValue)


def _numbers(value: ConstructorValue) -> list[int]:
    found = []
    while value.fields:
        found.append(int(value.fields[0]))
        value = value.fields[1]
    return found


def test_lists_and_higher_order_functions() -> None:
    p = Prelude()
    run = Interpreter(p.mod)
    x = relay.var("x", "int32")
    numbers: Any = p.nil()
    for i in reversed(range(5)):
        numbers = p.cons(relay.const(i), numbers)
    assert _numbers(run.evaluate(p.rev(numbers))) == [4, 3, 2, 1, 0]
    assert _numbers(run.evaluate(p.map(relay.Function((x,), nn.relu(x)), numbers))) == [0, 1, 2, 3, 4]
    pair = run.evaluate(p.zip(numbers, p.rev(numbers))).fields[0]
    assert tuple(int(v) for v in pair) == (0, 4)


def test_recursion_and_chains_may_be_deep() -> None:
    p = Prelude()
    numbers = ConstructorValue(p.nil.tag, (), p.nil)
    for i in range(20_000):
        numbers = ConstructorValue(p.cons.tag, (np.asarray(i), numbers), p.cons)
    last = Interpreter(p.mod).evaluate(p.foldl, [relay_second(), 0, numbers])
    assert int(last) == 0
    value: Any = relay.var("x", shape=())
    x = value
    for _ in range(20_000):
        value = nn.relu(value)
    assert evaluate(relay.Function((x,), value), 2.0) == 2


def relay_second() -> Any:
    a, b = relay.var("a"), relay.var("b")
    return Interpreter().evaluate(relay.Function((a, b), b))


def test_what_does_not_fit_is_named() -> None:
    x = relay.var("x", shape=(2, 2))
    func = relay.Function((x,), nn.dense(x, relay.const(np.ones((3, 5), "float32"))))
    with pytest.raises(InterpreterError, match=r"nn\.dense\(float32\[2, 2\], float32\[3, 5\]\)"):
        evaluate(func, np.ones((2, 2), "float32"))
    with pytest.raises(ArgumentError, match=r"takes 1 arguments \(x\), got 2"):
        evaluate(func, 1.0, 2.0)
    with pytest.raises(ArgumentError, match="missing: x, unknown: z"):
        Interpreter().evaluate(func, {"z": 1.0})
    p = Prelude()
    with pytest.raises(InterpreterError, match=r"no clause of a match matches Nil\(\)"):
        Interpreter(p.mod).evaluate(p.hd(p.nil()))
    with pytest.raises(ArgumentError, match="no function is named 'main'"):
        Interpreter(IRModule()).evaluate()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x: relay.If(x, x, x), r"the condition of an if must be a scalar, got float32\[3\]"),
        (lambda x: relay.RefRead(x), r"expected a reference, got float32\[3\]"),
        (lambda x: relay.RefWrite(x, x), r"expected a reference, got float32\[3\]"),
    ],
    ids=["if", "read", "write"],
)
def test_values_that_do_not_fit_are_named(body: Any, message: str) -> None:
    x = relay.var("x", shape=(3,))
    with pytest.raises(TVMError, match=message):
        Interpreter(IRModule.from_expr(relay.Function([x], body(x)))).evaluate("main", [np.zeros(3, "float32")])
