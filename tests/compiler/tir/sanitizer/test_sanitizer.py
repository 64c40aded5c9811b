"""The sanitizer names each fault, both sides of it, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.ir.error import ArgumentError, LoweringError
from compiler.ir.origin import OriginTable, recording
from compiler.tir.sanitizer import Fault, SanitizerResult, sanitize
from tests.compiler.tir.transform.programs import program

SHARED = "S = T.decl_buffer((64,), 'int32', scope='shared')\n"
WAIT = "T.evaluate(T.tvm_storage_sync('shared'))\n"


def check(body: str, launch: str = "T.launch_thread('threadIdx.x', 64) as tx", **options: Any) -> SanitizerResult:
    """Run a kernel on arrays ``A`` and ``C`` of 64 integers."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    func = program(f"with {launch}:\n{lines}")
    arrays = {"A": np.arange(64, dtype="int32") * 7 % 23, "C": np.full(64, -1, "int32")}
    args = [arrays[func.buffer_map[p].name] if p in func.buffer_map else 5 for p in func.params]
    return sanitize(func, args, **options)


def faults(result: SanitizerResult) -> set[Fault]:
    return {report.fault for report in result.reports}


def test_a_missing_barrier_is_a_race() -> None:
    result = check(f"{SHARED}S[tx] = A[tx]\nC[tx] = S[tx // 2]")
    assert faults(result) == {Fault.DATA_RACE}
    (report,) = result.reports
    write, read = report.sites
    assert "S[threadIdx_x] = A[threadIdx_x]" in write.text
    assert read.text == "S[threadIdx_x // 2]"
    assert write.thread["threadIdx.x"] == read.thread["threadIdx.x"] // 2
    assert "a barrier must come between the two" in report.message
    assert not check(f"{SHARED}S[tx] = A[tx]\n{WAIT}C[tx] = S[tx // 2]").reports


@pytest.mark.parametrize(
    ("statement", "way"),
    [
        ("C[0] = tx", "no barrier can lie; let each thread write an element of its own"),
        ("C[tx] = C[(tx + 1) % 64]", "no barrier can lie; read it into a variable of the thread"),
        ("for k in range(2):\n    C[0] = tx * 2 + k", "except between two iterations of its loop; let each thread"),
    ],
)
def test_threads_that_race_in_one_statement_are_not_sent_for_a_barrier(statement: str, way: str) -> None:
    messages = [report.message for report in check(statement).reports]
    assert all(way in message and "must come" not in message for message in messages)
    assert messages


def test_what_was_read_must_not_be_overwritten_at_once() -> None:
    loop = "for k in range(2):\n    S[tx] = A[tx] + k\n    {0}\n    C[tx] = S[63 - tx]\n    {1}"
    wait = WAIT.strip()
    assert not check(SHARED + loop.format(wait, wait)).reports
    assert Fault.DATA_RACE in faults(check(SHARED + loop.format(wait, "C[tx] = n")))


def test_blocks_are_never_ordered() -> None:
    launch = "T.launch_thread('blockIdx.x', 4) as bx, T.launch_thread('threadIdx.x', 8) as tx"
    result = check(f"C[tx] = A[bx * 8 + tx]\n{WAIT}", launch)
    assert faults(result) == {Fault.DATA_RACE}
    assert "nothing orders blocks" in result.reports[0].message
    assert {site.thread["blockIdx.x"] for site in result.reports[0].sites} == {0, 1}


def test_writes_of_one_value_and_atomic_additions_race_with_nothing() -> None:
    assert not check("C[0] = n").reports
    assert faults(check("C[0] = tx")) == {Fault.DATA_RACE}
    assert not check("T.evaluate(T.atomic_add(T.address_of(C[0]), tx))").reports
    assert faults(check("C[0] = C[0] + tx")) == {Fault.DATA_RACE}


def test_barriers_of_a_warp_order_its_threads_alone() -> None:
    wait = "T.evaluate(T.tvm_storage_sync('warp'))"
    assert not check(f"{SHARED}S[tx] = A[tx]\n{wait}\nC[tx] = S[tx // 32 * 32]").reports
    assert faults(check(f"{SHARED}S[tx] = A[tx]\n{wait}\nC[tx] = S[0]")) == {Fault.DATA_RACE}
    assert faults(check(f"{SHARED}S[tx] = A[tx]\n{wait}\nC[tx] = S[tx // 32 * 32]", warp_size=16)) == {Fault.DATA_RACE}


def test_divergent_barriers() -> None:
    result = check(f"if tx < 5:\n    {WAIT}C[tx] = n")
    assert faults(result) == {Fault.DIVERGENT_BARRIER}
    (report,) = result.reports
    assert "has ended" in report.message
    assert [site.thread["threadIdx.x"] < 5 for site in report.sites] == [True, False]
    result = check(f"if tx < 5:\n    {WAIT}    C[tx] = n\nelse:\n    {WAIT}    C[tx] = n + 1")
    assert "waits at another one" in result.reports[0].message


def test_reads_of_what_nobody_wrote() -> None:
    result = check(f"{SHARED}if tx < 63:\n    S[tx] = A[tx]\n{WAIT}C[tx] = S[tx]")
    assert faults(result) == {Fault.UNINITIALIZED_READ}
    assert "element 63 of S in shared memory" in result.reports[0].message
    local = "L = T.decl_buffer((2,), 'int32', scope='local')\nL[0] = tx\nC[tx] = L[1]"
    assert faults(check(local)) == {Fault.UNINITIALIZED_READ}


def test_accesses_outside() -> None:
    result = check("C[tx + 1] = A[tx]")
    assert [str(site.thread) for report in result.reports for site in report.sites] == ["{'threadIdx.x': 63}"]
    assert result.reports[0].fault is Fault.OUT_OF_BOUNDS
    assert faults(check(f"{SHARED}C[tx] = A[tx - 1]")) == {Fault.OUT_OF_BOUNDS}


def test_lines_of_the_program() -> None:
    with recording(OriginTable()):
        result = check(f"{SHARED}S[tx] = A[tx]\nC[tx] = S[63 - tx] + S[tx // 2]")
    race = next(report for report in result.reports if report.fault is Fault.DATA_RACE)
    assert all(isinstance(site.line, int) for site in race.sites)
    assert f"line {race.sites[0].line}" in str(race)


def test_the_limit_of_accesses() -> None:
    result = check("for k in range(1000):\n    C[tx] = A[tx] + k", max_accesses=500)
    assert not result.complete
    assert result.accesses == 501


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="sanitize: expected"):
        sanitize(program("C[0] = n"), [])
    with pytest.raises(LoweringError, match="must have the same extent"):
        check("with T.launch_thread('threadIdx.x', 32) as ty:\n    C[ty] = 1")
