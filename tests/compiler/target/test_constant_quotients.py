"""Quotients by constants that are rounded to integers: what division gives, for all floats, without dividing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler as tvm
from compiler import te, tir
from compiler.driver.lower import lower_program
from compiler.target.codegen.llvm.selection.constant_quotients import reciprocal_parts
from tests.machines import require

CPU = "haswell"
"""One with fused multiply-adds."""
Array = NDArray[Any]


def _rounded_quotients(x: Array, divisor: float, cpu: str = CPU) -> tuple[Array, str]:
    """Return the quotients that a kernel rounds, lowered as those of graphs, which keep divisions; its assembly."""
    given = te.placeholder(x.shape, name="x")
    out = te.compute(x.shape, lambda i: te.nearbyint(given[i] / tir.const(divisor, "float32")), name="out")
    schedule = te.create_schedule(out.op)
    _, inner = schedule[out].split(out.op.axis[0], 8)
    schedule[out].vectorize(inner)
    func = tvm.build(lower_program(schedule, [given, out], "quotients"), target=f"llvm -mcpu={cpu}")
    result = tvm.nd.array(np.zeros(x.shape, "float32"))
    func(tvm.nd.array(x), result)
    return result.numpy(), str(func.get_source("asm"))


def _divisors() -> list[float]:
    draw = random.Random(0)
    near = [float(np.nextafter(np.float32(v), np.float32(w))) for v, w in ((1, 2), (2, 1), (0.5, 1))]
    return [3.0, 10.0, 0.1, *near, *(draw.uniform(1e-4, 1.0) for _ in range(6))]


@pytest.mark.parametrize("divisor", _divisors())
def test_every_significand_is_divided_rightly(divisor: float) -> None:
    """Quotients from 2 ** 23 to 2 ** 24 are integers once they are floats: rounding shows each of their bits."""
    require(f"llvm -mcpu={CPU}")
    first = np.float32(np.float32(divisor) * np.float32(2**23)).view(np.uint32)
    x = (
        np.arange(1 << 21, dtype="uint32") * np.uint32(4) + first + np.uint32(random.Random(divisor).randrange(4))
    ).view(np.float32)
    found, assembly = _rounded_quotients(x, divisor)
    np.testing.assert_array_equal(found, np.rint(x / np.float32(divisor)))
    assert ("vdiv" in assembly) == (reciprocal_parts(divisor) is None)


@pytest.mark.parametrize("divisor", [0.1, 0.018263059, 1e-30, 1e30])
def test_all_kinds_of_numbers_are_divided_rightly(divisor: float) -> None:
    require(f"llvm -mcpu={CPU}")
    bits = np.random.default_rng(0).integers(0, 2**32, 1 << 16, dtype="uint32")
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4028235e38, -3.4028235e38, 1e-45, -1e-45, 1e-38, -1e-38]
    halves = (np.arange(-300, 300) + 0.5) * divisor
    x = np.concatenate([np.asarray(special, "float32"), halves.astype("float32"), bits.view("float32")])
    x = x[: len(x) // 8 * 8]
    found, _ = _rounded_quotients(x, divisor)
    with np.errstate(all="ignore"):
        expected = np.rint(x / np.float32(divisor))
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def test_some_divisors_are_refused_and_most_are_not() -> None:
    draw = random.Random(1)
    refused = sum(reciprocal_parts(draw.uniform(1.0, 2.0)) is None for _ in range(200))
    assert 0 < refused < 60
    assert all(reciprocal_parts(c) is None for c in (0.0, -3.0, 1e-38, 1e38, float("inf"), float("nan"), 4.0))


def test_cpus_without_fused_multiply_add_divide() -> None:
    require("llvm -mcpu=x86-64")
    _, assembly = _rounded_quotients(np.ones(8, "float32"), 0.1, "x86-64")
    assert "divps" in assembly
