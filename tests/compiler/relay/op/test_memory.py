"""Operators about the memory and the kernels of the virtual machine: types, texts and devices."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.inference.errors import TypeInferenceError
from compiler.relay.op import memory, vm

_CORE = tvm.IRModule()
_CORE.import_from_std("core.rly")
_STORAGE = relay.TypeCall(_CORE.get_global_type_var("Storage"), [])


def _typed(body, *params):
    mod = tvm.IRModule.from_expr(relay.Function(params, body))
    mod.import_from_std("core.rly")
    return relay.transform.InferType()(mod)


def _scalar(name):
    return relay.var(name, shape=(), dtype="int64")


def test_tensors_are_allocated_in_memory():
    size, alignment = _scalar("size"), _scalar("alignment")
    storage = memory.alloc_storage(size, alignment, tvm.cpu(), "float16")
    shape = relay.const(np.array([2, 3], "int64"))
    mod = _typed(memory.alloc_tensor(storage, relay.const(0, "int64"), shape, "float16"), size, alignment)
    assert mod["main"].ret_type == relay.TensorType((2, 3), "float16")
    assert mod["main"].body.args[0].checked_type == _STORAGE
    assert _typed(storage, size, alignment)["main"].ret_type == _STORAGE
    assert _typed(memory.kill(size), size)["main"].ret_type == relay.TupleType([])


def test_a_shape_that_is_computed_needs_extents():
    storage, shape = relay.Var("storage", _STORAGE), relay.var("shape", shape=(2,), dtype="int64")
    offset = relay.const(0, "int64")
    made = memory.alloc_tensor(storage, offset, shape, "int32", [4, 5])
    assert _typed(made, storage, shape)["main"].ret_type == relay.TensorType((4, 5), "int32")
    with pytest.raises(tvm.TVMError, match="assert_shape"):
        memory.alloc_tensor(storage, offset, shape)
    size = relay.var("size", shape=(), dtype="int32")
    with pytest.raises(TypeInferenceError, match="size must be a scalar of int64"):
        _typed(memory.alloc_storage(size, size, tvm.cpu()), size)


def test_kernels_write_to_memory():
    x, out = relay.var("x", shape=(4,)), relay.var("out", shape=(4,))
    kernel = relay.Function([p := relay.var("p", shape=(4,))], p + p)
    mod = _typed(vm.invoke_tvm_op(kernel, relay.Tuple([x]), relay.Tuple([out])), x, out)
    assert mod["main"].ret_type == relay.TupleType([])
    extents = relay.var("extents", shape=(1,), dtype="int64")
    call = vm.shape_func(kernel, relay.Tuple([vm.shape_of(x)]), relay.Tuple([extents]), [False])
    mod = _typed(call, x, extents)
    assert "is_input=[False]" in mod.astext()
    assert tvm.ir.structural_equal(relay.parse(mod.astext()), mod)
    with pytest.raises(TypeInferenceError, match="func must be a function"):
        _typed(vm.invoke_tvm_op(x, relay.Tuple([x]), relay.Tuple([out])), x, out)


def test_shapes_are_on_the_host():
    x = relay.var("x", shape=(2, 8))
    config = tvm.target.make_compilation_config(
        tvm.transform.PassContext(), [tvm.target.Target("cuda"), "llvm"], "llvm"
    )
    body = vm.shape_of(relay.annotation.on_device(x, tvm.cuda(), constrain_result=True))
    main = relay.transform.PlanDevices(config)(_typed(body, x))["main"]
    assert main.attrs["param_virtual_devices"][0].device_type == tvm.cuda().device_type
    assert main.attrs["result_virtual_device"].device_type == tvm.cpu().device_type


def test_nested_tuples_are_sequences_and_back():
    a, b, c = (relay.TensorType((n,)) for n in (1, 2, 3))
    nested = relay.TupleType([a, relay.TupleType([b, relay.TupleType([])]), c])
    assert memory.flatten_tuple_type(nested) == [a, b, c]
    value = relay.var("value", nested)
    again = memory.to_tuple_type(nested, memory.from_tuple_type(nested, value))
    assert _typed(again, value)["main"].ret_type == nested
    with pytest.raises(tvm.TVMError, match="3 expressions"):
        memory.to_tuple_type(nested, [value])
    with pytest.raises(tvm.TVMError, match="tensors and tuples"):
        memory.flatten_tuple_type(_STORAGE)
