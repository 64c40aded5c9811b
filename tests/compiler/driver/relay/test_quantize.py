"""``relay.quantize``: what becomes of graphs, against floating point, simulation and what TVM 0.19 makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.relay import quantize as qtz
from compiler.classic.relay.quantize.calibrate import find_scale_by_percentile
from compiler.classic.relay.quantize.conversions import NotIntegralError
from compiler.classic.relay.quantize.kl_divergence import find_scale_by_kl
from compiler.driver.relay.executor import create_executor
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.relay.analysis import list_op_freqs, post_order
from compiler.relay.operator import op_name

SHAPES = {"w": (8, 4, 3, 3), "w2": (8, 8, 3, 3), "b": (8, 1, 1)}


def network(tail: Any = lambda y: y) -> tuple[IRModule, dict[str, Any]]:
    """Two convolutions with a residual connection."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 4, 8, 8))
    w, w2, b = (relay.var(name, shape=shape) for name, shape in SHAPES.items())
    options = {"channels": 8, "kernel_size": (3, 3), "padding": (1, 1)}
    y = relay.nn.relu(relay.add(relay.nn.conv2d(x, w, **options), b))
    z = tail(relay.add(relay.nn.conv2d(y, w2, **options), y))
    values = {name: rng.uniform(-0.2, 0.2, shape).astype("float32") for name, shape in SHAPES.items()}
    return IRModule.from_expr(relay.Function([x, w, w2, b], z)), values


def quantized(mod: IRModule, params: dict[str, Any], dataset: Any = None, **options: Any) -> IRModule:
    with qtz.qconfig(**({"skip_conv_layers": []} | options)):
        return qtz.quantize(mod, params, dataset)


def results(mod: IRModule, x: Any) -> Any:
    return create_executor("graph", mod=mod).evaluate()(x).numpy()


DATA = np.random.default_rng(1).uniform(-1, 1, (1, 4, 8, 8)).astype("float32")


@pytest.mark.parametrize("weight_scale", ["power2", "max"])
@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_integers_compute_what_floating_point_computes(weight_scale: str, rounding: str) -> None:
    mod, params = network()
    expected = results(qtz.prerequisite_optimize(mod, params), DATA)
    mod = quantized(mod, params, weight_scale=weight_scale, rounding=rounding, global_scale=4.0)
    step = 4.0 / 128
    assert np.abs(results(mod, DATA) - expected).max() < 3 * step
    types = {e.checked_type.dtype for e in post_order(mod["main"].body) if op_name(e) == "nn.conv2d"}
    assert types == {"int32"}


def test_the_simulation_has_the_error_of_the_integers() -> None:
    mod, params = network()
    simulated = results(quantized(mod, params, do_simulation=True, global_scale=4.0), DATA)
    realized = results(quantized(mod, params, global_scale=4.0), DATA)
    assert np.abs(simulated - realized).max() <= 4.0 / 128


def test_the_graph_is_what_tvm_makes() -> None:
    """Operators as counted in TVM 0.19's result for the same network."""
    mod, params = network(lambda y: relay.nn.global_avg_pool2d(relay.nn.max_pool2d(y, (2, 2), strides=(2, 2))))
    assert {name: int(count) for name, count in list_op_freqs(quantized(mod, params)).items()} == {
        "multiply": 2,
        "round": 1,
        "clip": 4,
        "cast": 10,
        "nn.conv2d": 2,
        "add": 4,
        "nn.relu": 1,
        "right_shift": 2,
        "annotation.stop_fusion": 4,
        "nn.max_pool2d": 1,
        "nn.global_avg_pool2d": 1,
    }


def test_skipped_layers_stay_in_floating_point() -> None:
    mod, params = network()
    both = quantized(mod, params, skip_conv_layers=[0, 1])
    assert {e.checked_type.dtype for e in post_order(both["main"].body) if op_name(e)} == {"float32"}
    first = quantized(mod, params, skip_conv_layers=[0])
    dtypes = [e.checked_type.dtype for e in post_order(first["main"].body) if op_name(e) == "nn.conv2d"]
    assert dtypes == ["float32", "int32"]


