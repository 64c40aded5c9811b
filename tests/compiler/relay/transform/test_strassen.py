"""Products of matrices by fewer products: only where an instrument decides so, and they compute the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.arith.strassen import factors
from compiler.classic.contrib import graph_executor
from compiler.driver.relay.build import build
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.transform.pipeline import optimize
from compiler.target.target import Target
from compiler.topi.nn.strassen import dense_strassen
from compiler.topi.schedules.x86.strassen import schedule_strassen
from tests.machines import require

RANDOM = np.random.default_rng(7)
QUARTERS, SIXTEENTHS = "products of quarters", "products of sixteenths"


class _Chosen(Instrument):
    """Chooses a way, and notes what there was to choose from."""

    def __init__(self, way: str | None) -> None:
        self.way = way
        self.ways: Sequence[str] = ()

    def way_chosen(self, operator: str, usual: str, ways: Sequence[str]) -> str | None:
        self.ways = ways
        return self.way


def _dense(rows: tuple[int, ...], depth: int, units: int, dtype: str = "float32") -> Any:
    weight = (RANDOM.standard_normal((units, depth)) / np.sqrt(depth)).astype(dtype)
    return relay.nn.dense(relay.var("x", shape=(*rows, depth), dtype=dtype), relay.const(weight))


def _ways(call: Any) -> Sequence[str]:
    chosen = _Chosen(None)
    with PassContext(opt_level=3), instrumented(chosen):
        text = str(optimize(IRModule.from_expr(call), Target("llvm -mcpu=haswell")))
    assert "nn.contrib_dense_strassen" not in text, "nothing was chosen"
    return chosen.ways[1:]


def test_quarters_are_whole_and_large() -> None:
    assert _ways(_dense((128,), 768, 768)) == (QUARTERS, SIXTEENTHS)
    assert _ways(_dense((1, 128), 768, 768)) == (QUARTERS, SIXTEENTHS)
    assert _ways(_dense((126,), 768, 768)) == (QUARTERS,), "rows in two, and not in four parts"
    assert _ways(_dense((128,), 768, 480)) == (QUARTERS,), "30 panels"
    assert _ways(_dense((128,), 96, 768)) == (QUARTERS,), "six vectors of what is summed up"
    assert _ways(_dense((128,), 776, 768)) == (), "halves of what is summed up are no whole vectors"
    assert _ways(_dense((64,), 768, 768)) == (QUARTERS,), "parts of 16 rows would be small"
    assert _ways(_dense((127,), 768, 768)) == _ways(_dense((60,), 768, 768)) == ()
    assert _ways(_dense((2, 128), 768, 768)) == (), "two matrices"
    assert _ways(_dense((128,), 768, 1020)) == (), "the last of 64 panels is cut"
    assert _ways(_dense((128,), 768, 768, "float64")) == ()
    x = relay.var("x", shape=(128, 768))
    assert _ways(relay.nn.dense(x, relay.var("w", shape=(768, 768)))) == (), "sums are made when the weight is known"


@pytest.mark.parametrize("products", [7, 49])
def test_the_products_are_those_of_the_matrices(products: int) -> None:
    left, right, result = factors(products)
    parts = left.shape[1]
    x, y = RANDOM.integers(-9, 10, (parts, parts)), RANDOM.integers(-9, 10, (parts, parts))
    made = np.einsum("pik,ik->p", left, x) * np.einsum("pkj,kj->p", right, y)
    np.testing.assert_array_equal(np.einsum("pij,p->ij", result, made), x @ y)


@pytest.mark.parametrize(
    ("rows", "depth", "units", "way", "target"),
    [
        ((64,), 96, 96, QUARTERS, "llvm -mcpu=haswell"),
        ((1, 1, 132), 128, 192, QUARTERS, "llvm -mcpu=skylake-avx512"),
        ((132,), 128, 128, SIXTEENTHS, "llvm -mcpu=x86-64-v3"),
        pytest.param((64,), 96, 96, QUARTERS, "llvm -mcpu=x86-64-v2", marks=pytest.mark.long),
        pytest.param((128,), 192, 320, SIXTEENTHS, "llvm -mcpu=skylake-avx512", marks=pytest.mark.long),
    ],
)
def test_results_are_those_of_sums_of_products(
    rows: tuple[int, ...], depth: int, units: int, way: str, target: str
) -> None:
    require(target)
    product = _dense(rows, depth, units)
    bias = RANDOM.standard_normal(units).astype("float32")
    sums = product + relay.const(bias)
    with PassContext(opt_level=3), instrumented(_Chosen(way)):
        lib = build(IRModule.from_expr(relay.Tuple([relay.nn.relu(sums), sums])), target)
    assert any("strassen" in name for name in lib.kernels)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    data = RANDOM.standard_normal((*rows, depth)).astype("float32")
    module.run(x=data)
    wanted = data.astype("float64") @ product.args[1].data.numpy().astype("float64").T + bias
    tolerance = 2e-5 * np.abs(wanted).max()
    np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(wanted, 0), 0, tolerance)
    np.testing.assert_allclose(module.get_output(1).numpy(), wanted, 0, tolerance)


@pytest.mark.parametrize(
    ("target", "is_fetched"), [("llvm -mcpu=haswell", True), ("llvm -mtriple=aarch64-linux-gnu", False)]
)
def test_the_weight_of_the_next_product_is_fetched_a_share_with_each_tile(target: str, is_fetched: bool) -> None:
    rows, depth, (products, panels, inner, width) = 128, 768, (7, 48, 384, 16)
    x, w = te.placeholder((rows, depth), name="x"), te.placeholder((products, panels, inner, width), name="w")
    with Target(target) as made:
        product = dense_strassen(x, w)
        text = str(tvm.lower(schedule_strassen(None, [product], made), [x, w, product]))
    hints = re.findall(r"T\.prefetch\(.*", text)
    assert len(hints) == is_fetched
    tiles = int(re.findall(rf"for p, i_outer in T.grid\({products}, (\d+)\)", text)[0])
    share = f"i_outer * {inner // tiles * width} + k // {tiles} * {width} + {panels * inner * width}])"
    assert all(share in hint for hint in hints)
