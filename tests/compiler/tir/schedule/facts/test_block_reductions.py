"""Which blocks make a reduction that is known."""

from __future__ import annotations

import pytest

from compiler.tir.schedule import Schedule
from compiler.tir.schedule.facts.block_reductions import reduction_of_block
from compiler.tir.script import from_source

PROGRAM = """@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                {init}
            {update}
"""


@pytest.mark.parametrize(
    ("init", "update", "known"),
    [
        ("B[vi] = 0", "B[vi] = B[vi] + A[vi, vk]", True),
        ("B[vi] = 1", "B[vi] = B[vi] * A[vi, vk]", True),
        ("B[vi] = 1", "B[vi] = B[vi] + A[vi, vk]", False),
        ("B[vi] = 1; B[vi] = 0", "B[vi] = B[vi] + A[vi, vk]", False),
        ("B[vi] = 0; C[vi] = 0", "B[vi] = B[vi] + A[vi, vk]", False),
        ("B[vi] = 0; C[vi] = 0", "B[vi] = B[vi] + A[vi, vk]; C[vi] = C[vi] + A[vi, vk]", False),
        ("C[vi] = 0", "B[vi] = B[vi] + A[vi, vk]", False),
        ("B[3 - vi] = 0", "B[vi] = B[vi] + A[vi, vk]", False),
        ("B[vi] = 0", "B[vi] = B[3 - vi] + A[vi, vk]", False),
        ("B[vi] = 0", "B[vi] = B[vi] + B[vi]", False),
        ("B[vi] = 0", "B[vi] = A[vi, vk]", False),
        ("B[vi] = 0", "B[vi] = T.Select(B[vi] > A[vi, vk], B[vi], A[vi, vk])", False),
        ("B[vi] = 0", "B[vi] = B[vi] + A[vi, vk]; C[vi] = B[vi]", False),
    ],
)
def test_a_reduction_sets_and_combines_the_same_elements(init: str, update: str, known: bool) -> None:
    lines = {"init": init.replace("; ", "\n" + " " * 16), "update": update.replace("; ", "\n" + " " * 12)}
    s = Schedule(from_source(PROGRAM.format(**lines)))
    assert (reduction_of_block(s.get(s.get_block("B"))) is not None) is known
