"""Calls of private functions are what they do."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.tir.script import from_source
from compiler.tir.statements.stmt import DeclBuffer, For, LetStmt
from compiler.tir.transform import InlinePrivateFunctions
from tests.compiler.tir.transform.programs import assert_same, nodes, program

HELPER = """
    @T.prim_func(private=True)
    def helper(p: T.handle("int32"), i: T.int32):
        B = T.decl_buffer((64,), "int32", data=p)
        for j in range(3):
            B[i * 3 + j] = j
"""


def module(main: str, *functions: str) -> Any:
    head = "@I.ir_module\nclass M:\n    @T.prim_func\n    def main(A: T.Buffer((64,), 'int32')):\n"
    return from_source(head + "".join(f"        {line}\n" for line in main.splitlines()) + "".join(functions))


def names(mod: Any) -> list[str]:
    return sorted(var.name_hint for var in mod.functions)


def test_a_body_stands_where_the_call_was() -> None:
    mod = InlinePrivateFunctions()(module("for i in range(4):\n    M.helper(A.data, i + 1)", HELPER))
    assert names(mod) == ["main"]
    by_hand = program("for i in range(4):\n    for j in range(3):\n        A[(i + 1) * 3 + j] = j",
                      params="A: T.Buffer((64,), 'int32')")  # fmt: skip
    assert_same(mod["main"], by_hand)


def test_each_call_has_variables_of_its_own() -> None:
    mod = InlinePrivateFunctions()(module("M.helper(A.data, 0)\nM.helper(A.data, 1)", HELPER))
    first, second = nodes(mod["main"], For)
    assert first.loop_var is not second.loop_var


def test_functions_are_inlined_into_each_other_and_those_that_nobody_calls_go() -> None:
    outer = """
    @T.prim_func(private=True)
    def outer(p: T.handle("int32")):
        M.helper(p, 2)
"""
    mod = InlinePrivateFunctions()(module("M.outer(A.data)", outer, HELPER, HELPER.replace("helper", "unused")))
    assert names(mod) == ["main"]
    assert len(nodes(mod["main"], For)) == 1


def test_a_pointer_that_is_computed_gets_a_name() -> None:
    mod = InlinePrivateFunctions()(module("M.helper(T.address_of(A[3]), 0)", HELPER))
    assert names(mod) == ["main"]
    (pointer,) = nodes(mod["main"], LetStmt)
    assert pointer.var.dtype == "handle"
    assert all(n.buffer.data is pointer.var for n in nodes(mod["main"], DeclBuffer))


def test_a_pointer_is_bound_where_its_buffer_is_declared() -> None:
    helper = HELPER.replace("p: T.handle", "q: T.handle('int32'), p: T.handle", 1).replace(
        "B = T.decl_buffer(", "D = T.decl_buffer((8,), 'int32', data=q)\n        B = T.decl_buffer(", 1
    )
    mod = InlinePrivateFunctions()(module("M.helper(T.address_of(A[3]), T.address_of(A[5]), 0)", helper))
    first = nodes(mod["main"], LetStmt)[-1]
    assert isinstance(first.body, DeclBuffer)
    assert first.body.buffer.data is first.var
    assert isinstance(first.body.body, LetStmt)
    assert isinstance(first.body.body.body, DeclBuffer)


@pytest.mark.parametrize(
    "helper",
    [
        HELPER.replace("B[i * 3 + j] = j", "M.helper(p, i)"),
        HELPER.replace("(private=True)", ""),
        HELPER + "        T.ret(1)\n",
    ],
    ids=["calls itself", "public", "returns a value"],
)
def test_other_functions_stay(helper: str) -> None:
    mod = module("M.helper(A.data, 0)", helper)
    assert InlinePrivateFunctions()(mod) is mod
