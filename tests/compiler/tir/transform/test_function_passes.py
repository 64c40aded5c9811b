"""Passes made of plain functions, and the one that leaves assertions out."""

from __future__ import annotations

import pytest

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.tir.transform import Apply, Filter, SkipAssert
from tests.compiler.tir.transform.programs import apply, assert_pass, program


def test_assertions_are_left_out() -> None:
    assert_pass(SkipAssert(), 'assert n < 10, "n"\nC[n] = n', "C[n] = n")
    assert_pass(SkipAssert(), "C[n] = n")


def test_a_function_of_functions_is_a_pass() -> None:
    func = program("C[0] = 1")
    assert apply(func, Apply(lambda f: f.with_attr("mark", 1))).attrs["mark"] == 1
    assert apply(func, Apply(lambda f: f)) is func


def test_functions_are_kept_by_a_condition() -> None:
    func = program("C[0] = 1")
    mod = IRModule({"a": func.with_attr("keep", 1), "b": func})
    assert [var.name_hint for var in Filter(lambda f: "keep" in f.attrs)(mod)] == ["a"]


@pytest.mark.parametrize("make", [Apply, Filter])
def test_what_is_no_function_is_no_pass(make: type[Apply] | type[Filter]) -> None:
    with pytest.raises(ArgumentError, match="must be callable, got 3"):
        make(3)  # type: ignore[arg-type]
