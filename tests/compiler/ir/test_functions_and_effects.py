"""Modules and their functions under TVM's names, calling conventions, and effects of operators that programs set."""

from __future__ import annotations

from compiler import ir, tir
from compiler.ir.expr.primexpr import Var, const
from compiler.ir.module import IRModule
from compiler.ir.op import CallEffect, Op, register_op_attr
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, LetStmt
from compiler.tir.transform import RemoveNoOp


def _function(value: int) -> PrimFunc:
    return PrimFunc([], Evaluate(const(value)))


def test_a_clone_changes_alone() -> None:
    mod = IRModule({"main": _function(0), "a": _function(1)})
    clone = mod.clone()
    clone["new"] = _function(2)
    assert [var.name_hint for var, _ in clone.functions_items()] == ["a", "main", "new"]
    assert [func for _, func in mod.functions_items()] == [mod["a"], mod["main"]]


def test_a_function_gets_several_attributes_at_once() -> None:
    func = _function(0).with_attr("a", 1)
    both = func.with_attrs({"a": 2, "calling_conv": int(ir.CallingConv.DEVICE_KERNEL_LAUNCH)})
    assert (both.attrs["a"], both.attrs["calling_conv"]) == (2, 2)
    assert func.attrs["a"] == 1


def test_an_effect_that_a_program_sets_is_the_effect() -> None:
    register_op_attr("tir.effect_test", "TCallEffectKind", tir.CallEffectKind.Opaque, level=1)
    op = Op.get("tir.effect_test")
    assert op.effect is CallEffect.UPDATE_STATE
    call = tir.call_intrin("int32", "tir.effect_test", 1)
    func = PrimFunc([], LetStmt(Var("x", "int32"), call, Evaluate(call)))
    assert "effect_test" in str(RemoveNoOp()(IRModule({"main": func}))["main"])
    register_op_attr("tir.effect_test", "TCallEffectKind", tir.CallEffectKind.Pure, level=2)
    assert op.effect is CallEffect.PURE
    assert op.get_attr("TCallEffectKind") == tir.CallEffectKind.Pure
    assert "effect_test" not in str(RemoveNoOp()(IRModule({"main": func}))["main"])
