"""FoldConstant, SimplifyInference and the folding of scales into weights: graphs before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.ir.origin import OriginTable, recording
from compiler.relay.analysis import post_order
from tests.compiler.relay.transform.reading import after, module_of, relay, shown, transform
from tests.properties.graphs import evaluate, random_inputs


def const(*shape: int, low: float = 0.5) -> Any:
    return relay.const(np.random.default_rng(3).random(shape).astype("float32") + np.float32(low))


def x(*shape: int) -> Any:
    return relay.var("x", shape=shape or (1, 8, 5, 5))


def conv(data: Any, *shape: int, **attrs: Any) -> Any:
    return relay.nn.conv2d(data, relay.var("w", shape=shape or (8, 8, 3, 3)), **attrs)


# FoldConstant


def test_what_is_known_is_computed() -> None:
    out = relay.multiply(x(3), relay.add(relay.const(1.0), relay.const(2.0)))
    assert shown(after(out, transform.FoldConstant())) == "multiply(x, 3.0)"


def test_shapes_are_known() -> None:
    body = after(relay.shape_of(x(2, 3)), transform.FoldConstant())
    assert body.value.tolist() == [2, 3]
    assert str(body.value.dtype) == "int32"


def test_tuples_of_constants_are_known() -> None:
    parts = relay.split(relay.const(np.arange(6, dtype="float32")), 2)
    out = relay.concatenate([parts[1], parts[0]], axis=0)
    assert after(out, transform.FoldConstant()).value.tolist() == [3, 4, 5, 0, 1, 2]


def test_elements_of_tuples_are_looked_up_where_tvm_does() -> None:
    """Types and inference leave a program's tuples as they are; folding and layouts look through them, as in 0.19."""
    element = relay.TupleGetItem(relay.Tuple([x(3), relay.nn.dropout(x(3))]), 0)
    assert shown(after(element, transform.FoldConstant())) == "x"
    assert shown(after(element, transform.SimplifyInference())).endswith(").0")
    assert isinstance(after(relay.exp(element), transform.FastMath()).args[0], relay.TupleGetItem)


def test_decided_branches_are_taken_and_known_names_replaced() -> None:
    v = relay.var("v", shape=())
    out = relay.Let(v, relay.const(2.0), relay.multiply(relay.If(relay.const(False), v, relay.add(v, v)), x(3)))
    assert shown(after(out, transform.FoldConstant())) == "multiply(4.0, x)"


def test_nothing_that_only_makes_the_program_bigger() -> None:
    big = relay.broadcast_to(relay.const(1.0), (1000, 1000))
    assert shown(after(big, transform.FoldConstant())) == "broadcast_to(1.0)"
    small = relay.broadcast_to(relay.const(1.0), (10, 10))
    assert shown(after(small, transform.FoldConstant())) == "c[10, 10]"


def test_what_zeros_makes_is_in_the_program_of_builds_alone() -> None:
    out = relay.add(x(3), relay.zeros((3,), "float32"))
    assert shown(after(out, transform.FoldConstant())) == "add(x, zeros())"
    assert shown(after(out, transform.FoldConstant(in_build=True))) == "add(x, c[3])"


def test_nothing_to_fold_is_the_same_module() -> None:
    mod = module_of(relay.nn.relu(x()))
    assert transform.FoldConstant()(mod) is mod


def test_kernels_are_left_alone() -> None:
    out = relay.add(x(3), relay.tanh(relay.const(np.ones(3, "float32"))))
    assert shown(after(out, transform.FuseOps(2), transform.FoldConstant())) == "{add(p1, tanh(p0))}(c[3], x)"


def test_one_expression() -> None:
    assert transform.FoldConstantExpr(relay.add(relay.const(1), relay.const(2))).value == 3


# SimplifyInference


def test_batch_norm_is_one_multiplication_and_one_addition() -> None:
    names = [relay.var(n, shape=(8,)) for n in ("g", "b", "m", "v")]
    body = after(relay.nn.batch_norm(x(), *names, epsilon=0.5)[0], transform.SimplifyInference())
    scale = "multiply(divide(1.0, sqrt(add(v, 0.5))), g)"
    assert shown(body) == (
        f"add(multiply(x, expand_dims({scale})), expand_dims(add(multiply(negative(m), {scale}), b)))"
    )


def test_batch_norm_without_scale_or_centre() -> None:
    names = [relay.var(n, shape=(8,)) for n in ("g", "b", "m", "v")]
    body = after(relay.nn.batch_norm(x(), *names, scale=False, center=False)[0], transform.SimplifyInference())
    assert {v.name_hint for v in relay.analysis.free_vars(body)} == {"x", "m", "v"}


