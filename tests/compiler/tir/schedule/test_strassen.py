"""``strassen``: products of matrices of any layout by seven products of quarters are the same but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.runtime.arrays.ndarray import array
from compiler.tir.interpreter import interpret
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import from_source

PLAIN = "i j | k | A[vi, vk] | B[vk, vj]"
LAYOUTS = {
    "plain": PLAIN,
    "the second one turned": "i j | k | A[vi, vk] | B[vj, vk]",
    "the second one first": "j i | k | B[vk, vj] | A[vi, vk]",
    "a batch": "b i j | k | A[vb, vi, vk] | B[vb, vk, vj]",
    "a batch of the first one alone": "b i j | k | A[vb, vi, vk] | B[vk, vj]",
    "two reduced axes": "i j | b k | A[vi, vb, vk] | B[vk, vj, vb]",
    "a sum of one matrix alone": "i j | k b | A[vi, vk, vb] | B[vk, vj]",
    "columns in blocks": "i o p | k | A[vi, vk] | B[vo, vk, vp]",
}
EXTENTS = {"b": 3, "i": 6, "j": 4, "k": 8, "o": 3, "p": 2}


def product(layout: str, extents: dict[str, int] | None = None, dtype: str = "float64") -> Any:
    """Return a function that multiplies matrices, from its axes and its two operands."""
    spatial, reduced, first, second = layout.split(" | ")
    sizes = EXTENTS | (extents or {})
    names = f"{spatial} {reduced}".split()
    kinds = "S" * len(spatial.split()) + "R" * len(reduced.split())
    shapes = {text[0]: [sizes[at.strip()[1:]] for at in text[2:-1].split(",")] for text in (first, second)}
    params = ", ".join(f'{name}: T.Buffer({shape}, "{dtype}")' for name, shape in sorted(shapes.items()))
    own = ", ".join(f"v{name}" for name in spatial.split())
    return from_source(f"""
@T.prim_func
def main({params}, C: T.Buffer({[sizes[name] for name in spatial.split()]}, "{dtype}")):
    for {", ".join(names)} in T.grid({", ".join(str(sizes[name]) for name in names)}):
        with T.block("C"):
            {", ".join(f"v{name}" for name in names)} = T.axis.remap("{kinds}", [{", ".join(names)}])
            with T.init():
                C[{own}] = T.cast(0, "{dtype}")
            C[{own}] = C[{own}] + {first} * {second}
""")


def results(func: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    buffers = [func.buffer_map[param] for param in func.params]
    given = [rng.normal(size=[int(dim) for dim in each.shape]).astype(each.dtype) for each in buffers]
    interpret(func, given)
    return given[-1]


def by_quarters(func: Any, times: int = 1) -> Any:
    sch = Schedule(func, debug_mask="all")
    block = sch.get_block("C")
    for _ in range(times):
        sch.strassen(block)
        assert sch.get(block).name_hint == "C", "the block is that of the products"
    again = Schedule(func)
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    assert again.mod["main"].script() == sch.mod["main"].script()
    return sch.mod["main"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_any_layout_compute_the_same(layout: str) -> None:
    func = product(LAYOUTS[layout])
    after = by_quarters(func)
    np.testing.assert_allclose(results(after), results(func), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(results(from_source(after.script())), results(func), rtol=1e-10, atol=1e-10)


def test_quarters_have_quarters() -> None:
    func = product(PLAIN, {"i": 4, "j": 12, "k": 8})
    after = by_quarters(func, 2)
    np.testing.assert_allclose(results(after), results(func), rtol=1e-10, atol=1e-10)
    assert "T.grid(7, 7, 1, 3, 2)" in after.script(), "49 products of 1 x 3 by 2"


def test_the_largest_axes_with_an_even_extent_are_halved() -> None:
    text = by_quarters(product("b i j | k | A[vb, vi, vk] | B[vk, vj]", {"b": 9})).script()
    assert "T.grid(7, 9, 3, 2, 4)" in text, "9 matrices, 3 rows, 2 columns, 4 terms"
    text = by_quarters(product("b i j | k | A[vb, vi, vk] | B[vk, vj]", {"b": 8})).script()
    assert "T.grid(7, 4, 6, 2, 4)" in text


def test_what_was_packed_and_inlined_is_multiplied() -> None:
    a, b = te.placeholder((8, 6), name="a"), te.placeholder((6, 8), name="b")
    panels = te.compute((2, 6, 4), lambda p, k, lane: b[k, p * 4 + lane], "panels")
    k = te.reduce_axis((0, 6), "k")
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, k] * panels[j // 4, k, j % 4], axis=k), "C")
    func = te.create_prim_func([a, b, c])
    with pytest.raises(ScheduleError, match="must add up products"):
        Schedule(func).strassen("C")
    sch = Schedule(func)
    sch.compute_inline("panels")
    sch.strassen("C")
    np.testing.assert_allclose(results(sch.mod["main"]), results(func), rtol=1e-4, atol=1e-5)


def test_what_reads_the_result_is_as_it_was_and_sums_may_be_near() -> None:
    a, b = te.placeholder((16, 32), name="a"), te.placeholder((32, 24), name="b")
    k = te.reduce_axis((0, 32), "k")
    c = te.compute((16, 24), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "C")
    func = te.create_prim_func([a, b, te.compute(c.shape, lambda i, j: c[i, j] * 2.0)])
    sch = Schedule(func, debug_mask="all")
    block = sch.get_block("C")
    sch.strassen(block)
    p, i, j, r = sch.get_loops(block)
    outer, inner = sch.split(i, [None, 4])
    sch.reorder(outer, p, inner, j, r)
    sch.reverse_compute_at(sch.get_block("C_result"), outer)
    sch.compute_at(sch.get_block("a_left"), outer)
    np.testing.assert_allclose(results(sch.mod["main"]), results(func), rtol=1e-4, atol=1e-4)
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape).astype("float32") for shape in ((16, 32), (32, 24), (16, 24))]
    arrays = [array(each) for each in given]
    build(sch.mod, target="llvm")(*arrays)
    np.testing.assert_allclose(arrays[-1].numpy(), given[0] @ given[1] * 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("layout", "extents"),
    {
        "odd rows": (PLAIN, {"i": 7}),
        "odd columns": (PLAIN, {"j": 5}),
        "an odd sum": (PLAIN, {"k": 3}),
        "no columns": ("i | k | A[vi, vk] | B[vk]", {}),
        "a batch alone": ("b i | k | A[vb, vi, vk] | B[vb, vk]", {}),
        "a diagonal": ("i j | k | A[vi, vi, vk] | B[vk, vj]", {}),
        "an axis of neither": ("i j b | k | A[vi, vk] | B[vk, vj]", {}),
    }.values(),
)
def test_other_blocks_are_refused(layout: str, extents: dict[str, int]) -> None:
    with pytest.raises(ScheduleError, match="must add up products"):
        Schedule(product(layout, extents)).strassen("C")


@pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16"])
def test_integers_and_numbers_of_few_digits_are_refused(dtype: str) -> None:
    with pytest.raises(ScheduleError, match="of float32 or float64"):
        Schedule(product(PLAIN, dtype=dtype)).strassen("C")
