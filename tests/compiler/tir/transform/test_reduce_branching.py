"""ReduceBranchingThroughOvercompute: conditions go where nothing else is computed without them."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import IfThenElse
from compiler.tir.transform import ReduceBranchingThroughOvercompute
from tests.compiler.tir.transform.integer_programs import IntegerPrograms, final_elements
from tests.compiler.tir.transform.programs import nodes

HEADER = "@T.prim_func\ndef main("
HEADER += "A: T.Buffer((16,), 'int32'), B: T.Buffer((16,), 'int32'), C: T.Buffer((14,), 'int32')):\n"
ALL = "for i in range(16):"
PADDED = (ALL, "    T.evaluate(T.assume(i < 14 or A[i] == 0))")


def _reduced(func: PrimFunc, data_flow: bool = True) -> PrimFunc:
    with PassContext(config={"tir.ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": data_flow}}):
        after: PrimFunc = ReduceBranchingThroughOvercompute()(IRModule({"main": func}))["main"]
    return after


def _branches(*lines: str, data_flow: bool = True) -> int:
    func = from_source(HEADER + "".join(f"    {line}\n" for line in lines))
    return len(nodes(_reduced(func, data_flow), IfThenElse))


def test_random_programs_keep_what_they_compute() -> None:
    fewer = 0
    for seed in range(300, 314):
        before = IntegerPrograms(seed).function()
        after = _reduced(before)
        for data in range(3):
            for left, right in zip(final_elements(before, data), final_elements(after, data), strict=True):
                np.testing.assert_array_equal(left, right, err_msg=f"seed {seed}")
        fewer += len(nodes(after, IfThenElse)) < len(nodes(before, IfThenElse))
    assert fewer >= 2


@pytest.mark.parametrize(
    ("lines", "branches"),
    [
        ((*PADDED, ALL, "    if i < 14:", "        B[0] = B[0] + A[i]"), 0),
        ((*PADDED, ALL, "    if i < 13:", "        B[0] = B[0] + A[i]"), 1),
        ((*PADDED, ALL, "    if i < 14:", "        B[i] = A[i] + 3", "    else:", "        B[i] = 3"), 0),
        ((*PADDED, ALL, "    if i < 14:", "        B[i] = A[i] + 3", "    else:", "        B[i] = 4"), 1),
        ((ALL, "    if i < 14:", "        A[i] = 1", ALL, "    if i >= 14:", "        A[i] = 2"), 1),
        ((ALL, "    if i < 14:", "        A[i] = 1", ALL, "    if i >= 15:", "        A[i] = 2"), 2),
        ((ALL, "    A[i] = 0", ALL, "    if i < 14:", "        if i > 5:", "            A[i] = 0"), 0),
        ((ALL, "    A[i] = 0", ALL, "    if i < 14:", "        A[i] = T.Mul(C[i], 0)"), 1),  # C has 14 elements
    ],
)
def test_conditions_that_stay(lines: tuple[str, ...], branches: int) -> None:
    assert _branches(*lines) == branches


def test_branches_that_are_the_same_need_no_analysis() -> None:
    lines = (ALL, "    if i < 14:", "        A[i] = 1", "    else:", "        A[i] = 1")
    assert _branches(*lines, data_flow=False) == 0
    assert _branches(*PADDED, ALL, "    if i < 14:", "        B[0] = B[0] + A[i]", data_flow=False) == 1
