"""Loop IR written line by line."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import build, tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Var
from compiler.tir import ir_builder


def test_loops_branches_and_stores() -> None:
    ib = ir_builder.create()
    n = Var("n")
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i % 2 == 0):
            A[i] = A[i] + 1
        with ib.else_scope():
            A[i] = 0
    text = str(ib.get())
    assert text.splitlines()[1] == "for i in range(n):"
    assert text.splitlines()[-4:] == [
        "    if i % 2 == 0:",
        "        A[i] = A[i] + T.float32(1.0)",
        "    else:",
        "        A[i] = T.float32(0.0)",
    ]


def test_what_holds_for_the_rest_of_the_block() -> None:
    ib = ir_builder.create()
    with ib.for_range(0, 4, name="i", kind="parallel") as i:
        cache = ib.allocate("int32", 8, name="cache", scope="local")
        twice = ib.let("twice", i * 2)
        cache[twice] = i
        ib.emit(tir.call_extern("int32", "use", cache[twice]))
    text = """\
for i in T.parallel(4):
    cache = T.allocate([8], "int32", "local")
    twice: T.int32 = i * 2
    cache_1 = T.Buffer((8,), "int32", data=cache, scope="local")
    cache_1[twice] = i
    T.call_extern("int32", "use", cache_1[twice])"""
    assert str(ib.get()) == text


def test_the_kind_of_a_loop_by_its_older_name() -> None:
    ib = ir_builder.create()
    with ib.for_range(0, 4, name="i", for_type="parallel"):
        ib.emit(tir.call_extern("int32", "use"))
    assert str(ib.get()).startswith("for i in T.parallel(4):")


def test_while_and_attributes() -> None:
    ib = ir_builder.create()
    A = ib.allocate("int32", (2, 2), name="A")
    with ib.while_loop(A[0, 0] < 3):
        A[0, 0] = A[0, 0] + 1
    ib.scope_attr(A.asobject(), "volatile_scope", 1)
    assert A.asobject().data.name == "A"
    ib.assert_(A[0, 0] == 3, "three")  # noqa: PT009  no unittest
    ib.emit(tir.Evaluate(0))
    stmt = ib.get()
    assert isinstance(stmt, tir.Allocate)
    loop, attribute = stmt.body.seq
    assert isinstance(loop, tir.While)
    assert (attribute.attr_key, type(attribute.body)) == ("volatile_scope", tir.AssertStmt)
    assert attribute.node is A.asobject().data
    assert tir.decl_buffer((4,), "int32", data=A.asobject()).data is attribute.node


def unclosed() -> None:
    ib = ir_builder.create()
    with ib.for_range(0, 3):
        ib.get()


def wrong_rank() -> None:
    ib = ir_builder.create()
    ib.allocate("int32", (2, 2, 2), name="A")[0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ir_builder.create().else_scope().__enter__(), "must follow directly after an if_scope"),
        (lambda: ir_builder.create().for_range(0, 3, kind="fast").__enter__(), "kind must be one of serial"),
        (lambda: ir_builder.create().emit(3), "expected a statement, got 3"),
        (unclosed, "still open"),
        (wrong_rank, "A: expected 3 indices, got 2"),
    ],
)
def test_mistakes_are_explained(call: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()  # type: ignore[operator]


def test_loops_without_a_name_are_told_apart() -> None:
    ib = ir_builder.create()
    names = []
    for name in ("i", "i", "x", "i", "i"):
        with ib.for_range(0, 4, name) as axis:
            names.append(axis.name)
            ib.emit(axis)
    assert names == ["i", "j", "x", "k", "i_0"]


def test_one_index_counts_the_elements_of_all_dimensions() -> None:
    ib = tir.ir_builder.create()
    memory = ib.buffer_ptr(tir.decl_buffer((3, 4, 5), "int32", "memory"))
    with ib.for_range(0, 60, "i") as i:
        memory[i] = i
    values = np.zeros((3, 4, 5), "int32")
    build(tir.PrimFunc([memory.buffer], ib.get()))(values)
    np.testing.assert_array_equal(values, np.arange(60).reshape(3, 4, 5))


def test_a_scope_of_its_own_ends_what_holds_for_its_rest() -> None:
    ib = ir_builder.create()
    with ib.new_scope():
        ib.scope_attr("inside", "mark", 1)
        ib.emit(tir.call_extern("int32", "first"))
    ib.emit(tir.call_extern("int32", "second"))
    marked, after = ib.get().seq
    assert isinstance(marked, tir.AttrStmt)
    assert "first" in str(marked.body)
    assert "second" in str(after)
