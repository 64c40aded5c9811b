"""Quotients are taken apart, and keep their values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.expr.primexpr import FloorDiv, FloorMod, PrimExpr, Var
from compiler.tir.statements.buffer import BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.transform import RenormalizeSplitPattern
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, function, loop

CASES = [
    ("i % 64 // 16", "i // 16 % 4"),
    ("(i * 256 + n) // 64", "i * 4 + n // 64"),
    ("(i * 64 + n) // 256", "(i + n // 64) // 4"),
    ("(i * 12 + n) // 8", "(i * 3 + n // 4) // 2"),
    ("(i * 256 + n * 64 + 3) // 64", "i * 4 + n"),
    ("(i * 3 + n) // 64", "(i * 3 + n) // 64"),
    ("(i * 64 - n) // 64", "(i * 64 - n) // 64"),
]


def test_quotients_are_taken_apart() -> None:
    for before, after in CASES:
        head = "for i in range(40):\n    C[i] = "
        assert_pass(RenormalizeSplitPattern(), head + before, None if before == after else head + after)


def test_conditions_are_quotients_as_well() -> None:
    assert_pass(
        RenormalizeSplitPattern(),
        "for i in range(4):\n    if i * 16 + n < 32:\n        C[i] = 1",
        "for i in range(4):\n    if (i + n // 16) // 2 < 1:\n        C[i] = 1",
    )


@given(st.data())
def test_values_stay(data: st.DataObject) -> None:
    i, n = Var("i"), Var("n")

    def value(depth: int) -> PrimExpr:
        if depth == 0:
            return data.draw(st.sampled_from([i, n])) * data.draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16]))
        a = value(depth - 1)
        size = data.draw(st.sampled_from([2, 3, 4, 6, 8, 16, 24]))
        kind = data.draw(st.integers(0, 2))
        return a + value(depth - 1) if kind == 0 else (FloorDiv, FloorMod)[kind - 1](a, size)

    target = decl_buffer((64,), "int32", name="C")
    func = function(loop(i, 30, BufferStore(target, value(3), (i,))), target, scalars=(n,))
    after = apply(func, RenormalizeSplitPattern())
    for number in (-5, 0, 7):
        assert_same(func, after, scalars={"n": number})
