"""Random programs with closures, branches, tuples, references and shared parts mean the same after every pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import compiler.relay
from compiler.ir import IRModule
from compiler.relay import transform
from compiler.relay.analysis import well_formed
from compiler.relay.inference import infer_module
from compiler.relay.interpreter import Interpreter
from tests.compiler.relay.transform.meaning import run
from tests.compiler.relay.transform.programs import INT, REAL, real

relay: Any = compiler.relay

PASSES = [
    transform.ToANormalForm(),
    transform.ToBasicBlockNormalForm(),
    transform.ToGraphNormalForm(),
    transform.DeadCodeElimination(),
    transform.DeadCodeElimination(inline_once=True),
    transform.EtaExpand(expand_constructor=True),
    transform.LambdaLift(),
    transform.PartialEvaluate(),
]


class _Writer:
    """Writes expressions of real numbers.

    ``reals``, ``functions``, ``pairs`` and ``cells`` are the variables in scope; ``parts`` are expressions without
    effects that may be used once more.
    """

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.reals: list[Any] = []
        self.functions: list[Any] = []
        self.pairs: list[Any] = []
        self.cells: list[Any] = []
        self.parts: list[Any] = []
        self.names = 0

    def inside(self) -> _Writer:
        inner = _Writer(self.draw)
        for scope in ("reals", "functions", "pairs", "cells", "parts"):
            setattr(inner, scope, list(getattr(self, scope)))
        inner.names = self.names
        return inner

    def name(self, kind: str, annotation: Any = None) -> Any:
        self.names += 1
        return relay.var(f"{kind}{self.names}", annotation)

    def one_of(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def real(self, depth: int) -> Any:
        if depth == 0:
            return self.one_of([*self.reals, *self.parts[-3:], real(0.5), real(-1.25)])
        made = getattr(self, "_" + self.one_of(_KINDS))(depth - 1)
        if not self.cells and not self.functions:  # nothing that it could depend on changes
            self.parts.append(made)
        return made

    def _arithmetic(self, depth: int) -> Any:
        op = self.one_of([relay.add, relay.multiply, relay.subtract])
        return op(self.real(depth), self.real(depth))

    def _function_of_one(self, depth: int) -> Any:
        return self.one_of([relay.sin, relay.tanh, relay.negative])(self.real(depth))

    def _branches(self, depth: int) -> Any:
        decided = self.draw(st.booleans())
        cond = relay.const(self.draw(st.booleans())) if decided else relay.less(self.real(0), self.real(0))
        return relay.If(cond, self.inside().real(depth), self.inside().real(depth))

    def _let(self, depth: int) -> Any:
        var, value = self.name("v"), self.real(depth)
        inner = self.inside()
        inner.reals.append(var)
        return relay.Let(var, value, inner.real(depth))

    def _let_function(self, depth: int) -> Any:
        param, inside, var = self.name("p", REAL), self.inside(), self.name("f")
        inside.reals.append(param)
        func = relay.Function([param], inside.real(depth))
        rest = self.inside()
        rest.functions.append(var)
        return relay.Let(var, func, rest.real(depth))

    def _loop(self, depth: int) -> Any:
        count, state, var, inside = self.name("n", INT), self.name("s", REAL), self.name("loop"), self.inside()
        inside.reals.append(state)
        again = var(relay.subtract(count, relay.const(1)), inside.real(depth))
        func = relay.Function([count, state], relay.If(relay.equal(count, relay.const(0)), state, again))
        return relay.Let(var, func, var(relay.const(self.draw(st.integers(0, 2))), self.real(0)))

    def _call(self, depth: int) -> Any:
        return self.one_of(self.functions)(self.real(depth)) if self.functions else self.real(depth)

    def _let_pair(self, depth: int) -> Any:
        var, value = self.name("t"), relay.Tuple([self.real(depth), self.real(depth)])
        inner = self.inside()
        inner.pairs.append(var)
        return relay.Let(var, value, inner.real(depth))

    def _element(self, depth: int) -> Any:
        if not self.pairs:
            return self.real(depth)
        return relay.TupleGetItem(self.one_of(self.pairs), self.draw(st.integers(0, 1)))

    def _let_cell(self, depth: int) -> Any:
        var, value = self.name("r"), self.real(depth)
        inner = self.inside()
        inner.cells.append(var)
        return relay.Let(var, relay.RefCreate(value), inner.real(depth))

    def _write(self, depth: int) -> Any:
        if not self.cells:
            return self.real(depth)
        var, value = self.one_of(self.cells), self.real(depth)
        return relay.Let(self.name("u"), relay.RefWrite(var, value), self.real(depth))

    def _read(self, depth: int) -> Any:
        return relay.RefRead(self.one_of(self.cells)) if self.cells else self.real(depth)


_KINDS = [
    *["arithmetic", "function_of_one", "branches", "let", "let_function", "loop", "call", "let_pair"],
    *["element", "let_cell", "write", "read"],
]


@st.composite
def _programs(draw: Any) -> IRModule:
    x, y = relay.var("x", REAL), relay.var("y", REAL)
    writer = _Writer(draw)
    writer.reals += [x, y]
    body = writer.real(draw(st.integers(2, 5)))
    return infer_module(IRModule.from_expr(relay.Function([x, y], body)))


ARGS = (np.array(0.7), np.array(-0.4))


@given(_programs())
def test_every_pass_keeps_the_meaning(mod: IRModule) -> None:
    expected = run(mod, *ARGS)
    np.testing.assert_allclose(Interpreter(mod).evaluate(mod["main"], ARGS), expected)
    for step in PASSES:
        after = step(mod)
        assert well_formed(after), step
        np.testing.assert_allclose(run(infer_module(after), *ARGS), expected, err_msg=str(step))


OTHERS = [transform.FoldConstant(), transform.EliminateCommonSubexpr(), transform.SimplifyExpr(), transform.FuseOps(2)]


@given(_programs(), st.lists(st.sampled_from([*PASSES, *OTHERS]), min_size=2, max_size=5))
def test_passes_in_any_order(mod: IRModule, steps: list[Any]) -> None:
    expected = run(mod, *ARGS)
    for step in steps:
        mod = step(mod)
        assert well_formed(mod)
    np.testing.assert_allclose(run(mod, *ARGS), expected)


@given(_programs())
def test_gradients_are_slopes(mod: IRModule) -> None:
    result = mod.shallow_copy()
    result["main"] = transform.gradient(mod["main"], result)
    value, grads = run(infer_module(result), *ARGS)
    np.testing.assert_allclose(value, run(mod, *ARGS))
    for i, grad in enumerate(grads):
        ends = [run(mod, *[a + step * (i == j) for j, a in enumerate(ARGS)]) for step in (1e-5, -1e-5)]
        np.testing.assert_allclose(grad, (ends[0] - ends[1]) / 2e-5, rtol=1e-3, atol=1e-6)
    decided = transform.PartialEvaluate()(infer_module(result))
    np.testing.assert_allclose(run(decided, *ARGS)[1], grads)
