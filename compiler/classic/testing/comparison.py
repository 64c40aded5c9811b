"""Tests of passes by programs before and after them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Protocol, TypeAlias, TypeGuard

import pytest

from compiler.ir.error import expected as expected_value
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.tir.script.functions import from_method, ir_module
from compiler.tir.statements.function import PrimFunc

__all__ = ["CompareBeforeAfter"]

Program: TypeAlias = PrimFunc | IRModule
Expected: TypeAlias = Program | type[Exception]


class Transform(Protocol):
    """What is tested: a pass, or a function like one."""

    def __call__(self, mod: IRModule, /) -> IRModule:
        """Return the module that the pass makes of one."""


class CompareBeforeAfter:
    """Base of tests that compare what a pass makes of a program with the program that is expected.

    A subclass has ``before``, ``expected`` and ``transform``.  A program is a function or a class of TVMScript, with or
    without its decorator, a ``PrimFunc`` or an ``IRModule``, or a fixture that returns one; ``expected`` may be a class
    of errors.  ``transform`` is a pass, or a method that returns one.

    Examples
    --------
    ::

        class TestRemoveNoOp(tvm.testing.CompareBeforeAfter):
            transform = tvm.tir.transform.RemoveNoOp()

            def before(A: T.Buffer((16,), "int32")):
                for i in T.serial(16):
                    T.evaluate(0)

            def expected(A: T.Buffer((16,), "int32")):
                T.evaluate(0)
    """

    check_well_formed = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("before", "expected"):
            for spelling in (name, name.capitalize()):
                if spelling in vars(cls):
                    setattr(cls, name, _as_fixture(vars(cls)[spelling], _program))
        if "transform" in vars(cls):
            cls.transform = _as_fixture(vars(cls)["transform"], lambda value: value)  # type: ignore[attr-defined]

    def test_compare(self, before: Program, expected: Expected, transform: Transform) -> None:
        """Check that ``transform`` makes ``expected`` of ``before``."""
        if isinstance(expected, type):
            with pytest.raises(expected):
                transform(_module(before))
            return
        after = transform(_module(before))
        assert_structural_equal(after, _module(expected), map_free_vars=True)


def _as_fixture(value: object, convert: Callable[[object], object]) -> object:
    """Return a member of a test class as a fixture."""
    if not _is_method(value):
        if hasattr(value, "_pytestfixturefunction") or type(value).__name__ == "FixtureFunctionDefinition":
            return value

        def constant(self: object) -> object:
            return convert(value)

        return pytest.fixture(constant)
    return pytest.fixture(value)


def _is_method(value: object) -> TypeGuard[Callable[..., object]]:
    """Return whether a member is a method, which has an instance, and no TVMScript."""
    return inspect.isfunction(value) and next(iter(inspect.signature(value).parameters), "") == "self"


def _program(value: object) -> Expected:
    """Return what a test class writes as a program."""
    if isinstance(value, (PrimFunc, IRModule)):
        return value
    if inspect.isclass(value):
        return value if issubclass(value, Exception) else ir_module(value)
    if not isinstance(value, FunctionType):
        expected_value("CompareBeforeAfter", "a program", "a PrimFunc, an IRModule, or TVMScript", value)
    return from_method(value)


def _module(program: PrimFunc | IRModule) -> IRModule:
    """Return a program as a module; a function is its ``main``."""
    if isinstance(program, IRModule):
        return program
    return IRModule.from_expr(program.with_attr("global_symbol", "main"))
