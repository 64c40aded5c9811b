"""What names, operators and Python's own functions stand for while a program is read, and what words give outside."""

from __future__ import annotations

from typing import Any

import pytest

import compiler as tvm
from compiler import tir
from compiler.ir.expr.primexpr import IntImm, Var
from compiler.ir.structural import assert_structural_equal
from compiler.ir.types import PointerType, PrimType
from compiler.tir.script import ScriptError, from_source
from compiler.tir.script import tir as T
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import BufferStore, Evaluate, For, IfThenElse, SeqStmt, While
from tests.compiler.tir.script.test_programs import body_of
from tests.compiler.tir.transform.programs import nodes

# mypy: disable-error-code="valid-type,no-untyped-def,attr-defined"


def test_outside_of_a_program_words_make_what_they_declare() -> None:
    buffer: Any = T.Buffer((128, 64), "int32")
    assert isinstance(buffer, Buffer)
    assert (list(buffer.shape), buffer.dtype) == ([128, 64], "int32")
    pointer: Any = T.handle("int32", "shared")
    assert isinstance(pointer, Var)
    assert pointer.type_annotation is not None
    assert isinstance(pointer.type_annotation, PointerType)
    assert pointer.type_annotation.element_type == PrimType("int32")
    assert pointer.type_annotation.storage_scope == "shared"
    assert isinstance(T.int32(), Var)
    with pytest.raises(tvm.TVMError, match="foo32"):
        T.Buffer((4,), "foo32")


def test_a_class_of_python_may_allocate_for_the_program_that_makes_it() -> None:
    class Copy:
        def __init__(self, like: Any) -> None:
            self.memory = T.alloc_buffer(like.shape, like.dtype)

        @T.macro
        def load(self, source) -> None:
            for i in range(16):
                with T.block("load"):
                    vi = T.axis.spatial(16, i)
                    self.memory[vi] = source[vi]

    @T.prim_func
    def main(A: T.Buffer((16,), "float32")) -> None:
        first = T.meta_var(Copy(A))
        first.load(A)
        second = T.meta_var(Copy(A))
        second.load(first.memory)

    root = main.body.block
    assert len(root.alloc_buffers) == 2
    blocks = [block for block in nodes(root.body, Block) if block.name_hint == "load"]
    assert [block.writes[0].buffer for block in blocks] == list(root.alloc_buffers)


def test_a_star_takes_what_other_targets_leave() -> None:
    body = body_of("first, *rest = n, n + 1, n + 2\nT.evaluate(first + rest[1])")
    names = []
    while not isinstance(body, Evaluate):
        names.append(body.var.name)
        body = body.body
    assert names == ["first", "rest_0", "rest_1"]
    loop = body_of("for i, *jk in T.grid(2, 3, 4):\n    A[i] = T.Cast('float32', jk[0] + jk[1])")
    assert {n.loop_var.name for n in nodes(loop, For)} == {"i", "jk_0", "jk_1"}
    (load,) = nodes(body_of("B = T.Buffer((4, 4))\nij = T.meta_var((n, 3))\nA[0] = B[*ij]"), BufferLoad)
    assert [str(index) for index in load.indices] == ["n", "3"]
    with pytest.raises(ScriptError, match="expected 2 values, got 3"):
        body_of("a, b = n, n, n\nT.evaluate(a)")


def test_parts_of_tuples_have_names() -> None:
    body = body_of("a, (b, c) = n, (n + 1, n + 2)\nT.evaluate(a + b + c)")
    assert [body.var.name, body.body.var.name, body.body.body.var.name] == ["a", "b", "c"]


def test_comparisons_of_what_the_text_says() -> None:
    (store,) = nodes(body_of("if 3 in [1, 2, 3] and n is not None:\n    A[0] = 1.0"), BufferStore)
    assert store.value.value == 1.0


def test_any_operator_may_change_an_element() -> None:
    body = body_of("A[0] <<= 1\nA[0] |= n", 'A: T.Buffer((16,), "int32"), n: T.int32')
    assert [str(store.value) for store in nodes(body, BufferStore)] == [
        "T.shift_left(A[0], 1)",
        "T.bitwise_or(A[0], n)",
    ]


def test_statements_of_nothing_are_left_out_of_others() -> None:
    assert isinstance(body_of("T.evaluate(0)\nA[0] = 1.0\nT.evaluate(0)"), BufferStore)
    assert isinstance(body_of("T.evaluate(0)\nT.evaluate(0)"), Evaluate)
    assert isinstance(body_of("T.evaluate(1)\nA[0] = 1.0"), SeqStmt)


def test_an_expression_is_evaluated() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def square(x: T.int32) -> T.int32:
        return x * x

    @T.prim_func
    def main(x: T.int32):
        Module.square(x) + Module.square(x + 1)
