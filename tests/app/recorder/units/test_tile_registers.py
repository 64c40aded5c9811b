"""Tiles as they are drawn, put through the instruction's own definition, give the product of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from app.artifacts import Layout
from tests.app.recorder.gpus.test_device_code import answered

PRODUCT = """\
import tvm
from tvm import te

rows, columns, depth, group = 21, 48, 128, {group}
a = te.placeholder((rows, depth), "{dtype}", name="A")
b = te.placeholder((columns // 16, depth // group, 16, group), "{dtype}", name="B")
k = te.reduce_axis((0, depth // group), name="k")


def products(i, j):
    terms = [a[i, k * group + g].astype("{total}") * b[j // 16, k, j % 16, g].astype("{total}") for g in range(group)]
    return te.sum(sum(terms[1:], terms[0]), axis=k)


c = te.compute((rows, columns), products, name="C")
s = te.create_schedule(c.op)
i, j = c.op.axis
jo, ji = s[c].split(j, factor=16)
ko, ki = s[c].split(k, factor=16)
s[c].reorder(jo, ko, i, ji, ki)
s[c].pragma(ko, "tile_product")
f = tvm.build(s, [a, b, c], target="llvm -mcpu={cpu}")
"""
TENSORIZED = """\
import tvm
from tvm import te
from tvm.topi.x86 import tensor_intrin

rows, columns, depth, group = 42, 64, 24, {group}
a = te.placeholder((rows, depth), "{dtype}", name="A")
b = te.placeholder((columns // 16, depth // group, 16, group), "{dtype}", name="B")
k = te.reduce_axis((0, depth), name="k")


def product(i, j):
    return te.sum(a[i, k].astype("{total}") * b[j // 16, k // group, j % 16, k % group].astype("{total}"), axis=k)


c = te.compute((rows, columns), product, name="C")
s = te.create_schedule(c.op)
io, jo, ii, ji = s[c].tile(*c.op.axis, 21, 32)
s[c].tensorize(ii, tensor_intrin.amx_product(21, 32, depth, "{dtype}", "{dtype}"))
f = tvm.build(s, [a, b, c], target="llvm -mcpu={cpu}")
"""


def tiles(group: int, cpu: str = "sapphirerapids", script: str = PRODUCT) -> dict[str, Layout]:
    dtype, total = {4: ("int8", "int32"), 2: ("bfloat16", "float32")}[group]
    answer, _ = answered(script.format(group=group, dtype=dtype, total=total, cpu=cpu))
    assert not answer.problems
    return {layout.name: layout for layout in answer.units[-1].layouts if layout.is_tile}


@pytest.mark.parametrize("script", [PRODUCT, TENSORIZED], ids=["pragma", "tensorize"])
@pytest.mark.parametrize("group", [4, 2])
def test_the_drawn_tiles_multiply_as_the_instruction_is_defined(group: int, script: str) -> None:
    """``C[m][n] += A[m][k * group + g] * B[k][n * group + g]``, rows and columns those of the registers."""
    drawn = tiles(group, script=script)
    A, B, C = (drawn[f"tile of {name}"] for name in "ABC")
    assert {layout.dtype for layout in (A, B)} == {"int8" if group == 4 else "bfloat16"}
    assert [layout.element * layout.packed[1] for layout in (A, B, C)] == [64, 64, 64]
    rng = np.random.default_rng(1)
    left, right = (rng.integers(-9, 9, layout.shape) for layout in (A, B))

    def held(layout: Layout, matrix: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[list[int]]:
        values = [0 if at < 0 else int(matrix.reshape(-1)[at]) for at in layout.memory]
        return np.reshape(values, layout.packed).tolist()

    a, b, sums = held(A, left), held(B, right), np.zeros(C.packed, np.int64)
    for m, n, k, g in np.ndindex(A.packed[0], 16, B.packed[0], group):
        sums[m, n] += a[m][k * group + g] * b[k][n * group + g]
    np.testing.assert_array_equal(sums.reshape(-1)[C.offsets].reshape(C.shape), left @ right)
    for layout in (A, B, C):
        assert [layout.memory[place] for place in layout.offsets] == list(range(len(layout.offsets)))


def test_processors_without_tile_registers_have_none() -> None:
    assert tiles(4, "cascadelake") == {}


def test_the_user_s_line_has_the_loops_and_instructions_of_a_tensor_intrinsic() -> None:
    script = TENSORIZED.format(group=4, dtype="int8", total="int32", cpu="sapphirerapids")
    answer, listings = answered(script)
    line = 1 + next(i for i, text in enumerate(script.splitlines()) if "tensorize(" in text)
    rows = {row.id: row for row in answer.origins}

    def comes_from_the_line(origin: int) -> bool:
        row = rows[origin]
        return (row.level == "source" and row.line == line) or any(map(comes_from_the_line, row.parents))

    linked = {
        listing.level
        for listing in listings.values()
        for text in listing.lines
        if "tdpbssd" in text.text and any(map(comes_from_the_line, text.origins))
    }
    assert linked == {"loop", "llvm", "asm"}
