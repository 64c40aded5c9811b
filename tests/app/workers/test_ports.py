"""Ports: instructions that only bring values into place are a cause where they keep the busiest port busy."""

from __future__ import annotations

import pytest

from app.causes import LoopCode
from app.workers.ports import port_cause
from compiler.ir.error import UnavailableError
from compiler.target.cpu.throughput import find_llvm_mca
from tests.benchmarks.causes import PORTS, scripts, why

SHUFFLES = ["vpermps %ymm0, %ymm1, %ymm2"] * 6
FMAS = [f"vfmadd231ps %ymm0, %ymm1, %ymm{register}" for register in range(8, 12)]


def _needs_the_tool() -> None:
    try:
        find_llvm_mca()
    except UnavailableError as error:
        pytest.skip(str(error))


def _loop(lines: list[str], spare: list[int], memory: float = 0.0) -> LoopCode:
    return LoopCode(
        lines=lines, spare=spare, triple="x86_64-linux-gnu", cpu="haswell", features="", computing=100.0, memory=memory
    )


def test_the_share_is_what_the_loop_would_take_without_them() -> None:
    _needs_the_tool()
    cause = port_cause(_loop([*SHUFFLES, *FMAS], [*range(6)])).cause
    assert cause is not None
    assert cause.words.startswith("HWPort5 is busy for 6 of the 6.0")
    assert cause.words.endswith(
        "6 of them with 6 instructions that only bring values into place, such as vpermps; by LLVM's model of haswell"
    )
    assert cause.share == pytest.approx(1 / 6, abs=0.02), "chained multiply-adds take five cycles"
    behind_memory = port_cause(_loop([*SHUFFLES, *FMAS], [*range(6)], memory=1_000.0)).cause
    assert behind_memory is None, "the memory takes longer"


def test_a_port_that_work_keeps_busy_is_no_defect() -> None:
    _needs_the_tool()
    assert port_cause(_loop([*SHUFFLES, *FMAS], [])).cause is None
    assert port_cause(_loop([*SHUFFLES[:1], *FMAS], [0])).cause is None


def test_without_the_model_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise UnavailableError("there is no llvm-mca")

    monkeypatch.setattr("app.workers.ports.analyse_loop", refuse)
    found = port_cause(_loop(FMAS, []))
    assert (found.cause, found.unknown) == (None, "ports: there is no llvm-mca")


def test_numbers_taken_apart_are_said_first() -> None:
    _needs_the_tool()
    said = why(scripts(PORTS[0], "haswell"), "haswell")
    assert said.causes[0].kind == "ports"
    assert "vshufps" in said.causes[0].words
    assert said.loop is None
