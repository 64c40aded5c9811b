"""Threads wait where one reads or overwrites what another one stored, and nowhere else."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call
from compiler.tir.expressions.builtin import STORAGE_SYNC
from compiler.tir.transform import ThreadSync
from tests.compiler.tir.transform.programs import apply, nodes, program


def waits(body: str, scope: str = "shared", **config: Any) -> int:
    """Return how often the threads of a kernel wait, after the pass, in the text of its body; B has the scope."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    shared = (
        f"    p = T.allocate([16], 'int32', '{scope}')\n    B = T.decl_buffer((16,), 'int32', data=p, scope='{scope}')"
    )
    func = program(f"with T.launch_thread('threadIdx.x', 8) as tx:\n{shared}\n{lines}")
    return sum(call.op is STORAGE_SYNC for call in nodes(apply(func, ThreadSync(scope), config=config), Call))


def test_what_other_threads_stored() -> None:
    assert waits("B[tx] = A[tx]\nC[tx] = B[7 - tx]") == 1
    assert waits("B[tx] = A[tx]\nC[tx] = B[tx]") == 0
    assert waits("B[tx] = A[tx]\nC[tx] = B[tx + 8]") == 0


def test_what_an_iteration_leaves_behind() -> None:
    assert waits("for i in range(4):\n    B[tx] = A[tx + i]\n    C[tx + i] = B[7 - tx]") == 2
    assert waits("for i in range(4):\n    B[tx] = A[tx + i]") == 0
    assert waits("for i in range(4):\n    B[tx + i] = A[tx + i]\n    C[tx] = B[tx]") == 2
    assert waits("for i in range(8):\n    B[i] = A[i]\nfor i in range(8):\n    C[tx] = C[tx] + B[i]") == 1


@pytest.mark.parametrize(
    ("written", "memory", "barriers"),
    [
        ("shared", "shared", 1),
        ("shared", "shared.dyn", 1),
        ("shared", "warp", 1),
        ("warp", "warp", 1),
        ("warp", "shared", 2),
        ("global", "shared", 2),
    ],
)
def test_barriers_that_are_written_by_hand_count_for_the_memory_that_they_order(
    written: str, memory: str, barriers: int
) -> None:
    body = f"B[tx] = A[tx]\nT.evaluate(T.tvm_storage_sync('{written}'))\nC[tx] = B[7 - tx]"
    assert waits(body, memory) == barriers


def test_threads_wait_only_where_all_of_them_come() -> None:
    exchange = "B[tx] = A[tx]\n    C[tx] = B[7 - tx]"
    assert waits(f"if n < 5:\n    {exchange}") == 1
    assert waits("if tx < 5:\n    B[tx] = A[tx]\nC[tx] = B[7 - tx]") == 1
    with pytest.raises(LoweringError, match=r"cannot within a branch .*: the condition is .*tx < 5, which differs"):
        waits(f"if tx < 5:\n    {exchange}")
    with pytest.raises(LoweringError, match="the loop over i runs tx times"):
        waits("for i in range(tx):\n    B[tx] = A[tx]\n    C[tx] = B[7 - tx]")
    with pytest.raises(LoweringError, match="cannot within a branch"):
        waits(f"L = T.decl_buffer((1,), 'int32', scope='local')\nL[0] = tx\nif L[0] < 5:\n    {exchange}")


def test_what_comes_after_a_branch_where_some_threads_waited() -> None:
    branch = "if n < 5:\n    B[tx] = A[tx]\n    T.evaluate(T.tvm_storage_sync('shared'))\n    C[tx] = B[7 - tx]\n"
    assert waits(branch + "B[tx] = n") == 2
    assert waits("B[tx] = A[tx]\nif n < 5:\n    T.evaluate(T.tvm_storage_sync('shared'))\nC[tx] = B[7 - tx]") == 2


def test_what_a_loop_fills_ahead_is_read_behind_it() -> None:
    loop = (
        "for k in range(n):\n"
        "    with T.attr(p, 'double_buffer_write', 1):\n        B[(k + 1) % 2 * 8 + tx] = A[tx]\n"
        "    C[tx] = B[k % 2 * 8 + 7 - tx]\n"
    )
    assert waits(loop) == 1
    assert waits(loop + "C[tx] = B[n % 2 * 8 + 7 - tx]") == 2


def test_a_half_that_a_loop_of_its_own_fills_is_not_waited_for_in_the_same_iteration() -> None:
    loop = (
        "for k in range(n):\n"
        "    with T.attr(p, 'double_buffer_write', 1):\n"
        "        for i in range(2):\n            B[(k + 1) % 2 * 8 + i * 4 + tx] = A[i * 4 + tx]\n"
        "    C[tx] = B[k % 2 * 8 + 7 - tx]\n"
    )
    assert waits(loop) == 1
    assert waits(loop + "C[tx] = B[n % 2 * 8 + 7 - tx]") == 2


