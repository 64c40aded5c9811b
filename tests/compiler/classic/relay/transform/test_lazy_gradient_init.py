"""Tensors of zeros and ones that gradients begin with are left out, and the gradient stays the same."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import relay
from compiler.driver.relay.executor import create_executor
from compiler.ir import IRModule
from compiler.relay.analysis import post_order_visit
from compiler.relay.operator import op_name
from compiler.relay.transform import InferType, LazyGradientInit
from compiler.relay.transform.derivatives.gradient import gradient
from tests.compiler.relay.transform.before_after import check_pass, check_stays


def _calls(mod: IRModule) -> list[str]:
    names: list[str] = []
    post_order_visit(mod["main"], lambda expr: names.append(op_name(expr)))
    return [name for name in names if name]


def test_a_gradient_stays_the_same() -> None:
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(3, 4))
    forward = relay.Function([x, y], relay.multiply(relay.add(x, y), relay.exp(x)))
    typed = InferType()(IRModule.from_expr(forward))
    mod = InferType()(IRModule.from_expr(gradient(typed["main"], mod=typed, mode="first_order")))
    lazy = LazyGradientInit()(mod)
    assert len(_calls(lazy)) < len(_calls(mod))
    data = [np.random.default_rng(i).normal(size=(3, 4)).astype("float32") for i in range(2)]
    (a, (da, db)), (b, (dc, dd)) = (create_executor("debug", mod=m).evaluate()(*data) for m in (mod, lazy))
    for before, after in ((a, b), (da, dc), (db, dd)):
        np.testing.assert_allclose(after.numpy(), before.numpy())


@pytest.mark.parametrize("product", ["multiply(zeros_like(%x), %x)", 'multiply(%x, zeros(shape=[3], dtype="float32"))'])
def test_a_product_with_zeros_is_zeros(product: str) -> None:
    head = "def @main(%x: Tensor[(3), float32])"
    check_pass("LazyGradientInit()", f"{head} {{ {product} }}", f"{head} {{ zeros_like(%x) }}")


def test_zeros_that_stretch_a_value_stay() -> None:
    head = "def @main(%x: Tensor[(1), float32])"
    check_stays(
        "LazyGradientInit()", f'{head} -> Tensor[(3), float32] {{ add(%x, zeros(shape=[3], dtype="float32")) }}'
    )
