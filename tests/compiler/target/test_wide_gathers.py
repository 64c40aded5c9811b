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


@pytest.mark.parametrize("cpu", PROCESSORS)
def test_elements_are_put_into_short_vectors_only_where_the_whole_is_long(cpu: str) -> None:
    assert max(inserted(64, cpu)) == 64
    assert max(inserted(65, cpu)) <= 8
    assert max(inserted(200, cpu)) <= 8


@pytest.mark.parametrize("cpu", PROCESSORS)
@pytest.mark.parametrize(("lanes", "dtype"), [(64, "int8"), (65, "float64"), (71, "int16"), (133, "float32")])
def test_long_gathers_find_every_element(lanes: int, dtype: str, cpu: str) -> None:
    s, args = strided(lanes, dtype)
    values = np.random.default_rng(lanes).integers(-20, 20, lanes * 3 + 2).astype(dtype)
    result = np.full(lanes, 99, dtype)
    build(s, args, f"llvm -mcpu={cpu}")(values, result)
    np.testing.assert_array_equal(result, evaluate(args[1:], {args[0]: values})[0])
