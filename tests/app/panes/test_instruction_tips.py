"""Tips with the costs of instructions by LLVM's model of the processor shown, and with the buffers that they access."""

from __future__ import annotations

import pytest

from app.artifacts import Answer, Origin, Step, Unit
from app.instructions import Tip
from app.panes.instruction_tips import instruction_tips
from compiler.ir.error import UnavailableError
from compiler.target.cpu.throughput import find_llvm_mca
from tests.app.fixtures import listing

ASSEMBLY = """\
f:
    vmovups     (%rdi,%rcx,4), %zmm0
    vaddps      (%rsi), %zmm0, %zmm1
    vmovups     %zmm1, (%rdx)
    vmovups     64(%rsp), %zmm2
    retq"""


def told(assembly: str = "x86-64-avx512") -> list[Tip | None]:
    labels = ["A_1[i * 16:i * 16 + 16]", "A_1[i] + B_1[i]", "C_1[i * 16:i * 16 + 16] = A_1[i] + B_1[i]"]
    origins = [Origin(number, "loop", label, line=3) for number, label in enumerate(labels)]
    shown = listing("asm", "gas", ASSEMBLY, {2: [0], 3: [1], 4: [2], 5: [0]})
    unit = Unit(name="f", steps=[Step(group="assembly", name="assembly", listing=shown.key)])
    return instruction_tips(Answer(origins=origins, units=[unit]), shown, assembly, 0, 200)


def words(tip: Tip | None, operand: str) -> str:
    assert tip is not None
    return dict(tip.operands)[operand]


def test_the_buffer_of_an_access_is_named_where_the_line_comes_from_one_access() -> None:
    label, load, add, store, reload, end = told()
    assert label is None
    assert words(load, "(%rdi,%rcx,4)").endswith("rdi + rcx × 4, of A_1")
    assert words(store, "(%rdx)").endswith("rdx, of C_1")
    assert words(add, "(%rsi)").endswith("rsi"), "the sum reads two"
    assert words(reload, "64(%rsp)").endswith("on the stack")
    assert end is not None


def test_the_rate_of_floating_point_is_that_of_the_gpu_s_multiprocessor() -> None:
    shown = listing(
        "asm", "sass", ".text.k:\n    FFMA R1, R2, R3, R4\n    DFMA R2, R4, R6, R8\n    MUFU.EX2 R1, R2", {}
    )

    def rates(arch: str) -> list[str]:
        unit = Unit(name="k", steps=[Step(group="sass", name=f"SASS, {arch}", listing=shown.key)])
        tips = instruction_tips(Answer(units=[unit]), shown, "", 1, 4)
        return [tip.timing for tip in tips if tip is not None]

    single, double, function = rates("sm_90")
    assert single == "A multiprocessor of sm_90 begins 4 warps each cycle: 128 threads."
    assert double == "A multiprocessor of sm_90 begins 2 warps each cycle: 64 threads."
    assert function == "", "nothing is said of what is not known"
    assert rates("sm_89")[1] == "A multiprocessor of sm_89 begins a warp every 16 cycles: 2 threads."
    assert rates("sm_80")[1] == "A multiprocessor of sm_80 begins a warp every cycle: 32 threads."
    assert rates("sm_121") == ["", "", ""]


def test_llvm_ir_names_the_buffer_too() -> None:
    origins = [Origin(0, "loop", "A_1[i * 16:i * 16 + 16]", line=3)]
    shown = listing("llvm", "llvm", "  %0 = load <16 x float>, ptr %a, align 4", {1: [0]})
    [load] = instruction_tips(Answer(origins=origins), shown, "", 0, 200)
    assert words(load, "%a") == "memory: where %a points to, of A_1"
    assert load is not None
    assert not load.timing, "LLVM IR runs on no processor"


def test_costs_are_those_of_the_model_that_is_named() -> None:
    try:
        find_llvm_mca()
    except UnavailableError as missing:
        pytest.skip(str(missing))
    add = told()[2]
    assert add is not None
    assert add.timing.startswith("Latency ")
    assert "LLVM’s model of skylake-avx512," in add.timing
    near = told("x86_64:znver5")[2]
    assert near is not None
    assert "the nearest to znver5" in near.timing or "model of znver5" in near.timing


def test_without_the_tool_the_tip_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise UnavailableError("llvm-mca is not installed")

    monkeypatch.setattr("compiler.target.cpu.throughput.find_llvm_mca", missing)
    load = told("x86_64:cascadelake")[1]
    assert load is not None
    assert load.meaning.startswith("Moves")
    assert load.timing == "No latency is shown: llvm-mca is not installed"
