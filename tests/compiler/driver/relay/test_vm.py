"""The virtual machine: control flow, recursion, closures, data types, shapes that are not known before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.prelude import Prelude
from compiler.driver.relay import vm_kernels
from compiler.driver.relay.vm import VirtualMachine
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule

INT = relay.scalar_type("int32")
RNG = np.random.default_rng(3)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


def machine(mod: Any, **options: Any) -> VirtualMachine:
    return VirtualMachine(relay.vm.compile(mod, "llvm", **options), tvm.cpu(0))


def factorial() -> IRModule:
    n, acc = relay.var("n", INT), relay.var("acc", INT)
    loop = GlobalVar("loop")
    again = relay.Call(loop, [n - relay.const(1), acc * n])
    body = relay.If(relay.op.less(n, relay.const(2)), acc, again)
    m = relay.var("m", INT)
    module = IRModule({loop: relay.Function([n, acc], body, INT)})
    module["main"] = relay.Function([m], relay.Call(loop, [m, relay.const(1)]), INT)
    return module


def test_recursion() -> None:
    run = machine(factorial())
    assert [int(run.run(n).numpy()) for n in (0, 1, 5, 10)] == [1, 1, 120, 3628800]
    assert run.benchmark(tvm.cpu(0), 5, repeat=2, number=1).mean > 0


def test_a_call_in_last_place_needs_no_memory() -> None:
    run = machine(factorial())
    assert int(run.run(3000).numpy()) == 0  # far more multiplications than 32 bits hold


def test_recursion_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compiler.runtime.vm.MAX_FRAMES", 100)
    n, f = relay.var("n", INT), GlobalVar("f")
    module = IRModule({f: relay.Function([n], relay.Call(f, [n]) + relay.const(1), INT)})
    module["main"] = relay.Function([m := relay.var("m", INT)], relay.Call(f, [m]), INT)
    with pytest.raises(TVMError, match="the recursion does not terminate"):
        machine(module).run(1)


@pytest.mark.parametrize("flag", [True, False])
def test_branches_evaluate_what_they_need(flag: bool) -> None:
    c, x = relay.var("c", "bool"), relay.var("x", shape=(3, 4))
    shared = relay.nn.relu(x)
    body = relay.If(c, shared + relay.const(1.0), relay.negative(shared)) * shared
    data = normal(3, 4)
    relu = np.maximum(data, 0)
    expected = (relu + 1 if flag else -relu) * relu
    got = machine(relay.Function([c, x], body)).run(flag, data)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


def test_closures_capture_values_and_themselves() -> None:
    n, step, k = relay.var("n", INT), relay.var("step", INT), relay.var("k", INT)
    down = relay.var("down")
    inner = relay.Function(
        [k], relay.If(relay.op.less(k, relay.const(1)), relay.const(0), relay.Call(down, [k - step]) + k), INT
    )
    main = relay.Function([n, step], relay.Let(down, inner, relay.Call(down, [n])), INT)
    assert int(machine(main).run(10, 3).numpy()) == 10 + 7 + 4 + 1


def test_lists_are_built_mapped_and_summed() -> None:
    module = IRModule()
    p = Prelude(module)
    x = relay.var("x", INT)
    values = p.nil()
    for i in (3, 2, 1):
        values = p.cons(relay.const(i) * x, values)
    square = relay.Function([k := relay.var("k", INT)], k * k, INT)
    squares = relay.Call(p.map, [square, values])
    module["main"] = relay.Function([x], relay.Tuple([relay.Call(p.sum, [squares]), squares]))
    total, items = machine(module).run(2)
    assert int(total.numpy()) == 4 + 16 + 36
    assert (items.name, len(items)) == ("Cons", 2)
    assert int(items[1][0].numpy()) == 16


def test_references_change() -> None:
    x = relay.var("x", INT)
    cell, _w, got = relay.var("cell"), relay.var("w"), relay.var("got")
    body = relay.Let(
        cell,
        relay.RefCreate(x),
        relay.Let(
            _w,
            relay.RefWrite(cell, relay.RefRead(cell) + relay.const(5)),
            relay.Let(got, relay.RefRead(cell), got * relay.const(2)),
        ),
    )
    assert int(machine(relay.Function([x], body)).run(4).numpy()) == 18


def test_a_model_may_be_deeper_than_pythons_stack() -> None:
    x = relay.var("x", shape=(2,))
    value: Any = x
    for _ in range(1200):
        value = relay.TupleGetItem(relay.Tuple([relay.nn.softmax(value)]), 0)
    machine = VirtualMachine(relay.vm.compile(IRModule.from_expr(relay.Function([x], value)), "llvm"), tvm.cpu())
    np.testing.assert_allclose(machine.run(np.ones(2, "float32")).numpy(), [0.5, 0.5])


def test_what_a_condition_has_read_is_not_computed_again() -> None:
    x = relay.var("x", shape=(3,))
    shared = relay.nn.softmax(x)
    chosen = relay.If(relay.TupleGetItem(relay.Tuple([relay.greater(relay.sum(shared), relay.const(2.0))]), 0), x, x)
    text = relay.vm.compile(IRModule.from_expr(relay.Function([x], relay.Tuple([chosen, shared]))), "llvm").bytecode
    assert text.count("in: $0,") == 1, text


def test_shapes_that_are_known_only_while_the_program_runs() -> None:
    x, w = relay.var("x", relay.TensorType((relay.Any(), 4))), relay.var("w", shape=(3, 4))
    run = machine(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    weight = normal(3, 4)
    for rows in (1, 5, 5, 1, 5, 5):  # what comes again and again is compiled
        data = normal(rows, 4)
        np.testing.assert_allclose(run.run(data, weight).numpy(), np.maximum(data @ weight.T, 0), rtol=1e-5)
    assert "NumPy" in run.executable.primitives


def test_a_shape_that_came_before_takes_no_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tells kernels of unknown shapes apart is worked out at every call, so it must be little."""
    x, y = (relay.var(name, relay.TensorType((relay.Any(), 2), "float32")) for name in "xy")
    pair = relay.Tuple([relay.exp(x), y])
    run = machine(IRModule.from_expr(relay.Function([x, y], relay.concatenate(pair, axis=0))))
    made = []
    type_of = vm_kernels._type_of
    monkeypatch.setattr(vm_kernels, "_type_of", lambda value: made.append(value) or type_of(value))
    for rows in ((1, 3), (3, 1)) * 4:  # each three times by NumPy, then by machine code
        a, b = normal(rows[0], 2), normal(rows[1], 2)
        np.testing.assert_allclose(run.run(a, b).numpy(), np.concatenate([np.exp(a), b]), rtol=1e-5)
    assert made
    before = len(made)
    for rows in ((1, 3), (3, 1)):
        a, b = normal(rows[0], 2), normal(rows[1], 2)
        np.testing.assert_allclose(run.run(a, b).numpy(), np.concatenate([np.exp(a), b]), rtol=1e-5)
    assert len(made) == before


