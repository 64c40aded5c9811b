"""``tvm.testing.aot`` compiles models to libraries and compares what these compute."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.testing import aot
from compiler.ir.error import ArgumentError


def _model(**changed):
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    rng = np.random.default_rng(0)
    inputs, params = {"x": rng.normal(size=(2, 3)).astype("float32")}, {"w": rng.normal(size=(4, 3)).astype("float32")}
    outputs = aot.generate_ref_data(mod, inputs, params)
    return aot.AOTTestModel(**{"module": mod, "inputs": inputs, "outputs": outputs, "params": params, **changed})


@pytest.mark.parametrize(("interface", "unpacked"), [("c", True), ("packed", False)])
def test_a_model_computes_what_it_should(interface, unpacked):
    assert aot.compile_and_run(_model(), None, interface, unpacked)


def test_a_wrong_output_is_noticed():
    model = _model()
    wrong = {"output": model.outputs["output"] + 0.1}
    compiled = aot.compile_models(_model(outputs=wrong, name="net"), target="llvm")
    with pytest.raises(AssertionError, match="net: output"):
        aot.run_and_check(compiled)
    with pytest.raises(ArgumentError, match="net has 1 outputs, not 2"):
        aot.run_and_check(
            [aot.AOTCompiledTestModel(_model(outputs={"a": 1, "b": 2}, name="net"), compiled[0].executor_factory)]
        )
