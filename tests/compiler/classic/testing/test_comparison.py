"""Tests of passes by programs before and after them, and what they refuse."""

from __future__ import annotations

import pytest

from compiler.classic.testing.comparison import CompareBeforeAfter
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.tir.script import tir as T
from compiler.tir.script.functions import prim_func
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.simplify import Simplify


class TestFunctionsWithoutDecorator(CompareBeforeAfter):
    transform = Simplify()

    def before(A: T.Buffer((16,), "int32")):  # type: ignore[no-untyped-def]
        for i in T.serial(16):
            A[i // 16 + i % 16] = 0

    def expected(A: T.Buffer((16,), "int32")):  # type: ignore[no-untyped-def]
        for i in T.serial(16):
            A[i] = 0


class TestFixturesAndMethods(CompareBeforeAfter):
    @pytest.fixture(params=[3, 5])
    def factor(self, request: pytest.FixtureRequest) -> int:
        return int(request.param)

    @pytest.fixture
    def before(self, factor: int) -> PrimFunc:
        @prim_func
        def func(A: T.Buffer((16,), "int32"), n: T.int32):  # type: ignore[no-untyped-def]
            A[0] = n * factor - n

        return func  # type: ignore[no-any-return]

    def expected(self, factor: int) -> PrimFunc:
        @prim_func
        def other(A: T.Buffer((16,), "int32"), n: T.int32):  # type: ignore[no-untyped-def]
            A[0] = n * (factor - 1)

        return other  # type: ignore[no-any-return]

    def transform(self) -> Simplify:
        return Simplify()


class TestExpectedError(CompareBeforeAfter):
    expected = ArgumentError

    def before(A: T.Buffer((16,), "int32")):  # type: ignore[no-untyped-def]
        A[0] = 1

    def transform(self) -> object:
        def refuse(mod: IRModule) -> IRModule:
            with PassContext(config={"no.such.option": 1}):
                return mod

        return refuse


def test_a_difference_is_shown() -> None:
    @prim_func
    def one(A: T.Buffer((16,), "int32")):  # type: ignore[no-untyped-def]
        A[0] = 1

    @prim_func
    def two(A: T.Buffer((16,), "int32")):  # type: ignore[no-untyped-def]
        A[0] = 2

    comparison = CompareBeforeAfter()
    comparison.test_compare(one, one, Simplify())
    with pytest.raises(ArgumentError, match=r"A\[0\] = 2"):
        comparison.test_compare(one, two, Simplify())
    with pytest.raises(pytest.fail.Exception):
        comparison.test_compare(one, ArgumentError, Simplify())
