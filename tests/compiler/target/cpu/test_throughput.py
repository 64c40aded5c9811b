"""Static throughput analysis: what limits a loop, by the model of a processor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from compiler.ir.error import BuildError, UnavailableError
from compiler.target.cpu import throughput
from compiler.target.cpu.cpu_lineage import features_of_cpus, nearest_cpus
from compiler.target.cpu.cpus import TRIPLES, cpus
from compiler.target.cpu.throughput import analyse_loop, find_llvm_mca, instruction_timings

TRIPLE = "x86_64-unknown-linux-gnu"


@pytest.fixture
def tool() -> str:
    try:
        return find_llvm_mca()
    except UnavailableError as missing:
        pytest.skip(str(missing))


def test_a_chain_of_multiply_adds_waits_for_its_results(tool: str) -> None:
    chain = analyse_loop(["vfmadd231ps %ymm0, %ymm1, %ymm2"], TRIPLE, "haswell")
    assert chain.cycles == pytest.approx(5, abs=0.2)  # the latency of the instruction on Haswell
    assert chain.bottleneck.startswith("dependencies")
    assert chain.instructions == 1


def test_independent_multiply_adds_fill_the_ports(tool: str) -> None:
    lines = [f"vfmadd231ps %ymm0, %ymm1, %ymm{register}" for register in range(2, 14)]
    full = analyse_loop(lines, TRIPLE, "haswell")
    assert full.cycles == pytest.approx(6, abs=0.3)  # two a cycle
    assert [port.cycles for port in full.ports[:2]] == pytest.approx([6, 6], abs=0.3)
    assert "is busy in" in full.bottleneck


LOOPS = {
    "x86_64": ["vfmadd231ps %ymm0, %ymm1, %ymm2", "addq $32, %rax"],
    "aarch64": ["fmla v0.4s, v1.4s, v2.4s", "add x0, x0, #16"],
    "riscv64": ["fmadd.s fa0, fa1, fa2, fa0", "addi a0, a0, 4"],
}


def hide(patch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the tool know fewer processors."""
    asked = throughput._known_cpus
    patch.setattr(throughput, "_known_cpus", lambda tool, triple: asked(tool, triple) - set(names))


@pytest.mark.parametrize(
    ("cpu", "hidden"),
    [
        ("x86_64:haswell", ["haswell"]),
        ("x86_64:emeraldrapids", ["emeraldrapids", "graniterapids"]),
        ("x86_64:znver5", ["znver5", "znver4"]),
        ("aarch64:neoverse-v3", ["neoverse-v3", "neoverse-v3ae"]),
        ("aarch64:cortex-a76", ["cortex-a76"]),
        ("aarch64:apple-m4", ["apple-m4", "apple-a18"]),
        ("riscv64:sifive-u74", ["sifive-u74"]),
        ("riscv64:sifive-s76", ["sifive-s76"]),
    ],
)
def test_a_processor_that_the_tool_does_not_know_is_modelled_as_the_one_most_like_it(
    tool: str, monkeypatch: pytest.MonkeyPatch, cpu: str, hidden: list[str]
) -> None:
    architecture, _, name = cpu.partition(":")
    hide(monkeypatch, *hidden)
    analysed = analyse_loop(LOOPS[architecture], TRIPLES[architecture], name)
    assert analysed.asked == name
    assert analysed.cpu != name
    assert analysed.cpu in cpus(architecture)
    nearer = nearest_cpus(architecture, name, "", throughput._known_cpus(tool, TRIPLES[architecture]))
    assert nearer.index(analysed.cpu) < throughput.MODELS
    assert analysed.cycles >= 1


def test_a_processor_without_a_name_is_modelled_by_its_features(tool: str) -> None:
    known = features_of_cpus("x86_64")
    features = ",".join(f"+{feature}" for feature in known["skylake-avx512"])
    analysed = analyse_loop(["vfmadd231ps %zmm0, %zmm1, %zmm2"], TRIPLE, "generic", features)
    assert analysed.asked == "generic"
    assert known[analysed.cpu] == known["skylake-avx512"]
    assert analyse_loop(LOOPS["x86_64"], TRIPLE, "haswell", features).cpu == "haswell"


