"""ManifestAlloc writes down the memory of results, and the shapes that are computed for it."""

import compiler as tvm
from compiler import relay

UNKNOWN = relay.TensorType((relay.Any(), relay.Any()))


def _manifested(params, body):
    mod = tvm.IRModule.from_expr(relay.Function(params, body))
    passes = [relay.transform.InferType(), relay.transform.FuseOps(2), relay.transform.InferType()]
    return tvm.transform.Sequential([*passes, relay.transform.ManifestAlloc()])(mod)


def _lines(mod):
    """The names of variables and what operators their values are calls of."""
    lines, expr = [], mod["main"].body
    while isinstance(expr, relay.Let):
        if isinstance(expr.value, relay.Call):
            lines.append((expr.var.name_hint, expr.value.op.name))
        expr = expr.body
    return lines


def test_results_of_known_shape_get_storage_and_a_tensor_in_it():
    x = relay.var("x", shape=(4, 8))
    mod = _manifested([x], relay.nn.relu(relay.exp(x)))
    assert _lines(mod) == [
        ("storage_0", "memory.alloc_storage"),
        ("tensor_0", "memory.alloc_tensor"),
        ("_", "vm.invoke_tvm_op"),
    ]
    text = mod.astext(show_meta_data=False)
    assert "memory.alloc_storage(128i64 /* ty=int64 */, 64i64 /* ty=int64 */)" in text
    assert "(%tensor_0,)" in text
    tvm.ir.assert_structural_equal(mod["main"].ret_type, relay.TensorType((4, 8)))


def test_unknown_shapes_are_computed_from_those_of_the_arguments():
    x, y = relay.var("x", UNKNOWN), relay.var("y", UNKNOWN)
    lines = _lines(_manifested([x, y], x + y))
    assert lines[:2] == [("in_shape_0", "vm.shape_of"), ("in_shape_1", "vm.shape_of")]
    assert lines[4:] == [
        ("shape_func", "vm.shape_func"),
        ("size_0", "multiply"),
        ("storage_0", "memory.alloc_storage"),
        ("tensor_0", "memory.alloc_tensor"),
        ("_", "vm.invoke_tvm_op"),
    ]


def test_a_shape_that_values_decide_takes_the_values():
    x, shape = relay.var("x", shape=(4, 8)), relay.var("s", shape=(2,), dtype="int64")
    text = _manifested([x, shape], relay.reshape(relay.exp(x), shape)).astext(show_meta_data=False)
    assert "is_input=[False, True]" in text


def test_several_results_are_a_tuple_and_branches_have_their_own_memory():
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", UNKNOWN)
    parts = relay.split(x, 2, axis=0).astuple()
    mod = _manifested([c, x], relay.If(c, parts, relay.Tuple([x, relay.exp(x)])))
    branches = mod["main"].body.value
    assert len(_lines(tvm.IRModule.from_expr(branches.true_branch))) == 13
    text = mod.astext(show_meta_data=False)
    assert "(%tensor_0, %tensor_1)" in text
    assert text.count("vm.invoke_tvm_op") == 2


def test_the_virtual_machines_compiler_returns_it():
    x, y = relay.var("x", UNKNOWN), relay.var("y", UNKNOWN)
    optimised, _ = relay.vm.VMCompiler().optimize(tvm.IRModule.from_expr(relay.Function([x, y], x + y)), "llvm")
    assert "vm.shape_func" in optimised.astext(show_meta_data=False)
