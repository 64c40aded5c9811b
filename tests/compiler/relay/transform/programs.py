"""Programs with closures, branches, recursion, references and data types, with arguments for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import compiler.relay
from compiler.classic.relay.prelude import Prelude
from compiler.ir import IRModule
from compiler.relay.ty import TensorType, scalar_type

relay: Any = compiler.relay

REAL, INT, BOOL = scalar_type("float64"), scalar_type("int32"), scalar_type("bool")
VECTOR = TensorType((3,), "float64")
PROGRAMS: dict[str, tuple[Callable[[], IRModule], tuple[Any, ...]]] = {}
"""By name: what makes the module, and arguments of its function ``main``."""


def program(*args: Any) -> Callable[[Callable[[], IRModule]], Callable[[], IRModule]]:
    """Enter the function that makes a program under its name."""

    def enter(make: Callable[[], IRModule]) -> Callable[[], IRModule]:
        PROGRAMS[make.__name__] = (make, args)
        return make

    return enter


def real(value: float) -> Any:
    """Return a scalar constant."""
    return relay.const(np.array(value), "float64")


_V, _W = np.array([0.3, -1.2, 2.0]), np.array([1.1, 0.4, -0.7])
_R, _S = np.array(0.6), np.array(1.7)


@program(_V, _W)
def graph() -> IRModule:
    x, y = relay.var("x", VECTOR), relay.var("y", VECTOR)
    z = relay.exp(relay.multiply(x, y))
    pair = relay.Tuple([relay.tanh(z), relay.add(z, x)])
    return IRModule.from_expr(relay.Function([x, y], relay.multiply(relay.TupleGetItem(pair, 0), pair[1])))


@program(np.array(True), _V)
def shared_by_branches() -> IRModule:
    c, x, t = relay.var("c", BOOL), relay.var("x", VECTOR), relay.var("t")
    y = relay.add(x, x)
    other = relay.Let(t, relay.multiply(y, x), relay.add(t, y))
    return IRModule.from_expr(relay.Function([c, x], relay.If(c, relay.exp(y), other)))


@program(_R, _S)
def closures() -> IRModule:
    s, t, a, b = relay.var("s", REAL), relay.var("t", REAL), relay.var("a", REAL), relay.var("b", REAL)
    scale, twice, f = relay.var("scale"), relay.var("twice"), relay.var("f")
    body = relay.Let(
        scale,
        relay.Function([a], relay.multiply(a, s)),
        relay.Let(
            twice, relay.Function([f, b], f(f(b))), relay.If(relay.less(s, t), twice(scale, t), relay.exp(scale(t)))
        ),
    )
    return IRModule.from_expr(relay.Function([s, t], body))


@program(_R)
def power() -> IRModule:
    f, b, n, x = relay.GlobalVar("power"), relay.var("b", REAL), relay.var("n", INT), relay.var("x", REAL)
    step = relay.multiply(b, f(b, relay.subtract(n, relay.const(1))))
    body = relay.If(relay.equal(n, relay.const(0)), real(1.0), step)
    return IRModule({f: relay.Function([b, n], body), "main": relay.Function([x], f(x, relay.const(4)))})


@program(_R, np.array(5, "int32"))
def loop() -> IRModule:
    x, n, k, acc = relay.var("x", REAL), relay.var("n", INT), relay.var("k", INT), relay.var("acc", REAL)
    go = relay.var("go")
    again = go(relay.add(k, relay.const(1)), relay.multiply(acc, x))
    step = relay.Function([k, acc], relay.If(relay.less(k, n), again, acc))
    return IRModule.from_expr(relay.Function([x, n], relay.Let(go, step, go(relay.const(0), x))))


@program(_R)
def references() -> IRModule:
    x, r, old, done = relay.var("x", REAL), relay.var("r"), relay.var("old"), relay.var("done")
    bump, by = relay.var("bump"), relay.var("by", REAL)
    write = relay.Function([by], relay.RefWrite(r, relay.add(relay.RefRead(r), by)))
    body = relay.Let(old, relay.RefRead(r), relay.Let(done, bump(x), relay.Tuple([old, relay.RefRead(r)])))
    return IRModule.from_expr(relay.Function([x], relay.Let(r, relay.RefCreate(x), relay.Let(bump, write, body))))


@program(_R, _S)
def lists() -> IRModule:
    p: Any = Prelude()
    s, t, a, b = relay.var("s", REAL), relay.var("t", REAL), relay.var("a", REAL), relay.var("b", REAL)
    values = p.cons(s, p.cons(relay.multiply(t, s), p.nil()))
    squares = p.map(relay.Function([a], relay.multiply(a, a)), values)
    acc = relay.var("acc", REAL)
    p.mod["main"] = relay.Function(
        [s, t], p.foldl(relay.Function([acc, b], relay.multiply(acc, relay.exp(b))), t, squares)
    )
    return p.mod  # type: ignore[no-any-return]


DIFFERENTIABLE = ["graph", "closures", "power", "lists"]
"""Programs of real numbers only."""


def assert_same(a: Any, b: Any) -> None:
    """Check that two values are the same, up to rounding."""
    if isinstance(a, tuple):
        assert isinstance(b, tuple)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        np.testing.assert_allclose(a, b, rtol=1e-6)
