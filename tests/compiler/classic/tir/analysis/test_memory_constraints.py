"""The memory scopes of parameters, seen as constraints on the arguments and results of a Relay function."""

from __future__ import annotations

import pytest

from compiler import relay
from compiler.ir.error import ArgumentError, InternalError
from compiler.ir.structural import assert_structural_equal
from compiler.tir.analysis import apply_prim_func_arg_and_result_memory_constraints as apply_constraints
from compiler.tir.analysis import get_prim_func_arg_and_result_memory_constraints as get_constraints
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc

TENSOR = relay.TensorType((8, 8), "float32")


def added(b: str, d: str) -> PrimFunc:
    """``D = A + B + C``, with the scopes of ``B`` and ``D``."""
    return from_source(f"""
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
    A = T.match_buffer(a, (8, 8))
    B = T.match_buffer(b, (8, 8), scope="{b}")
    C = T.match_buffer(c, (8, 8))
    D = T.match_buffer(d, (8, 8), scope="{d}")
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] + B[vi, vj] + C[vi, vj]
""")


def test_arguments_and_result_are_where_their_buffers_are() -> None:
    kind = relay.FuncType([TENSOR] * 3, TENSOR)
    assert get_constraints(added("texture", "shared"), kind) == ["global", "texture", "global", "shared"]


def test_tensors_of_a_tuple_share_a_scope() -> None:
    pair = relay.FuncType([TENSOR, relay.TupleType([TENSOR, TENSOR])], TENSOR)
    assert get_constraints(added("global", "shared"), pair) == ["global", "global", "shared"]
    with pytest.raises(InternalError, match="tuple 1 must be in one memory scope, got texture, global"):
        get_constraints(added("texture", "shared"), pair)


def test_constraints_move_buffers_and_all_their_uses() -> None:
    kind = relay.FuncType([TENSOR] * 3, TENSOR)
    moved = apply_constraints(added("global", "global"), kind, ["", "texture", "", "shared"])
    assert_structural_equal(moved, added("texture", "shared"), map_free_vars=True)
    assert_structural_equal(apply_constraints(moved, kind, [""] * 4), added("global", "global"), map_free_vars=True)


def test_there_is_a_scope_for_each_argument_and_result() -> None:
    with pytest.raises(ArgumentError, match="expected 3 memory scopes, got 2"):
        apply_constraints(added("global", "global"), relay.FuncType([TENSOR] * 2, TENSOR), ["", ""])
    with pytest.raises(ArgumentError, match="more tensors than the function has parameters, 4"):
        get_constraints(added("global", "global"), relay.FuncType([TENSOR] * 4, TENSOR))
