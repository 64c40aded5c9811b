"""relay.build: models compute what NumPy computes, in less memory, and live on in files."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.driver.relay import kernels
from compiler.driver.relay.kernels import clear_cache
from compiler.driver.relay.lower import KernelDefinition
from compiler.ir.error import ArgumentError, TargetError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.op.sorting import SortAttrs
from compiler.relay.operator import OpPattern
from tests.machines import require

RNG = np.random.default_rng(7)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


def execute(lib: Any, **inputs: Any) -> list[Any]:
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.run(**inputs)
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def mlp() -> tuple[IRModule, dict[str, Any]]:
    x, w1, w2 = relay.var("x", shape=(3, 20)), relay.var("w1", shape=(32, 20)), relay.var("w2", shape=(10, 32))
    body = relay.nn.softmax(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w1)), w2))
    return IRModule.from_expr(relay.Function([x, w1, w2], body)), {"w1": normal(32, 20), "w2": normal(10, 32)}


def test_perceptron() -> None:
    module, params = mlp()
    x = normal(3, 20)
    expected = softmax(np.maximum(x @ params["w1"].T, 0) @ params["w2"].T)
    np.testing.assert_allclose(execute(relay.build(module, "llvm", params=params), x=x)[0], expected, rtol=1e-5)
    # Parameters may as well be given later.
    lib = relay.build(module, "llvm")
    np.testing.assert_allclose(execute(lib, x=x, **params)[0], expected, rtol=1e-5)


def test_convolutional_network() -> None:
    x, w = relay.var("x", shape=(1, 3, 9, 9)), relay.var("w", shape=(8, 3, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1), strides=(2, 2)))
    y = relay.nn.batch_flatten(relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2)))
    lib = relay.build(IRModule.from_expr(relay.Function([x, w], y)), "llvm")
    data, weight = normal(1, 3, 9, 9), normal(8, 3, 3, 3)
    padded = np.pad(data, [(0, 0), (0, 0), (1, 1), (1, 1)])
    convolved = np.zeros((1, 8, 5, 5), "float32")
    for i in range(5):
        for j in range(5):
            window = padded[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
            convolved[:, :, i, j] = np.tensordot(window, weight, ([1, 2, 3], [1, 2, 3]))
    relu = np.maximum(convolved, 0)[:, :, :4, :4]
    expected = relu.reshape(1, 8, 2, 2, 2, 2).max((3, 5)).reshape(1, 32)
    np.testing.assert_allclose(execute(lib, x=data, w=weight)[0], expected, rtol=1e-4, atol=1e-5)


def test_fused_kernels_have_the_names_of_their_operators() -> None:
    lib = relay.build(mlp()[0], "llvm")
    assert list(lib.kernels) == [
        "tvmgen_default_fused_nn_dense_nn_relu",
        "tvmgen_default_fused_nn_dense",
        "tvmgen_default_fused_nn_softmax",
    ]
    assert lib.kernels["tvmgen_default_fused_nn_dense"].bytes == 4 * (3 * 32 + 10 * 32 + 3 * 10)


def test_operations_and_bytes_of_a_kernel() -> None:
    x, y = relay.var("x", shape=(5, 8)), relay.var("y", shape=(5, 8))
    lib = relay.build(IRModule.from_expr(relay.Function([x, y], (x + y) * x)), "llvm")
    (kernel,) = lib.kernels.values()
    assert (kernel.flops, kernel.bytes) == (2 * 40, 4 * 120)


def chain(length: int) -> IRModule:
    """A chain of matrix products, of which no two fuse."""
    x, w = relay.var("x", shape=(8, 8)), relay.var("w", shape=(8, 8))
    y: Any = x
    for _ in range(length):
        y = relay.nn.dense(y, w)
    return IRModule.from_expr(relay.Function([x, w], y))


def test_equal_kernels_are_compiled_once_and_buffers_are_shared() -> None:
    lib = relay.build(chain(6), "llvm")
    assert len(lib.kernels) == 1
    assert lib.memory.unshared == 6 * 256
    assert lib.memory.shared == 2 * 256
    x, w = normal(8, 8), normal(8, 8)
    expected = x
    for _ in range(6):
        expected = expected @ w.T
    np.testing.assert_allclose(execute(lib, x=x, w=w)[0], expected, rtol=1e-3)


def test_outputs_keep_their_values() -> None:
    x, w = relay.var("x", shape=(4, 4)), relay.var("w", shape=(4, 4))
    a = relay.nn.dense(x, w)
    b = relay.nn.dense(a, w)
    c = relay.nn.dense(b, w)
    lib = relay.build(IRModule.from_expr(relay.Function([x, w], relay.Tuple([a, c, x, a]))), "llvm")
    data, weight = normal(4, 4), normal(4, 4)
    got = execute(lib, x=data, w=weight)
    first = data @ weight.T
    for value, wanted in zip(got, [first, first @ weight.T @ weight.T, data, first], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4)
    assert lib["default"](tvm.cpu(0)).get_input("x").numpy().shape == (4, 4)


def test_second_build_takes_kernels_from_the_cache() -> None:
    module, params = mlp()
    first = relay.build(module, "llvm", params=params)
    again = relay.build(mlp()[0], "llvm", params=params)
    assert [a.kernel for a in first.lib._named] == [b.kernel for b in again.lib._named]
    clear_cache()
    fresh = relay.build(module, "llvm", params=params)
    assert not {a.kernel for a in first.lib._named} & {b.kernel for b in fresh.lib._named}


class _Deciding(Instrument):
    """Has another kernel of each name that is given."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def kernel_defined(self, name: str, function: Any, definition: KernelDefinition) -> KernelDefinition | None:
        return replace(definition) if name in self.names else None


