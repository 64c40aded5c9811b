"""Threads wait where one reads or overwrites what another one stored, and nowhere else."""

from __future__ import annotations

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.primexpr import Call
from compiler.tir.builtin import STORAGE_SYNC
from compiler.tir.transform import ThreadSync
from tests.compiler.tir.transform.programs import apply, nodes, program


def waits(body: str) -> int:
    """Return how often the threads of a kernel wait, after the pass, in the text of its body."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    shared = (
        "    p = T.allocate([16], 'int32', 'shared')\n    B = T.decl_buffer((16,), 'int32', data=p, scope='shared')"
    )
    func = program(f"with T.launch_thread('threadIdx.x', 8) as tx:\n{shared}\n{lines}")
    return sum(call.op is STORAGE_SYNC for call in nodes(apply(func, ThreadSync("shared")), Call))


def test_what_other_threads_stored() -> None:
    assert waits("B[tx] = A[tx]\nC[tx] = B[7 - tx]") == 1
    assert waits("B[tx] = A[tx]\nC[tx] = B[tx]") == 0
    assert waits("B[tx] = A[tx]\nC[tx] = B[tx + 8]") == 0


def test_what_an_iteration_leaves_behind() -> None:
    assert waits("for i in range(4):\n    B[tx] = A[tx + i]\n    C[tx + i] = B[7 - tx]") == 2
    assert waits("for i in range(4):\n    B[tx] = A[tx + i]") == 0
    assert waits("for i in range(4):\n    B[tx + i] = A[tx + i]\n    C[tx] = B[tx]") == 2
    assert waits("for i in range(8):\n    B[i] = A[i]\nfor i in range(8):\n    C[tx] = C[tx] + B[i]") == 1


def test_threads_do_not_wait_within_a_branch() -> None:
    with pytest.raises(LoweringError, match="within a branch"):
        waits("if n < 5:\n    B[tx] = A[tx]\n    C[tx] = B[7 - tx]")


def test_a_wait_that_is_there_is_enough() -> None:
    assert waits("B[tx] = A[tx]\nT.evaluate(T.tvm_storage_sync('shared'))\nC[tx] = B[7 - tx]") == 1
