"""What quantised operators become for a target: tables of functions of bytes, and layers of other data types."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.error import ArgumentError
from compiler.relay.op import qnn
from compiler.relay.transform.quantize import qnn_legalizations as legalizations
from compiler.relay.transform.quantize.qnn import Legalize
from compiler.target import Target


def _legalized(expr):
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expr), expr))
    return Legalize()(relay.transform.InferType()(mod))


def _quantised(function, dtype="int8"):
    x = relay.var("x", shape=(256,), dtype=dtype)
    parameters = relay.const(0.1), relay.const(-3), relay.const(0.05), relay.const(1)
    return function(x, *parameters)


@pytest.mark.parametrize(
    ("operator", "function"),
    [(qnn.tanh, np.tanh), (qnn.abs, np.abs), (qnn.hardswish, legalizations.hardswish_func), (qnn.log, np.log)],
)
def test_functions_of_bytes_become_tables(operator, function):
    mod = _legalized(_quantised(operator))
    assert mod["main"].body.op.name == "take"
    numbers = np.arange(-128, 128).astype("int8")
    result = relay.create_executor("graph", mod, tvm.cpu(), "llvm").evaluate()(numbers).numpy()
    with np.errstate(all="ignore"):
        real = np.nan_to_num(function(np.float32(0.1) * (numbers.astype("float32") + 3)).astype("float32"))
    expected = np.clip(np.round(real.astype("float64") / 0.05 + 1), -128, 127)
    assert np.abs(result - expected).max() <= 1


def test_a_function_whose_scale_is_not_known_stays():
    x, scale = relay.var("x", shape=(4,), dtype="int8"), relay.var("s", shape=())
    mod = _legalized(qnn.sqrt(x, scale, relay.const(0), relay.const(0.1), relay.const(0)))
    assert mod["main"].body.op.name == "qnn.sqrt"


def test_a_layer_gets_other_bytes_and_zero_points_that_mean_the_same():
    x, w = relay.var("x", shape=(2, 4), dtype="int8"), relay.var("w", shape=(3, 4), dtype="uint8")
    layer = qnn.dense(x, w, relay.const(3), relay.const(5), relay.const(1.0), relay.const(1.0), 3)
    layer = relay.transform.InferType()(tvm.IRModule.from_expr(layer))["main"].body
    types = [arg.checked_type for arg in layer.args] + [layer.checked_type]
    changed = legalizations.helper_change_dtypes_to_uint8_int8(layer.attrs, layer.args, types, qnn.dense)
    assert changed.op.name == "qnn.dense"
    a, b = np.array([[-128, 0, 5, 127]] * 2, "int8"), np.arange(12, dtype="uint8").reshape(3, 4) * 20
    results = [
        relay.create_executor("graph", tvm.IRModule.from_expr(expr), tvm.cpu(), "llvm").evaluate()(a, b).numpy()
        for expr in (layer, changed)
    ]
    np.testing.assert_array_equal(*results)
    assert legalizations.helper_change_dtypes_to_int8(layer.attrs, layer.args, [types[0]] * 2, qnn.dense) is None


def test_which_processors_multiply_bytes_fast():
    with Target("llvm -mcpu=cascadelake"):
        assert legalizations.is_fast_int8_on_intel()
    with Target("llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod"):
        assert not legalizations.is_fast_int8_on_intel()
    assert legalizations.get_scalar_from_constant(relay.const(3)) == 3
    with pytest.raises(ArgumentError, match="expected a constant scalar"):
        legalizations.get_scalar_from_constant(relay.const([3]))