def test_only_the_kernels_that_instruments_decide_are_made_anew() -> None:
    module, params = mlp()
    usual = {named.name: named.kernel for named in relay.build(module, "llvm", params=params).lib._named}
    name = next(iter(usual))
    for deciding, anew in ((_Deciding(), set()), (_Deciding(name), {name})):
        with instrumented(deciding):
            built = relay.build(module, "llvm", params=params).lib._named
        assert {each.name for each in built if each.kernel is not usual[each.name]} == anew
    again = relay.build(module, "llvm", params=params).lib._named
    assert all(each.kernel is usual[each.name] for each in again), "what an instrument decided is kept for nobody else"


class _Watch(Instrument):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def graph_build_begin(self, module: Any, target: Any) -> None:
        self.seen.append("begin")

    def kernel_lowered(self, name: str, function: Any, outputs: Any, prim_func: Any) -> None:
        self.seen.append((name, len(outputs)))

    def graph_build_end(self, built: Any) -> None:
        self.seen.append("end")


def test_instruments_hear_of_every_kernel() -> None:
    relay.build(chain(2), "llvm")
    watch = _Watch()
    with instrumented(watch):
        relay.build(chain(2), "llvm")
    assert watch.seen == ["begin", ("tvmgen_default_fused_nn_dense", 1), "end"]


class _Later(_Watch):
    def compile_lazily(self) -> bool:
        return True


def test_kernels_are_lowered_when_they_are_called() -> None:
    module, params = mlp()
    watch, x = _Later(), normal(3, 20)
    with instrumented(watch), PassContext(opt_level=3, disabled_pass=["tir.VectorizeLoop"]):
        lib = relay.build(module, "llvm", params=params)
    assert watch.seen == ["begin", "end"]
    assert next(iter(lib.kernels.values())).flops == 2 * 3 * 20 * 32 + 3 * 32
    expected = softmax(np.maximum(x @ params["w1"].T, 0) @ params["w2"].T)
    np.testing.assert_allclose(execute(lib, x=x)[0], expected, rtol=1e-5)
    assert watch.seen == ["begin", "end", *((name, 1) for name in lib.kernels)]
    assert "vectorized" in str(next(iter(lib.kernels.values())).prim_func)  # as the context of the build has it


def test_kernels_that_a_user_takes_part_in_are_lowered_at_once() -> None:
    def refuse(func: Any, mod: Any, ctx: Any) -> Any:
        raise ArgumentError("a pass of the user's")

    refusing = tvm.tir.transform.prim_func_pass(refuse, opt_level=0)
    refused = pytest.raises(ArgumentError, match="a pass of the user's")
    with refused, instrumented(_Later()), PassContext(config={"tir.add_lower_pass": [(1, refusing)]}):
        relay.build(mlp()[0], "llvm")
    timing = tvm.ir.instrument.PassTimingInstrument()
    with instrumented(_Later()), PassContext(instruments=[timing]):
        relay.build(mlp()[0], "llvm")
        assert "tir.VectorizeLoop" in timing.render()


