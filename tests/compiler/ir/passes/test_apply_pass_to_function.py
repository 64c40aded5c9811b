"""A pass for some functions of a module."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.transform import ApplyPassToFunction, PassContext, module_pass
from compiler.tir.script import ir as I
from compiler.tir.script import tir as T
from compiler.tir.transform import Simplify


@I.ir_module
class Three:
    @T.prim_func
    def aa(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = A[i] + 0 * i

    @T.prim_func
    def ab(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = A[i] + 0 * i

    @T.prim_func
    def bc(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = A[i] + 0 * i


@pytest.mark.parametrize(
    ("regex", "changed"), [("a.*", ["aa", "ab"]), ("b", ["bc"]), (".*c", ["bc"]), ("aa|bc", ["aa", "bc"]), ("c", [])]
)
def test_functions_whose_names_begin_with_the_expression_are_changed(regex: str, changed: list[str]) -> None:
    made = ApplyPassToFunction(Simplify(), regex)(Three)
    assert [var.name_hint for var in made.functions if made[var] is not Three[var]] == changed


def test_the_pass_sees_these_functions_alone_and_can_add_some() -> None:
    seen: list[str] = []

    def add(mod: tvm.IRModule, ctx: PassContext) -> tvm.IRModule:
        seen.extend(var.name_hint for var in mod.functions)
        return tvm.IRModule({"more": mod["ab"]})

    made = ApplyPassToFunction(module_pass(add, 0, "add"), "ab")(Three)
    assert seen == ["ab"]
    assert [var.name_hint for var in made.functions] == ["aa", "ab", "bc", "more"]


def test_no_function_and_no_expression_are_refused_where_that_is_asked_for() -> None:
    assert ApplyPassToFunction(Simplify(), "x")(Three) is Three
    with pytest.raises(TVMError, match=r"No function matched regex 'x', out of functions \['aa', 'ab', 'bc'\]"):
        ApplyPassToFunction(Simplify(), "x", error_if_no_function_matches_regex=True)(Three)
    with pytest.raises(ArgumentError, match=r"func_name_regex '\(' is not a regular expression"):
        ApplyPassToFunction(Simplify(), "(")
