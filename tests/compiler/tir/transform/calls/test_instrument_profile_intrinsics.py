"""Marking functions and loops as measured parts: calls in pairs, around the loops that the options choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.expr.primexpr import Call
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.tir.script import tir as T
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, For, SeqStmt, Stmt


@T.prim_func
def _nest(C: T.Buffer((8, 8, 16), "int32")):
    for i0 in range(8):
        for j0, k0, l0 in T.grid(8, 8, 16):
            C[i0, j0, l0] = k0
        for j1, k1 in T.grid(8, 16):
            C[i0, j1, k1] = C[i0, j1, k1] + 2
        for j2 in range(8):
            C[i0, j2, 0] = 1
    for i1 in range(8):
        if i1 < 3:
            for j3, k3 in T.grid(8, 16):
                C[i1, j3, k3] = 0
        C[i1, 0, 0] = 0


def _measured(func: PrimFunc) -> list[str]:
    """Return what stands between each pair of calls, by the loop variable or ``function``, checking the pairs."""
    names: list[str] = []
    numbers: list[int] = []

    def visit(stmt: Stmt) -> None:
        parts = list(stmt.seq) if isinstance(stmt, SeqStmt) else [stmt]
        open_numbers: list[int] = []
        for at, part in enumerate(parts):
            if isinstance(part, Evaluate) and isinstance(part.value, Call):
                number = part.value.args[0].value
                if part.value.op.name == "tir.start_profile_intrinsic":
                    open_numbers.append(number)
                    numbers.append(number)
                    following = parts[at + 1]
                    around_all = at == 0 and stmt is func.body and parts[-1].value.args[0].value == number
                    names.append("function" if around_all else following.loop_var.name)
                else:
                    assert part.value.op.name == "tir.end_profile_intrinsic"
                    assert open_numbers.pop() == number
            elif isinstance(part, For):
                visit(part.body)
        assert not open_numbers

    visit(func.body)
    assert len(set(numbers)) == len(numbers)
    return names


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ({}, ["function", "j0", "j1"]),
        ({"tir.lwp_min_height": 0}, ["function", "j0", "j1", "j2"]),
        ({"tir.lwp_disable_func_prof": True}, ["j0", "j1"]),
        ({"tir.instr_siblings": False}, ["function", "i0"]),
        ({"tir.instr_siblings": False, "tir.lwp_max_depth": 1}, ["function", "i0", "j0", "j1"]),
        ({"tir.instr_siblings": False, "tir.lwp_max_depth": 9}, ["function", "i0", "j0", "k0", "j1"]),
        ({"tir.instr_siblings": False, "tir.lwp_max_depth": 0, "tir.lwp_min_height": 4}, ["function"]),
    ],
)
def test_the_options_choose_what_is_measured(config: dict[str, Any], parts: list[str]) -> None:
    mod = IRModule({"main": _nest})
    with PassContext(config=config):
        first, second = (tir.transform.InstrumentProfileIntrinsics()(mod)["main"] for _ in range(2))
    assert _measured(first) == parts
    assert _measured(second) == parts
    assert first.script() != second.script(), "parts have numbers of their own"


def test_lowering_instruments_where_it_is_asked_to() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    schedule = te.create_schedule(b.op)
    assert "profile_intrinsic" not in str(tvm.lower(schedule, [a, b]))
    with tvm.transform.PassContext(config={"tir.instrument_lwp": True}):
        lowered = str(tvm.lower(schedule, [a, b]))
        built = tvm.build(schedule, [a, b])
    assert lowered.index("start_profile_intrinsic") < lowered.index("for i in range(8)")
    assert lowered.index("for i in range(8)") < lowered.index("end_profile_intrinsic")
    result = tvm.nd.array(np.zeros(8, "float32"))
    built(tvm.nd.array(np.arange(8, dtype="float32")), result)
    np.testing.assert_array_equal(result.numpy(), np.arange(8) + 1)
