"""The figures of a hot loop are those of the code, or there are none."""

from __future__ import annotations

import pytest

from app.artifacts import Answer, Listing, Step, Unit
from app.recorder.assembly_listing import from_assembly
from app.workers.explaining import loop_figures
from compiler.ir.error import UnavailableError
from compiler.target.assembly_summary import assembly_summary
from compiler.target.cpu.throughput import find_llvm_mca

LOOP = """\
	.text
f:
.LBB0_1:
	vmovups	64(%rsp), %zmm1
	vfmadd231ps	(%rdi,%rax,4), %zmm1, %zmm0
	vfmadd231ps	64(%rdi,%rax,4), %zmm1, %zmm2
	addq	$32, %rax
	cmpq	$512, %rax
	jne	.LBB0_1
	retq
"""


def assembly(*filters: str) -> tuple[Answer, Listing]:
    listing = from_assembly(LOOP, "f", None, assembly_summary(LOOP), filters)  # type: ignore[arg-type]
    step = Step(group="assembly", name="assembly", listing=listing.key)
    return Answer(units=[Unit(name="f", target="llvm -mcpu=skylake-avx512", steps=[step])]), listing


def test_the_loop_is_counted_and_its_cycles_are_those_of_the_model() -> None:
    try:
        find_llvm_mca()
    except UnavailableError as error:
        pytest.skip(str(error))
    figures = loop_figures(*assembly(), "host")
    assert (figures.instructions, figures.vector_bits, figures.spills) == (6, 512, 1)
    assert (figures.work, figures.unit, figures.processor) == (32, "multiply-adds", "skylake-avx512")
    assert figures.cycles is not None
    assert 4 <= figures.cycles < 9, "two chained accumulators of four cycles each"


def test_figures_of_a_part_of_the_loop_are_not_given() -> None:
    figures = loop_figures(*assembly("unspilled"), "host")
    assert (figures.instructions, figures.cycles) == (0, None)
    assert "hides spills" in figures.reason


def test_without_the_model_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise UnavailableError("there is no llvm-mca")

    monkeypatch.setattr("app.workers.explaining.analyse_loop", refuse)
    figures = loop_figures(*assembly(), "host")
    assert (figures.instructions, figures.spills, figures.cycles) == (6, 1, None)
    assert figures.reason == "there is no llvm-mca"