def test_conversions_become_functions() -> None:
    mod, params = network()
    plain = quantized(mod, params)
    split = quantized(mod, params, partition_conversions="fully_integral")
    names = {var.name_hint for var in split.get_global_vars()}
    assert names == {"main", "quantize_inputs", "quantized_main", "dequantize_outputs"}
    result = create_executor("vm", mod=split).evaluate()(DATA).numpy()
    np.testing.assert_array_equal(result, results(plain, DATA))


def test_other_operators_in_floating_point_are_an_error_where_asked() -> None:
    mod, params = network(relay.sigmoid)
    quantized(mod, params, partition_conversions="enabled")
    with pytest.raises(NotIntegralError, match="sigmoid"):
        quantized(mod, params, partition_conversions="fully_integral")
    with pytest.raises(AssertionError):
        quantized(mod, params, partition_conversions="fully_integral")


@pytest.mark.parametrize(
    ("mode", "chunk"),
    [
        pytest.param("kl_divergence", 2, marks=pytest.mark.long),
        ("percentile", -1),
        pytest.param("kl_divergence", -1, marks=pytest.mark.long),
        pytest.param("percentile", 2, marks=pytest.mark.long),
    ],
)
def test_scales_come_from_data(mode: str, chunk: int) -> None:
    mod, params = network()
    expected = results(qtz.prerequisite_optimize(mod, params), DATA)
    made = quantized(mod, params, [{"x": DATA}], calibrate_mode=mode, calibrate_chunk_by=chunk)
    assert np.abs(results(made, DATA) - expected).mean() < 0.05 * np.abs(expected).mean()  # few values are clipped


def test_a_percentile_leaves_the_rest_above() -> None:
    values = np.random.default_rng(2).permutation(np.arange(-1000, 1001))
    assert find_scale_by_percentile(values, 0.9) == sorted(abs(values))[int(2001 * 0.9)]
    assert find_scale_by_percentile(np.ones(3), 1.0) == 1


def test_rare_outliers_are_clipped() -> None:
    rng = np.random.default_rng(3)
    even = rng.uniform(-1, 1, 100_000)
    assert find_scale_by_kl(even) == pytest.approx(1.0, rel=0.02)
    assert find_scale_by_kl(np.append(even, 6.0)) < 2
    assert find_scale_by_kl(np.zeros(5)) == 1.0
    # What TVM 0.19 finds, where it matters how the bins at the ends count.
    shifted = np.random.RandomState(4).standard_normal(30000).astype("float32") * 2 + 1
    assert find_scale_by_kl(shifted, num_bins=1001) == pytest.approx(8.2642, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibrate_mode": "best"}, "calibrate_mode must be one of global_scale, kl_divergence, percentile"),
        ({"calibrate_mode": "percentile"}, "needs a dataset"),
        ({"weight_scale": "min"}, "weight_scale must be 'power2' or 'max'"),
        ({"partition_conversions": "yes"}, "partition_conversions must be one of"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    mod, params = network()
    with pytest.raises(ArgumentError, match=message):
        quantized(mod, params, **options)


def test_options_hold_inside_of_their_with() -> None:
    with qtz.qconfig(nbit_input=4, calibrate_mode="percentile"):
        with qtz.qconfig(nbit_input=6):
            assert qtz.current_qconfig().nbit_input == 6
        assert qtz.current_qconfig().get_nbit_by_kind(qtz.QAnnotateKind.INPUT) == 4
    assert qtz.current_qconfig().nbit_input == 8
    with pytest.raises(ArgumentError, match="did you mean 'global_scale'"):
        qtz.qconfig(global_scales=1.0)


def test_a_weight_must_be_known() -> None:
    mod, _ = network()
    with pytest.raises(ArgumentError, match="a weight must be a constant"):
        quantized(mod, {})


def test_a_context_counts_the_layers_that_are_left_out() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    layer = relay.nn.conv2d(x, relay.var("w", shape=(4, 4, 3, 3)))
    with qtz.qconfig(skip_conv_layers=[1]), qtz.quantize_context() as context:
        assert [context.check_to_skip(layer) for _ in range(3)] == [False, True, False]
        assert not context.check_to_skip(relay.exp(x))
        context.stop_quantize()
        assert context.check_to_skip(layer)
    with qtz.qconfig(skip_conv_layers=[1]), context:
        assert not context.check_to_skip(layer)
