"""Static throughput analysis: what limits a loop, by the model of a processor."""

from __future__ import annotations

import pytest

from compiler.ir.error import BuildError, UnavailableError
from compiler.target import throughput
from compiler.target.throughput import analyse_loop, find_llvm_mca

TRIPLE = "x86_64-unknown-linux-gnu"


@pytest.fixture(autouse=True)
def _installed(request: pytest.FixtureRequest) -> None:
    if "monkeypatch" in request.fixturenames:
        return
    try:
        find_llvm_mca()
    except UnavailableError as missing:
        pytest.skip(str(missing))


def test_a_chain_of_multiply_adds_waits_for_its_results() -> None:
    chain = analyse_loop(["vfmadd231ps %ymm0, %ymm1, %ymm2"], TRIPLE, "haswell")
    assert chain.cycles == pytest.approx(5, abs=0.2)  # the latency of the instruction on Haswell
    assert chain.bottleneck.startswith("dependencies")
    assert chain.instructions == 1


def test_independent_multiply_adds_fill_the_ports() -> None:
    lines = [f"vfmadd231ps %ymm0, %ymm1, %ymm{register}" for register in range(2, 14)]
    full = analyse_loop(lines, TRIPLE, "haswell")
    assert full.cycles == pytest.approx(6, abs=0.3)  # two a cycle
    assert [port.cycles for port in full.ports[:2]] == pytest.approx([6, 6], abs=0.3)
    assert "is busy in" in full.bottleneck


def test_a_processor_that_is_too_new_is_modelled_as_the_nearest_one() -> None:
    analysed = analyse_loop(["vfmadd231ps %zmm0, %zmm1, %zmm2"], TRIPLE, "znver9")
    assert analysed.cpu.startswith(("znver", "icelake"))
    assert analysed.cycles > 3


def test_what_is_no_assembly_or_no_processor_is_refused() -> None:
    with pytest.raises(BuildError, match="llvm-mca"):
        analyse_loop(["this is not an instruction"], TRIPLE, "haswell")
    with pytest.raises(BuildError, match="not a recognized processor"):
        analyse_loop(["addq $8, %rax"], TRIPLE, "abacus")


def test_a_missing_tool_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput.shutil, "which", lambda name, path=None: None)
    with pytest.raises(UnavailableError, match="apt install llvm"):
        find_llvm_mca()