"""
    body = from_source(text)["main"].body
    assert isinstance(body, Evaluate)
    assert isinstance(body.value, tir.Add)


def test_branches_and_loops_as_scopes() -> None:
    text = "with T.If(n > 0):\n    with T.Then():\n        A[0] = 1.0\n    with T.Else():\n        A[0] = 2.0"
    assert_structural_equal(body_of(text), body_of("if n > 0:\n    A[0] = 1.0\nelse:\n    A[0] = 2.0"), True)
    assert isinstance(body_of("with T.If(n > 0):\n    with T.Then():\n        A[0] = 1.0"), IfThenElse)
    assert isinstance(body_of("with T.While(n > 0):\n    A[0] = 1.0"), While)
    with pytest.raises(ScriptError, match=r"expected a T\.Then"):
        body_of("with T.If(n > 0):\n    with T.Else():\n        A[0] = 1.0")
    with pytest.raises(ScriptError, match=r"a T\.Then already"):
        body_of("with T.If(n > 0):\n    with T.Then():\n        A[0] = 1.0\n    with T.Then():\n        A[0] = 1.0")
    with pytest.raises(ScriptError, match=r"expected with T\.Then"):
        body_of("with T.If(n > 0):\n    A[0] = 1.0")


def test_functions_fold_constants_and_refuse_other_types() -> None:
    def value(text: str) -> Any:
        (store,) = nodes(body_of(f"A[0] = T.Cast('float32', {text})"), BufferStore)
        return store.value.value

    assert isinstance(body_of("T.evaluate(T.isnan(T.float32(1)))").value, IntImm)
    assert isinstance(body_of("A[n] = T.reinterpret('float32', A[0])").value, BufferLoad)
    assert value("T.round(n)").name == "n"
    with pytest.raises(ScriptError, match="shift_left"):
        body_of("A[0] = T.shift_left(A[0], A[1])")


def test_a_packed_function_takes_buffers() -> None:
    call = body_of("T.call_packed('f', A, n)").value
    assert call.op.name == "tir.tvm_call_packed"
    assert [getattr(arg, "op", arg).name for arg in call.args[1:]] == ["tir.tvm_stack_make_array", "n"]
    assert str(call).startswith('T.call_packed("f"')


def test_regions_have_no_gaps() -> None:
    with pytest.raises(ScriptError, match="a region has no gaps"):
        body_of("with T.block():\n    T.reads(A[0:8:2])\n    T.evaluate(n)")


def test_blocks_of_cross_thread_reductions_need_no_regions() -> None:
    text = """
temp = T.alloc_buffer((1,), scope="local")
for i in T.thread_binding(16, thread="threadIdx.x"):
    with T.block("together"):
        T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0)
        T.evaluate(T.tvm_thread_allreduce(T.uint32(1), A[i], True, temp.data, i, dtype="handle"))"""
    (together,) = [block for block in nodes(body_of(text), Block) if block.name_hint == "together"]
    assert together.name_hint == "together"


def test_a_function_is_called_after_its_symbol() -> None:
    @T.prim_func
    def scale(A: T.Buffer((4,), "float32")) -> None:
        A[0] = 2.0

    @T.prim_func(private=True)
    def hidden() -> None:
        T.evaluate(0)

    assert scale.__name__ == "scale"
    assert not hasattr(hidden, "__name__")


def test_attributes_of_floats_and_targets_read_back() -> None:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")) -> None:
        T.func_attr({"epsilon": 1.5, "target": T.target("nvidia/nvidia-a100", host="llvm")})
        A[0] = 2.0

    assert '"epsilon": T.float32(1.5)' in str(main)
    again = from_source(str(main))
    assert_structural_equal(main, again)
    assert again.attrs["epsilon"] == 1.5


def test_pointers_are_printed_with_their_scope() -> None:
    @T.prim_func
    def main(a: T.handle("float32"), b: T.handle("float16", "shared")) -> None:
        T.evaluate(a)
        T.evaluate(b)

    assert 'a: T.handle("float32", "global"), b: T.handle("float16", "shared")' in str(main)


def test_where_a_buffer_is_realized_is_an_attribute() -> None:
    body = body_of('B = T.Buffer((16,))\nT.realize(B[0:8], "shared", n > 0)\nB[n] = 1.0')
    assert (body.attr_key, body.value.value) == ("realize_scope", "shared")
    assert body.body.buffer is body.node
    text = str(tir.PrimFunc([], body))
    assert 'T.realize(B[0:8], "shared", n > 0)' in text
    plain = body_of("B = T.Buffer((16,))\nT.realize(B[0:8], condition=n > 0)\nB[n] = 1.0")
    assert_structural_equal(plain, body.body, True)
    assert "T.realize(B[0:8], condition=n > 0)" in str(tir.PrimFunc([], plain))


def test_lanes_are_stored_by_a_predicate() -> None:
    text = "T.buffer_store(A, T.Broadcast(T.float32(1), 4), [T.Ramp(0, 1, 4)], T.Broadcast(n > 0, 4))"
    (store,) = nodes(body_of(text), BufferStore)
    assert store.predicate is not None
    with pytest.raises(ScriptError, match="must be boolean values"):
        body_of(text.replace("n > 0", "n"))


def test_a_loop_takes_its_bounds_by_their_older_name() -> None:
    i = tir.Var("i", "int32")
    loop = tir.For(i, min_val=2, extent=3, kind=tir.ForKind.SERIAL, body=tir.Evaluate(i))
    assert (loop.min.value, loop.extent.value) == (2, 3)
