"""Models whose calls are compiled ahead of time: one function of loop IR calls the kernels."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, tir
from compiler.classic import tvmc
from compiler.classic.contrib import utils
from compiler.classic.relay.backend import Executor, Runtime
from compiler.ir.error import ArgumentError, BuildError
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.runtime.graph.aot_executor import AotModule
from compiler.runtime.graph.graph_module import GraphModule
from tests.machines import needs_c_compiler

AOT = Executor("aot", {"interface-api": "packed", "unpacked-api": False})


def _random(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("float32")


def _network():
    """Two layers with the same kernel shape, and results that share memory or are inputs."""
    x = relay.var("x", shape=(4, 64))
    first = relay.nn.relu(relay.nn.dense(x, relay.const(_random(64, 64))))
    second = relay.nn.relu(relay.nn.dense(first, relay.const(_random(64, 64)[::-1].copy())))
    last = relay.nn.softmax(second)
    flat = relay.reshape(last, (256,))
    return tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([last, x, flat, relay.sum(first), last])))


def _outputs(module, **inputs):
    module.set_input(**inputs)
    module.run()
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def _by_graph(mod, **inputs):
    return _outputs(GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu())), **inputs)


def test_results_are_those_of_the_graph_executor_whatever_is_a_result():
    mod, x = _network(), _random(4, 64)
    module = AotModule(relay.build(mod, "llvm", executor=AOT)["default"](tvm.cpu()))
    for got, expected in zip(_outputs(module, x=x), _by_graph(mod, x=x), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_arrays_of_bfloat16_stay_what_they_are(tmp_path):
    """Machine code takes their bits; what is copied to and from them is numbers."""
    x = relay.var("x", shape=(4, 8), dtype="bfloat16")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x) + relay.const(1.0, "bfloat16")))
    data = _random(4, 8).astype(numpy_dtype("bfloat16"))
    built = relay.build(mod, "llvm", executor=AOT)
    built.export_library(str(tmp_path / "model.so"))
    [wanted] = _by_graph(mod, x=data)
    for lib in (built, tvm.runtime.load_module(str(tmp_path / "model.so"))):
        [got] = _outputs(AotModule(lib["default"](tvm.cpu())), x=data)
        np.testing.assert_array_equal(got, wanted)


def test_running_again_with_other_inputs_leaves_nothing_of_the_first_run():
    mod = _network()
    module = AotModule(relay.build(mod, "llvm", executor=AOT)["default"](tvm.cpu()))
    _outputs(module, x=_random(4, 64))
    other = _random(4, 64) * 3
    for got, expected in zip(_outputs(module, x=other), _by_graph(mod, x=other), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_the_main_function_calls_each_kernel_and_allocates_what_is_neither_input_nor_result():
    built = relay.build(_network(), "llvm", executor=AOT)
    module = built.lowered_ir_mods[built.target]
    main = module["__tvm_main__"]
    assert main.attrs["global_symbol"] == "tvmgen_default___tvm_main__"
    callees, allocated = [], []

    def note(node):
        if isinstance(node, tir.Call) and isinstance(node.op, tvm.ir.GlobalVar):
            callees.append(node.op.name_hint)
        if isinstance(node, tir.Allocate):
            allocated.append(int(node.extents[0]))

    tir.stmt_functor.post_order_visit(main.body, note)
    assert len(callees) == 4
    assert callees[0] == callees[1]
    assert set(callees) == {var.name_hint for var in module.get_global_vars()} - {"__tvm_main__"}
    # The first layer's result is read by the second and by the sum, while the second's is there: two pieces.
    assert allocated == [4 * 64 * 4] * 2
    assert built.function_metadata["__tvm_main__"].workspace_sizes[built.target] == sum(allocated)
    assert not any(module[name].buffer_map for name in callees)


def test_what_is_known_of_functions_and_of_the_interface():
    built = relay.build(_network(), "llvm", executor=AOT, runtime=Runtime("cpp"), mod_name="net")
    assert built.libmod_name == "net"
    assert list(built.devices) == []
    described = built.executor_codegen_metadata
    assert (described.mod_name, described.executor, described.interface_api) == ("net", "aot", "packed")
    assert described.inputs == ["x"]
    assert described.outputs == [f"output{i}" for i in range(5)]
    assert [str(t) for t in described.input_tensor_types] == ["Tensor[(4, 64), float32]"]
    main = built.function_metadata["__tvm_main__"]
    assert main.io_sizes[built.target] == 4 * (4 * 64 * 5 + 1)
    assert main.constant_sizes[built.target] == 2 * 64 * 64 * 4
    dense = next(info for name, info in built.function_metadata.items() if "dense" in name)
    assert dense.io_sizes[built.target] == 4 * 64 * 4
    ir_mod, lib, params = built
    assert "nn.dense" in str(ir_mod)
    assert "tvmgen_net___tvm_main__" in lib.get_source()
    assert len(params) == 2


def test_an_exported_model_is_run_from_its_file():
    mod, x = _network(), _random(4, 64)
    folder = utils.tempdir()
    path = folder.relpath("model.so")
    relay.build(mod, "llvm", executor=AOT).export_library(path)
    loaded = tvm.runtime.load_module(path)
    module = AotModule(loaded["default"](tvm.cpu()))
    assert (module.get_num_inputs(), module.get_input_index("x"), module.get_input_index("y")) == (1, 0, -1)
    assert module.get_input_name(0) == "x"
    for got, expected in zip(_outputs(module, x=x), _by_graph(mod, x=x), strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(ArgumentError, match="this model's name is 'default'"):
        loaded["other"]


def test_the_command_line_compiles_and_runs_models_of_this_kind():
    mod, x = _network(), _random(4, 64)
    folder = utils.tempdir()
    package = tvmc.compile(tvmc.TVMCModel(mod, {}), "llvm", executor=AOT, package_path=folder.relpath("model.tar"))
    result = tvmc.run(package, "cpu", inputs={"x": x}, repeat=1, number=1)
    assert package.graph == ""
    assert len(result.times.results) == 1
    with tvm.transform.PassContext(opt_level=3):  # the level of the command line
        by_graph = _by_graph(mod, x=x)
    for got, expected in zip(result.outputs.values(), by_graph, strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(tvmc.TVMCException, match="profile"):
        tvmc.run(package, "cpu", inputs={"x": x}, profile=True)


def test_wrong_inputs_are_refused_by_name():
    module = AotModule(relay.build(_network(), "llvm", executor=AOT)["default"](tvm.cpu()))
    with pytest.raises(ArgumentError, match=r"'x' must have shape \(4, 64\), got \(3,\)"):
        module.set_input("x", _random(3))
    with pytest.raises(ArgumentError, match="no input 'y'; there are x"):
        module.set_input("y", _random(3))
    with pytest.raises(ArgumentError, match="int from 0 to 4"):
        module.get_output(5)
    with pytest.raises(ArgumentError, match="the model has 1 inputs, there is no input -1"):
        module.get_input_name(-1)


def test_the_interface_of_c_needs_its_runtime():
    executor = Executor("aot", {"interface-api": "c"})
    with pytest.raises(BuildError, match=r'\(got: 0\) and interface-api == "packed" \(got: c\) when targeting c\+\+'):
        relay.build(_network(), "llvm", executor=executor)
    with pytest.raises(BuildError, match="unpacked-api == true"):
        relay.build(_network(), "llvm", executor=executor, runtime=Runtime("crt"))
    unpacked = Executor("aot", {"interface-api": "c", "unpacked-api": True})
    built = relay.build(_network(), "llvm", executor=unpacked, runtime=Runtime("crt"))
    assert built.executor_codegen_metadata.unpacked_api


def test_an_operator_without_a_definition_is_named():
    x = relay.var("x", shape=(8,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.unique(x)[0]))
    with pytest.raises((ArgumentError, BuildError), match=r"unique|virtual machine"):
        relay.build(mod, "llvm", executor=AOT)


@needs_c_compiler
def test_an_exported_program_of_c_is_run_from_its_file_and_lists_its_model(tmp_path):
    mod, x = _network(), _random(4, 64)
    path = str(tmp_path / "model.so")
    relay.build(mod, "c", executor=AOT, mod_name="net").export_library(path, cc="gcc", options=["-std=c11"])
    loaded = tvm.runtime.load_module(path)
    assert loaded.get_function("list_module_names")() == ["net"]
    for got, expected in zip(_outputs(AotModule(loaded["net"](tvm.cpu())), x=x), _by_graph(mod, x=x), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