@pytest.mark.parametrize(("seconds", "calls"), [(60.0, 3), (1e-9, 1)])
def test_machine_code_is_made_for_shapes_that_come_often_or_take_numpy_long(
    monkeypatch: pytest.MonkeyPatch, seconds: float, calls: int
) -> None:
    monkeypatch.setattr(vm_kernels, "_SECONDS", seconds)
    compiled = []
    specialised = vm_kernels._DynamicKernel._specialised
    monkeypatch.setattr(
        vm_kernels._DynamicKernel, "_specialised", lambda *given: compiled.append(given) or specialised(*given)
    )
    x = relay.var("x", relay.TensorType((relay.Any(), 2), "float32"))
    run = machine(relay.Function([x], relay.exp(x)))
    counts = []
    for _ in range(5):
        run.run(normal(7, 2))
        counts.append(len(compiled))
    assert counts == [0] * calls + [1] * (5 - calls)


def test_inputs_by_name_and_parameters_that_are_known() -> None:
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    weight, data = normal(3, 4), normal(2, 4)
    run = machine(IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), params={"w": weight})
    run.set_input("main", x=data)
    np.testing.assert_allclose(run.run().numpy(), data @ weight.T, rtol=1e-5)
    assert run.benchmark(tvm.cpu(0), data, repeat=2, number=1).mean > 0
    assert "Primitive ops (#1): [vm_mod_fused_nn_dense]" in run.executable.stats
    assert "Constant shapes (# 1): [[3, 4]]" in run.executable.stats


