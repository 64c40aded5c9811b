"""EliminateCommonSubexpr, the canonical forms, FastMath, and products of the same data as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.ir.error import TVMError
from compiler.ir.transform import PassContext
from compiler.relay.analysis import list_op_freqs
from tests.compiler.relay.transform.before_after import check_pass, check_stays
from tests.compiler.relay.transform.reading import after, kernels, module_of, relay, shown, transform
from tests.properties.graphs import evaluate, flat, random_inputs


def x(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("x", shape=shape or (2, 8), dtype=dtype)


def counted(out: Any, one: Any) -> dict[str, int]:
    with PassContext(opt_level=4):
        return list_op_freqs(one(module_of(out)))


def same_results(out: Any, one: Any) -> None:
    mod = module_of(out)
    inputs = random_inputs(mod)
    with PassContext(opt_level=4):
        changed = one(mod)
    assert changed is not mod
    for got, want in zip(flat(evaluate(changed["main"], inputs)), flat(evaluate(mod["main"], inputs)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


# EliminateCommonSubexpr


def test_equal_calls_are_one() -> None:
    check_pass(
        "EliminateCommonSubexpr()",
        "def @main(%x: Tensor[(2, 8), float32]) { add(exp(%x), exp(%x)) }",
        "def @main(%x: Tensor[(2, 8), float32]) { %0 = exp(%x); add(%0, %0) }",
    )


def test_equal_attributes_and_constants_count_as_equal() -> None:
    check_pass(
        "EliminateCommonSubexpr()",
        """
        def @main(%x: Tensor[(2, 8), float32]) {
          add(nn.leaky_relu(add(%x, 2f), alpha=0.5f), nn.leaky_relu(add(%x, 2f), alpha=0.5f))
        }
        """,
        "def @main(%x: Tensor[(2, 8), float32]) { %0 = nn.leaky_relu(add(%x, 2f), alpha=0.5f); add(%0, %0) }",
    )
    check_stays(
        "EliminateCommonSubexpr()",
        """
        def @main(%x: Tensor[(2, 8), float32]) {
          add(nn.leaky_relu(%x, alpha=0.5f), nn.leaky_relu(%x, alpha=0.25f))
        }
        """,
    )


def test_elements_of_equal_tuples_are_one() -> None:
    check_pass(
        "EliminateCommonSubexpr()",
        """
        def @main(%x: Tensor[(2, 8), float32]) {
          add(split(%x, indices_or_sections=2, axis=1).1, split(%x, indices_or_sections=2, axis=1).1)
        }
        """,
        """
        def @main(%x: Tensor[(2, 8), float32]) {
          %0 = split(%x, indices_or_sections=2, axis=1);
          %1 = %0.1;
          add(%1, %1)
        }
        """,
    )


def test_some_calls_can_be_kept_apart() -> None:
    data = x()
    out = relay.add(relay.exp(data), relay.exp(data))
    keep = transform.EliminateCommonSubexpr(fskip=lambda call: call.op.name == "exp")
    assert counted(out, keep)["exp"] == 2


# canonical forms


def test_a_bias_is_an_addition() -> None:
    check_pass(
        "CanonicalizeOps()",
        "def @main(%x: Tensor[(2, 8), float32], %b: Tensor[(8), float32]) { nn.bias_add(%x, %b, axis=-1) }",
        "def @main(%x: Tensor[(2, 8), float32], %b: Tensor[(8), float32]) { add(%x, %b) }",
    )


def test_a_widening_cast_is_computed_by_each_user() -> None:
    wide = relay.cast(x(dtype="int8"), "int32")
    out = relay.Tuple([relay.negative(wide), relay.abs(wide)])
    assert kernels(after(out, transform.FuseOps(2))) == {"cast", "negative", "abs"}
    both = after(out, transform.CanonicalizeCast(), transform.FuseOps(2))
    assert kernels(both) == {"cast negative", "cast abs"}


def test_what_is_more_than_elementwise_needs_no_cast_of_its_own() -> None:
    check_pass(
        "CanonicalizeCast()",
        """
        def @main(%x: Tensor[(2, 8), int8]) {
          %0 = cast(%x, dtype="int32");
          (negative(%0), abs(%0), sum(%0), max(%0))
        }
        """,
        """
        def @main(%x: Tensor[(2, 8), int8]) {
          %0 = cast(%x, dtype="int32");
          (negative(%0), abs(cast(%x, dtype="int32")), sum(%0), max(%0))
        }
        """,
    )


def test_a_narrowing_cast_stays_shared() -> None:
    check_stays(
        "CanonicalizeCast()",
        """
        def @main(%x: Tensor[(2, 8), int32]) {
          %0 = cast(%x, dtype="int8");
          (negative(%0), abs(%0))
        }
        """,
    )


def test_quick_approximations() -> None:
    out = relay.nn.softmax(relay.tanh(relay.exp(x())))
    assert shown(after(out, transform.FastMath())) == "nn.fast_softmax(fast_tanh(fast_exp(x)))"
    wide = relay.exp(x(dtype="float64"))
    assert shown(after(wide, transform.FastMath())) == "exp(x)"
    same_results(out, transform.FastMath())


# products of the same data


def _convs(count: int, **attrs: Any) -> Any:
    data = x(1, 4, 6, 6)
    convs = [relay.nn.conv2d(data, relay.var(f"w{i}", shape=(2 + i, 4, 3, 3)), **attrs) for i in range(count)]
    return relay.Tuple([relay.nn.relu(c) for c in convs])


def test_convolutions_of_the_same_data_are_one() -> None:
    one = transform.CombineParallelConv2D()
    assert counted(_convs(3), one) == {"nn.relu": 1, "strided_slice": 3, "nn.conv2d": 1, "concatenate": 1}
    same_results(_convs(3, padding=1), one)
    same_results(_convs(4, strides=2), one)


def test_two_are_too_few_unless_asked_for() -> None:
    program = """
        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(4, 8), float32]) {
          (nn.dense(%x, %a), nn.dense(%x, %b))
        }
        """
    check_stays("CombineParallelDense(to_batch=False)", program)
    check_pass(
        "CombineParallelDense(min_num_branches=2, to_batch=False)",
        program,
        """
        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(4, 8), float32]) {
          %0 = nn.dense(%x, concatenate((%a, %b), axis=0), units=8);
          (strided_slice(%0, begin=[0, 0], end=[-1, 4], strides=[1, 1], slice_mode="size"),
           strided_slice(%0, begin=[0, 4], end=[-1, 4], strides=[1, 1], slice_mode="size"))
        }
        """,
    )


def test_other_strides_are_other_convolutions() -> None:
    check_stays(
        "CombineParallelConv2D(min_num_branches=2)",
        """
        def @main(%x: Tensor[(1, 4, 6, 6), float32], %a: Tensor[(4, 4, 1, 1), float32],
                  %b: Tensor[(4, 4, 1, 1), float32]) {
          (nn.conv2d(%x, %a, strides=[1, 1]), nn.conv2d(%x, %b, strides=[2, 2]))
        }
        """,
    )


def test_products_with_several_weights_are_a_batch_or_a_wide_one() -> None:
    data = x()
    out = relay.Tuple([relay.nn.dense(data, relay.var(f"w{i}", shape=(4, 8))) for i in range(3)])
    assert counted(out, transform.CombineParallelDense())["nn.batch_matmul"] == 1
    assert counted(out, transform.BatchingOps())["nn.batch_matmul"] == 1
    assert counted(out, transform.CombineParallelDense(to_batch=False))["nn.dense"] == 1
    same_results(out, transform.CombineParallelDense())
    same_results(out, transform.CombineParallelDense(to_batch=False))


def test_batched_products_are_one() -> None:
    data = x(2, 3, 4)
    out = relay.Tuple([relay.nn.batch_matmul(data, relay.var(f"w{n}", shape=(2, n, 4))) for n in (1, 2, 5)])
    assert counted(out, transform.CombineParallelBatchMatmul())["nn.batch_matmul"] == 1
    same_results(out, transform.CombineParallelBatchMatmul())


def test_a_number_of_branches_that_is_none() -> None:
    with pytest.raises(TVMError, match="CombineParallelDense: min_num_branches must be an int of at least 2, got 1"):
        transform.CombineParallelDense(1)


# MergeComposite


def _conv_relu() -> Any:
    pattern = relay.dataflow_pattern
    conv = pattern.is_op("nn.conv2d")(pattern.wildcard(), pattern.wildcard())
    return pattern.is_op("nn.relu")(conv), conv


def _composites(body: Any) -> list[str]:
    functions = [e for e in relay.analysis.post_order(body) if isinstance(e, relay.Function)]
    return [f.attrs["Composite"] for f in functions]


def test_parts_that_patterns_know_become_functions() -> None:
    both, conv = _conv_relu()
    y = relay.nn.relu(relay.nn.conv2d(x(1, 4, 6, 6), relay.var("a", shape=(4, 4, 3, 3))))
    out = relay.nn.conv2d(y, relay.var("b", shape=(4, 4, 3, 3)))
    body = after(out, transform.MergeComposite([("dnn.conv_relu", both), ("dnn.conv", conv)]))
    assert sorted(_composites(body)) == ["dnn.conv", "dnn.conv_relu"]
    assert shown(body).count("{") == 2
    same_results(out, transform.MergeComposite([("dnn.conv_relu", both), ("dnn.conv", conv)]))


def test_a_check_decides_about_a_match() -> None:
    both, _ = _conv_relu()
    out = relay.nn.relu(relay.nn.conv2d(x(1, 4, 6, 6), relay.var("a", shape=(4, 4, 3, 3)), strides=2))
    table = [("dnn.conv_relu", both, lambda found: found.args[0].attrs.strides == (1, 1))]
    assert _composites(after(out, transform.MergeComposite(table))) == []


def test_a_table_of_something_else() -> None:
    with pytest.raises(TVMError, match="MergeComposite: expected"):
        transform.MergeComposite([("name", "pattern")])


def test_what_follows_branches_is_combined_as_far_as_it_is_the_same() -> None:
    x, w1, w2 = relay.var("x", shape=(2, 8)), relay.var("a", shape=(4, 8)), relay.var("b", shape=(6, 8))
    c1, c2 = relay.var("c", shape=(4,)), relay.var("d", shape=(1,))
    branches = [relay.nn.relu(relay.add(relay.nn.dense(x, w), c)) for w, c in ((w1, c1), (w2, c2))]
    out = relay.Tuple([relay.exp(branches[0]), relay.tanh(branches[1])])
    one = transform.CombineParallelDense(2, to_batch=False)
    assert counted(out, one) == {
        "nn.dense": 1,
        "concatenate": 2,
        "repeat": 1,
        "add": 1,
        "nn.relu": 1,
        "strided_slice": 2,
        "exp": 1,
        "tanh": 1,
    }
    same_results(out, one)


def test_a_bias_computed_from_another_branch_is_not_joined_with_it() -> None:
    x = relay.var("x", shape=(2, 8))
    first = relay.nn.dense(x, relay.var("a", shape=(4, 8)))
    second = relay.add(relay.nn.dense(x, relay.var("b", shape=(4, 8))), relay.nn.relu(first))
    out, one = relay.Tuple([first, second]), transform.CombineParallelDense(2)
    assert counted(out, one)["nn.batch_matmul"] == 1
    assert counted(out, one)["add"] == 1
    same_results(out, one)


def test_other_names_of_values_stay_in_basic_block_normal_form() -> None:
    before = """
    def @main(%a: Tensor[(3), float32]) {
      let %x = %a;
      let %y = %x;
      let %z = add(%x, %x);
      add(%y, %z)
    }
    """
    expected = """
    def @main(%a: Tensor[(3), float32]) {
      let %x = %a;
      let %y = %x;
      let %z = add(%y, %y);
      add(%y, %z)
    }
    """
    check_pass("ToBasicBlockNormalForm()", before, expected)
