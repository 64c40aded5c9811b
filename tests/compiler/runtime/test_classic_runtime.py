"""What programs ask of built models and libraries under TVM's names."""

from __future__ import annotations

import ctypes
import functools
import json
from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.classic.contrib import cc, graph_executor
from compiler.classic.contrib.debugger import debug_executor
from compiler.ir.error import ArgumentError
from compiler.runtime.arrays.c_types import ArgTypeCode
from compiler.runtime.graph.factory import GraphExecutorFactory


@pytest.fixture(scope="module")
def model() -> GraphExecutorFactory:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    weights = tvm.nd.array(np.arange(12, dtype="float32").reshape(4, 3) - 6)
    return relay.build(mod, "llvm", params={"w": weights})


def test_a_model_describes_itself_by_functions(model: GraphExecutorFactory, tmp_path: Path) -> None:
    path = str(tmp_path / "model.so")
    model.export_library(path)
    loaded = tvm.runtime.load_module(path)
    assert json.loads(loaded["get_graph_json"]()) == json.loads(model.get_graph_json())
    assert set(loaded["get_graph_params"]()) == set(model.get_params())
    with pytest.raises(ArgumentError, match="got 'get_graph'"):
        model["get_graph"]


def test_the_debug_executor_is_made_of_a_factory(model: GraphExecutorFactory) -> None:
    created = model["debug_create"]("default", tvm.cpu())
    module = debug_executor.GraphModuleDebug(created, [tvm.cpu()], model.get_graph_json(), None)
    module.set_input("x", np.ones((2, 3), "float32"))
    module.run()
    expected = np.maximum((np.arange(12).reshape(4, 3) - 6).sum(1), 0)
    np.testing.assert_array_equal(module.get_output(0).numpy(), [expected, expected])


def test_arrays_are_inputs_and_outputs_without_a_copy(model: GraphExecutorFactory) -> None:
    module = graph_executor.GraphModule(model["default"](tvm.cpu()))
    x, y = tvm.nd.array(np.ones((2, 3), "float32")), tvm.nd.empty((2, 4))
    module.set_input_zero_copy("x", x)
    module.set_output_zero_copy(0, y)
    module.run()
    first = y.numpy()
    x.copyfrom(np.full((2, 3), 2, "float32"))
    module.run()
    np.testing.assert_array_equal(y.numpy(), first * 2)
    assert first.any()
    with pytest.raises(ArgumentError, match=r"value must be of float32 \(2, 3\), got float32 \(3, 2\)"):
        module.set_input_zero_copy("x", tvm.nd.empty((3, 2)))


@pytest.mark.parametrize("packed", [False, True])
def test_executors_share_their_parameters(model: GraphExecutorFactory, packed: bool) -> None:
    first, second = (graph_executor.GraphModule(model["default"](tvm.cpu())) for _ in range(2))
    params = relay.save_param_dict(model.get_params())
    if packed:
        second.module["share_params"](first.module, params)
    else:
        second.share_params(first, params)
    for name in model.get_params():
        assert second.get_input(name).address == first.get_input(name).address
    second.run(x=np.ones((2, 3), "float32"))
    assert second.get_output(0).numpy().any()


def test_objects_of_extension_classes_are_arrays() -> None:
    class View:
        _tvm_tcode = ArgTypeCode.DLTENSOR_HANDLE

        def __init__(self, array: tvm.nd.NDArray) -> None:
            self._tvm_handle = array._tvm_handle

    A = te.placeholder((2, 3), name="A", dtype="int64")
    B = te.compute((2, 3), lambda i, j: A[i, j] * 2, name="B")
    a, b = tvm.nd.array(np.arange(6).reshape(2, 3)), tvm.nd.empty((2, 3), "int64")
    tvm.build(te.create_schedule(B.op), [A, B], "llvm")(View(a), View(b))
    np.testing.assert_array_equal(b.numpy(), np.arange(6).reshape(2, 3) * 2)