def test_what_does_not_fit_is_refused() -> None:
    run = machine(factorial())
    with pytest.raises(ArgumentError, match=r"main takes \(m\), got 2 arguments"):
        run.run(1, 2)
    with pytest.raises(ArgumentError, match=r"main takes \(m\), got 0 arguments and n"):
        run.run(n=1)
    with pytest.raises(ArgumentError, match=r"no function 'side'; there are main"):
        run.invoke("side")


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
def test_executors_agree(kind: str) -> None:
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    y = relay.nn.dense(x, w)
    module = IRModule.from_expr(relay.Function([x, w], relay.Tuple([y, relay.nn.relu(y)])))
    executor = relay.create_executor(kind, mod=module, device=tvm.cpu(0), target="llvm")
    data, weight = normal(2, 4), normal(3, 4)
    plain, positive = executor.evaluate()(data, w=weight)
    np.testing.assert_allclose(plain.numpy(), data @ weight.T, rtol=1e-5)
    np.testing.assert_allclose(positive.numpy(), np.maximum(data @ weight.T, 0), rtol=1e-5)
    two = executor.evaluate(relay.const(1.0) + relay.const(1.0))
    assert float(two.numpy()) == 2.0


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
def test_tuples_are_arguments_and_results(kind: str) -> None:
    pair = relay.var("pair", relay.TupleType([relay.TensorType((2,)), relay.TensorType((2,))]))
    first, second = relay.TupleGetItem(pair, 0), relay.TupleGetItem(pair, 1)
    main = relay.Function([pair], relay.Tuple([first + second, relay.Tuple([second, first])]))
    a, b = normal(2), normal(2)
    total, (left, right) = relay.create_executor(kind, mod=IRModule.from_expr(main)).evaluate()((a, b))
    for got, wanted in ((total, a + b), (left, b), (right, a)):
        np.testing.assert_array_equal(got.numpy(), wanted)


def test_executor_of_no_kind() -> None:
    with pytest.raises(ArgumentError, match="kind must be one of 'debug', 'graph', 'vm', 'aot', got 'fast'"):
        relay.create_executor("fast")


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_open_extents_excuse_no_others(kind: str) -> None:
    """Only what a type leaves open may be anything: NumPy would broadcast the rest."""
    x, y = relay.var("x", shape=(relay.Any(),)), relay.var("y", shape=(3, 2))
    pair = relay.var("t", relay.TupleType((x.type_annotation, y.type_annotation)))

    def run(params: list[Any], body: Any, *args: Any) -> Any:
        mod = IRModule.from_expr(relay.Function(params, body))
        return relay.create_executor(kind, mod=mod, target="llvm").evaluate()(*args).numpy()

    one = np.ones(1, "float32")
    np.testing.assert_equal(run([x, y], relay.add(x, y), one, np.ones((3, 2), "float32")), np.full((3, 2), 2.0))
    with pytest.raises(ArgumentError, match="must have dimension 0 equal to 3, got 4"):
        run([x, y], relay.add(x, y), one, np.ones((4, 2), "float32"))
    with pytest.raises(ArgumentError, match=r"(t'\.|p)1'? must have 2 dimensions"):
        run([pair], relay.add(relay.TupleGetItem(pair, 0), relay.TupleGetItem(pair, 1)), (one, one))
    z = relay.var("z", shape=(relay.Any(),))
    with pytest.raises(TVMError, match=r"Invalid broadcast shapes \(3,\), \(3,\) and \(4,\)"):
        run([x, z], relay.where(relay.less(x, x), x, z), np.ones(3, "float32"), np.ones(4, "float32"))


def test_a_reshape_is_an_instruction_that_shares_the_elements() -> None:
    x = relay.var("x", shape=(8, 16))
    executable = relay.vm.compile(relay.Function([x], relay.expand_dims(relay.reshape(x, (-1, 4, 8)), 0)), "llvm")
    assert executable.bytecode.count("reshape_tensor $1 $0 [1, 4, 4, 8]") == 1
    assert executable.primitive_ops == []
    data = tvm.nd.array(normal(8, 16))
    result = VirtualMachine(executable, tvm.cpu()).run(data)
    np.testing.assert_array_equal(result.numpy(), data.numpy().reshape(1, 4, 4, 8))
    assert np.shares_memory(result.view(), data.view())


def test_a_reshape_to_an_unknown_shape_is_named_so() -> None:
    x, shape = relay.var("x", shape=(8, 16)), relay.var("s", shape=(3,), dtype="int32")
    executable = relay.vm.compile(relay.Function([x, shape], relay.reshape(x, shape)), "llvm")
    assert executable.primitive_ops == ["reshape_tensor"]
    result = VirtualMachine(executable, tvm.cpu()).run(normal(8, 16), np.array([8, 2, 8], "int32"))
    assert result.shape == (8, 2, 8)


def test_the_text_of_a_program_says_what_is_allocated_called_and_chosen() -> None:
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(2, 3))
    text = relay.vm.compile(relay.Function([c, x], relay.If(c, x + x, relay.exp(x))), "llvm").bytecode
    assert text.startswith("VM Function[0]: main(c, x)\n# reg file size = 5\n# instruction count = 7\n")
    assert " 0: if not $0 goto 4\n" in text
    assert " 1: alloc_tensor $3 [2, 3] float32; invoke_packed PackedFunc[0] (in: $1, out: $3)\n" in text
    assert " 3: goto 6\n" in text
    assert text.endswith(" 6: ret $2\n")
