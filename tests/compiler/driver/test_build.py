"""``build`` makes a module that computes what NumPy computes, and refuses what the target cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler import te, tir
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.error import ArgumentError, LoweringError, TargetError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.target import Target


def addition(threads: bool = False) -> tuple[Any, list[Any]]:
    a = te.placeholder((100,), name="a")
    b = te.placeholder((100,), name="b")
    c = te.compute((100,), lambda i: a[i] + b[i], name="c")
    s = te.create_schedule(c.op)
    if threads:
        outer, inner = s[c].split(c.op.axis[0], factor=16)
        s[c].bind(outer, te.thread_axis("blockIdx.x"))
        s[c].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [a, b, c]


@pytest.mark.parametrize("lowered", [False, True])
def test_what_is_built_computes(lowered: bool) -> None:
    s, args = addition()
    func = build(lower(s, args), target="llvm") if lowered else build(s, args, target=Target("llvm"), name="add")
    a, b = (np.random.default_rng(seed).random(100, dtype=np.float32) for seed in (1, 2))
    c = compiler.nd.array(np.zeros(100, dtype="float32"))
    func(compiler.nd.array(a), compiler.nd.array(b), c)
    np.testing.assert_array_equal(c.numpy(), a + b)


def test_a_module_that_was_not_lowered_is_lowered_first() -> None:
    n = 32
    source, result = (tir.decl_buffer((4, 8), name=name) for name in ("source", "result"))
    params = [tir.Var(b.name, "handle") for b in (source, result)]
    i, j = tir.Var("i"), tir.Var("j")
    store = tir.BufferStore(result, source[i, j] * 2.0, [i, j])
    loops = tir.For(i, 0, 4, tir.ForKind.PARALLEL, tir.For(j, 0, 8, tir.ForKind.VECTORIZED, store))
    func = tir.PrimFunc(
        params, loops, None, dict(zip(params, (source, result), strict=True)), {"global_symbol": "twice"}
    )
    module = IRModule({"twice": func})
    assert not tir.analysis.is_lowered(func)
    assert tir.analysis.is_lowered(lower(module)["twice"])
    built = build(module, target="llvm")
    a = np.arange(n, dtype="float32").reshape(4, 8)
    out = compiler.nd.array(np.zeros((4, 8), dtype="float32"))
    built["twice"](compiler.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), a * 2)


def test_a_module_with_blocks_on_rows_is_lowered_first() -> None:
    source = """
@T.prim_func
def reverse(A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[7 - vi]
"""
    func = compiler.script.from_source(source)
    assert not tir.analysis.is_lowered(func)
    out = compiler.nd.array(np.zeros(8, "float32"))
    build(IRModule({"main": func}), target="llvm")(compiler.nd.array(np.arange(8, dtype="float32")), out)
    np.testing.assert_array_equal(out.numpy(), np.arange(8)[::-1])


def test_the_target_around_is_used() -> None:
    s, args = addition()
    with Target("llvm -mtriple=aarch64-linux-gnu"):
        assert "fadd" in build(s, args).get_source("asm")


class Log(Instrument):
    def __init__(self) -> None:
        self.entries: list[Any] = []

    def build_begin(self, name: str, module: Any, target: Any, lowered: Any) -> None:
        self.entries.append((name, module, str(target)))

    def build_end(self, built: Any) -> None:
        self.entries.append(built)


def test_instruments_hear_of_builds() -> None:
    s, args = addition()
    log = Log()
    with instrumented(log):
        built = build(s, args, target="llvm", name="add")
    (name, module, target), end = log.entries
    assert (name, target, end) == ("add", "llvm", built)
    assert module["add"].attrs["global_symbol"] == "add"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: build(*addition(threads=True), target="llvm"), TargetError, "blockIdx.x, threadIdx.x"),
        (lambda: build(*addition(), target="cuda"), LoweringError, "did you forget to bind"),
        (lambda: build(*addition(), target="lvm"), TargetError, "lvm"),
        (lambda: build([lower(*addition())] * 2), ArgumentError, "two modules have a function 'main'"),
        (lambda: build([lower(*addition()), 3]), ArgumentError, "inputs must be modules where they are several"),  # type: ignore[list-item]
        (lambda: build(IRModule()), ArgumentError, "the module has no functions"),
        (lambda: build(3), ArgumentError, "expected a schedule"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_built_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
