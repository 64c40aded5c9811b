"""Calls of machine code one behind the other do what they do one by one, in threads and with failures too."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te, tir
from compiler.classic.contrib import graph_executor
from compiler.driver.build import build
from compiler.ir.error import ArgumentError
from compiler.runtime.modules import call_sequence
from compiler.runtime.modules.call_sequence import CallSequence
from compiler.runtime.parallel.threads import set_num_threads

N = 64


@pytest.fixture(params=[True, False], ids=["llvm", "python"])
def with_llvm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(call_sequence, "has_llvm", lambda: request.param)
    return bool(request.param)


def summing(inputs: int, is_parallel: bool = False) -> Any:
    given = [te.placeholder((N,), name=f"A{i}") for i in range(inputs)]
    total = te.compute((N,), lambda i: sum((a[i] for a in given[1:]), given[0][i]), name="B")
    schedule = te.create_schedule(total.op)
    if is_parallel:
        schedule[total].parallel(total.op.axis[0])
    return build(schedule, [*given, total], name=f"sum{inputs}").entry_func


def refusing(name: str, at: int) -> Any:
    """Copy an array whose first element is another than ``at``."""

    def check(value: float) -> None:
        if value == at:
            raise ArgumentError(f"{name} cannot be given {value:g}")

    tvm.register_func(f"tests.{name}", check, override=True)
    a = te.placeholder((N,), name="A")

    def body(ins: Any, outs: Any) -> Any:
        made = tir.ir_builder.create()
        made.emit(tir.call_packed(f"tests.{name}", ins[0].vload([0])))
        with made.for_range(0, N) as i:
            made.emit(outs[0].vstore([i], ins[0].vload([i])))
        return made.get()

    b = te.extern((N,), [a], body, dtype="float32", name="B")
    return build(te.create_schedule(b.op), [a, b], name=name).entry_func


def arrays(count: int) -> list[Any]:
    return [tvm.nd.array(np.full(N, i, "float32")) for i in range(count)]


@pytest.mark.usefixtures("with_llvm")
def test_each_call_has_its_own_arguments_and_addresses_may_change() -> None:
    two, forty = summing(2), summing(40)
    given = arrays(43)
    run = CallSequence(
        [(two, [0, 1, 40]), (forty, [*range(39), 40, 41]), (two, [41, 40, 42])], [a.address for a in given]
    )
    for first in (given[0], tvm.nd.array(np.full(N, 5, "float32"))):
        run.addresses[0] = first.address
        run()
        once = first.numpy() + 1
        np.testing.assert_array_equal(given[42].numpy(), first.numpy() + sum(range(1, 39)) + 2 * once)


@pytest.mark.usefixtures("with_llvm")
@pytest.mark.parametrize("at", [1, 2, 3])
def test_the_call_that_fails_is_the_last_and_says_why(at: int) -> None:
    calls = [(refusing(f"step{i}", at if i == at else -1), [i, i + 1]) for i in range(4)]
    given = [tvm.nd.array(np.full(N, at, "float32")), *(tvm.nd.array(np.zeros(N, "float32")) for _ in range(4))]
    run = CallSequence(calls, [a.address for a in given])
    for _ in range(2):
        with pytest.raises(ArgumentError, match=f"step{at} cannot be given {at}"):
            run()
    assert [int(a.numpy()[0]) for a in given[1:]] == [at] * at + [0] * (4 - at)


@pytest.fixture
def two_threads() -> Iterator[None]:
    set_num_threads(2)
    yield
    set_num_threads(None)


@pytest.mark.usefixtures("with_llvm", "two_threads")
def test_parallel_calls_from_several_threads() -> None:
    one, parallel = summing(1), summing(3, is_parallel=True)

    def work(seed: int) -> Any:
        given = [*arrays(2), tvm.nd.array(np.full(N, seed, "float32")), *arrays(2)]
        run = CallSequence([(one, [2, 3]), (parallel, [1, 2, 3, 4])], [a.address for a in given])
        for _ in range(50):
            run()
        return given[4].numpy()

    with ThreadPoolExecutor(4) as pool:
        for seed, result in enumerate(pool.map(work, range(8))):
            np.testing.assert_array_equal(result, np.full(N, 1 + 2 * seed, "float32"))


def test_a_graph_runs_without_python_between_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = relay.var("x", shape=(8, 8)), relay.var("w", shape=(8, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(relay.nn.softmax(relay.nn.dense(x, w)), w)))
    module = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu(0)))
    reference = relay.create_executor("debug", mod=mod).evaluate()
    one, other, weight = np.random.default_rng(0).standard_normal((3, 8, 8)).astype("float32")
    module.run(x=one, w=weight)
    names = [name for name, _ in module.module.thunks()]
    assert len(names) == 3

    def called(*addresses: int) -> int:
        raise AssertionError("a kernel was called from Python")

    for name in names:
        monkeypatch.setattr(module.module.lib.get_function(name), "_entry", called)
    module.run(x=other)
    np.testing.assert_allclose(module.get_output(0).numpy(), reference(other, weight).numpy(), rtol=1e-5)
    monkeypatch.undo()
    module.set_input_zero_copy("x", tvm.nd.array(one))
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), reference(one, weight).numpy(), rtol=1e-5)
