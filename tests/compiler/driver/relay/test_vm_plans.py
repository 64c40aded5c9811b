"""What the virtual machine prepares for shapes that come again computes what it computes instruction by instruction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.driver.relay import vm
from compiler.ir.error import TVMError

RUNS = 6


def machine_of(function: Any) -> tuple[Any, Any]:
    mod = function if isinstance(function, tvm.IRModule) else tvm.IRModule.from_expr(function)
    return vm.VirtualMachine(vm.compile(mod, "llvm"), tvm.cpu(0)), relay.create_executor("debug", mod=mod).evaluate()


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def flat(value: Any) -> list[Any]:
    return [value.numpy()] if hasattr(value, "numpy") else [array for part in value for array in flat(part)]


def selecting() -> Any:
    """Rows whose mean is positive, times a matrix, scattered back: the number of rows depends on values."""
    x, w = relay.var("x", shape=(6, 4)), relay.var("w", shape=(4, 4))
    rows = relay.squeeze(relay.argwhere(relay.greater(relay.mean(x, axis=1), relay.const(0.0))), axis=[1])
    chosen = relay.nn.relu(relay.nn.dense(relay.take(x, rows, axis=0), w))
    whole = relay.sum(relay.tanh(chosen), axis=0)
    return relay.Function([x, w], relay.Tuple([chosen, whole, relay.reshape(whole, (2, 2)), x]))


def choosing() -> Any:
    """A branch at run time, whose parts are tuples."""
    x, y = relay.var("x", shape=(3, 5)), relay.var("y", shape=(3, 5))
    yes = relay.Tuple([relay.exp(x), relay.split(y, 5, 1)[2]])
    no = relay.Tuple([relay.nn.relu(y), relay.split(x, 5, 1)[0]])
    both = relay.If(relay.greater(relay.sum(x), relay.const(0.0)), yes, no)
    return relay.Function([x, y], relay.Tuple([relay.TupleGetItem(both, 1), relay.TupleGetItem(both, 0)]))


def calling() -> Any:
    """One function called twice, whose results are used together."""
    mod = tvm.IRModule()
    f, a = relay.GlobalVar("f"), relay.var("a", shape=(3, 4))
    rows = relay.squeeze(relay.argwhere(relay.greater(relay.sum(a, axis=1), relay.const(0.0))), axis=[1])
    sums = relay.sum(relay.take(relay.tanh(a), rows, axis=0), axis=0)
    mod[f] = relay.Function([a], relay.Tuple([relay.exp(sums), relay.nn.relu(sums)]))
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(3, 4))
    one, other = (relay.Call(f, [v]) for v in (x, y))
    parts = [relay.TupleGetItem(call, i) for call in (one, other) for i in (0, 1)]
    mod["main"] = relay.Function([x, y], relay.Tuple(parts))
    return mod


def recursive() -> Any:
    """A function that reads what it computed before it called itself."""
    mod = tvm.IRModule()
    f, n, a = relay.GlobalVar("f"), relay.var("n", shape=(), dtype="int32"), relay.var("a", shape=(3,))
    own = relay.var("own")
    again = relay.Call(f, [relay.subtract(n, relay.const(1)), own])
    body = relay.Let(own, relay.tanh(relay.add(a, relay.const(1.0))), relay.add(again, own))
    returned = relay.TensorType((3,))
    mod[f] = relay.Function([n, a], relay.If(relay.greater(n, relay.const(0)), body, relay.exp(a)), returned)
    x = relay.var("x", shape=(3,))
    mod["main"] = relay.Function([x], relay.Call(f, [relay.const(5), x]))
    return mod


@pytest.mark.parametrize("make", [selecting, choosing, calling, recursive])
def test_values_change_and_results_stay(make: Any) -> None:
    made = make()
    machine, reference = machine_of(made)
    params = (made["main"] if isinstance(made, tvm.IRModule) else made).params
    shapes = [[d.value for d in p.type_annotation.shape] for p in params]
    runs = [[floats(*shape, seed=10 * turn + i) for i, shape in enumerate(shapes)] for turn in (0, 1, 2)] * RUNS
    results = [machine.run(*run) for run in runs]
    for run, result in zip(runs, results, strict=True):  # only now: later runs have written nothing into them
        for one, wanted in zip(flat(result), flat(reference(*run)), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-6)


def test_kernels_for_shapes_that_come_again_are_called_by_address() -> None:
    machine, _ = machine_of(choosing())
    called: list[int] = []
    x = floats(3, 5)

    def watched(kernel: Any) -> Any:
        class Watched:
            machine_code = kernel.machine_code

            def __call__(self, args: Any) -> Any:
                called.append(1)
                return kernel(args)

        return Watched()

    machine.executable.kernels = [watched(kernel) for kernel in machine.executable.kernels]
    counts = []
    for _ in range(RUNS):
        called.clear()
        machine.run(x, x)
        counts.append(len(called))
    assert counts[0] > 0
    assert counts[-1] == 0


def test_arguments_that_were_one_array_may_be_two() -> None:
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    difference = relay.subtract(x, relay.multiply(y, relay.const(2.0)))
    machine, _ = machine_of(relay.Function([x, y], relay.Tuple([difference, y])))
    one, other = tvm.nd.array(floats(4)), tvm.nd.array(floats(4, seed=1))
    for _ in range(RUNS):
        machine.run(one, one)
    for given in ((one, other), (other, one)):
        result, kept = machine.run(*given)
        np.testing.assert_allclose(result.numpy(), given[0].numpy() - 2 * given[1].numpy(), rtol=1e-6)
        assert kept is given[1]


def test_an_array_that_begins_anywhere_is_taken() -> None:
    x = relay.var("x", shape=(5,))
    machine, _ = machine_of(relay.Function([x], relay.nn.relu(x)))
    memory = np.zeros(64, "float32")
    for offset in (*[0] * RUNS, 1, 3):
        memory[offset : offset + 5] = floats(5, seed=offset)
        given = tvm.nd.numpyasarray(memory[offset : offset + 5])
        np.testing.assert_array_equal(machine.run(given).numpy(), np.maximum(given.numpy(), 0))


def test_a_failure_is_raised_in_every_run() -> None:
    x = relay.var("x", shape=(2,))
    failing = relay.add(x, relay.fail(message="this branch does not fit", shape=(2,)))
    body = relay.If(relay.greater(relay.sum(x), relay.const(0.0)), relay.nn.relu(x), failing)
    machine, _ = machine_of(relay.Function([x], body))
    for _ in range(RUNS):
        assert machine.run(np.ones(2, "float32")).numpy().tolist() == [1, 1]
        with pytest.raises(TVMError, match="this branch does not fit"):
            machine.run(-np.ones(2, "float32"))


def test_machines_of_one_program_do_not_share_memory() -> None:
    mod = tvm.IRModule.from_expr(choosing())
    program = vm.compile(mod, "llvm")
    machines = [vm.VirtualMachine(program, tvm.cpu(0)) for _ in range(2)]
    given = [[floats(3, 5, seed=2 * i), floats(3, 5, seed=2 * i + 1)] for i in range(2)]
    first = [flat(machine.run(*arrays)) for machine, arrays in zip(machines, given, strict=True)]
    for _ in range(RUNS):
        for machine, arrays, wanted in zip(machines, given, first, strict=True):
            for one, reference in zip(flat(machine.run(*arrays)), wanted, strict=True):
                np.testing.assert_array_equal(one, reference)
