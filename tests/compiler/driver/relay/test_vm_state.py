"""The virtual machine keeps results, and its compiler works step by step."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler import relay
from compiler.driver.relay import vm
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule


def _module() -> IRModule:
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    return IRModule.from_expr(relay.Function([x, y], relay.Tuple([x + y, y])))


def test_results_are_kept() -> None:
    machine = vm.VirtualMachine(vm.compile(_module(), "llvm"), compiler.cpu())
    assert [machine.get_input_index(name) for name in ("x", "y", "z")] == [0, 1, -1]
    assert machine.get_outputs() == []
    one, two = np.ones(3, "float32"), np.full(3, 2, "float32")
    machine.invoke_stateful("main", one, two)
    total, second = machine.get_outputs()
    np.testing.assert_array_equal(total.numpy(), one + two)
    np.testing.assert_array_equal(second.numpy(), two)
    measured = machine.benchmark(compiler.cpu(), one, two, repeat=2, number=1, end_to_end=True)
    assert len(measured.results) == 2


def test_the_compiler_works_step_by_step() -> None:
    steps = vm.VMCompiler()
    with pytest.raises(ArgumentError, match="call lower first"):
        steps.get_exec()
    params = {"y": np.full(3, 2, "float32")}
    module, bound = steps.optimize(_module(), "llvm", params=params)
    assert bound == params
    assert [p.name_hint for p in module["main"].params] == ["x"]
    steps.set_params(params)
    steps.lower(_module(), "llvm")
    steps.codegen()
    program = steps.get_exec()
    assert program.globals == ["main"]
    assert any("add" in name for name in program.primitive_ops)
    result = vm.VirtualMachine(program, compiler.cpu()).run(np.ones(3, "float32"))
    np.testing.assert_array_equal(result[0].numpy(), np.full(3, 3, "float32"))
