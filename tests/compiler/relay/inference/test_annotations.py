"""What inference writes into a module: the types of variables and of functions' results, on every level."""

from __future__ import annotations

import compiler as tvm
from compiler import relay
from compiler.relay.transform import InferType, Inline, ToANormalForm

TYPE = relay.TensorType((10, 20), "float32")


def test_nested_functions_get_their_types() -> None:
    x, p, q = relay.var("x", shape=(10, 20)), relay.var("p"), relay.var("q")
    inner = relay.Function([q], relay.exp(q))
    outer = relay.Function([p], relay.Call(inner, [p]))
    main = InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.Call(outer, [x]))))["main"]
    functions = [main, main.body.op, main.body.op.body.op]
    assert [f.ret_type for f in functions] == [TYPE] * 3
    assert [f.params[0].type_annotation for f in functions] == [TYPE] * 3
    assert all(f.checked_type == relay.FuncType([TYPE], TYPE) for f in functions)


def test_variables_of_let_get_their_types() -> None:
    x, y = relay.var("x", shape=(10, 20)), relay.var("y")
    main = InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.Let(y, relay.exp(x), y))))["main"]
    assert main.body.var.type_annotation == TYPE
    assert main.body.body is main.body.var


def test_a_module_with_all_types_stays_as_it_is() -> None:
    x, p = relay.var("x", shape=(10, 20)), relay.var("p")
    func = relay.Function([x], relay.Call(relay.Function([p], relay.exp(p)), [x]))
    mod = InferType()(tvm.IRModule.from_expr(func))
    again = InferType()(tvm.IRModule(dict(mod.functions)))
    assert again["main"] is mod["main"]


def test_inlining_writes_no_types() -> None:
    mod = tvm.IRModule({})
    x, p, gvar = relay.var("x", shape=(3,)), relay.var("p", shape=(3,)), relay.GlobalVar("g")
    mod[gvar] = relay.Function([x], relay.add(x, x)).with_attr("Inline", tvm.tir.IntImm("int32", 1))
    mod["main"] = relay.Function([p], gvar(p))
    expected = tvm.IRModule.from_expr(relay.Function([p], relay.add(p, p)))
    inlined = Inline()(mod)
    assert inlined["main"].ret_type is None
    tvm.ir.assert_structural_equal(inlined, expected)


def test_incomplete_type_of_a_variable_is_written_down() -> None:
    var = relay.Var("a", relay.IncompleteType())
    body = InferType()(tvm.IRModule.from_expr(relay.Let(var, relay.const(1), var + var)))["main"].body
    assert body.var.type_annotation == relay.scalar_type("int32")


def test_a_pass_over_a_module_without_types_adds_none() -> None:
    x, unused = relay.var("x", shape=(10, 20)), relay.var("unused")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Let(unused, relay.exp(x), x)))
    assert ToANormalForm()(mod)["main"].ret_type is None
    assert ToANormalForm()(InferType()(mod))["main"].ret_type == TYPE
