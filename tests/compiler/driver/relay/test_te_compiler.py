"""The compiler of kernels: functions of operators become loops, equal ones once."""

import numpy as np

import compiler as tvm
from compiler import relay
from compiler.classic.relay.backend import te_compiler


def _function(*shape):
    x = relay.var("x", shape=shape)
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.add(relay.add(x, x), x)))
    return relay.transform.InferType()(mod)["main"]


def test_equal_functions_are_lowered_once_for_each_target():
    compiler = te_compiler.TECompiler()
    first = compiler.lower(_function(10), "llvm")
    assert first.same_as(compiler.lower(_function(10), "llvm"))
    assert not first.same_as(compiler.lower(_function(), "llvm"))
    assert not first.same_as(compiler.lower(_function(10), "llvm -mcpu=skylake"))
    assert [len(first.inputs), len(first.outputs)] == [1, 1]
    assert first.prim_fn_var.name_hint in {var.name_hint for var in first.funcs.get_global_vars()}
    compiler.clear()
    assert not first.same_as(compiler.lower(_function(10), "llvm"))


def test_a_compiled_function_computes():
    x = np.arange(10, dtype="float32")
    y = tvm.nd.array(np.zeros(10, "float32"))
    te_compiler.get().jit(_function(10), "llvm")(tvm.nd.array(x), y)
    np.testing.assert_allclose(y.numpy(), x * 3)


def test_a_function_becomes_blocks():
    func = te_compiler.lower_to_primfunc(_function(10), "llvm")
    sch = tvm.tir.Schedule(func)
    blocks = [sch.get(block).name_hint for block in sch.get_child_blocks(sch.get_block("root"))]
    assert len(blocks) == 2
    x, y = np.arange(10, dtype="float32"), tvm.nd.array(np.zeros(10, "float32"))
    tvm.build(func, target="llvm")(tvm.nd.array(x), y)
    np.testing.assert_allclose(y.numpy(), x * 3)


def test_what_was_made_is_listed_with_its_uses():
    compiler = te_compiler.TECompiler()
    key = te_compiler.CCacheKey(_function(10), tvm.target.Target("llvm"))
    made = compiler.lower(key)
    assert compiler.lower(_function(10), "llvm") is made
    ((listed, value),) = compiler.items()
    assert listed.source_func is key.source_func
    assert value.cached_func is made
    assert value.use_count == 2
    assert made.prim_func.attrs["global_symbol"] == made.prim_fn_var.name_hint


def test_a_call_as_tensor_expressions():
    a, b = relay.var("a", shape=(2, 8)), relay.var("b", shape=(4, 8))
    func = relay.transform.InferType()(tvm.IRModule.from_expr(relay.nn.dense(a, b)))["main"]
    inputs = [tvm.te.placeholder(te_compiler.get_shape(p.checked_type.shape)) for p in func.params]
    lowered = te_compiler.lower_call(func.body, inputs, tvm.target.Target("llvm"))
    assert [int(extent) for extent in lowered.outputs[0].shape] == [2, 4]
    assert lowered.implementation.name.startswith("dense")


def test_the_shape_of_unknown_extents():
    n = tvm.te.var("n")
    unknown, three, same = te_compiler.get_shape((relay.Any(), 3, n))
    assert [unknown.name, int(three)] == ["any_dim", 3]
    assert same is n
