"""The examples for GPUs: each compiles, computes what its definition says, and is explained."""

from __future__ import annotations

import pytest

from app.gallery import Example, load_gallery
from app.kernel_reports import KernelReport
from compiler.target.cuda_tools import compile_cuda, missing_tools
from tests.app.recorder.gpus.test_device_code import answered, listing_of

OTHERWISE = ("gpu-race", "gpu-tensor-cores")
GPU = [each for each in load_gallery() if each.name.startswith("gpu-") and each.name not in OTHERWISE]
SMALLER = (
    ("n = 512", "n = 128"),
    ("n, m = 1024, 512", "n, m = 64, 512"),
    ("n, tile, padding = 512", "n, tile, padding = 128"),
    ("n, tile, each, step = 512", "n, tile, each, step = 64"),
)


def report_of(script: str, *problems: str) -> KernelReport:
    answer, _ = answered(script, mode="run")
    assert [problem.kind for problem in answer.problems] == [*problems]
    report = answer.units[-1].device
    assert report is not None
    return report


@pytest.mark.sample(4)
@pytest.mark.parametrize("example", GPU, ids=lambda example: example.name)
def test_each_example_computes_what_its_definition_says(example: Example) -> None:
    script = example.script
    for own, small in SMALLER:
        script = script.replace(own, small)
    report = report_of(script)
    assert (report.emulated, report.faults) == ("ok", [])
    assert report.accesses
    assert all(access.pattern for access in report.accesses)


def test_the_race_is_told_with_both_lines_and_both_threads() -> None:
    report = report_of(load_gallery().find("gpu-race").script, "data race")  # type: ignore[union-attr]
    [fault, *_] = report.faults
    assert fault.kind == "data race"
    first, second = fault.sites
    assert (first.line, second.line) == (16, 16)
    assert first.thread != second.thread


def test_tensor_cores_are_shown_and_emulated() -> None:
    example = load_gallery().find("gpu-tensor-cores")
    assert example is not None
    answer, listings = answered(example.script.replace("m = 256,", "m = 64,"), mode="run")
    assert not answer.problems
    unit = answer.units[-1]
    assert unit.device is not None
    assert (unit.device.emulated, unit.device.faults) == ("ok", [])
    source = "\n".join(line.text for line in listing_of(unit, "kernel", listings).lines)
    assert "nvcuda::wmma::mma_sync(" in source
    loads = [access for access in unit.device.accesses if access.instruction.startswith("wmma")]
    assert [(access.buffer, access.size, access.ways) for access in loads] == [
        ("A.shared", 16, 4), ("B.shared", 16, 8), ("C.shared", 8, 4)
    ]  # fmt: skip
    [product] = unit.device.products
    maps = [unit.device.matrices[at] for at in product.matrices]
    assert [len(set(zip(map_.lanes, map_.numbers, strict=True))) for map_ in maps] == [256, 256, 256]
    assert all("CUDA promises no layout" in map_.note for map_ in maps)
    if not missing_tools():  # what the drawing of these fragments takes for granted
        for arch, product_name in (("sm_75", "HMMA.1688.F32"), ("sm_90", "HMMA.16816.F32")):
            sass = [line.text for line in compile_cuda(source, arch).sass]
            for name in (product_name, "LDSM.16.M88.", "LDSM.16.MT88.", "STS.64"):
                assert any(name in text for text in sass), (arch, name)


def test_each_rung_of_the_matrix_product_asks_for_fewer_bytes() -> None:
    names = ("naive", "tiled", "shared", "registers")
    moved = []
    for name in names:
        example = load_gallery().find(f"gpu-matmul-{name}")
        assert example is not None
        answer, _ = answered(example.script.replace("n = 512", "n = 128"))
        report = answer.units[-1].device
        assert report is not None
        moved.append(report.launches[0].moved)
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > 8 * moved[-1]


@pytest.mark.parametrize(("padding", "ways"), [(0, 32), (1, 1)])
def test_padding_takes_the_bank_conflicts_out_of_the_transposition(padding: int, ways: int) -> None:
    example = load_gallery().find("gpu-transpose")
    assert example is not None
    answer, _ = answered(example.script.replace("512, 32, 0", f"128, 32, {padding}"))
    report = answer.units[-1].device
    assert report is not None
    [read] = [access for access in report.accesses if access.scope == "shared" and not access.writes]
    assert read.ways == ways