def test_other_results_of_batch_norm_are_its_statistics() -> None:
    names = [relay.var(n, shape=(8,)) for n in ("g", "b", "m", "v")]
    norm = relay.nn.batch_norm(x(), *names)
    assert shown(after(relay.Tuple([norm[1], norm[2]]), transform.SimplifyInference())) == "(m, v)"


def test_dropout_disappears() -> None:
    assert shown(after(relay.nn.dropout(x()), transform.SimplifyInference())) == "x"


@pytest.mark.parametrize("name", ["layer_norm", "instance_norm", "group_norm", "l2_normalize", "batch_norm"])
def test_normalisations_compute_what_they_did(name: str) -> None:
    gamma, beta = const(8), const(8, low=-0.5)
    out = {
        "layer_norm": lambda: relay.nn.layer_norm(x(), gamma, beta, axis=1),
        "instance_norm": lambda: relay.nn.instance_norm(x(), gamma, beta),
        "group_norm": lambda: relay.nn.group_norm(x(), gamma, beta, 4),
        "l2_normalize": lambda: relay.nn.l2_normalize(x(), 1e-4, [1]),
        "batch_norm": lambda: relay.nn.batch_norm(x(), gamma, beta, const(8), const(8))[0],
    }[name]()
    mod = module_of(out)
    inputs = random_inputs(mod)
    wanted = evaluate(mod["main"], inputs)
    for in_build in (False, True):
        simpler = transform.SimplifyInference(in_build)(mod)
        assert f"nn.{name}" not in shown(simpler["main"].body)
        np.testing.assert_allclose(evaluate(simpler["main"], inputs), wanted, rtol=1e-4, atol=1e-5)


def test_statistics_of_the_data_are_written_as_in_tvm_outside_of_builds() -> None:
    norm = relay.nn.layer_norm(
        x(), *(relay.var(n, shape=(8,)) for n in "gb"), axis=1, epsilon=0.5, scale=False, center=False
    )
    root = "sqrt(add(variance(x, mean(x)), 0.5))"
    assert shown(after(norm, transform.SimplifyInference())) == f"divide(subtract(x, mean(x)), {root})"
    assert "variance" not in shown(after(norm, transform.SimplifyInference(in_build=True)))


# scales


BACK, ON = transform.BackwardFoldScaleAxis, transform.ForwardFoldScaleAxis
WEIGHTS = "multiply(w, expand_dims(s))"


def scale() -> Any:
    return relay.expand_dims(relay.var("s", shape=(8,)), axis=1, num_newaxis=2)


def test_a_scale_of_the_result_goes_into_the_weights() -> None:
    assert shown(after(relay.multiply(conv(x()), scale()), BACK())) == f"nn.conv2d(x, {WEIGHTS})"
    assert shown(after(relay.multiply(scale(), conv(x())), BACK())) == f"nn.conv2d(x, {WEIGHTS})"


def test_a_scale_goes_through_sums() -> None:
    bias = relay.var("b", shape=(8, 1, 1))
    out = relay.multiply(relay.add(conv(x()), bias), scale())
    assert shown(after(out, BACK())) == f"add(nn.conv2d(x, {WEIGHTS}), multiply(b, expand_dims(s)))"
    both = relay.multiply(relay.add(conv(x()), conv(relay.nn.relu(x()))), scale())
    assert shown(after(both, BACK())) == f"add(nn.conv2d(x, {WEIGHTS}), nn.conv2d(nn.relu(x), {WEIGHTS}))"
    vector = relay.multiply(relay.nn.bias_add(conv(x()), relay.var("b", shape=(8,))), scale())
    assert shown(after(vector, BACK())) == f"nn.bias_add(nn.conv2d(x, {WEIGHTS}), multiply(b, s))"


def test_only_a_positive_scale_goes_through_relu() -> None:
    positive = relay.const(np.full((8, 1, 1), 2, "float32"))
    assert not shown(after(relay.multiply(relay.nn.relu(conv(x())), positive), BACK())).startswith("multiply")
    for unknown in (scale(), relay.const(np.full((8, 1, 1), -2, "float32"))):
        out = relay.multiply(relay.nn.relu(conv(x())), unknown)
        assert shown(after(out, BACK())) == shown(out)


def test_what_others_use_keeps_its_values() -> None:
    y = conv(x())
    out = relay.Tuple([relay.multiply(y, scale()), y])
    assert shown(after(out, BACK())) == shown(out)
    other = relay.multiply(relay.add(conv(x(), 8, 8, 1, 1), x()), scale())
    assert shown(after(other, BACK())) == shown(other)


