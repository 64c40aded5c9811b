"""Long vectors of scattered elements are put together from short ones, which LLVM compiles in reasonable time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.target.codegen.llvm.generate import codegen
from compiler.target.target import Target
from compiler.te.definition.numpy_reference import evaluate
from tests.machines import require

PROCESSORS = ("x86-64", "haswell", "skylake-avx512", "sapphirerapids")


def strided(lanes: int, dtype: str) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return a sum over strided reads, its elements computed as one vector."""
    A = te.placeholder((lanes * 3 + 2,), dtype, name="A")
    k = te.reduce_axis((0, 2), name="k")
    B: Any = te.compute((lanes,), lambda i: te.sum(A[i * 3 + k * 2] + A[i * 7 % 50], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    return s, [A, B]


def inserted(lanes: int, cpu: str) -> set[int]:
    """Return the lengths of the vectors that elements are put into, one by one."""
    s, args = strided(lanes, "float64")
    text = codegen(lower(s, args), Target(f"llvm -mcpu={cpu}")).emitted
    return {int(count) for count in re.findall(r"insertelement <(\d+) x double>", text)}


@pytest.mark.sample(2)
@pytest.mark.parametrize("cpu", PROCESSORS)
def test_elements_are_put_into_short_vectors_only_where_the_whole_is_long(cpu: str) -> None:
    assert max(inserted(64, cpu)) == 64
    assert max(inserted(65, cpu)) <= 8
    assert max(inserted(200, cpu)) <= 8


@pytest.mark.sample(3)
@pytest.mark.parametrize("cpu", PROCESSORS)
@pytest.mark.parametrize(("lanes", "dtype"), [(64, "int8"), (65, "float64"), (71, "int16"), (133, "float32")])
def test_long_gathers_find_every_element(lanes: int, dtype: str, cpu: str) -> None:
    require(f"llvm -mcpu={cpu}")
    s, args = strided(lanes, dtype)
    values = np.random.default_rng(lanes).integers(-20, 20, lanes * 3 + 2).astype(dtype)
    result = np.full(lanes, 99, dtype)
    build(s, args, f"llvm -mcpu={cpu}")(values, result)
    np.testing.assert_array_equal(result, evaluate(args[1:], {args[0]: values})[0])


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "skylake-avx512"])
@pytest.mark.parametrize(
    ("stride", "lanes", "dtype"),
    [(2, 16, "float32"), (2, 14, "float32"), (3, 7, "float64"), (4, 32, "int8"), (2, 2, "int8")],
)
def test_elements_that_lie_near_are_chosen_from_vectors_that_end_with_the_last(
    stride: int, lanes: int, dtype: str, cpu: str
) -> None:
    """What lies behind the last element that is read may not be memory of the program's."""
    size = (2 * lanes - 1) * stride + 1
    A = te.placeholder((size,), dtype, name="A")
    B: Any = te.compute((2 * lanes,), lambda i: A[i * stride], name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], lanes)[1])
    text = codegen(lower(s, [A, B]), Target(f"llvm -mcpu={cpu}")).emitted
    assert "insertelement" not in text
    assert all(int(count) <= (lanes - 1) * stride + 1 for count in re.findall(r"load <(\d+) x", text))
    values = np.arange(size).astype(dtype)
    result = np.zeros(2 * lanes, dtype)
    require(f"llvm -mcpu={cpu}")
    build(s, [A, B], f"llvm -mcpu={cpu}")(values, result)
    np.testing.assert_array_equal(result, values[::stride])


def test_part_of_a_register_is_accessed_at_once_unless_it_is_a_sum() -> None:
    A, k = te.placeholder((3, 14), name="A"), te.reduce_axis((0, 3), name="k")
    B: Any = te.compute((14,), lambda i: A[1, i] * 2, name="B")
    C: Any = te.compute((14,), lambda i: te.sum(A[k, i], axis=k), name="C")
    for result, masked in ((B, {"load", "store"}), (C, {"load"})):
        s = te.create_schedule(result.op)
        if s[result].op.reduce_axis:
            s[result].reorder(s[result].op.reduce_axis[0], result.op.axis[0])
        s[result].vectorize(result.op.axis[0])
        for cpu in ("haswell", "skylake-avx512"):
            text = codegen(lower(s, [A, result]), Target(f"llvm -mcpu={cpu}")).emitted
            found = set(re.findall(r"call .*@\"?llvm\.masked\.(\w+)\.v16f32", text))
            assert found == (masked if cpu == "skylake-avx512" else set())
        require("llvm -mcpu=skylake-avx512")
        values, found_values = np.random.default_rng(0).random((3, 14)).astype("float32"), np.zeros(15, "float32")
        build(s, [A, result], "llvm -mcpu=skylake-avx512")(values, found_values[:14])
        np.testing.assert_allclose(found_values[:14], values[1] * 2 if result is B else values.sum(0), rtol=1e-6)
        assert found_values[14] == 0
