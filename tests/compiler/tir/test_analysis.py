"""Facts about functions: variables, memory, rules."""

from __future__ import annotations

from types import SimpleNamespace

from compiler import tir
from compiler.ir.primexpr import IntImm, IterVar, Var
from compiler.ir.types import PointerType, PrimType

i, j = Var("i"), Var("j")
A = tir.decl_buffer((16,), name="A")
B = tir.decl_buffer((16,), name="B")
copy = tir.BufferStore(B, A[i], [i])


def test_used_buffers_are_read_or_written() -> None:
    assert tir.analysis.used_buffers(tir.For(i, 0, 16, 0, copy)) == ([A], [B])


def test_undefined_variables_in_order_of_use() -> None:
    assert tir.analysis.undefined_vars(i * 2 + j) == [i, j]
    assert tir.analysis.undefined_vars(i * 2 + j, [i]) == [j]
    assert i not in tir.analysis.undefined_vars(tir.For(i, 0, 16, 0, copy))


def test_deep_equality_keeps_variables_apart() -> None:
    assert tir.analysis.expr_deep_equal(i + 1, i + 1)
    assert not tir.analysis.expr_deep_equal(i + 1, j + 1)


def allocate(elements: int, body: tir.Stmt, scope: str = "global") -> tir.Stmt:
    pointer = Var("p", PointerType(PrimType("float32"), scope))
    return tir.Allocate(pointer, "float32", [elements], tir.const(True), body)


def test_bytes_of_allocations() -> None:
    nested = allocate(16, allocate(8, tir.Evaluate(0)))
    apart = tir.SeqStmt([allocate(16, tir.Evaluate(0)), allocate(8, tir.Evaluate(0), "local")])
    assert tir.analysis.calculate_allocated_bytes(tir.PrimFunc((), nested)) == {"main": {"global": 96}}
    assert tir.analysis.calculate_allocated_bytes(tir.PrimFunc((), apart)) == {"main": {"global": 64, "local": 32}}
    assert tir.analysis.calculate_workspace_bytes(tir.PrimFunc((), nested), 64) == 128
    parallel = tir.For(i, 0, 4, tir.ForKind.PARALLEL, allocate(16, tir.Evaluate(0)))
    assert tir.analysis.calculate_workspace_bytes(tir.PrimFunc((), parallel)) == 256


def test_memory_of_a_gpu_is_touched_by_threads_only() -> None:
    gpu = {"target": SimpleNamespace(kind="cuda")}
    loop = tir.For(i, 0, 16, 0, copy)
    thread = IterVar(None, Var("threadIdx.x"), IterVar.ThreadIndex, "threadIdx.x")
    bound = tir.AttrStmt(thread, "thread_extent", IntImm("int32", 16), copy)
    assert tir.analysis.verify_memory(tir.PrimFunc((), loop))
    assert not tir.analysis.verify_memory(tir.PrimFunc((), loop, {}, gpu))
    assert tir.analysis.verify_memory(tir.PrimFunc((), bound, {}, gpu))


def test_a_variable_is_defined_once() -> None:
    twice = tir.SeqStmt([tir.For(i, 0, 4, 0, copy), tir.For(i, 0, 4, 0, copy)])
    once = tir.SeqStmt([tir.For(i, 0, 4, 0, copy), tir.For(j, 0, 4, 0, copy)])
    assert not tir.analysis.verify_ssa(tir.PrimFunc((), twice))
    assert tir.analysis.verify_ssa(tir.PrimFunc((), once))