def test_unpacks_as_graph_library_and_parameters() -> None:
    module, params = mlp()
    graph, lib, kept = relay.build(module, "llvm", params=params)
    assert sorted(v.shape for v in kept.values()) == [(10, 32), (32, 20)]
    executor = graph_executor.create(graph, lib, tvm.cpu(0))
    executor.load_params(tvm.runtime.save_param_dict(kept))
    x = normal(3, 20) / 16  # logits near one: exp multiplies the rounding of large ones
    executor.run(x=x)
    expected = softmax(np.maximum(x @ params["w1"].T, 0) @ params["w2"].T)
    np.testing.assert_allclose(executor.get_output(0).numpy(), expected, rtol=1e-5)
    nodes = json.loads(graph)["nodes"]
    assert [n["op"] for n in nodes] == ["null"] * 3 + ["tvm_op"] * 3


_LOAD = """\
import sys, numpy as np
import compiler as tvm
from compiler.classic.contrib import graph_executor
lib = tvm.runtime.load_module(sys.argv[1])
executor = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
executor.set_input("x", np.load(sys.argv[2]))
executor.run()
np.save(sys.argv[3], executor.get_output(0).numpy())
assert "compiler.relay" not in sys.modules and "compiler.te" not in sys.modules
"""


@pytest.mark.parametrize("file", ["model.so", "model.o"])
def test_exported_model_runs_in_another_process(tmp_path: Path, file: str) -> None:
    module, params = mlp()
    lib = relay.build(module, "llvm", params=params)
    lib.export_library(tmp_path / file)
    x = normal(3, 20)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "load.py").write_text(_LOAD)
    command = [sys.executable, "load.py", file, "x.npy", "y.npy"]
    environment = {"PYTHONPATH": str(Path(tvm.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), execute(lib, x=x)[0])


def test_damaged_export_is_refused(tmp_path: Path) -> None:
    module, params = mlp()
    path = tmp_path / "model.so"
    relay.build(module, "llvm", params=params).export_library(path)
    content = bytearray(path.read_bytes())
    content[content.index(b"\x00strata params\x00") + 100] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match="damaged"):
        tvm.runtime.load_module(path)


def test_batch_norm_becomes_arithmetic() -> None:
    x = relay.var("x", shape=(1, 2, 3, 3))
    stats = [relay.var(n, shape=(2,)) for n in ("gamma", "beta", "mean", "variance")]
    y = relay.nn.batch_norm(x, *stats)[0]
    lib = relay.build(IRModule.from_expr(relay.Function([x, *stats], y)), "llvm")
    data = normal(1, 2, 3, 3)
    values = {v.name_hint: np.abs(normal(2)) + 0.5 for v in stats}
    g, b, m, v = (values[n].reshape(1, 2, 1, 1) for n in ("gamma", "beta", "mean", "variance"))
    expected = (data - m) / np.sqrt(v + 1e-5) * g + b
    np.testing.assert_allclose(execute(lib, x=data, **values)[0], expected, rtol=1e-4, atol=1e-5)


def test_operator_without_tensor_expressions_runs_through_numpy() -> None:
    from compiler.ir.op import _REGISTRY
    from compiler.relay.op_registry import register

    try:
        register(
            "test.sorted",
            doc="Sorts along an axis.",
            inputs={"data": "The array."},
            attrs=SortAttrs,
            relation=lambda types, attrs: types[0],
            pattern=OpPattern.OPAQUE,
            reference=lambda attrs, data: np.sort(data, attrs.axis),
        )
        x = relay.var("x", shape=(4, 5))
        sort: Any = tvm.ir.Op.get("test.sorted")
        y = relay.nn.relu(sort(relay.nn.relu(x), axis=0))
        lib = relay.build(IRModule.from_expr(relay.Function([x], y)), "llvm")
        data = normal(4, 5)
        np.testing.assert_array_equal(execute(lib, x=data)[0], np.sort(np.maximum(data, 0), 0))
        assert '"operator": "test.sorted"' in lib.graph_json
    finally:
        _REGISTRY.pop("test.sorted", None)


