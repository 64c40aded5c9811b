"""Rows are loaded and turned in registers where a loop goes over neighbours of elements that are far apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.transform import PassContext
from compiler.runtime.numpy_types import NumPyArray
from compiler.target.codegen.llvm.generate import codegen
from compiler.target.target import Target
from compiler.tir.script import from_source
from tests.machines import PROCESSORS, require


def program(value: str, rows: int = 64, lanes: int = 16, dtype: str = "float32", attrs: str = "") -> Any:
    """Return a function of arrays of 4096 elements that stores a vector for each of some rows."""
    return from_source(f"""
@T.prim_func
def main(A: T.Buffer((4096,), "{dtype}"), B: T.Buffer((4096,), "{dtype}")):
    T.func_attr({{{attrs}}})
    for j in range({rows}):
        for v in T.vectorized({lanes}):
            B[j * 64 + v] = {value}
""")


NO_ALIAS = '"tir.noalias": True'


def is_turned(func: Any, cpu: str) -> bool:
    """Return whether nothing is put together element by element, and whole rows are turned instead."""
    text = codegen(lower(func), Target(f"llvm -mcpu={cpu}")).emitted
    assert ("insertelement" in text) != ("shufflevector" in text)
    return "shufflevector" in text


def run(func: Any, cpu: str, dtype: str) -> tuple[NumPyArray, NumPyArray]:
    require(f"llvm -mcpu={cpu}")
    a, b = np.random.default_rng(0).integers(0, 100, 4096).astype(dtype), np.zeros(4096, dtype)
    build(func, target=f"llvm -mcpu={cpu}")(a, b)
    return a.reshape(64, 64), b.reshape(64, 64)


@pytest.mark.sample(4)
@pytest.mark.parametrize("cpu", PROCESSORS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "float16"])
@pytest.mark.parametrize(("rows", "lanes"), [(64, 16), (40, 8), (12, 32), (4, 4), (8, 64), (24, 12), (61, 16)])
def test_squares_and_what_is_made_of_several_are_turned(cpu: str, dtype: str, rows: int, lanes: int) -> None:
    if dtype == "float16" and cpu.startswith("x86-64"):
        pytest.skip("half precision is converted element by element there")
    func = program("A[v * 64 + j]", rows, lanes, dtype, NO_ALIAS)
    assert is_turned(func, cpu)
    a, b = run(func, cpu, dtype)
    np.testing.assert_array_equal(b[:rows, :lanes], a.T[:rows, :lanes])
    assert not b[rows:].any()
    assert not b[:, lanes:].any()


@pytest.mark.parametrize(("value", "rows", "turned"), [("B[j + 9]", 61, 0), ("B[j + 9]", 48, 16), ("A[j]", 61, 32)])
def test_iterations_are_not_done_again_where_others_change_what_they_read(value: str, rows: int, turned: int) -> None:
    """The last square of 61 rows begins at 45."""
    func = program(f"A[v * 64 + j] + {value}", rows, attrs=NO_ALIAS)
    text = codegen(lower(func), Target("llvm -mcpu=skylake-avx512")).emitted
    assert text.count("load <16 x float>") == turned
    a, b = run(func, "haswell", "float32")
    expected = np.zeros((64, 64), "float32")
    for j in range(rows):
        read = {"A": a, "B": expected}[value[0]].reshape(-1)
        expected[j, :16] = a[:16, j] + read[j + (9 if value[0] == "B" else 0)]
    np.testing.assert_array_equal(b, expected)


def test_what_else_is_computed_is_of_the_same_row() -> None:
    value = "A[v * 64 + j + 8] * T.float32(2) + T.cast(j, 'float32') + A[j]"
    a, b = run(program(value, 56, attrs=NO_ALIAS), "haswell", "float32")
    rows = np.arange(56, dtype="float32")[:, None]
    np.testing.assert_array_equal(b[:56, :16], a.T[8:, :16] * 2 + rows + a.reshape(-1)[:56, None])


OTHERS: dict[str, Any] = {
    "A[v * 64 + j * 2]": lambda a, j, v: a[v * 64 + j * 2],
    "A[v * 64 + (63 - j)]": lambda a, j, v: a[v * 64 + 63 - j],
    "A[v * (j + 30) + j]": lambda a, j, v: a[v * (j + 30) + j],
    "A[v * 64 + j] + A[v * 32 + j]": lambda a, j, v: a[v * 64 + j] + a[v * 32 + j],
    "T.if_then_else(A[j] < 50, A[v * 64 + j], T.float32(7))": lambda a, j, v: np.where(a[j] < 50, a[v * 64 + j], 7),
}


@pytest.mark.parametrize("value", OTHERS)
def test_other_loops_are_left_alone(value: str) -> None:
    """Elements are no neighbours, or rows are not as far apart as others, or what is guarded may not be there."""
    func = program(value, 32, attrs=NO_ALIAS)
    assert not is_turned(func, "skylake-avx512")
    a, b = run(func, "haswell", "float32")
    np.testing.assert_array_equal(b[:32, :16], OTHERS[value](a.reshape(-1), np.arange(32)[:, None], np.arange(16)))


@pytest.mark.parametrize(("stride", "rows"), [(3, 3), (5, 16)])
def test_elements_that_are_near_are_chosen_from_fewer_vectors(stride: int, rows: int) -> None:
    text = codegen(lower(program(f"A[v * {stride} + j]", attrs=NO_ALIAS)), Target("llvm -mcpu=skylake-avx512")).emitted
    assert text.count("load <16 x float>") == rows


def test_memory_that_may_be_the_same_is_left_alone() -> None:
    with PassContext(config={"tir.noalias": False}):
        assert not is_turned(program("A[v * 64 + j]"), "haswell")
    assert not is_turned(program("B[v * 64 + j]", 16, attrs=NO_ALIAS), "haswell")
