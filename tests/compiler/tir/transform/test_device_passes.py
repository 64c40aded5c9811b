"""Passes for threads, accelerators and the functions around kernels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from compiler import tir
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IterVar, Shuffle, StringImm, Var
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.tir.expressions.device_ops import THREAD_CONTEXT
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, Evaluate, LetStmt, Stmt, seq
from compiler.tir.transform import (
    AnnotateEntryFunc,
    BindTarget,
    CombineContextCall,
    ConvertForLoopsToSerial,
    DecorateDeviceScope,
    InjectCopyIntrin,
    LiftAttrScope,
    PointerValueTypeRewrite,
    RemoveAssume,
    RemoveStoreUndef,
    VerifyMemory,
)
from tests.compiler.tir.transform.programs import apply, assert_pass, loop, nodes, program


def test_parallel_loops_become_serial() -> None:
    assert_pass(
        ConvertForLoopsToSerial(),
        "for i in T.parallel(4):\n    for j in T.unroll(2):\n        C[i * 2 + j] = n",
        "for i in range(4):\n    for j in T.unroll(2):\n        C[i * 2 + j] = n",
    )
    assert_pass(ConvertForLoopsToSerial(), "for i in range(4):\n    C[i] = n")


def test_a_body_is_marked_as_code_of_a_device() -> None:
    body = apply(program("C[0] = n"), DecorateDeviceScope()).body
    assert isinstance(body, AttrStmt)
    assert body.attr_key == "device_scope"


def test_memory_is_not_touched_from_the_host_of_a_gpu() -> None:
    func = program("for i in range(4):\n    C[i] = n")
    assert apply(func, VerifyMemory()) is func
    with pytest.raises(LoweringError, match="Memory verification failed: function 'main'"):
        apply(func.with_attr("target", SimpleNamespace(kind="cuda")), VerifyMemory())


def test_a_context_is_asked_for_once_in_each_thread() -> None:
    def context(number: int) -> Call:
        return Call("handle", THREAD_CONTEXT, (tir.call_extern("handle", "context", number),))

    i = Var("i")
    calls = seq([Evaluate(tir.call_extern("int32", "f", context(k), i)) for k in (0, 1, 0)])
    serial = apply(PrimFunc((), loop(i, 4, calls)), CombineContextCall())
    assert not [call for call in nodes(serial, Call) if call.op is THREAD_CONTEXT]
    assert isinstance(serial.body, LetStmt)
    assert isinstance(serial.body.body, LetStmt)
    parallel = apply(PrimFunc((), loop(i, 4, calls, tir.ForKind.PARALLEL)), CombineContextCall())
    assert isinstance(parallel.body, tir.For)
    assert isinstance(parallel.body.body, LetStmt)


def test_an_attribute_is_lifted_out_of_loops_and_shared_in_sequences() -> None:
    axis, i, j = IterVar(None, Var("cop"), IterVar.ThreadIndex, "cop"), Var("i"), Var("j")
    c = decl_buffer((16,), "int32", name="C")

    def marked(stmt: Stmt) -> Stmt:
        return AttrStmt(axis, "scope", StringImm("x"), stmt)

    first, second, plain = (BufferStore(c, value, [j]) for value in (1, 2, 3))
    body = loop(i, 4, seq([loop(j, 4, plain), loop(j, 4, marked(first)), loop(j, 4, marked(second))]))
    lifted: Any = apply(PrimFunc((), body), LiftAttrScope("scope")).body
    assert len(lifted.body.seq) == 2
    assert lifted.body.seq[1].attr_key == "scope"
    assert len(lifted.body.seq[1].body.seq) == 2
    whole = apply(PrimFunc((), loop(i, 4, loop(j, 4, marked(first)))), LiftAttrScope("scope")).body
    assert isinstance(whole, AttrStmt)


def test_a_padded_copy_becomes_an_instruction() -> None:
    seen: list[Any] = []

    def instruction(*arguments: Any) -> Stmt:
        seen.extend(arguments)
        return Evaluate(tir.call_extern("int32", "copy"))

    func = program(
        """
        with T.attr(0, "pragma_copy", 1):
            for i, j in T.grid(6, 4):
                C[i * 8 + j] = T.if_then_else(1 <= i and i < 5, A[i * 4 + j - 4], 7)
        """
    )
    after = apply(func, InjectCopyIntrin("copy", instruction))
    assert [call.args[0].value for call in nodes(after, Call)] == ["copy"]
    source, target, before, behind, value = seen
    numbers = [[int(e.value) for e in part] for part in (source.shape, source.strides, target.shape, target.strides)]
    assert numbers == [[4, 4], [4, 1], [6, 4], [8, 1]]
    assert ([int(e) for e in before], [int(e) for e in behind], int(value)) == ([1, 0], [1, 0], 7)
    assert (int(source.elem_offset), int(target.elem_offset)) == (0, 0)
    with pytest.raises(LoweringError, match="cannot match a copy"):
        apply(program("with T.attr(0, 'pragma_copy', 1):\n    C[0] = n"), InjectCopyIntrin("copy", instruction))


def test_statements_about_values_are_removed() -> None:
    assert_pass(RemoveAssume(), "T.evaluate(T.assume(n > 0))\nC[0] = n", "C[0] = n")
    assert_pass(RemoveStoreUndef(), "C[0] = T.undef()\nC[1] = n", "C[1] = n", values=())
    with pytest.raises(LoweringError, match="is undefined"):
        apply(program("C[T.undef()] = n"), RemoveStoreUndef())
    with pytest.raises(LoweringError, match="is undefined"):
        apply(program("C[0] = A[T.undef()]"), RemoveStoreUndef())
    with pytest.raises(LoweringError, match="is used in another way"):
        apply(program("T.evaluate(T.call_extern('int32', 'f', T.undef()))"), RemoveStoreUndef())


def test_memory_of_vectors() -> None:
    func = program(
        """
        L = T.allocate([64], "int32", "global")
        L_1 = T.Buffer((64,), "int32", data=L)
        for i in range(8):
            L_1[i * 8 : i * 8 + 8] = A[i * 8 : i * 8 + 8]
        for i in range(8):
            C[i * 8 : i * 8 + 8] = L_1[i * 8 : i * 8 + 8]
        """
    )
    (alloc,) = nodes(apply(func, PointerValueTypeRewrite()), Allocate)
    assert (alloc.dtype, int(alloc.extents[0])) == ("int32x8", 8)


def test_parameters_of_vectors() -> None:
    func = program(
        """
        for i in range(8):
            C[i * 8 : i * 8 + 8] = A[i * 8 : i * 8 + 8]
        C[8:16] = T.Broadcast(A[9] + A[18], 8)
        """
    )
    new = apply(func, PointerValueTypeRewrite())
    assert {b.name: b.dtype for b in new.buffer_map.values()} == {"A": "int32x8", "C": "int32x8"}
    lanes = [(int(n.vectors[0].indices[0]), int(n.indices[0])) for n in nodes(new, Shuffle)]
    assert sorted(lanes) == [(1, 1), (2, 2)]


@pytest.mark.parametrize("read", ["A[n]", "T.call_extern('int32', 'f', T.address_of(A[0]))"])
def test_parameters_that_are_read_element_by_element_stay(read: str) -> None:
    func = program(f"A[0:8] = T.Broadcast(1, 8)\nC[0] = {read}")
    assert apply(func, PointerValueTypeRewrite()) is func


def test_targets_and_entries() -> None:
    target = Target("llvm")
    func = program("C[0] = n")
    bound = apply(func, BindTarget(target))
    assert bound.attrs["target"] is target
    assert apply(bound, BindTarget(Target("cuda"))) is bound
    gpu = BindTarget(Target("cuda", host="llvm"))
    assert str(apply(bound.with_attr("target", Target("metal")), gpu).attrs["target"].host) == "llvm"
    assert apply(func.without_attr("global_symbol"), gpu).attrs["target"].host is None
    on_host = apply(func.with_attr("tir.is_host_func", True), gpu)
    assert str(on_host.attrs["target"].kind) == "llvm"
    assert "tir.is_host_func" not in on_host.attrs
    private = func.without_attr("global_symbol")
    module = AnnotateEntryFunc()(IRModule({"main": func, "helper": private}))
    assert module["main"].attrs["tir.is_entry_func"]
    assert "tir.is_entry_func" not in module["helper"].attrs


def test_assumptions_outlive_undefined_stores() -> None:
    assert_pass(
        RemoveStoreUndef(),
        """
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0.0))
        for i in range(16):
            if i < 14:
                C[i] = A[i]
            else:
                C[i] = T.undef(dtype="float32")
        """,
        """
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0.0))
        for i in range(16):
            if i < 14:
                C[i] = A[i]
        """,
        params="A: T.Buffer((16,), 'float32'), C: T.Buffer((16,), 'float32')",
        values=(),
    )
