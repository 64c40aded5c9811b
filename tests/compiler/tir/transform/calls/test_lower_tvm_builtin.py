"""Arguments on stacks and memory of the runtime: their form, and that calls receive what they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.tir.script import tir as T
from compiler.tir.statements.stmt import Allocate, AttrStmt, For, IfThenElse, LetStmt
from tests.compiler.tir.transform.programs import nodes


def lowered(func: Any, target: str | None = "llvm") -> Any:
    if target is not None:
        func = func.with_attr("target", Target(target))
    return tvm.tir.transform.LowerTVMBuiltin()(IRModule({"main": func}))["main"]


def on_device(body: Any, device_type: int = 1) -> Any:
    inner = AttrStmt("default", "device_type", tir.const(device_type), body)
    return AttrStmt("default", "device_id", tir.const(0), inner)


def stacks(func: Any) -> dict[str, int]:
    lets = [n.value for n in nodes(func, LetStmt) if isinstance(n.value, Call) and n.value.op.name.endswith("alloca")]
    return {call.args[0].value: call.args[1].value for call in lets}


def calls(func: Any, name: str) -> list[Call]:
    return [n for n in nodes(func, Call) if getattr(n.op, "name", "") == f"tir.{name}"]


def allocation(*extents: Any, dtype: str = "float32") -> Any:
    buffer = tir.decl_buffer(extents, dtype, "M")
    body = tir.BufferStore(buffer, tir.const(0, dtype), [0] * len(extents))
    return Allocate(buffer.data, dtype, buffer.shape, tir.const(True), body)


def test_every_kind_of_argument_arrives() -> None:
    seen: list[Any] = []

    @tvm.register_func("tests.builtin.look", override=True)
    def look(*args: Any) -> int:
        seen.append(tuple(a.numpy().copy() if hasattr(a, "numpy") else getattr(a, "value", a) for a in args))
        return len(args)

    A = tir.decl_buffer((2, 3), "float32", "A")
    B = tir.decl_buffer((4,), "int32", "B", strides=[1])
    inner = tir.call_packed("tests.builtin.look", B, 5)
    call = tir.call_packed("tests.builtin.look", A, tir.const(2.5, "float32"), inner, "text", A.data, tir.const(True))
    func = lowered(tir.PrimFunc([A, B], on_device(tir.BufferStore(B, call, [0]))))
    assert stacks(func) == {"arg_tcode": 10, "arg_value": 10, "array": 2, "shape": 4}
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.arange(4, dtype="int32")
    b_before = b.copy()
    tvm.build(func, target="llvm")(a, b)
    (second, five), (first, number, returned, text, pointer, truth) = seen
    np.testing.assert_array_equal(second, b_before)
    np.testing.assert_array_equal(first, a)
    assert (five, number, returned, text, pointer, truth) == (5, 2.5, 2, "text", a.ctypes.data, 1)
    assert b[0] == 6


def test_results_have_the_type_of_their_call() -> None:
    tvm.register_func("tests.builtin.half", lambda x: x / 2, override=True)
    A = tir.decl_buffer((2,), "float32", "A")
    half = [tir.call_intrin("float32", "tir.tvm_call_packed", "tests.builtin.half", A[i]) for i in range(2)]
    func = tir.PrimFunc([A], tir.SeqStmt([tir.BufferStore(A, half[i], [i]) for i in range(2)]))
    for each in (func, lowered(func)):
        a = np.array([3, 5], "float32")
        tvm.build(each, target="llvm")(a)
        np.testing.assert_array_equal(a, [1.5, 2.5])
    assert stacks(lowered(func)) == {"arg_tcode": 2, "arg_value": 2}  # one after the other: both use the same places


def test_bodies_of_parallel_loops_have_their_own_stacks() -> None:
    seen: list[tuple[int, int]] = []
    look = tvm.register_func("tests.builtin.element", override=True)
    look(lambda array, i: seen.append((i, int(array.numpy()[i]))))
    A = tir.decl_buffer((16,), "int32", "A")
    i = te.var("i")
    call = tir.Evaluate(tir.call_packed("tests.builtin.element", A, i))
    loop = For(i, tir.const(0), tir.const(16), tir.ForKind.PARALLEL, call)
    func = lowered(tir.PrimFunc([A], on_device(loop)))
    assert isinstance(func.body, For)
    assert stacks(func) == {"arg_tcode": 3, "arg_value": 3, "array": 1, "shape": 1}
    tvm.build(func, target="llvm")(np.arange(16, dtype="int32") ** 2)
    assert sorted(seen) == [(i, i * i) for i in range(16)]


def test_memory_of_a_device_and_large_memory_come_from_the_runtime() -> None:
    n = te.var("n")
    cases = ((2, (16,), 64), (1, (256,), 1024), (1, (n, 3), None))
    for device, extents, size in cases:
        func = lowered(tir.PrimFunc([n], on_device(allocation(*extents), device)))
        assert not nodes(func, Allocate)
        assert not [a for a in nodes(func, AttrStmt) if a.attr_key.startswith("device")]
        (requested,), (freed,) = calls(func, "TVMBackendAllocWorkspace"), calls(func, "TVMBackendFreeWorkspace")
        assert [a.value for a in (*requested.args[:2], *requested.args[3:])] == [device, 0, 2, 32]
        assert requested.args[2].dtype == "uint64"
        assert size is None or requested.args[2].value == size
        assert isinstance(func.body, LetStmt)
        assert freed.args[2] is func.body.var
        assert len(nodes(func, IfThenElse)) == len(calls(func, "tvm_throw_last_error")) == 2


def test_small_memory_of_a_cpu_and_functions_of_other_targets_stay() -> None:
    small, large = (tir.PrimFunc([], allocation(count)) for count in (255, 256))
    assert lowered(small).body is small.body
    for target in (None, "cuda"):
        assert lowered(large, target).body is large.body


def test_conditions_are_prepared_before_their_statement() -> None:
    x = te.var("x")
    call = tir.call_packed("f", x)
    func = lowered(tir.PrimFunc([x], IfThenElse(call > 0, tir.Evaluate(tir.call_packed("g", x, x)))))
    assert stacks(func) == {"arg_tcode": 3, "arg_value": 3}
    (branch,) = nodes(func, IfThenElse)
    assert len(calls(branch, "tvm_struct_set")) == 2
    assert len(calls(func, "tvm_struct_set")) == 3


def test_what_cannot_be_lowered_is_refused() -> None:
    A = tir.decl_buffer((4,), "float32", "A")
    cases = (
        (AttrStmt("d", "device_type", tir.const(2), allocation(4)), "Unknown device id"),
        (tir.Evaluate(tir.call_packed("f", A)), "Unknown device id"),
        (tir.Evaluate(tir.call_intrin("handle", "tir.tvm_stack_make_shape", 1)), "outside of CallNodes"),
        (tir.While(tir.call_packed("f", 1) > 0, tir.Evaluate(0)), "condition of a while loop"),
        (tir.Evaluate(tir.call_packed("f", tir.Broadcast(tir.const(1.0), 4))), "cannot take vectors"),
    )
    for body, message in cases:
        with pytest.raises(LoweringError, match=message):
            lowered(tir.PrimFunc([], body))


def test_printed_calls_of_the_runtime_are_read_back() -> None:
    @T.prim_func
    def main() -> None:
        T.attr("default", "device_id", 0)
        M = T.allocate([512], "float32")
        T.evaluate(M)

    func = lowered(main).without_attr("target")
    again = tvm.script.from_source(IRModule({"main": func}).script())
    tvm.ir.assert_structural_equal(again["main"].body, func.body, map_free_vars=True)


def test_memory_is_freed_where_its_buffer_is_still_declared() -> None:
    buffer = tir.decl_buffer((16,), name="B")
    body = tir.DeclBuffer(buffer, tir.BufferStore(buffer, 0.0, [0]))
    func = lowered(tir.PrimFunc([], on_device(tir.Allocate(buffer.data, "float32", [16], True, body), 2)))
    (declared,) = nodes(func, tir.DeclBuffer)
    assert [n for n in nodes(declared.body, Call) if n.op.name == "tir.TVMBackendFreeWorkspace"]


def test_types_of_arguments_are_declared_beside_their_stack() -> None:
    func = lowered(tir.PrimFunc([], tir.Evaluate(tir.call_packed("f", 1, 2))))
    kinds = func.body
    assert isinstance(kinds, LetStmt)
    assert isinstance(kinds.body, tir.DeclBuffer)
    assert [str(dim) for dim in kinds.body.buffer.shape] == ["T.uint64(3)"]
    assert isinstance(kinds.body.body, LetStmt)
