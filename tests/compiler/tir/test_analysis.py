"""Facts about functions: variables, memory, rules."""

from __future__ import annotations

import re
import textwrap
from types import SimpleNamespace

import pytest

from compiler import tir
from compiler.classic.tir.memcpy import identify_memcpy
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm, IterVar, Var
from compiler.ir.module import IRModule
from compiler.ir.types import PointerType, PrimType
from compiler.tir.script import from_source

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
    assert not tir.analysis.verify_memory(tir.PrimFunc((), loop, None, {}, gpu))
    assert tir.analysis.verify_memory(tir.PrimFunc((), bound, None, {}, gpu))


def test_a_variable_is_defined_once() -> None:
    twice = tir.SeqStmt([tir.For(i, 0, 4, 0, copy), tir.For(i, 0, 4, 0, copy)])
    once = tir.SeqStmt([tir.For(i, 0, 4, 0, copy), tir.For(j, 0, 4, 0, copy)])
    assert not tir.analysis.verify_ssa(tir.PrimFunc((), twice))
    assert tir.analysis.verify_ssa(tir.PrimFunc((), once))


def main(body: str, params: str = "A: T.Buffer((8, 8)), C: T.Buffer((8, 8)), n: T.int32") -> tir.PrimFunc:
    """Return a function with the statements of a text."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return from_source(f"@T.prim_func\ndef main({params}):\n{lines}")  # type: ignore[no-any-return]


def test_operations_are_counted_as_often_as_they_are_done() -> None:
    func = main(
        """
        for i, j in T.grid(8, 8):
            C[i, j] = A[i, j] * T.float32(2.0) + T.exp(A[j, i])
        for i in range(8):
            if i < n:
                C[i, 0] = A[i, 1] + T.float32(1.0)
            else:
                C[i, 0] = A[i, 1] + T.float32(1.0) - A[i, 2]
        """
    )
    assert tir.analysis.estimate_tir_flops(IRModule({"main": func})) == 64 * 2 + 8 * 2
    choice = main("for i in range(8):\n    C[i, 0] = T.Select(A[i, 0] < 1.0, A[i, 1] + 1.0, A[i, 2] * A[i, 3] * 2.0)")
    assert tir.analysis.estimate_tir_flops(choice.body) == 16
    assert tir.analysis.estimate_tir_flops(choice.with_attr("estimated_flops", 5)) == 5
    with pytest.raises(ArgumentError, match="must be constant"):
        tir.analysis.estimate_tir_flops(main("for i in range(n):\n    C[i, 0] = 1.0"))


def test_a_kernel_keeps_the_limits_of_a_gpu() -> None:
    func = main(
        """
        with T.launch_thread("blockIdx.x", 4) as bx:
            with T.launch_thread("threadIdx.x", 8) as tx:
                L = T.allocate([16], "float32", "local")
                L_1 = T.Buffer((16,), data=L, scope="local")
                L_1[0] = A[bx, tx]
                C[bx, tx] = L_1[0]
        """
    )

    def keeps(**limits: int) -> bool:
        return tir.analysis.verify_gpu_code(func, limits)

    assert keeps(max_threads_per_block=8, max_local_memory_per_block=64, max_thread_x=8, max_kernels=1)
    assert not keeps(max_threads_per_block=7)
    assert not keeps(max_local_memory_per_block=63)
    assert not keeps(max_thread_x=7)
    assert not keeps(max_kernels=0)
    assert keeps(max_shared_memory_per_block=0)
    with pytest.raises(ArgumentError, match="there is no limit 'max_warps'"):
        keeps(max_warps=1)


def test_variables_are_used_in_their_scopes() -> None:
    assert tir.analysis.verify_well_formed(main("for i in range(8):\n    C[i, 0] = A[i, n]"))
    free = tir.PrimFunc((), tir.Evaluate(i + 1))
    assert not tir.analysis.verify_well_formed(free, assert_mode=False)
    with pytest.raises(ArgumentError, match="variable 'i' is used but not defined"):
        tir.analysis.verify_well_formed(free)
    within = tir.PrimFunc((), tir.For(i, 0, 4, 0, tir.For(i, 0, 4, 0, tir.Evaluate(i))))
    with pytest.raises(ArgumentError, match="'i' is defined within its own scope again"):
        tir.analysis.verify_well_formed(within)


def test_effects_of_functions() -> None:
    assert not tir.analysis.is_pure_function(main("C[0, 0] = A[0, 0]"))
    assert tir.analysis.is_pure_function(main("T.evaluate(A[0, n] + 1.0)"))
    with pytest.raises(ArgumentError, match=r"calls tir\.call_extern"):
        tir.analysis.assert_pure_function(main("T.evaluate(T.call_extern('int32', 'f'))"))


def test_a_let_may_be_used_twice() -> None:
    x = Var("x")
    one, two = tir.Let(x, tir.const(1), x + 1), tir.Let(x, tir.const(2), x + 1)
    assert tir.analysis.verify_ssa(tir.PrimFunc((), tir.Evaluate(one + one)))
    assert not tir.analysis.verify_ssa(tir.PrimFunc((), tir.Evaluate(one + two)))


@pytest.mark.parametrize(("alignment", "size"), [(1, 29), (8, 32), (16, 48)])
def test_constants_take_multiples_of_an_alignment(alignment: int, size: int) -> None:
    func = from_source(
        """
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            K = T.allocate_const([1, 2, 3, 4, 5], "int8", [5])
            k = T.Buffer((5,), "int8", data=K)
            L = T.allocate_const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "float32", [6])
            m = T.Buffer((6,), "float32", data=L)
            for i in range(4):
                A[i] = m[i] + T.cast(k[i], "float32")
        """
    )
    assert tir.analysis.calculate_constant_bytes(func, alignment) == size


COPIES = {
    "B[i * 8 + j] = A[i, j]": [("A[0:4, 0:8]", "B[0:32]"), ("A[i, 0:8]", "B[i * 8:i * 8 + 8]")],
    "B[i * 8 + j] = A[i, j] + 1.0": ["value to be BufferLoad, but instead found", "value to be BufferLoad"],
    "T.evaluate(i * j)": ["to have BufferStore body", "to have BufferStore body"],
    "B[i + j * 4] = A[i, j]": ["Term 0 had different source", "number of dst indices touched"],
    "B[i * 16 + j] = A[i, j]": [r"DetectIterMap\(dst\)", ("A[i, 0:8]", "B[i * 16:i * 16 + 8]")],
    "B[31 - (i * 8 + j)] = A[i, j]": [r"DetectIterMap\(dst\)", "Term 0 had different scale"],
    "B[j * 2 + i] = A[i, j * 2]": ["DetectIterMap", "number of src indices touched"],
}


@pytest.mark.parametrize("statement", COPIES)
def test_loops_that_copy_one_block_of_memory(statement: str) -> None:
    func = from_source(
        f"""
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((64,), "float32")):
    for i, j in T.grid(4, 8):
        {statement}
