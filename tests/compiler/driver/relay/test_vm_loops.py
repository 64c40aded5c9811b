"""Loops over static shapes are one function of machine code, and compute what the interpreter computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.loops import while_loop
from compiler.driver.relay import vm_loops
from compiler.driver.relay.vm import Executable, VirtualMachine
from compiler.ir.module import IRModule

INT = relay.scalar_type("int64")


def compiled(function: Any) -> Executable:
    return relay.vm.compile(IRModule.from_expr(function), "llvm")


def loops(executable: Executable) -> int:
    return sum(kernel.startswith("vm_mod_loop") for kernel in map(str, executable.kernels))


def as_interpreted(function: Any, *args: Any) -> list[Any]:
    """Run a loop by machine code and by the interpreter, and return the results."""
    executable = compiled(function)
    assert loops(executable) == 1
    found = VirtualMachine(executable, tvm.cpu(0)).run(*args)
    expected = relay.create_executor("debug", IRModule.from_expr(function)).evaluate()(*args)
    pairs = [(a.numpy(), b.numpy()) for a, b in zip(*map(_fields, (found, expected)), strict=True)]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-6)
    return [a for a, _ in pairs]


def _fields(value: Any) -> list[Any]:
    return list(value) if hasattr(value, "fields") else [value]


def integer(value: int) -> Any:
    return relay.const(value, "int64")


def counted(turns: Any, body: Any, *values: Any) -> Any:
    """Return a loop of some turns over values, and its results behind the counter."""
    i = relay.var("i", INT)
    names = [relay.var(f"v{k}", relay.TensorType(shape, dtype)) for k, (_, shape, dtype) in enumerate(values)]
    loop = while_loop(lambda i, *_: relay.op.less(i, turns), [i, *names], lambda i, *v: [i + integer(1), *body(i, *v)])
    return relay.Call(loop, [integer(0), *(start for start, _, _ in values)])


def test_values_change_places() -> None:
    """Each turn reads what the one before wrote, whatever order the values are written in."""
    n = relay.var("n", INT)
    scalar = [(integer(1), (), "int64"), (integer(0), (), "int64")]
    function = relay.Function([n], counted(n, lambda i, new, old: [new + old, new], *scalar))
    for turns, fibonacci in ((0, 1), (1, 1), (2, 2), (7, 21), (30, 1346269)):
        assert as_interpreted(function, np.int64(turns))[1] == fibonacci


def test_what_is_captured_or_stays_is_read_in_place() -> None:
    """One value turns, one never changes, one becomes a constant, and two change places."""
    n, w = relay.var("n", INT), relay.var("w", shape=(5, 5))
    x = [relay.var(f"x{k}", shape=(1, 5)) for k in range(5)]
    values = [(each, (1, 5), "float32") for each in x]
    constant = relay.const(np.arange(5, dtype="float32").reshape(1, 5))

    def body(i: Any, turning: Any, fixed: Any, a: Any, b: Any, c: Any) -> list[Any]:
        return [relay.tanh(relay.nn.dense(turning, w) + fixed + b - c), fixed, b, a, constant]

    function = relay.Function([n, w, *x], counted(n, body, *values))
    random = np.random.default_rng(0)
    data = [random.standard_normal(shape).astype("float32") for shape in [(5, 5)] + [(1, 5)] * 5]
    for turns in (0, 1, 4):
        as_interpreted(function, np.int64(turns), *data)


def test_branches_inside_a_turn_and_several_ends() -> None:
    """The steps of Collatz' sequence, as far as a limit: a choice of values, and two ways to end."""
    n, steps, loop, limit = relay.var("n", INT), relay.var("steps", INT), relay.var("loop"), relay.var("limit", INT)
    half, more = relay.op.floor_divide(n, integer(2)), n * integer(3) + integer(1)
    is_even = relay.op.equal(relay.op.floor_mod(n, integer(2)), integer(0))
    following = relay.If(is_even, half, more)
    again = relay.Call(loop, [following, steps + integer(1)])
    ended = relay.Tuple([n, steps])
    within = relay.If(relay.op.less(steps, limit), again, relay.Tuple([integer(-1), steps]))
    inner = relay.Function([n, steps], relay.If(relay.op.less(n, integer(2)), ended, within))
    start = relay.var("start", INT)
    called = relay.Let(loop, inner, relay.Call(loop, [start, integer(0)]))
    function = relay.Function([start, limit], called)
    assert as_interpreted(function, np.int64(27), np.int64(1000)) == [1, 111]
    assert as_interpreted(function, np.int64(27), np.int64(50)) == [-1, 50]
    assert as_interpreted(function, np.int64(1), np.int64(0)) == [1, 0]