def test_functions_that_are_called_are_part_of_the_graph() -> None:
    y = relay.var("y", shape=(3,))
    square = relay.Function([y], y * y)
    x = relay.var("x", shape=(3,))
    body = relay.Tuple([relay.Call(square, [x]), relay.Call(square, [relay.negative(relay.nn.relu(x))])])
    data = normal(3)
    first, second = execute(relay.build(IRModule.from_expr(relay.Function([x], body)), "llvm"), x=data)
    np.testing.assert_allclose(first, data * data, rtol=1e-6)
    np.testing.assert_allclose(second, np.maximum(data, 0) ** 2, rtol=1e-6)


def test_results_of_other_shapes_and_types_share_memory() -> None:
    x, flags = relay.var("x", shape=(2, 6)), relay.var("flags", shape=(3,), dtype="bool")
    y = relay.negative(x)
    named = relay.var("named")
    body = relay.Tuple([relay.reshape(y, (3, 4)), y, relay.logical_not(flags), relay.sum(y), x])
    main = relay.Function([x, flags], relay.Let(named, relay.nn.relu(x), relay.Tuple([named + named, body])))
    data, bits = normal(2, 6), np.array([True, False, True])
    got = execute(relay.build(IRModule.from_expr(main), "llvm"), x=data, flags=bits)
    wanted = [np.maximum(data, 0) * 2, -data.reshape(3, 4), -data, ~bits, (-data).sum(), data]
    for value, expected in zip(got, wanted, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5)


@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "skylake-avx512", "sapphirerapids"])
def test_each_operation_on_bfloat16_is_rounded(cpu: str) -> None:
    """Also inside of a kernel, so that fusing changes no value."""
    x = relay.var("x", shape=(4,))
    narrow = relay.cast(x, "bfloat16")
    body = relay.cast(relay.nn.relu(narrow + narrow) * relay.const(1.00390625, "bfloat16"), "float32")
    lib = relay.build(IRModule.from_expr(relay.Function([x], body)), f"llvm -mcpu={cpu}")
    assert len(lib.kernels) == 1
    require(f"llvm -mcpu={cpu}")
    got = execute(lib, x=np.array([1.0, 1.00390625, -3.0, 256.5], "float32"))[0]
    np.testing.assert_array_equal(got, [2.0, 2.0, 0.0, 512.0])  # seven bits of fraction


def test_types_without_machine_code_run_through_numpy() -> None:
    x = relay.var("x", shape=(4,))
    narrow = relay.cast(x, "e4m3_float8")
    lib = relay.build(IRModule.from_expr(relay.Function([x], relay.cast(narrow, "float32"))), "llvm")
    got = execute(lib, x=np.array([1.0, 1.0625, -3.0, 200.5], "float32"))[0]
    np.testing.assert_array_equal(got, [1.0, 1.0, -3.0, 208.0])  # three bits of fraction
    assert not lib.kernels


def test_optimising_without_building() -> None:
    module, params = mlp()
    optimised, left = relay.optimize(module, "llvm", params)
    assert [p.name_hint for p in optimised["main"].params] == ["x"]
    assert left == {}
    assert optimised["main"].body.op.attrs.Primitive == 1
    bound = relay.build_module.bind_params_by_name(module["main"], {"w2": params["w2"], "other": 3})
    assert [p.name_hint for p in bound.params] == ["x", "w1"]


def test_highest_level_computes_the_same() -> None:
    module, params = mlp()
    x = normal(3, 20)
    with PassContext(opt_level=4):
        lib = relay.build(module, "llvm", params=params)
    expected = softmax(np.maximum(x @ params["w1"].T, 0) @ params["w2"].T)
    np.testing.assert_allclose(execute(lib, x=x)[0], expected, rtol=1e-4)


def test_parameter_of_another_shape_is_refused() -> None:
    module, params = mlp()
    with pytest.raises(ArgumentError, match=r"w1.*must be Tensor\[\(32, 20\), float32\], got shape \(3, 3\)"):
        relay.build(module, "llvm", params={**params, "w1": normal(3, 3)})


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"relay.build: mod must be an IRModule"):
        relay.build(3, "llvm")
    with pytest.raises(ArgumentError, match="must have a function 'main'"):
        relay.build(IRModule({}), "llvm")
    with pytest.raises(TargetError, match="target 'hexagon' is not supported"):
        relay.build(mlp()[0], "hexagon")


