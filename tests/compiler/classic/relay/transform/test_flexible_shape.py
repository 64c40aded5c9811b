"""Programs with copies for likely extents compute what the dynamic program computes, for those and for others."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.transform import flexible_shape


def _dispatched(params, body, **options):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(params, body)))
    return relay.transform.FlexibleShapeDispatch(**options)(mod)


def _run(mod, *arrays, kind="debug"):
    return relay.create_executor(kind, mod=mod, target="llvm").evaluate()(*arrays).numpy()


@pytest.mark.parametrize("auto_pad", [False, True])
def test_every_extent_gives_the_result_of_the_dynamic_program(auto_pad):
    x = relay.var("x", shape=(relay.Any(), 3))
    mod = _dispatched([x], relay.nn.softmax(x), buckets=[4, 2], auto_pad=auto_pad)
    assert {var.name_hint for var in mod} == {"main", "main_2", "main_4", "main_dynamic"}
    assert mod["main_4"].ret_type == relay.TensorType((4, 3))
    for extent in (1, 2, 3, 4, 7):
        data = np.random.default_rng(extent).normal(size=(extent, 3)).astype("float32")
        expected = np.exp(data) / np.exp(data).sum(1, keepdims=True)
        np.testing.assert_allclose(_run(mod, data), expected, rtol=1e-5)


def test_a_static_program_becomes_one_of_any_extent():
    x, w = relay.var("x", shape=(2, 3)), relay.const(np.ones((4, 3), "float32"))
    mod = _dispatched([x], relay.nn.dense(x, w), buckets=[1, 2])
    assert str(mod["main"].ret_type) == "Tensor[(?, 4), float32]"
    for extent in (1, 2, 5):
        data = np.arange(extent * 3, dtype="float32").reshape(extent, 3)
        np.testing.assert_allclose(_run(mod, data), np.repeat(data.sum(1, keepdims=True), 4, axis=1))


def test_the_virtual_machine_runs_the_copies():
    x, y = (relay.var(name, shape=(3, relay.Any())) for name in "xy")
    mod = _dispatched([x, y], relay.add(x, y), buckets=[2, 5], axis=1, auto_pad=True, input_indices=[0, 1])
    a, b = np.random.default_rng(0).normal(size=(2, 3, 3)).astype("float32")
    np.testing.assert_allclose(_run(mod, a, b, kind="vm"), a + b, rtol=1e-5)


def test_what_is_added_has_the_value_that_is_asked_for():
    x = relay.var("x", shape=(2, relay.Any()))
    mod = _dispatched([x], relay.sum(x, 1), buckets=[5], axis=1, auto_pad=True, pad_value=10.0, affects_output=False)
    np.testing.assert_allclose(_run(mod, np.ones((2, 3), "float32")), [23, 23])


def test_an_axis_that_no_input_has_is_refused():
    x = relay.var("x", shape=(relay.Any(),))
    with pytest.raises(tvm.error.TVMError, match="parameter 0 has no axis 1"):
        _dispatched([x], relay.exp(x), buckets=[2], axis=1)


def test_the_steps_of_a_dispatch_are_functions():
    x = relay.var("x", shape=(2, 3))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))
    var, types = flexible_shape.specialize_body(mod, mod["main"], 0, 7, [0])
    assert (var.name_hint, types) == ("main_7", [relay.TensorType((7, 3))])
    assert relay.transform.InferType()(mod)["main_7"].ret_type == types[0]
    dispatched = flexible_shape.flexible_dispatch(mod, [4], auto_pad=True)
    np.testing.assert_allclose(_run(dispatched, np.ones((3, 3), "float32")), np.ones((3, 3)))
