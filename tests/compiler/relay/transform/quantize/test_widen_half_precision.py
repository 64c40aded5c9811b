"""Sums and products of half-precision floats are accumulated in float32 and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.accumulation import ACCUMULATING
from compiler.relay.operator import relay_ops
from compiler.relay.transform import WidenHalfPrecision
from tests.compiler.relay.transform.before_after import check_pass, check_stays

ONES = np.ones((2, 6000), "float16")
STEPS = np.tile(np.array([19, 21], "float16"), (2, 3000))
IMAGE, KERNEL = np.ones((1, 512, 5, 5), "float16"), np.ones((4, 512, 3, 3), "float16")
nn = relay.nn


def _variance(x: Any) -> Any:
    return x.astype("float64").var(axis=1)


def _softmax(x: Any) -> Any:
    return np.full_like(x, 1 / x.shape[1])


CASES: list[tuple[str, Callable[..., Any], tuple[Any, ...], Any]] = [
    ("sum", lambda x: relay.sum(x, 1), (ONES,), [6000, 6000]),
    ("sum, too large", lambda x: relay.sum(x * relay.const(16.0, "float16"), 1), (ONES,), [np.inf, np.inf]),
    ("mean", lambda x: relay.mean(x, 1), (16 * ONES,), [16, 16]),
    ("variance", lambda x: relay.variance(x, 1), (STEPS,), _variance(STEPS)),
    ("std", lambda x: relay.std(x, 1), (STEPS,), [1, 1]),
    ("cumsum", lambda x: relay.cumsum(x, 1), (ONES,), np.cumsum(ONES, 1, dtype="float64")),
    ("softmax", lambda x: nn.softmax(x), (ONES,), _softmax(ONES)),
    ("log_softmax", lambda x: nn.log_softmax(x), (ONES,), np.log(_softmax(ONES.astype("float64")))),
    ("dense", nn.dense, (ONES, ONES), np.full((2, 2), 6000)),
    ("dense in float32", lambda x, w: nn.dense(x, w, out_dtype="float32"), (16 * ONES, ONES), np.full((2, 2), 96000.0)),
    ("batch_matmul", nn.batch_matmul, (ONES[None], ONES[None]), np.full((1, 2, 2), 6000)),
    ("einsum", lambda x, w: relay.einsum([x, w], "ij,kj->ik"), (ONES, ONES), np.full((2, 2), 6000)),
    ("conv2d", nn.conv2d, (IMAGE, KERNEL), np.full((1, 4, 3, 3), 4608)),
    ("global_avg_pool2d", nn.global_avg_pool2d, (np.full((1, 1, 64, 64), 64, "float16"),), np.full((1, 1, 1, 1), 64)),
    (
        "layer_norm",
        lambda x: nn.layer_norm(x, *(relay.const(np.full(6000, v, "float16")) for v in (1, 0))),
        (STEPS,),
        STEPS - 20,
    ),
]


@pytest.mark.parametrize("kind", ["graph", "vm", "debug"])
@pytest.mark.parametrize(("function", "arrays", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_sums_of_many_halves_are_rounded_once(
    function: Callable[..., Any], arrays: tuple[Any, ...], expected: Any, kind: str
) -> None:
    params = [relay.var(f"x{i}", shape=a.shape, dtype="float16") for i, a in enumerate(arrays)]
    mod = tvm.IRModule.from_expr(relay.Function(params, function(*params)))
    result = relay.create_executor(kind, mod, target="llvm").evaluate()(*arrays).numpy()
    wide = result.dtype == "float32"
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(result, np.asarray(expected, result.dtype), rtol=1e-6 if wide else 1.5e-3)


def test_casts_surround_the_operator_alone() -> None:
    check_pass(
        "WidenHalfPrecision()",
        "def @main(%x: Tensor[(2, 8), float16], %w: Tensor[(4, 8), float16]) { nn.relu(nn.dense(%x, tanh(%w))) }",
        """
        def @main(%x: Tensor[(2, 8), float16], %w: Tensor[(4, 8), float16]) {
          nn.relu(cast(nn.dense(cast(%x, dtype="float32"), cast(tanh(%w), dtype="float32")), dtype="float16"))
        }
        """,
    )


def test_a_result_that_is_wide_already_stays_wide() -> None:
    x, w = relay.var("x", shape=(2, 8), dtype="float16"), relay.var("w", shape=(4, 8), dtype="bfloat16")
    for arg in (x, w):
        call = nn.dense(arg, arg, out_dtype="float32")
        body = WidenHalfPrecision()(tvm.IRModule.from_expr(relay.Function([arg], call)))["main"].body
        assert body.op.name == "nn.dense"
        assert body.checked_type.dtype == "float32"


def test_other_types_and_operators_stay() -> None:
    check_stays("WidenHalfPrecision()", "def @main(%x: Tensor[(2, 8), float32]) { sum(%x) }")
    check_stays("WidenHalfPrecision()", "def @main(%x: Tensor[(2, 8), float16]) { max(exp(%x)) }")


def test_the_table_names_operators() -> None:
    assert relay_ops().keys() >= ACCUMULATING
