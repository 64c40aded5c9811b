"""Intrinsics become what the target has, and division rounds down on processors that round towards zero."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from compiler import tir
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, FloorDiv, FloorMod, Select
from compiler.ir.op import Op, register_intrin_lowering, register_op_attr
from compiler.tir.expressions.builtin import LIKELY
from compiler.tir.interpreter import interpret
from compiler.tir.transform import ApplyIntrinRules, LowerIntrin
from tests.compiler.tir.transform.programs import apply, nodes, program

TARGET = SimpleNamespace(kind="llvm")
DIVISION = "A: T.Buffer((400,), '{0}'), B: T.Buffer((400,), '{0}'), C: T.Buffer((400,), '{0}')"


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
@pytest.mark.parametrize("operator", ["//", "%"])
def test_division_rounds_down(operator: str, dtype: str) -> None:
    body = f"for i in range(400):\n    C[i] = A[i] {operator} B[i]"
    func = apply(program(body, DIVISION.format(dtype)).with_attr("target", TARGET), LowerIntrin())
    assert not nodes(func, (FloorDiv, FloorMod))
    pairs = np.array(list(product(range(-10, 10), [b for b in range(-10, 11) if b])), dtype)
    a, b, c = pairs[:, 0].copy(), pairs[:, 1].copy(), np.zeros(400, dtype)
    interpret(func, [a, b, c])
    np.testing.assert_array_equal(c, a // b if operator == "//" else a % b)


def test_what_cannot_be_negative_is_divided_at_once() -> None:
    func = program("for i in range(64):\n    C[i] = i // 3 + i % 5 + A[i] // 8").with_attr("target", TARGET)
    after = apply(func, LowerIntrin())
    assert not nodes(after, (FloorDiv, FloorMod, Select))


def test_a_rule_of_a_program_applies_to_its_target_only() -> None:
    register_op_attr("tir.lower_intrin_test", "TCallEffectKind", 1)
    register_intrin_lowering("tir.lower_intrin_test", "llvm", f=lambda call: tir.likely(call.args[0] < 3))
    op = Op.get("tir.lower_intrin_test")
    call = Call("bool", op, (tir.Var("x", "int32"),))
    func = tir.PrimFunc([call.args[0]], tir.Evaluate(call))
    assert nodes(apply(func, ApplyIntrinRules("llvm")), Call)[0].op is LIKELY
    assert nodes(apply(func, ApplyIntrinRules("cuda")), Call)[0].op is op


def test_the_target_must_be_said() -> None:
    with pytest.raises(LoweringError, match="Require the target attribute"):
        apply(program("C[0] = 1"), LowerIntrin())
