"""Helpers for tests of graphs do what they say."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import special

import compiler as tvm
from compiler import relay
from compiler.classic.testing import relay as testing
from compiler.classic.testing.relay import init, layers, nat
from compiler.ir.error import ArgumentError
from compiler.ir.functor import nodes_of
from compiler.ir.origin import OriginTable, recording


def test_passes_run_over_expressions() -> None:
    x = relay.var("x", shape=(2, 3))
    typed = testing.run_infer_type(relay.add(x, relay.const(np.ones((2, 1), "float32"))))
    assert isinstance(typed, relay.Call)
    assert typed.checked_type.concrete_shape == (2, 3)
    folded = testing.run_opt_pass(relay.add(relay.const(1), relay.const(2)), relay.transform.FoldConstant())
    assert isinstance(folded, relay.Constant)
    assert testing.count_ops(relay.add(relay.add(x, x), relay.exp(x))) == {"add": 2, "exp": 1}


def test_right_gradients_are_told_from_wrong_ones() -> None:
    x = relay.var("x", shape=(3, 2), dtype="float64")
    testing.check_grad(relay.Function([x], relay.exp(x)))
    given = np.arange(6, dtype="float64").reshape(3, 2)
    testing.check_grad(relay.Function([x], relay.multiply(x, x)), inputs=[given], test_inputs=[given])
    with pytest.raises(AssertionError, match="Mismatched elements"):
        testing.check_grad(relay.Function([x], relay.abs(x)), inputs=[given * 0 + 1e-7])
    with pytest.raises(ArgumentError, match="the very same array"):
        testing.check_grad(relay.Function([x], x), inputs=[given], test_inputs=[given.copy()])


def test_natural_numbers_count() -> None:
    prelude = testing.Prelude(tvm.IRModule())
    nat.add_nat_definitions(prelude)
    double, add = (prelude.mod.get_global_var(name) for name in ("nat_double", "nat_add"))
    three = testing.make_nat_expr(prelude, 3)
    assert testing.count(prelude, three) == 3
    value = relay.create_executor(mod=prelude.mod).evaluate(add(double(three), three))
    assert testing.count(prelude, value) == 9
    assert testing.count(prelude, testing.make_nat_value(prelude, 4)) == 4


@pytest.mark.parametrize(
    ("module", "options", "parameters"),
    [
        # He et al.: "Deep Residual Learning", table 1, has 11.7 and 25.6 million
        ("mlp", {"batch_size": 1}, 28 * 28 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10),
        ("resnet", {"num_layers": 18}, 11_699_112),
        ("resnet", {"num_layers": 50, "layout": "NHWC", "image_shape": (224, 224, 3)}, 25_575_912),
        # Howard et al.: "MobileNets", table 8, has 4.2 million
        ("mobilenet", {}, 4_231_976),
        ("mobilenet", {"layout": "NHWC", "image_shape": (64, 64, 3)}, 4_231_976),
        # Szegedy et al.: "Rethinking the Inception architecture", without the auxiliary classifier: 23.8 million
        ("inception_v3", {}, 23_834_568),
        # as TVM 0.19 has it: layers read the layer before them alone
        ("densenet", {"batch_size": 1}, 3_544_744),
    ],
)
def test_models_have_their_parameters(module: str, options: dict[str, object], parameters: int) -> None:
    mod, params = getattr(testing, module).get_workload(**options)
    learned = {n: p for n, p in params.items() if not n.endswith(("moving_mean", "moving_var"))}
    assert abs(sum(np.prod(p.shape) for p in learned.values()) - parameters) <= 0.02 * parameters
    assert {p.name_hint for p in mod["main"].params} == {"data", *params}
    assert mod["main"].ret_type.concrete_shape == (1, 10 if module == "mlp" else 1000)


@pytest.mark.parametrize("module", ["squeezenet", "vgg"])
def test_models_with_dropout_have_types(module: str) -> None:
    net = {
        "squeezenet": lambda: testing.squeezenet.get_net(1, (3, 64, 64), 10, "1.0", "float32"),
        "vgg": lambda: testing.vgg.get_net(1, (3, 32, 32), 10, "float32"),
    }[module]()
    assert testing.run_infer_type(net).ret_type == relay.TensorType((1, 10), "float32")


def test_items_of_modules_are_lists() -> None:
    mod = tvm.IRModule.from_expr(relay.const(1))
    ((name, func),) = mod.functions.items()
    assert mod.functions.items()[0] == (name, func)


def test_branches_meet() -> None:
    from scipy.signal import correlate2d  # used by nothing else, and slow to import

    mod, params = testing.synthetic.get_workload((1, 2, 5, 4))
    values = {name: array.numpy() for name, array in params.items()}
    data = np.random.default_rng(1).uniform(-1, 1, (1, 2, 5, 4)).astype("float32")

    def branches(block: np.ndarray, number: str) -> np.ndarray:
        dense = np.maximum(block @ values[f"dense{number}_weight"].T, 0)
        filters = values[f"conv{number}_weight"]
        conv = [sum(correlate2d(x, w, mode="same") for x, w in zip(block[0], each, strict=True)) for each in filters]
        return dense + special.softmax(np.array([conv]), axis=-1)

    norm = {key: values[f"batch_norm_{key}"].reshape(2, 1, 1) for key in ("gamma", "beta", "moving_mean", "moving_var")}
    first = branches(data, "") + values["bias"].reshape(2, 1, 1)
    scaled = (first - norm["moving_mean"]) / np.sqrt(norm["moving_var"] + 1e-5) * norm["gamma"] + norm["beta"]
    result = relay.create_executor("graph", mod, params=params).evaluate()(data)
    np.testing.assert_allclose(result.numpy(), branches(scaled, "2"), rtol=1e-4, atol=1e-5)


def test_small_resnet_computes_probabilities() -> None:
    mod, params = testing.resnet.get_workload(num_layers=8, image_shape=(3, 28, 28), num_classes=10)
    data = np.random.rand(1, 3, 28, 28).astype("float32")
    result = relay.create_executor("graph", mod, params=params).evaluate()(data)
    np.testing.assert_allclose(result.numpy().sum(), 1, rtol=1e-5)


def test_parameters_get_first_values() -> None:
    x = relay.var("data", shape=(1, 8))
    net = layers.dense_add_bias(x, units=4, name="fc")
    func = relay.Function(relay.analysis.free_vars(net), net)
    _, first = init.create_workload(func, seed=3)
    _, again = init.create_workload(func, seed=3)
    np.testing.assert_array_equal(first["fc_weight"].numpy(), again["fc_weight"].numpy())
    assert np.abs(first["fc_weight"].numpy()).max() <= np.sqrt(3 / 6)
    assert not first["fc_bias"].numpy().any()
    _, ones = init.create_workload(func, init.Constant(2.5))
    assert (ones["fc_weight"].numpy() == 2.5).all()
    odd = relay.var("odd", shape=(1, 8))
    with pytest.raises(ArgumentError, match="'odd' has no initial value"):
        init.create_workload(relay.Function([x, odd], relay.add(x, odd)))


def test_a_network_comes_from_the_line_that_asked_for_it() -> None:
    with recording(OriginTable()) as table:
        mod, _ = testing.mlp.get_workload(1)
        line = sys._getframe().f_lineno - 1
    calls = nodes_of(mod["main"], relay.Call)
    places = {table.rows[row].location for call in calls for row in table.ancestors(call.span)} - {None}
    assert {(place.file, place.line) for place in places if place} == {(__file__, line)}