"""
    )
    results = identify_memcpy(func.body)
    assert len(results) == len(COPIES[statement])
    for result, expected in zip(results, COPIES[statement], strict=True):
        if isinstance(expected, str):
            assert re.search(expected, result.value)  # type: ignore[union-attr]
        else:
            assert tuple(map(str, result)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        ("B[k] = T.if_then_else(k < 5, A[k], 0.0)", "A[0:5]", "B[0:16]"),
        ("if T.likely(k < 5):\n    B[k] = A[k]", "A[0:5]", "B[0:5]"),
        ("if k < 5:\n    B[k] = A[k]\nelse:\n    B[k] = A[k - 1]", "A[0:15]", "B[0:16]"),
    ],
)
def test_regions_leave_out_what_conditions_exclude(body: str, reads: str, writes: str) -> None:
    text = 'with T.block("b"):\n    for k in range(16):\n' + textwrap.indent(body, "        ")
    params = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
    func = from_source(f"@T.prim_func\ndef main({params}):\n    for n in range(1):\n{textwrap.indent(text, ' ' * 8)}")
    lines = [line.strip() for line in str(func).splitlines()]
    assert f"T.reads({reads})" in lines
    assert f"T.writes({writes})" in lines


def test_blocks_with_axes_do_not_use_loops_around_them() -> None:
    loops = 'for i, j in T.grid(8, 8):\n    with T.block("b"):\n'
    blocks = loops + "        v = T.axis.spatial(8, j)\n        C[{}, v] = A[0, v]"
    assert tir.analysis.verify_well_formed(main(blocks.format(0)))
    with pytest.raises(ArgumentError, match="loop variable 'i' is defined outside of block 'b'"):
        tir.analysis.verify_well_formed(main(blocks.format("i")))


def test_variables_are_defined_once() -> None:
    loop = tir.For(i, 0, 4, 0, tir.Evaluate(i))
    with pytest.raises(ArgumentError, match="'i' is defined twice"):
        tir.analysis.verify_well_formed(tir.PrimFunc((), tir.SeqStmt([loop, loop])))
    axis = IterVar((0, 8), Var("tx"), IterVar.ThreadIndex, "threadIdx.x")
    launch = tir.AttrStmt(axis, "thread_extent", 8, tir.Evaluate(axis.var))
    assert tir.analysis.verify_well_formed(tir.PrimFunc((), tir.SeqStmt([launch, launch])))
    functions = IRModule({"a": tir.PrimFunc((), launch), "b": tir.PrimFunc((), launch)})
    assert not tir.analysis.verify_well_formed(functions, assert_mode=False)


def test_the_index_of_a_thread_is_defined_in_its_launch_only() -> None:
    tx, A = Var("tx", "int32"), tir.decl_buffer((32,), name="A")
    thread = tir.IterVar((0, 32), tx, tir.IterVar.ThreadIndex, "threadIdx.x")
    store = tir.BufferStore(A, 1.0, [tx])
    launch = tir.AttrStmt(thread, "thread_extent", 32, store)
    twice, after = tir.SeqStmt([launch, launch]), tir.SeqStmt([launch, store])
    assert tir.analysis.verify_well_formed(tir.PrimFunc([A.data], twice), assert_mode=False)
    assert not tir.analysis.verify_well_formed(tir.PrimFunc([A.data], after), assert_mode=False)