def test_control_flow_needs_the_virtual_machine() -> None:
    x, c = relay.var("x", shape=(2,)), relay.var("c", "bool")
    module = IRModule.from_expr(relay.Function([c, x], relay.If(c, relay.nn.relu(x), x)))
    with pytest.raises(ArgumentError, match=r"virtual machine \(relay.vm.compile, .*\): a branch \(if\) is chosen"):
        relay.build(module, "llvm")
    square, v = relay.var("square"), relay.var("v", shape=(2,))
    twice = relay.Let(square, relay.Function([v], relay.multiply(v, v)), square(square(x)))
    with pytest.raises(ArgumentError, match=r"virtual machine .*: a function, such as the body of a loop, is called"):
        relay.build(IRModule.from_expr(relay.Function([x], twice)), "llvm")


def test_the_memory_that_functions_need() -> None:
    x, w = relay.var("x", shape=(4, 64)), relay.const(np.ones((64, 64), "float32"))
    hidden = relay.nn.softmax(relay.nn.dense(x, w))
    built = relay.build(relay.Function((x,), relay.nn.softmax(relay.nn.dense(hidden, w))), "llvm")
    known = built.function_metadata
    assert set(known) == {"__tvm_main__", *built.kernels}
    main = known.pop("__tvm_main__")
    assert list(main.io_sizes.values()) == [2 * 4 * 64 * 4]
    assert list(main.constant_sizes.values()) == [64 * 64 * 4]
    # Both products are in one buffer, and the first softmax is where the result will be.
    assert list(main.workspace_sizes.values()) == [4 * 64 * 4]
    for name, info in known.items():
        assert list(info.io_sizes.values()) == [4 * 64 * 4]
        assert list(info.tir_primfuncs.values()) == [built.kernels[name].prim_func]


def test_several_kernels_for_each_channel_whatever_passes_run() -> None:
    x, w = relay.var("x", shape=(1, 5, 5, 3)), normal(2, 2, 3, 2)
    body = relay.nn.conv2d(x, relay.const(w), groups=3, data_layout="NHWC", kernel_layout="HWOI")
    mod, data = IRModule.from_expr(relay.Function([x], body)), normal(1, 5, 5, 3)
    expected = np.zeros((1, 4, 4, 6), "float32")
    for i, j, c, m in np.ndindex(4, 4, 3, 2):
        expected[0, i, j, 2 * c + m] = np.sum(data[0, i : i + 2, j : j + 2, c] * w[:, :, c, m])
    for executor in ("graph", "aot"):
        with PassContext(opt_level=0, disabled_pass=["SimplifyInference"]):
            found = relay.create_executor(executor, mod=mod, target="llvm").evaluate()(data).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_definition_of_another_shape_than_the_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x = relay.var("x", shape=(4, 6))
    op = relay.op.get("nn.relu")
    clear_cache()
    monkeypatch.setattr(op, "compute", lambda attrs, inputs, out_type: [tvm.topi.sum(inputs[0], axis=1)])
    with pytest.raises(
        ArgumentError, match=r"nn.relu has type Tensor\[\(4, 6\), float32\], .* definition shape \(4,\)"
    ):
        relay.build(IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), "llvm")


def test_a_build_that_fails_spoils_no_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object) -> Any:
        raise ArgumentError("no code for this one")

    def slow(*args: Any) -> Any:
        sleep(0.1)  # so that some kernels are still to be compiled when the build fails
        return generate(*args)

    generate = kernels._generate

    x = relay.var("x", shape=(4, 6))
    functions = {"tanh": np.tanh, "sin": np.sin, "cos": np.cos, "exp": np.exp, "negative": np.negative, "abs": np.abs}
    good = [getattr(relay, name)(x) for name in functions]
    clear_cache()
    with monkeypatch.context() as patched:
        patched.setattr(relay.op.get("nn.softmax"), "compute", refused)
        patched.setattr(kernels, "_generate", slow)
        with pytest.raises(ArgumentError, match="no code"), PassContext(opt_level=0):
            relay.build(IRModule.from_expr(relay.Function([x], relay.Tuple([*good, relay.nn.softmax(x)]))), "llvm")
    with PassContext(opt_level=0):
        lib = relay.build(IRModule.from_expr(relay.Function([x], relay.Tuple(good))), "llvm")
    data = normal(4, 6)
    for found, function in zip(execute(lib, x=data), functions.values(), strict=True):
        np.testing.assert_allclose(found, function(data), rtol=1e-5, atol=1e-6)
