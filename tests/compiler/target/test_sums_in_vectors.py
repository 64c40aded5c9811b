"""Vectors of sums whose length is no power of two stay in registers from one iteration of a loop to the next."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay, te, tir
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.module import IRModule
from compiler.target.codegen.llvm.generate import codegen
from compiler.target.target import Target
from tests.machines import require

ARM = "llvm -mtriple=aarch64-linux-gnu -mcpu="


def product(
    columns: int, dtype: str, term: Callable[[Any, Any, Any], Any] = lambda x, y, k: x * y, depth: int = 500
) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return a product of matrices whose rows are vectors of sums, of terms of two elements and their place."""
    rows = 4
    a, b = te.placeholder((rows, depth), dtype, name="a"), te.placeholder((depth, columns), dtype, name="b")
    k = te.reduce_axis((0, depth), name="k")
    c: Any = te.compute((rows, columns), lambda i, j: te.sum(term(a[i, k], b[k, j], k), axis=k), name="c")
    s = te.create_schedule(c.op)
    tile = s.cache_write(c, "local")
    i, j = c.op.axis
    s[c].unroll(i)
    s[c].vectorize(j)
    s[tile].compute_at(s[c], i)
    s[tile].reorder(tile.op.reduce_axis[0], *tile.op.axis)
    s[tile].vectorize(tile.op.axis[1])
    return s, [a, b, c]


def kept(columns: int, dtype: str, target: str) -> set[int]:
    """Return the lengths of the vectors that loops keep."""
    s, args = product(columns, dtype)
    text = codegen(lower(s, args), Target(target)).optimised
    return {int(lanes) for lanes in re.findall(r"= phi <(\d+) x \w+>", text)}


@pytest.mark.parametrize(
    ("target", "columns", "dtype", "lanes"),
    [
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", 10, "float32", {8, 2}),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", 6, "float32", {6}),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", 24, "float32", {8}),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64", 6, "float32", {4, 2}),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512", 10, "float32", {10}),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -mattr=-prefer-256-bit", 24, "float32", {16, 8}),
        (f"{ARM}neoverse-n1", 14, "float32", {4, 2}),
        (f"{ARM}neoverse-n1", 7, "float64", {2}),
        (f"{ARM}neoverse-n1", 12, "int32", {4}),
    ],
)
def test_parts_of_a_vector_are_kept_where_no_register_holds_it(
    target: str, columns: int, dtype: str, lanes: set[int]
) -> None:
    assert kept(columns, dtype, target) == lanes


def test_no_longer_vector_is_kept_where_tiles_do_not_divide_the_rows() -> None:
    x, w = relay.var("x", shape=(64, 500)), relay.var("w", shape=(10, 500))
    module = IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    built = relay.build(module, "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell")
    assert max(int(lanes) for lanes in re.findall(r"= phi <(\d+) x float>", built.lib.get_source())) == 8


@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "skylake-avx512"])
@pytest.mark.parametrize("columns", [5, 11, 15, 23, 31])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
def test_every_element_is_right(columns: int, dtype: str, cpu: str) -> None:
    require(f"llvm -mcpu={cpu}")
    s, args = product(columns, dtype)
    rng = np.random.default_rng(columns)
    a, b = (rng.integers(-4, 5, shape).astype(dtype) for shape in ((4, 500), (500, columns)))
    c = np.full((4, columns), 99, dtype)
    build(s, args, f"llvm -mcpu={cpu}")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("cpu", ["x86-64", "haswell"])
@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (lambda x, y, k: te.exp(y) * x, lambda a, b: a @ np.exp(b)),  # a call, which is computed as a whole
        (lambda x, y, k: te.if_then_else(k < 300, x * y, 0.0), lambda a, b: a[:, :300] @ b[:300]),
        (lambda x, y, k: tir.Select(y > x, y, x), lambda a, b: np.maximum(a[:, :, None], b).sum(1)),
        (lambda x, y, k: y.astype("int8").astype("float32"), lambda a, b: 0 * a @ b + np.trunc(b).sum(0)),
    ],
)
def test_terms_of_many_kinds_are_right(term: Callable[..., Any], expected: Callable[..., Any], cpu: str) -> None:
    require(f"llvm -mcpu={cpu}")
    s, args = product(11, "float32", term)
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-2, 2, shape).astype("float32") for shape in ((4, 500), (500, 11)))
    c = np.full((4, 11), 99, "float32")
    build(s, args, f"llvm -mcpu={cpu}")(a, b, c)
    np.testing.assert_allclose(c, expected(a.astype("float64"), b.astype("float64")), rtol=1e-4, atol=1e-3)
