"""Functions say which CPU they are for, as clang writes it, so that ``llc`` makes the same code of the text."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from compiler import te
from compiler.driver.build import build


@pytest.mark.parametrize(
    ("target", "attributes"),
    [
        ("llvm", []),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake", ['"target-cpu"="skylake"']),
        (
            "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake -mattr=+avx512f",
            ['"target-cpu"="skylake"', '"target-features"="+avx512f"'],
        ),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+sve", ["vscale_range(1,16)", '"target-features"="+sve"']),
    ],
)
def test_every_function_has_the_attributes_of_its_target(target: str, attributes: list[str]) -> None:
    a = te.placeholder((64,), name="a")
    b = te.compute((64,), lambda i: a[i] + 1, name="b")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    text = build(s, [a, b], target).get_source("ll")
    groups = dict(re.findall(r"^attributes #(\d+) = \{(.*)\}", text, re.MULTILINE))
    defined = {groups[number] for number in re.findall(r"^define .* #(\d+) ", text, re.MULTILINE)}
    assert defined
    for group in defined:
        assert re.findall(r'"target-[a-z]+"="[^"]*"|vscale_range\(.*?\)', group) == attributes


def tile(rows: int, columns: int, mcpu: str, taps: int = 64) -> str:
    """Return the code of a product of matrices whose sums are a tile of so many elements."""
    a, b, k = (
        te.placeholder((64, taps), name="A"),
        te.placeholder((taps, 512), name="B"),
        te.reduce_axis((0, taps), "k"),
    )
    c = te.compute((64, 512), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "local")
    *_, column = s[c].tile(*c.op.axis, rows, columns)
    s[sums].compute_at(s[c], s[c].leaf_iter_vars[1])
    s[sums].reorder(k, *sums.op.axis)
    s[sums].unroll(sums.op.axis[0])
    s[sums].vectorize(sums.op.axis[1])
    s[c].vectorize(column)
    return build(s, [a, b, c], f"llvm -mtriple=x86_64-linux-gnu -mcpu={mcpu}").get_source("asm")


@pytest.mark.parametrize(("mcpu", "lanes"), [("haswell", 8), ("icelake-server", 16)])
def test_wide_vectors_are_spilled_to_lines_of_the_cache(mcpu: str, lanes: int) -> None:
    """LLVM aligns the stack for them only if the function has a frame pointer; else stores take twice as long."""
    spills = re.findall(r"(vmov[au]ps)\t%[yz]mm\d+, \S*\(%rsp\)", tile(8, 4 * lanes, mcpu))
    assert set(spills) == {"vmovaps"}


@pytest.mark.parametrize(("mcpu", "shape"), [("icelake-server", (8, 32)), ("haswell", (6, 16))])
def test_a_tile_that_fills_the_registers_is_not_written_out_for_several_steps(
    mcpu: str, shape: tuple[int, int]
) -> None:
    """Three steps would load the elements of all of them first, and spill them."""
    code = tile(*shape, mcpu, taps=3)
    assert not re.findall(r"[yz]mm\d+, \S*\(%rsp\)", code)
    assert code.count("vfmadd") <= 2 * math.prod(shape) // (16 if "ice" in mcpu else 8)


def test_a_tile_whose_elements_meet_one_vector_each_is_written_out() -> None:
    """Its multiply-adds take the elements from memory."""
    assert tile(16, 16, "icelake-server", taps=3).count("vfmadd") >= 3 * 16


@pytest.mark.parametrize(
    ("mcpu", "width"),
    [("icelake-server", 16), ("icelake-server", 32), ("znver4", 16), ("znver4", 24), ("znver4", 32), ("haswell", 8)],
)
def test_rows_of_one_or_two_vectors_are_computed_row_by_row(mcpu: str, width: int) -> None:
    """LLVM wrote their elements out, and gathered vectors of several rows: 60 to 1,070 instructions."""
    a, b = (te.placeholder((1000, width), name=name) for name in "AB")
    c = te.compute((1000, width), lambda i, j: a[i, j] * 2 + b[i, j], name="C")
    code = build(te.create_schedule(c.op), [a, b, c], f"llvm -mtriple=x86_64-linux-gnu -mcpu={mcpu}").get_source("asm")
    assert "vfmadd" in code
    assert not re.findall(r"gather|scatter|vperm|vunpck|vshuf|vinsert|vexpand", code)
    assert len(re.findall(r"^\.LBB\d+_\d+:", code, re.MULTILINE)) == 1, "one loop, over rows"
    assert len(re.findall(r"^\t[a-z]", code, re.MULTILINE)) < 50


@pytest.mark.parametrize("width", [16, 24, 32])
def test_rows_of_vectors_without_a_fixed_length_are_no_warning(width: int, capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM writes to the standard error that it cannot write out a loop which it was told to."""
    a = te.placeholder((1000, width), name="A")
    c = te.compute((1000, width), lambda i, j: a[i, j] * 2, name="C")
    build(te.create_schedule(c.op), [a, c], "llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-x280 -mattr=+v")
    assert not capfd.readouterr().err


@pytest.mark.parametrize(("mattr", "abi"), [("", 0), ("+f", 2), ("+d", 4), ("+v", 4)])
def test_floats_are_passed_in_the_registers_that_a_riscv_processor_has(
    mattr: str, abi: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """LLVM writes to the standard error that it ignores an ABI whose registers the processor lacks."""
    a = te.placeholder((8,), name="A")
    c = te.compute((8,), lambda i: a[i] * 2, name="C")
    built = build(te.create_schedule(c.op), [a, c], f"llvm -mtriple=riscv64-linux-gnu{mattr and f' -mattr={mattr}'}")
    built.save(str(tmp_path / "f.o"))
    assert int.from_bytes((tmp_path / "f.o").read_bytes()[48:52], "little") & 6 == abi
    assert not capfd.readouterr().err
