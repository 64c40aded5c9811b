"""InjectPTXAsyncCopy: copies to shared memory become instructions; other stores stay."""

from __future__ import annotations

import pytest

from compiler.ir.expr.primexpr import Call
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, BufferStore
from compiler.tir.transform import InjectPTXAsyncCopy
from tests.compiler.tir.transform.programs import apply, assert_pass, nodes, program

BUFFERS = """
S = T.allocate([64], "{element}", "{scope}")
S_1 = T.Buffer((64,), "{dtype}", data=S, scope="{scope}")
L = T.allocate([64], "{dtype}", "local")
L_1 = T.Buffer((64,), "{dtype}", data=L, scope="local")
"""
CONDITION = "T.if_then_else(n < 3, A[n], T.float32({}))"


def _program(statement: str, dtype: str = "float32", element: str = "", scope: str = "shared") -> PrimFunc:
    buffers = BUFFERS.format(dtype=dtype, element=element or dtype, scope=scope)
    return program(buffers + statement, f"A: T.Buffer((64,), '{dtype}'), n: T.int32")


def _within_scope(statement: str) -> str:
    return f'with T.attr(0, "async_scope", 1):\n    {statement}'


@pytest.mark.parametrize(
    ("store", "copy", "memory"),
    [
        ("S_1[n] = A[n + 1]", "'float32', S, n, A.data, n + 1, 4", {}),
        ("S_1[n] = A[n]", "'float64', S, n, A.data, n, 8", {"dtype": "float64"}),
        ("S_1[n * 4 : n * 4 + 4] = A[0:4]", "'float32', S, n * 4, A.data, 0, 16", {}),
        ("S_1[n * 4 : n * 4 + 4] = A[0:4]", "'int8', S, n * 4, A.data, 0, 4", {"dtype": "int8", "scope": "shared.dyn"}),
        ("S_1[n] = A[n]", "'float32', S, n * 4, A.data, n, 4", {"element": "uint8", "scope": "shared.dyn"}),
    ],
)
def test_copies_become_instructions(store: str, copy: str, memory: dict[str, str]) -> None:
    expected = _program(f"T.evaluate(T.ptx_cp_async({copy}))", **memory)
    assert_pass(InjectPTXAsyncCopy(), _program(_within_scope(store), **memory), expected, values=())


def test_zeros_are_filled_in_by_a_predicate() -> None:
    after = apply(_program(_within_scope(f"S_1[n] = {CONDITION.format(0)}")), InjectPTXAsyncCopy())
    copy = next(call for call in nodes(after, Call) if call.op.name == "tir.ptx_cp_async")
    assert [str(operand) for operand in copy.args[1:]] == ["n", "A", "n", "4", "n < 3"]


@pytest.mark.parametrize(
    ("store", "memory"),
    [
        (f"S_1[n] = {CONDITION.format(1)}", {}),
        (f"S_1[n] = {CONDITION.format('-0.0')}", {}),
        ("S_1[n] = A[n] + T.float32(1)", {}),
        ("S_1[n] = L_1[n]", {}),
        ("A[n] = S_1[n]", {}),
        ("L_1[n] = A[n]", {}),
        ("S_1[n] = A[n]", {"dtype": "float16"}),
        ("S_1[0:8] = A[0:8]", {}),
        ("S_1[0:4] = A[T.Ramp(0, 2, 4)]", {}),  # the elements are not adjacent
        ("S_1[T.Ramp(0, 2, 4)] = A[0:4]", {}),
        ("S_1[0:4] = T.Broadcast(A[n], 4)", {}),
        ("S_1[0:4] = A.vload([0], 'float32x4', predicate=T.Broadcast(n < 3, 4))", {}),
        ("S_1.vstore([0], A.vload([0], 'float32x4'), predicate=T.Broadcast(n < 3, 4))", {}),
    ],
)
def test_other_stores_stay(store: str, memory: dict[str, str]) -> None:
    assert_pass(InjectPTXAsyncCopy(), _program(_within_scope(store), **memory), _program(store, **memory), values=())


def test_stores_outside_of_the_attribute_stay() -> None:
    assert_pass(InjectPTXAsyncCopy(), _program("S_1[n] = A[n]"))
    after = apply(
        _program(_within_scope("S_1[0] = A[0]") + "\nwith T.attr(0, 'key', 1):\n    S_1[n] = A[n]"),
        InjectPTXAsyncCopy(),
    )
    assert len(nodes(after, BufferStore)) == 1
    assert [n.attr_key for n in nodes(after, AttrStmt)] == ["key"]