@pytest.mark.skipif(cc.get_cc() is None, reason="no C compiler")
def test_a_library_of_the_process_has_its_functions(tmp_path: Path) -> None:
    A = te.placeholder((5,), name="A")
    objects = []
    for name, step in (("lib_one", 1.0), ("lib_two", 2.0)):
        B = te.compute((5,), functools.partial(lambda step, i: A[i] + step, step), name="B")
        objects.append(str(tmp_path / f"{name}.o"))
        tvm.build(te.create_schedule(B.op), [A, B], "llvm -system-lib", name=name).save(objects[-1])
    cc.create_shared(str(tmp_path / "lib.so"), objects)
    ctypes.CDLL(str(tmp_path / "lib.so"))
    a, b = tvm.nd.array(np.zeros(5, "float32")), tvm.nd.empty((5,))
    tvm.runtime.system_lib()["lib_one"](a, b)
    assert b.numpy()[0] == 1
    tvm.runtime.system_lib("lib_")["two"](a, b)
    assert b.numpy()[0] == 2
    with pytest.raises(ArgumentError, match="no library"):
        tvm.runtime.system_lib("nowhere_")


def test_what_tvm_interprets_is_compiled() -> None:
    A = te.placeholder((3,), name="A")
    B = te.compute((3,), lambda i: A[i] * 2, name="B")
    assert tvm.runtime.enabled("stackvm")
    a, b = tvm.nd.array(np.ones(3, "float32")), tvm.nd.empty((3,))
    tvm.build(te.create_schedule(B.op), [A, B], "stackvm")(a, b)
    assert b.numpy().tolist() == [2, 2, 2]


def test_a_tensor_of_the_virtual_machine_may_come_as_a_tuple_of_one() -> None:
    x = relay.var("x", "float32")
    mod = tvm.IRModule.from_expr(relay.Function([x], x + relay.const(1.0)))
    machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    assert machine.invoke("main", [np.array(2, "float32")]).numpy() == 3


@pytest.mark.skipif(cc.get_cc() is None, reason="no C compiler")
def test_functions_of_object_files_and_static_libraries(tmp_path: Path) -> None:
    A = te.placeholder((3,), name="A")
    B = te.compute((3,), lambda i: A[i] + 1, name="B")
    path = str(tmp_path / "one.o")
    tvm.build(te.create_schedule(B.op), [A, B], "llvm", name="one").save(path)
    a, b = tvm.nd.array(np.zeros(3, "float32")), tvm.nd.empty((3,))
    tvm.runtime.load_static_library(path, ["one"])["one"](a, b)
    assert b.numpy().tolist() == [1] * 3
    with pytest.raises(ArgumentError, match=r"has one, got \['two'\]"):
        tvm.runtime.load_static_library(path, ["two"])
    library = str(tmp_path / "libone.a")
    for _ in range(2):
        cc.create_staticlib(library, path)
    cc.create_shared(str(tmp_path / "libone.so"), [path])
    assert Path(library).read_bytes()[:8] == b"!<arch>\n"
    with pytest.raises(ArgumentError, match="is not an object file"):
        tvm.runtime.load_static_library(library, ["one"])


def test_shapes_equal_the_lists_of_their_extents() -> None:
    shape = tvm.runtime.ShapeTuple([1, 2, 3])
    assert shape == [1, 2, 3]
    assert shape == (1, 2, 3)
    assert shape != [1, 2]
    assert (str(shape), hash(shape)) == ("[1, 2, 3]", hash(tvm.runtime.ShapeTuple((1, 2, 3))))


def test_numbers_without_a_width_have_32_bits() -> None:
    assert [str(tvm.DataType(name)) for name in ("float", "int", "uint")] == ["float32", "int32", "uint32"]


def test_the_memory_of_a_device_is_global() -> None:
    assert tvm.nd.empty((2, 3), "int8", tvm.cpu(), mem_scope="global").shape == (2, 3)
    with pytest.raises(ArgumentError, match="mem_scope must be 'global'"):
        tvm.nd.empty((2, 3), mem_scope="global.texture")


def test_a_function_without_a_name_is_the_default_function() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1)
    unnamed = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    assert unnamed["default_function"] is unnamed["main"]
    assert unnamed.implements_function("default_function")
    named = tvm.build(te.create_schedule(B.op), [A, B], "llvm", name="add_one")
    assert not named.implements_function("default_function")