def test_results_of_a_kernel_with_several() -> None:
    n, x = relay.var("n", INT), relay.var("x", shape=(4, 6))

    def body(i: Any, v: Any) -> list[Any]:
        first, second = relay.split(v, 2, axis=1)
        return [relay.concatenate([second * relay.const(2.0), first - relay.const(1.0)], axis=1)]

    data = np.random.default_rng(1).standard_normal((4, 6)).astype("float32")
    as_interpreted(relay.Function([n, x], counted(n, body, (x, (4, 6), "float32"))), np.int64(3), data)


def test_a_loop_that_is_a_value_is_called_by_the_machine_too() -> None:
    n, k, loop, twice = relay.var("n", INT), relay.var("k", INT), relay.var("loop"), relay.var("twice")
    inner = relay.Function([k], relay.If(relay.op.less(k, integer(5)), k, relay.Call(loop, [k - integer(5)])), INT)
    m = relay.var("m", INT)
    outer = relay.Function([m], relay.Call(loop, [m + integer(3)]), INT)
    body = relay.Let(loop, inner, relay.Let(twice, outer, relay.Call(loop, [n]) + relay.Call(twice, [n])))
    assert as_interpreted(relay.Function([n], body), np.int64(23)) == [3 + 1]


def test_a_loop_is_saved_and_exported(tmp_path: Any) -> None:
    n, x = relay.var("n", INT), relay.var("x", shape=(300,))
    weight = relay.const(np.linspace(0.5, 1, 300, dtype="float32"))
    function = relay.Function([n, x], counted(n, lambda i, v: [v * weight], (x, (300,), "float32")))
    code, lib = compiled(function).save()
    lib.export_library(tmp_path / "lib.so")
    loaded = Executable.load_exec(code, tvm.runtime.load_module(str(tmp_path / "lib.so")))
    data = np.ones(300, "float32")
    expected = data * np.linspace(0.5, 1, 300, dtype="float32") ** 3
    np.testing.assert_allclose(VirtualMachine(loaded, tvm.cpu(0)).run(np.int64(3), data)[1].numpy(), expected, 1e-5)


@pytest.mark.parametrize("name", ["MAX_CALLS", "MAX_MEAN_WORK"])
def test_long_turns_are_run_by_the_machine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm_loops, name, 0)
    n = relay.var("n", INT)
    executable = compiled(relay.Function([n], counted(n, lambda i, v: [v + i], (integer(0), (), "int64"))))
    assert loops(executable) == 0
    assert VirtualMachine(executable, tvm.cpu(0)).run(np.int64(5))[1].numpy() == 10


def _recursive(body: Any) -> Any:
    """Return a program that calls a function of a counter and a number, which calls itself."""
    f = relay.var("f", relay.FuncType([INT, INT], INT))
    n, x, start = (relay.var(name, INT) for name in ("n", "x", "start"))
    function = relay.Function([n, x], body(f, n, x), INT)
    return relay.Function([start], relay.Let(f, function, relay.Call(f, [integer(3), start])))


def test_a_function_that_is_called_where_it_is_written_is_no_kernel() -> None:
    def body(f: Any, n: Any, x: Any) -> Any:
        again = relay.Call(relay.Function([relay.var("unused", INT)], x), [n])
        return relay.If(relay.less_equal(n, integer(0)), x, relay.Call(f, [relay.subtract(n, integer(1)), again]))

    program = _recursive(body)
    executable = compiled(program)
    assert VirtualMachine(executable, tvm.cpu(0)).run(np.int64(7)).numpy() == 7


def test_a_function_without_parameters() -> None:
    x, f = relay.var("x", INT), relay.var("f", relay.FuncType([], relay.TupleType([INT, INT])))
    function = relay.Function([], relay.Tuple([relay.add(x, x), integer(1)]), relay.TupleType([INT, INT]))
    program = relay.Function([x], relay.Let(f, function, relay.Call(f, [])))
    found = VirtualMachine(compiled(program), tvm.cpu(0)).run(np.int64(4))
    assert [int(v.numpy()) for v in found] == [8, 1]