def test_a_scale_that_is_computed_at_length_stays() -> None:
    attention = relay.sigmoid(relay.nn.dense(relay.var("q", shape=(8, 4)), relay.var("k", shape=(1, 4))))
    out = relay.multiply(conv(x()), relay.expand_dims(attention, axis=2))
    assert shown(after(out, BACK())) == shown(out)


def test_scales_that_are_not_of_channels_stay() -> None:
    out = relay.multiply(conv(x(), padding=1), relay.var("s", shape=(5, 1)))
    assert shown(after(out, BACK())) == shown(out)


def test_depthwise_dense_and_other_layouts() -> None:
    depthwise = relay.multiply(conv(x(), 8, 1, 3, 3, groups=8), scale())
    assert shown(after(depthwise, BACK())) == f"nn.conv2d(x, {WEIGHTS})"
    rows = relay.nn.dense(x(2, 8), relay.var("w", shape=(8, 8)))
    assert shown(after(relay.multiply(rows, relay.var("s", shape=(8,))), BACK())) == f"nn.dense(x, {WEIGHTS})"
    last = relay.nn.conv2d(x(1, 5, 5, 8), relay.var("w", shape=(3, 3, 8, 8)), data_layout="NHWC", kernel_layout="HWIO")
    assert shown(after(relay.multiply(last, relay.var("s", shape=(8,))), BACK())) == "nn.conv2d(x, multiply(w, s))"


def test_a_scale_of_the_data_goes_into_the_weights() -> None:
    assert shown(after(conv(relay.multiply(x(), scale())), ON())) == f"nn.conv2d(x, {WEIGHTS})"
    pooled = conv(relay.nn.avg_pool2d(relay.multiply(x(), scale()), (2, 2)))
    assert shown(after(pooled, ON())) == f"nn.conv2d(nn.avg_pool2d(x), {WEIGHTS})"


def test_all_users_must_take_the_scale_of_their_data() -> None:
    data = relay.multiply(x(), scale())
    taken = relay.Tuple([conv(data), conv(data, 8, 8, 1, 1)])
    assert shown(after(taken, ON())) == f"(nn.conv2d(x, {WEIGHTS}), nn.conv2d(x, {WEIGHTS}))"
    kept = relay.Tuple([conv(data), data])
    assert shown(after(kept, ON())) == shown(kept)


def test_groups_of_inputs_take_no_scale() -> None:
    out = conv(relay.multiply(x(), scale()), 8, 4, 3, 3, groups=2)
    assert shown(after(out, ON())) == shown(out)


def test_batch_norm_behind_a_convolution_leaves_a_bias() -> None:
    weights = relay.const(np.random.default_rng(0).normal(size=(8, 8, 3, 3)).astype("float32"))
    norm = relay.nn.batch_norm(relay.nn.conv2d(x(), weights), const(8), const(8), const(8), const(8))
    out = relay.nn.relu(norm[0])
    passes = [transform.SimplifyInference(), transform.FoldConstant(), transform.FoldScaleAxis(), transform.FuseOps()]
    body = after(out, *passes)
    assert shown(body) == "{nn.relu(add(nn.conv2d(p0, p1), p2))}(x, c[8, 8, 3, 3], c[8, 1, 1])"
    mod = module_of(out)
    inputs = random_inputs(mod)
    got = evaluate(relay.Function(mod["main"].params, body), inputs)
    np.testing.assert_allclose(got, evaluate(mod["main"], inputs), rtol=1e-4, atol=1e-4)


def test_every_multiplication_of_a_long_row_is_folded() -> None:
    out = conv(x(), 8, 8, 1, 1)
    for _ in range(200):
        out = relay.multiply(out, scale())
    names = [e.op.name for e in post_order(after(out, BACK())) if isinstance(e, relay.Call)]
    assert names[-1] == "nn.conv2d"
    assert names.count("multiply") == 200


def test_what_passes_make_comes_from_what_it_replaces() -> None:
    with recording(OriginTable()):
        out = relay.multiply(relay.add(relay.const(1.0), relay.const(2.0)), x(3))
        norm = relay.nn.batch_norm(conv(x()), *[relay.var(n, shape=(8,)) for n in "gbmv"])
        folded = after(out, transform.FoldConstant())
        simpler = after(norm[0], transform.SimplifyInference())
    assert folded.span == out.span
    assert folded.args[0].span == out.args[0].span != frozenset()
    assert simpler.span == simpler.args[0].span == norm.astuple().span != frozenset()
