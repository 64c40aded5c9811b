"""The code for some kernels and processors is no worse than the table of ``tests.benchmarks.processors`` says."""

from __future__ import annotations

import pytest

from compiler.ir.error import UnavailableError
from compiler.target.cpu.throughput import find_llvm_mca
from compiler.target.loop_facts import findings
from tests.benchmarks.processors import __main__ as command
from tests.benchmarks.processors.contract import PROCESSORS, facts_of, rows_of, target_of, vector_features
from tests.benchmarks.processors.corpus import kernels
from tests.machines import needs_openmp

KERNELS = (
    "dense 128x768x768 float32", "dense 128x768x3072 uint8 to int32", "depthwise 3x3 50 at 50 float32",
    "softmax 768 float32", "lesson vectorize 2",
)  # fmt: skip
SAMPLE = ("x86-64-v2", "haswell", "icelake-server", "znver4", "neoverse-v1", "sifive-x280")
MORE = 1.1
"""How many times the instructions of the table there may be for the same work."""


@needs_openmp
@pytest.mark.sample(3)
@pytest.mark.parametrize("processor", SAMPLE)
@pytest.mark.parametrize("kernel", KERNELS)
def test_code_is_no_worse_than_the_table_says(kernel: str, processor: str) -> None:
    if not command.TABLE.read_text(encoding="utf-8").startswith(f"{command.version()}\n"):
        pytest.skip("the table was written with another version of LLVM")
    instructions, known = command.written()[kernel, processor]
    facts = facts_of(kernels()[kernel], processor)
    assert facts is not None
    found = findings(facts, target_of(processor))
    assert [f for f in found if f.kind not in known] == []
    assert len(facts.lines) / max(facts.least, 0.1) <= MORE * instructions


def test_the_table_has_all_kernels_and_processors() -> None:
    rows = command.written()
    assert {processor for _, processor in rows} == set(PROCESSORS)
    assert {kernel for kernel, _ in rows} == set(kernels())
    assert len(kernels()) >= 60


def test_code_for_a_processor_with_fewer_features_is_a_measure_of_its_own() -> None:
    assert vector_features("haswell") < vector_features("icelake-server") < vector_features("sapphirerapids")
    assert not vector_features("sapphirerapids") <= vector_features("znver4")
    try:
        find_llvm_mca()
    except UnavailableError as missing:
        pytest.skip(str(missing))
    body = {"skylake-avx512": "\tvfmadd231ps\t%ymm0, %ymm1, %ymm2\n" * 8, "haswell": ""}
    body["haswell"] = "".join(f"\tvfmadd231ps\t%ymm0, %ymm1, %ymm{register}\n" for register in range(2, 10))
    loops = {name: f"f:\n.LBB0_1:\n{code}\tdecq\t%rax\n\tjne\t.LBB0_1\n\tretq\n" for name, code in body.items()}
    rows = {row.processor: row for row in rows_of("chain", lambda target: loops[target.cpu], list(loops))}
    kinds = {name: {f.kind for f in row.found} for name, row in rows.items()}
    assert kinds == {"haswell": set(), "skylake-avx512": {"narrow", "slower"}}
    line = command.line_of(rows["skylake-avx512"])
    assert line.startswith("chain ")
    assert "times the cycles of the code for haswell" in line