def test_where_no_model_runs_the_loop_the_reason_is_said(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "_known_cpus", lambda tool, triple: frozenset({"cortex-a53"}))
    with pytest.raises(BuildError, match=r"no model of a64fx or a similar aarch64 processor"):
        analyse_loop(["fmla z0.s, p0/m, z1.s, z2.s"], TRIPLES["aarch64"], "a64fx")
    with pytest.raises(BuildError, match=r"no model of generic or a similar wasm32 processor"):
        analyse_loop(["local.get 0"], TRIPLES["wasm32"], "generic")


def test_what_is_no_assembly_or_no_processor_is_refused(tool: str) -> None:
    with pytest.raises(BuildError, match=r"llvm-mca: .*error: "):
        analyse_loop(["this is not an instruction"], TRIPLE, "haswell")
    with pytest.raises(BuildError, match="no model of abacus or a similar x86-64 processor"):
        analyse_loop(["addq $8, %rax"], TRIPLE, "abacus")


def test_the_work_alone_takes_as_long_as_its_busiest_port(tool: str) -> None:
    lines = [f"vfmadd231ps %ymm0, %ymm1, %ymm{register}" for register in range(2, 14)]
    mixed = analyse_loop([*lines, *["vpermps %ymm0, %ymm1, %ymm15"] * 20], TRIPLE, "haswell")
    assert mixed.cycles == pytest.approx(20, abs=0.5)  # one port permutes
    assert mixed.busiest(range(12)) == pytest.approx(6, abs=0.5)
    assert mixed.busiest(range(12, 32)) == pytest.approx(20, abs=0.5)


def test_the_tool_is_found_in_the_packages_of_this_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "llvm" / "bin" / "llvm-mca"
    tool.parent.mkdir(parents=True)
    tool.touch(0o755)
    monkeypatch.setattr(throughput.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(throughput.sys, "executable", str(tmp_path / "python"))
    assert find_llvm_mca() == str(tool)


def test_a_missing_tool_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput.shutil, "which", lambda name, path=None: None)
    with pytest.raises(UnavailableError, match="apt install llvm"):
        find_llvm_mca()


def test_each_instruction_has_a_cost_whatever_stands_beside_it(tool: str) -> None:
    lines = ["addq $8, %rax", "frobnicate %rax", "vfmadd231ps (%rdi), %ymm0, %ymm1", "jne .LBB0_1"]
    add, unknown, multiply, jump = instruction_timings(lines, TRIPLE, "haswell")
    assert unknown is None
    assert add is not None
    assert multiply is not None
    assert jump is not None
    assert (add.cpu, add.latency, add.cycles) == ("haswell", 1, 0.25)
    assert multiply.latency > 5  # that of the multiplication and of the load
    assert sum(port.cycles for port in multiply.ports) == pytest.approx(2)


def test_instructions_that_the_nearest_model_lacks_have_no_cost(tool: str) -> None:
    lines = ["addi a0, a0, 4", "vfmacc.vf v8, fa0, v16", "mul a0, a0, a1"]
    add, product, _ = instruction_timings(lines, TRIPLES["riscv64"], "sifive-u74", "+m,+f,+d,+v")
    assert add is not None
    assert (add.cpu, add.latency >= 1) == ("sifive-u74", True)
    assert product is None or product.cpu != "sifive-u74"


def test_a_tool_that_refuses_everything_is_asked_a_limited_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(lines: list[str], triple: str, cpu: str, *rest: str) -> subprocess.CompletedProcess[str]:
        asked.append(cpu)
        return subprocess.CompletedProcess([], 1, "", "no scheduling information" if cpu == "0" else "")

    monkeypatch.setattr(throughput, "_run", refuse)
    monkeypatch.setattr(throughput, "_candidates", lambda *processor: [str(number) for number in range(9)])
    assert instruction_timings(["nop"] * 100, "x86_64", "0") == [None] * 100
    assert (len(asked), asked[:2]) == (16, ["0", "1"])
    asked.clear()
    assert instruction_timings(["nop"], "x86_64", "0") == [None]
    assert asked == ["0", "1", "2", "3"]
