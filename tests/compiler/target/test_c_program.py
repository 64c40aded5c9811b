"""What stands beside a program of C: a header and a main program, compiled and run by the C compiler."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.classic.relay.backend import Executor
from compiler.classic.testing.relay import mlp, resnet
from compiler.driver.build import build
from compiler.runtime.graph.aot_executor import AotModule
from compiler.runtime.graph.graph_module import GraphModule

CC = next((command for command in ("cc", "gcc", "clang") if shutil.which(command)), None)
pytestmark = pytest.mark.skipif(CC is None, reason="needs a C compiler")


def randoms(count, state=1):
    """Return what the main program fills its arrays with, in order."""
    values = []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        values.append((state >> 8) / 16777216.0)
    return np.array(values)


def run(built, folder):
    """Return what the main program prints."""
    for name, fmt in (("module.c", "c"), ("module.h", "h"), ("main.c", "main.c")):
        built.save(str(folder / name), fmt)
    command = [CC, "-std=c11", "-Wall", "-Werror", "-O2", "-fwrapv", "-o", "program", "module.c", "main.c", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run([str(folder / "program")], capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_main_program_computes_and_times_a_matrix_product(tmp_path):
    A, B = te.placeholder((32, 48), name="A"), te.placeholder((48, 16), name="main")
    k = te.reduce_axis((0, 48), name="k")
    C = te.compute((32, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].vectorize(s[C].split(C.op.axis[1], 4)[1])
    s[C].parallel(C.op.axis[0])
    out = run(build(s, [A, B, C], "c", name="f"), tmp_path)
    values = randoms(32 * 48 + 48 * 16 + 32 * 16).astype("float32")
    a, b = values[: 32 * 48].reshape(32, 48), values[32 * 48 : 32 * 48 + 48 * 16].reshape(48, 16)
    assert re.search(r"^f: \d\S* us$", out, re.M), out
    total = float(re.search(r"^sum of C: (.*)$", out, re.M)[1])
    np.testing.assert_allclose(total, (a @ b).sum(dtype="float64"), rtol=1e-5)


def test_a_call_too_short_for_the_clock_is_repeated(tmp_path):
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1, name="B")
    out = run(build(te.create_schedule(B.op), [A, B], "c", name="f"), tmp_path)
    assert float(re.search(r"^f: (.*) us$", out, re.M)[1]) > 0


def test_sizes_of_a_call_are_constants_of_the_main_program(tmp_path):
    n = te.var("n")
    A = te.placeholder((n,), name="A", dtype="int32")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    out = run(build(te.create_schedule(B.op), [A, B], "c", name="f"), tmp_path)
    numbers = (randoms(64) * 16).astype("int32")
    assert f"sum of B: {2 * numbers.sum()}" in out


def _perceptron():
    weights = np.random.default_rng(0)
    x = relay.var("x", shape=(4, 32))
    hidden = relay.nn.relu(
        relay.nn.bias_add(
            relay.nn.dense(x, relay.const(weights.standard_normal((64, 32)).astype("float32"))),
            relay.const(weights.standard_normal(64).astype("float32")),
        )
    )
    last = relay.nn.softmax(relay.nn.dense(hidden, relay.const(weights.standard_normal((10, 64)).astype("float32"))))
    return tvm.IRModule.from_expr(relay.Function([x], last)), "x", (4, 32)


def _convolutions():
    weights = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 3, 16, 16))
    kernel = relay.const(weights.standard_normal((8, 3, 3, 3)).astype("float32"))
    y = relay.nn.relu(relay.nn.conv2d(x, kernel, padding=(1, 1), channels=8, kernel_size=(3, 3)))
    y = relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))
    other = relay.const(weights.standard_normal((8, 8, 3, 3)).astype("float32"))
    y = relay.add(y, relay.nn.conv2d(y, other, padding=(1, 1), channels=8, kernel_size=(3, 3)))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.global_avg_pool2d(y))), "x", (1, 3, 16, 16)


@pytest.mark.parametrize("network", [_perceptron, _convolutions])
def test_a_model_in_c_computes_what_llvms_does(network, tmp_path):
    mod, name, shape = network()
    value = np.random.default_rng(1).standard_normal(shape).astype("float32")
    outputs = []
    for target in ("llvm", "c"):
        built = relay.build(mod, target, executor=Executor("aot"))
        module = AotModule(built["default"](tvm.cpu()))
        module.set_input(name, value)
        module.run()
        outputs.append(module.get_output(0).numpy())
    np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-4, atol=1e-5)
    built.export_library(str(tmp_path / "model.c"))
    text = (tmp_path / "model.c").read_text()
    assert "tvmgen_default___tvm_main__(" in text
    assert "#include" in text
    assert not re.search(r"#include <(?!math|stdbool|stdint|stdlib|string)", text)
    assert "sum of" in run(built.lib, tmp_path)


def _before_softmax(mod):
    """Return a network without its softmax, whose results have the same sum whatever came before."""
    main = mod["main"]
    return tvm.IRModule.from_expr(relay.Function(main.params, main.body.args[0]))


def _small_residual_network():
    mod, params = resnet.get_workload(num_layers=8, num_classes=10, image_shape=(3, 28, 28))
    return _before_softmax(mod), params, "data", (1, 3, 28, 28)


def _resnet18():
    mod, params = resnet.get_workload(num_layers=18, num_classes=10, image_shape=(3, 32, 32))
    return _before_softmax(mod), params, "data", (1, 3, 32, 32)


def _weights_of_layers():
    mod, params = mlp.get_workload(2, image_shape=(1, 12, 12))
    return _before_softmax(mod), params, "data", (2, 1, 12, 12)


@pytest.mark.parametrize(
    "network", [_weights_of_layers, _small_residual_network, pytest.param(_resnet18, marks=pytest.mark.long)]
)
def test_a_model_is_a_program_with_its_weights(network, tmp_path):
    mod, params, name, shape = network()
    built = relay.build(mod, "c", executor=Executor("aot"), params=params)
    assert built.write_program(tmp_path) == ["model.c", "model.h", "main.c", "weights.bin"]
    text = (tmp_path / "model.c").read_text()
    assert "alloc(" not in text, "memory is planned ahead"
    command = [CC, "-std=c11", "-Wall", "-Werror", "-O1", "-fwrapv", "-o", "program", "model.c", "main.c", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    out = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60).stdout
    executor = GraphModule(relay.build(mod, "llvm", params=params)["default"](tvm.cpu()))
    executor.run(**{name: randoms(int(np.prod(shape))).astype("float32").reshape(shape)})
    result = executor.get_output(0).numpy()
    total = float(re.search(r"^sum of output: (.*)$", out, re.M)[1])
    np.testing.assert_allclose(total, result.sum(dtype="float64"), rtol=1e-3, atol=1e-3)


def test_a_program_without_its_weights_says_so(tmp_path):
    mod, params, _, _ = _weights_of_layers()
    relay.build(mod, "c", executor=Executor("aot"), params=params).write_program(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"short")
    command = [CC, "-std=c11", "-O0", "-fwrapv", "-o", "program", "model.c", "main.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "cannot read weights.bin\n")


def test_only_a_model_for_c_is_written_as_a_program(tmp_path):
    mod, params, _, _ = _weights_of_layers()
    with pytest.raises(tvm.TVMError, match="not for llvm"):
        relay.build(mod, "llvm", executor=Executor("aot"), params=params).write_program(tmp_path)


def test_a_graph_for_c_is_compiled_ahead_of_time_only():
    mod, _, _ = _perceptron()
    with pytest.raises(tvm.TVMError, match=r'Executor\("aot"\) writes C'):
        relay.build(mod, "c")
