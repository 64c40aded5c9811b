"""RemoveNoOp with data flow: stores that nobody reads, and stores of what is there already."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.tir.script import from_source
from compiler.tir.statements.buffer import BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import RemoveNoOp
from tests.compiler.tir.transform.integer_programs import IntegerPrograms, final_elements
from tests.compiler.tir.transform.programs import nodes

HEADER = "@T.prim_func\ndef main(A: T.Buffer((16,), 'int32'), B: T.Buffer((16,), 'int32')):\n"
ALL = "for i in range(16):"


def _removed(func: PrimFunc) -> PrimFunc:
    with PassContext(config={"tir.RemoveNoOp": {"use_dataflow_analysis": True}}):
        after: PrimFunc = RemoveNoOp()(IRModule({"main": func}))["main"]
    return after


def test_random_programs_keep_what_they_compute() -> None:
    fewer_stores = 0
    for seed in range(100, 110):
        before = IntegerPrograms(seed).function()
        after = _removed(before)
        for data in range(3):
            for left, right in zip(final_elements(before, data), final_elements(after, data), strict=True):
                np.testing.assert_array_equal(left, right, err_msg=f"seed {seed}")
        fewer_stores += len(nodes(after, BufferStore)) < len(nodes(before, BufferStore))
    assert fewer_stores >= 3


@pytest.mark.parametrize(
    ("lines", "stores"),
    [
        ((ALL, "    A[i] = 100", "    A[i] = 42"), 1),
        ((ALL, "    A[i] = 100", "    A[i] = A[i] + 1"), 2),
        ((ALL, "    A[i] = 100", ALL, "    A[i] = 42"), 1),
        ((ALL, "    A[i] = 100", ALL, "    if i < 12:", "        A[i] = 42"), 2),
        ((ALL, "    if i < 12:", "        A[i] = 100", ALL, "    if i // 2 < 6:", "        A[i] = 42"), 1),
        ((ALL, "    A[i] = 100", ALL, "    B[i] = 0", ALL, "    A[i] = 42"), 2),
        ((ALL, "    A[i] = 100", ALL, "    B[i] = A[15 - i]", ALL, "    A[i] = 42"), 3),
        ((ALL, "    A[i] = 100", "T.evaluate(T.call_extern('int32', 'f', A.data))", ALL, "    A[i] = 42"), 2),
        ((ALL, "    A[i] = i", "A[4] = 4"), 1),
        ((ALL, "    A[i] = i", "A[4] = 5"), 2),
        (("A[0] = 1", ALL, "    A[0] = i"), 1),
        ((ALL, "    A[0] = i", "    B[i] = A[0]", "A[0] = 3"), 3),
        ((ALL, "    A[i] = i", "for i in T.parallel(16):", "    B[i] = A[i]", ALL, "    A[i] = 0"), 3),
        (("while B[0] < 3:", "    A[0] = B[0]", "    B[0] = B[0] + 1", "A[0] = 7"), 3),
        (("A[0] = 1", "if B[0] < 3:", "    A[0] = 2", "else:", "    A[0] = 3"), 2),
        (("A[0] = 1", "if B[0] < 3:", "    A[0] = 2"), 2),
        (("C = T.allocate([16], 'int32')", "C_1 = T.Buffer((16,), 'int32', data=C)", ALL, "    C_1[i] = A[i]"), 0),
    ],
)
def test_stores_that_stay(lines: tuple[str, ...], stores: int) -> None:
    func = from_source(HEADER + "".join(f"    {line}\n" for line in lines))
    assert len(nodes(_removed(func), BufferStore)) == stores


def test_the_value_of_a_dead_store_is_still_evaluated() -> None:
    func = from_source(HEADER + "    A[0] = T.call_extern('int32', 'f')\n    A[0] = 1\n")
    assert "call_extern" in str(_removed(func))


def test_stores_stay_where_no_analysis_is_asked_for() -> None:
    func = from_source(HEADER + "    A[0] = 2\n    A[0] = 1\n")
    assert len(nodes(RemoveNoOp()(IRModule({"main": func}))["main"], BufferStore)) == 2