def test_a_half_that_was_read_is_not_filled_before_all_have_read_it() -> None:
    text = "with T.attr(p, 'double_buffer_write', 1):\n    B[{} + tx] = A[tx]\nC[tx] = B[{} - tx]\n"
    both = text.format(8, 7) + text.format(0, 15)
    assert waits(both) == 1
    assert waits("for k in range(n):\n" + textwrap.indent(both, "    ")) == 2


def test_only_the_double_buffer_itself_is_filled_ahead() -> None:
    text = "with T.attr({}, 'double_buffer_write', 1):\n    B[tx] = A[tx]\nC[tx] = B[7 - tx]"
    assert waits(text.format("p")) == 0
    assert waits(text.format("0")) == 1


def test_memory_that_another_allocation_had_before_is_waited_for() -> None:
    after = "q = T.allocate([16], 'int32', '{0}')\nD = T.decl_buffer((16,), 'int32', data=q, scope='{0}')\n"
    text = "B[tx] = A[tx]\nC[tx] = B[tx]\n" + after + "D[tx] = n\nC[tx] = D[tx]"
    assert waits(text.format("shared.dyn"), "shared.dyn") == 1
    assert waits(text.format("shared"), "shared") == 0
    assert waits((text + "\nC[tx] = B[tx]").format("shared.dyn"), "shared.dyn") == 0
    assert waits(text.format("shared"), **{"tir.merge_static_smem": True}) == 1


def test_a_wait_that_is_there_is_enough() -> None:
    assert waits("B[tx] = A[tx]\nT.evaluate(T.tvm_storage_sync('shared'))\nC[tx] = B[7 - tx]") == 1


def waits_of_two_rows(body: str) -> int:
    """Return how often the threads of a block of four by two wait."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    launch = "with T.launch_thread('threadIdx.x', 4) as tx, T.launch_thread('threadIdx.y', 2) as ty:\n"
    func = program(f"{launch}    B = T.decl_buffer((16,), 'int32', scope='shared')\n{lines}")
    return sum(call.op is STORAGE_SYNC for call in nodes(apply(func, ThreadSync("shared")), Call))


def test_an_index_without_one_of_the_axes_is_of_several_threads() -> None:
    assert waits_of_two_rows("if ty == 0:\n    B[tx] = A[tx]\nC[ty * 4 + tx] = B[tx]") == 1
    assert waits_of_two_rows("if ty == 0:\n    B[tx] = A[tx]\nif ty == 0:\n    C[tx] = B[tx]") == 0
    assert waits_of_two_rows("for k in range(4):\n    B[tx] = A[k * 4 + tx]\n    C[ty * 4 + tx] = B[tx]") == 2
    assert waits_of_two_rows("B[ty * 4 + tx] = A[tx]\nC[ty * 4 + tx] = B[ty * 4 + tx]") == 0
    assert waits_of_two_rows("B[(ty * 4 + tx) // 2] = A[tx // 2]\nC[ty * 4 + tx] = B[(ty * 4 + tx) // 2]") == 1
    assert waits_of_two_rows("B[(ty * 4 + tx) * 2] = A[tx]\nB[(ty * 4 + tx) * 2 + 1] = A[tx]") == 0


def test_a_store_is_not_overtaken_by_an_earlier_one() -> None:
    assert waits("if tx == 0:\n    B[0] = 1\nif tx == 1:\n    B[0] = 2") == 1
    assert waits("for i in range(4):\n    B[tx // 2] = A[tx // 2 + i]") == 1
    assert waits("for i in range(2):\n    B[i * 8 + tx] = A[tx]\n    C[tx] = B[i * 8 + tx]") == 0


def test_a_loop_that_may_have_no_iteration_lets_nobody_wait() -> None:
    loop = "B[tx] = A[tx]\nfor i in range({0}):\n    T.evaluate(T.tvm_storage_sync('shared'))\nC[tx] = B[7 - tx]"
    assert waits(loop.format("n")) == 2
    assert waits(loop.format("3")) == 1


def test_loops_and_definitions_within_a_loop_are_elsewhere_in_its_next_iteration() -> None:
    triangle = "for i in range(4):\n    for j in range(i + 1):\n        B[j] = A[j]\n    C[tx] = C[tx] + B[i + 1]"
    assert waits(triangle) == 2
    assert waits("for i in range(4):\n    x: T.int32 = i * 2\n    B[x] = A[x]\n    C[tx] = C[tx] + B[x + 2]") == 1


def test_what_conditions_and_definitions_read() -> None:
    assert waits("B[tx] = A[tx]\nx: T.int32 = B[7 - tx]\nB[tx] = 0\nC[tx] = x") == 2
    assert waits("if B[0] == 1:\n    B[tx] = 0") == 1
    assert waits("while B[0] < 5:\n    B[0] = n") == 2
