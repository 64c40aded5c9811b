"""UseAssumeToReduceBranches: the padding of results is computed from that of operands."""

from __future__ import annotations

import pytest

from compiler.ir.module import IRModule
from compiler.tir.script import from_source
from compiler.tir.transform import UseAssumeToReduceBranches

PADDED = "i == 3 and 12 <= j"
ASSUME = "T.evaluate(T.assume(i < 3 or j < 12 or A[i, j] == 0))"


def _is_reduced(store: str, assume: str = ASSUME, pattern: int = 0, between: str = "pass") -> bool:
    text = f"""
@T.prim_func
def main(A: T.Buffer((4, 16), "int32"), B: T.Buffer((4, 16), "int32"), C: T.Buffer((4, 16), "int32")):
    T.func_attr({{"op_pattern": {pattern}}})
    for i, j in T.grid(4, 16):
        {assume}
    for i, j in T.grid(4, 16):
        {between}
    for i, j in T.grid(4, 16):
        {store}
"""
    return "if_then_else" not in str(UseAssumeToReduceBranches()(IRModule({"main": from_source(text)}))["main"])


@pytest.mark.parametrize(
    ("value", "reduced"),
    [
        ("0, A[i, j]", True),
        ("0, A[i, j] * B[i, j]", True),
        ("7, T.max(A[i, j], 7)", True),
        ("B[0, 0], A[i, j] + B[0, 0]", True),
        ("0, A[i, j] + B[i, j]", False),
        ("1, A[i, j]", False),
        ("0, A[3 - i, j]", False),  # of row 0
        ("0, A[i, j] * B[i + 1, j]", False),  # outside of B
    ],
)
def test_values_of_padding(value: str, reduced: bool) -> None:
    assert _is_reduced(f"C[i, j] = T.if_then_else({PADDED}, {value})") == reduced


@pytest.mark.parametrize(("where", "reduced"), [("i == 3 and 14 <= j", True), ("i == 3 and 10 <= j", False)])
def test_no_more_than_the_padding(where: str, reduced: bool) -> None:
    assert _is_reduced(f"C[i, j] = T.if_then_else({where}, 0, A[i, j])") == reduced


def test_assumptions_end_with_a_store() -> None:
    store = f"C[i, j] = T.if_then_else({PADDED}, 0, A[i, j])"
    assert _is_reduced(store, between="B[i, j] = A[i, j] + 5")
    assert not _is_reduced(store, between="A[i, j] = A[i, j] + B[i, j]")


@pytest.mark.parametrize(("pattern", "reduced"), [(0, True), (1, True), (2, False), (4, False)])
def test_elementwise_functions_alone(pattern: int, reduced: bool) -> None:
    assert _is_reduced(f"C[i, j] = T.if_then_else({PADDED}, 0, A[i, j])", pattern=pattern) == reduced


@pytest.mark.parametrize(("row", "reduced"), [("vi", True), ("3 - vi", False)])
def test_what_a_block_says_holds_in_the_next_one(row: str, reduced: bool) -> None:
    axes = 'vi, vj = T.axis.remap("SS", [i, j])'
    assume = (
        f'with T.block("a"):\n            {axes}\n            {ASSUME.replace("i <", "vi <").replace("j <", "vj <")}'
    )
    assume = assume.replace("A[i, j]", "A[vi, vj]")
    store = f"C[vi, vj] = T.if_then_else(vi == 3 and 12 <= vj, 0, A[{row}, vj])"
    assert _is_reduced(f'with T.block("c"):\n            {axes}\n            {store}', assume) == reduced
