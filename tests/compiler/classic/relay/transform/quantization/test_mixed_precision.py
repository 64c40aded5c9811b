"""ToMixedPrecision: what computes in another floating-point type, and where the casts are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.transform.quantization import mixed_precision
from compiler.ir.error import ArgumentError
from compiler.relay.analysis import post_order
from compiler.relay.operator import get, op_name
from compiler.relay.transform import ToMixedPrecision


def module(body: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(body))


def dtypes(mod: Any) -> dict[str, str]:
    """Return the data type of what each operator returns."""
    calls = [part for part in post_order(mod["main"]) if op_name(part) and isinstance(part, relay.Call)]
    return {op_name(call): call.checked_type.dtype for call in calls if op_name(call) != "cast"}


def dense() -> Any:
    return relay.nn.dense(relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8)), units=4)


def test_what_follows_follows_and_what_must_not_does_not() -> None:
    mod = ToMixedPrecision("float16")(module(relay.nn.softmax(relay.nn.relu(dense()))))
    assert dtypes(mod) == {"nn.dense": "float16", "nn.relu": "float16", "nn.softmax": "float32"}


@pytest.mark.parametrize(
    ("dtype", "bound", "result"),
    [("float16", 65504.0, "float16"), ("float16", 65505.0, "float32"), ("bfloat16", 1e6, "bfloat16")],
)
def test_a_clip_follows_where_its_bounds_are_numbers_of_the_type(dtype: str, bound: float, result: str) -> None:
    mod = ToMixedPrecision(dtype, missing_op_mode=0)(module(relay.clip(dense(), -bound, 6.0)))
    assert dtypes(mod) == {"nn.dense": dtype, "clip": result}


def test_sums_of_integers_stay_what_they_are() -> None:
    x, w = (relay.var(name, shape=(2, 8), dtype="int8") for name in "xw")
    mod = module(relay.nn.dense(x, w, out_dtype="int32"))
    assert tvm.ir.structural_equal(ToMixedPrecision()(mod), mod)


def test_operators_without_a_kind_follow_their_operands() -> None:
    """What a program says of other results stays: indices in float32 are no numbers to round."""
    x = relay.var("x", shape=(2, 8))
    mod = module(relay.cumsum(relay.exp(x), axis=1))
    assert tvm.ir.structural_equal(ToMixedPrecision()(mod), mod)
    follows = relay.argsort(relay.cumsum(dense(), axis=1), dtype="float32")
    assert dtypes(ToMixedPrecision()(module(follows))) == {
        "nn.dense": "float16",
        "cumsum": "float16",
        "argsort": "float32",
    }
    with pytest.raises(ArgumentError, match="operator cumsum has no conversion to float16"):
        ToMixedPrecision(missing_op_mode=0)(mod)


def test_casts_are_shared_and_never_undo_each_other() -> None:
    product = dense()
    mod = ToMixedPrecision()(module(relay.Tuple([relay.exp(product), relay.erf(product), relay.nn.relu(product)])))
    casts = [part for part in post_order(mod["main"]) if op_name(part) == "cast"]
    assert len(casts) == 3, "x, w, and the product for exp and erf"
    assert not any(op_name(cast.args[0]) == "cast" for cast in casts)


def test_variables_of_let_have_the_type_of_their_value() -> None:
    var = relay.var("v")
    mod = ToMixedPrecision()(module(relay.Let(var, dense(), relay.nn.relu(var))))
    assert dtypes(mod) == {"nn.dense": "float16", "nn.relu": "float16"}


def test_the_result_in_its_own_type_where_asked() -> None:
    with tvm.transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
        mod = ToMixedPrecision()(module(relay.Tuple([dense(), relay.var("z", shape=(3,))])))
    assert [t.dtype for t in mod["main"].checked_type.ret_type.fields] == ["float32", "float32"]


def test_rules_of_programs() -> None:
    def rule(call: Any, dtype: str) -> list[Any]:
        return [mixed_precision.MIXED_PRECISION_ALWAYS, "float32", dtype]

    mixed_precision.register_mixed_precision_conversion("nn.dense", rule)
    try:
        mod = ToMixedPrecision()(module(dense()))
    finally:
        get("nn.dense").reset_attr("FTVMMixedPrecisionConversionType")
    assert dtypes(mod) == {"nn.dense": "float32"}
    assert mod["main"].body.checked_type.dtype == "float16", "sums are cast to what the rule returns"


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_the_meaning_stays(dtype: str) -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    conv = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4, out_dtype="float32")
    bn = relay.nn.batch_norm(conv, *(relay.var(n, shape=(4,)) for n in ("gamma", "beta", "mean", "var")))[0]
    mod = module(relay.Tuple([relay.mean(bn, axis=[2, 3]), relay.concatenate((conv, bn), axis=1)]))
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.5, 1, p.checked_type.concrete_shape).astype("float32") for p in mod["main"].params]
    runs = [relay.create_executor("debug", mod=m).evaluate()(*arrays) for m in (mod, ToMixedPrecision(dtype)(mod))]
    for a, b in zip(*runs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=5e-3, atol=5e-3)


def test_a_rule_may_be_set_for_several_operators() -> None:
    def never(call: Any, dtype: str) -> list[Any]:
        return [mixed_precision.MIXED_PRECISION_NEVER, *mixed_precision.get_generic_out_dtypes(call, "float32")]

    names = ["nn.relu", "tanh"]
    try:
        mixed_precision.register_func_to_op_list(names)(never)
        mod = ToMixedPrecision("float16")(module(relay.tanh(relay.nn.relu(dense()))))
        assert dtypes(mod) == {"nn.dense": "float16", "nn.relu": "float32", "tanh": "float32"}
    finally:
        for name in names:
            get(name).reset_attr(mixed_precision.MIXED_PRECISION_RULE)
