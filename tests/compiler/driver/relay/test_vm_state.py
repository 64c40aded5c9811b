"""The virtual machine keeps results, and its compiler works step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import relay
from compiler.driver.relay import vm
from compiler.ir.error import ArgumentError, BuildError
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
    machine.set_input("main", two, one)
    result = machine.run()
    assert machine.get_outputs() == list(result) != [total, second]
    measured = machine.benchmark(compiler.cpu(), one, two, repeat=2, number=1, end_to_end=True)
    assert len(measured.results) == 2


def test_what_times_modules_times_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = vm.VirtualMachine(vm.compile(_module(), "llvm"), compiler.cpu())
    one, two = np.ones(3, "float32"), np.full(3, 2, "float32")
    assert len(machine.benchmark(compiler.cpu(), one, y=two, repeat=3, number=1, min_repeat_ms=1).results) == 3
    np.testing.assert_array_equal(machine.run()[0].numpy(), one + two)
    assert len(machine.benchmark(compiler.cpu(), repeat=2, number=1, end_to_end=True).results) == 2
    with pytest.raises(ArgumentError, match="expected 'invoke' or 'invoke_return_to_device', got 'run'"):
        machine.evaluator("run", 1, 1, 0.0)
    called: list[Any] = []

    def time_evaluator(self: Any, func_name: str, *options: Any) -> Any:
        return lambda *args: (
            called.append((func_name, *args)) or compiler.runtime.modules.module.BenchmarkResult([1.0, 2.0])
        )

    monkeypatch.setattr(compiler.runtime.modules.module.Module, "time_evaluator", time_evaluator)
    assert machine.benchmark(compiler.cpu(), one, two).mean == 1.5
    assert called == [("invoke", "main")]


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


@pytest.mark.parametrize("extent", [4, relay.Any()])
def test_a_saved_program_computes_the_same(tmp_path: Path, extent: Any) -> None:
    x, w = relay.var("x", shape=(extent, 3)), np.arange(6, dtype="float32").reshape(2, 3)
    positive = relay.less(relay.const(0.0), relay.sum(x))
    body = relay.If(positive, relay.nn.dense(x, relay.const(w)), relay.nn.dense(relay.negative(x), relay.const(w)))
    program = vm.compile(IRModule.from_expr(relay.Function([x], body)), "llvm")
    code, lib = program.save()
    assert isinstance(code, bytearray)
    assert lib is not None
    if isinstance(extent, int):
        lib.export_library(str(tmp_path / "lib.so"))
        lib = compiler.runtime.load_module(str(tmp_path / "lib.so"))
    again = vm.Executable.load_exec(bytes(code), lib)
    assert again.bytecode == program.bytecode
    for sign in (1, -1):
        data = sign * np.arange(12, dtype="float32").reshape(4, 3)
        result = vm.VirtualMachine(again, compiler.cpu()).run(data)
        np.testing.assert_allclose(result.numpy(), np.abs(data) @ w.T, rtol=1e-6)


def test_other_bytes_are_refused() -> None:
    for data in (b"", b"\x00" * 9, b"#!/bin/sh"):
        with pytest.raises(ArgumentError, match="the bytes are not a program"):
            vm.Executable.load_exec(data, None)


def test_an_expression_is_defined_as_the_function_of_its_free_variables() -> None:
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    closure = relay.Function([y], relay.Function([x], relay.add(x, y)))
    module = IRModule()
    module["main"] = closure(relay.const(1.0))(relay.const(2.0))
    assert module["main"].params == ()
    machine = vm.VirtualMachine(vm.compile(module, "llvm"), compiler.cpu())
    assert machine.run().numpy() == 3


def test_arguments_are_set_one_by_one() -> None:
    machine = vm.VirtualMachine(vm.compile(_module(), "llvm"), compiler.cpu())
    one, two = np.ones(3, "float32"), np.full(3, 2, "float32")
    machine.set_one_input("main", "x", one)
    with pytest.raises(ArgumentError, match="no value was set for y"):
        machine.run()
    machine.set_one_input("main", y=two)
    np.testing.assert_array_equal(machine.run()[0].numpy(), one + two)
    machine.set_one_input("main", 0, two)
    np.testing.assert_array_equal(machine.run()[0].numpy(), two + two)
    for wrong in ((2, one), ("z", one)):
        with pytest.raises(ArgumentError, match="it has x, y"):
            machine.set_one_input("main", *wrong)
    with pytest.raises(ArgumentError, match="or one argument by name"):
        machine.set_one_input("main", x=one, y=two)


def test_results_are_written_into_arrays() -> None:
    machine = vm.VirtualMachine(vm.compile(_module(), "llvm"), compiler.cpu())
    arguments = {"x": np.ones(3, "float32"), "y": np.full(3, 2, "float32")}
    total, second = compiler.nd.empty((3,)), compiler.nd.empty((3,))
    machine.invoke_with_outputs("main", arguments, [total, second])
    np.testing.assert_array_equal(total.numpy(), [3, 3, 3])
    np.testing.assert_array_equal(second.numpy(), [2, 2, 2])
    with pytest.raises(ArgumentError, match="main has 2 results, got 1 arrays"):
        machine.invoke_with_outputs("main", arguments, [total])
    with pytest.raises(ArgumentError, match=r"shape \(2,\)"):
        machine.invoke_with_outputs("main", arguments, [total, compiler.nd.empty((2,))])


def test_large_constants_are_kept_in_a_file_of_their_own(tmp_path: Path) -> None:
    x = relay.var("x", shape=(100,))
    weight = np.arange(100, dtype="float32")
    total = relay.multiply(relay.add(x, relay.const(weight)), relay.const(np.array([2], "float32")))
    executable = vm.compile(IRModule.from_expr(relay.Function([x], total)), "llvm")
    executable.move_late_bound_consts(tmp_path / "weights", byte_limit=400)
    assert [value.shape for value in relay.load_param_dict((tmp_path / "weights").read_bytes()).values()] == [(100,)]
    with pytest.raises(ArgumentError, match="already been removed from the program"):
        executable.get_late_bound_consts(1)

    loaded = vm.Executable.load_exec(*executable.save())
    with pytest.raises(ArgumentError, match="call load_late_bound_consts first"):
        vm.VirtualMachine(loaded, compiler.cpu())
    with pytest.raises(ArgumentError, match="there is no file"):
        loaded.load_late_bound_consts(tmp_path / "others")
    with pytest.raises(ArgumentError, match="there is no const_"):
        loaded.load_late_bound_consts_from_map({})
    loaded.load_late_bound_consts(tmp_path / "weights")
    result = vm.VirtualMachine(loaded, compiler.cpu()).invoke("main", np.ones(100, "float32"))
    np.testing.assert_array_equal(result.numpy(), (1 + weight) * 2)
    assert loaded.get_function_params("main") == ["x"]
    assert loaded.get_late_bound_consts(401) == {}


def test_a_module_that_is_exported_holds_the_program(tmp_path: Path) -> None:
    x, w = relay.var("x", shape=(2, 3)), np.arange(60, dtype="float32").reshape(20, 3)
    positive = relay.less(relay.const(0.0), relay.sum(x))
    body = relay.If(positive, relay.nn.dense(x, relay.const(w)), relay.nn.dense(-x, relay.const(w)))
    program = vm.compile(IRModule.from_expr(relay.Function([x], body)), "llvm")
    program.move_late_bound_consts(tmp_path / "weights", byte_limit=200)
    path = tmp_path / "program.so"
    program.mod.export_library(str(path))

    loaded = vm.Executable(compiler.runtime.load_module(str(path)))
    assert loaded.globals == program.globals
    with pytest.raises(ArgumentError, match="call load_late_bound_consts first"):
        vm.VirtualMachine(loaded, compiler.cpu())
    loaded.load_late_bound_consts(tmp_path / "weights")
    data = np.full((2, 3), -2, "float32")
    np.testing.assert_array_equal(vm.VirtualMachine(loaded.mod, compiler.cpu()).run(data).numpy(), -data @ w.T)
    with pytest.raises(ArgumentError, match="the module holds no program"):
        vm.Executable(compiler.runtime.load_module(_exported(relay.build(_module(), "llvm").lib, tmp_path)))


def _exported(lib: compiler.runtime.Module, folder: Path) -> str:
    lib.export_library(str(folder / "kernels.so"))
    return str(folder / "kernels.so")


def test_external_compilers_are_only_needed_once_code_is_generated() -> None:
    x = relay.var("x", shape=(3,))
    part = relay.Function([x], relay.exp(x)).with_attr({"Compiler": "absent_compiler", "global_symbol": "absent_0"})
    part = part.with_attr("Primitive", 1)
    y = relay.var("y", shape=(3,))
    mod = IRModule({"absent_0": part})
    mod["main"] = relay.Function([y], mod.get_global_var("absent_0")(y))
    steps = vm.VMCompiler()
    steps.lower(mod, "llvm")
    with pytest.raises(BuildError, match=r"relay\.ext\.absent_compiler"):
        steps.codegen()
    steps.lower(IRModule.from_expr(relay.Function([y], relay.exp(y))), "llvm")
    steps.codegen()
    assert steps.get_exec().primitive_ops == ["vm_mod_fused_exp"]
