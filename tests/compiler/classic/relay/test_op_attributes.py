"""Attributes that programs give to operators are read by passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.classic import alias
from compiler.classic.relay import op_attributes
from compiler.classic.testing.relay.passes import run_opt_pass
from compiler.classic.testing.relay.temp_op_attr import TempOpAttr
from compiler.ir.error import ArgumentError
from compiler.relay.interpreter import InterpreterError, apply_operator


def test_attributes_are_set_and_reset() -> None:
    relu = relay.op.get("nn.relu")
    assert relu.get_attr("TOpPattern") == relay.op.OpPattern.ELEMWISE
    assert relu.get_attr("tests.attribute") is None
    relu.set_attr("tests.attribute", 1, plevel=5)
    relu.set_attr("tests.attribute", 2, plevel=3)
    assert relu.get_attr("tests.attribute") == 1
    with pytest.raises(ArgumentError, match="is already set with plevel=5"):
        relu.set_attr("tests.attribute", 3, plevel=5)
    with TempOpAttr("nn.relu", "tests.attribute", 4):
        assert relu.get_attr("tests.attribute") == 4
    assert relu.get_attr("tests.attribute") == 1
    relu.reset_attr("tests.attribute")
    assert not relu.has_attr("tests.attribute")


def test_functions_are_registered_by_decorator() -> None:
    @tvm.ir.register_op_attr("nn.relu", "tests.supported")
    def supported(call: relay.Call) -> bool:
        return True

    relu = relay.op.get("nn.relu")
    assert relu.get_attr("tests.supported") is supported
    relu.reset_attr("tests.supported")
    assert "nn.relu" in relu.list_op_names()


def test_legalize_puts_other_calls_in_place() -> None:
    x = relay.var("x", shape=(2, 3))
    types: list[object] = []

    def clipped(attrs: object, inputs: Sequence[relay.Expr], of: Sequence[object]) -> relay.Expr:
        types.extend(of)
        return relay.maximum(inputs[0], relay.const(0.0))

    func = relay.Function([x], relay.nn.relu(relay.exp(x)))
    assert tvm.ir.structural_equal(
        run_opt_pass(func, relay.transform.Legalize()), run_opt_pass(func, relay.transform.InferType())
    )
    with TempOpAttr("nn.relu", "FTVMLegalize", clipped):
        made = run_opt_pass(func, relay.transform.Legalize())
    expected = relay.Function([x], relay.maximum(relay.exp(x), relay.const(0.0)))
    tvm.ir.assert_structural_equal(made, run_opt_pass(expected, relay.transform.InferType()))
    assert [str(t) for t in types] == ["Tensor[(2, 3), float32]"] * 2
    with (
        TempOpAttr("nn.relu", "FTVMLegalize", lambda attrs, inputs, of: relay.sum(inputs[0])),
        pytest.raises(ArgumentError, match="was replaced by an expression of type"),
    ):
        run_opt_pass(func, relay.transform.Legalize())


@pytest.mark.parametrize("alter", [True, False])
def test_layouts_follow_the_rules_of_programs(alter: bool) -> None:
    x, w = relay.var("x", shape=(1, 16, 8, 8)), relay.var("w", shape=(16, 16, 3, 3))
    func = relay.Function([x, w], relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1))))

    def last(attrs: tvm.ir.Attrs, inputs: Sequence[relay.Expr], types: object, rest: object) -> relay.Expr:
        options = {**dict(attrs), "data_layout": "NHWC", "kernel_layout": "HWIO"}
        return relay.nn.conv2d(*inputs, **options)

    passes = {
        True: ("FTVMAlterOpLayout", relay.transform.AlterOpLayout("llvm")),
        False: ("FTVMConvertOpLayout", relay.transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]})),
    }
    attribute, rewrite = passes[alter]
    with TempOpAttr("nn.conv2d", attribute, last), tvm.transform.PassContext(opt_level=3):
        made = run_opt_pass(func, rewrite)
    text = str(made)
    assert 'data_layout="NHWC"' in text
    assert text.count("layout_transform") == 3
    arrays = [np.random.rand(*(int(d) for d in v.type_annotation.shape)).astype("float32") for v in (x, w)]
    results = [relay.create_executor().evaluate(f)(*arrays).numpy() for f in (func, made)]
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)
    with (
        TempOpAttr("nn.conv2d", attribute, lambda attrs, inputs, *rest: relay.nn.relu(inputs[0])),
        tvm.transform.PassContext(opt_level=3),
        pytest.raises(ArgumentError, match="another call of as many arguments"),
    ):
        run_opt_pass(func, rewrite)


def test_functions_of_the_environment_are_known_by_name() -> None:
    tvm.register_func("tests.env", lambda x: x + 1, override=True)
    function = tvm.ir.EnvFunc.get("tests.env")
    assert function(1) == 2
    assert tvm.ir.structural_equal((function,), (tvm.ir.EnvFunc.get("tests.env"),))
    with pytest.raises(ArgumentError, match="no function is registered under"):
        tvm.ir.EnvFunc.get("tests.nothing")


def test_programs_reach_the_registrars_by_their_usual_names() -> None:
    alias.install()
    program = "from tvm.relay.op import op as _op, register_legalize\nassert _op.register_legalize is register_legalize"
    exec(program, {})


def test_registrars_set_the_attributes_of_passes() -> None:
    for register, attribute in (
        (op_attributes.register_legalize, "FTVMLegalize"),
        (op_attributes.register_alter_op_layout, "FTVMAlterOpLayout"),
        (op_attributes.register_convert_op_layout, "FTVMConvertOpLayout"),
    ):
        rule = register("exp")(lambda *args: None)
        assert relay.op.get("exp").get_attr(attribute) is rule
        relay.op.get("exp").reset_attr(attribute)


def test_programs_declare_operators_step_by_step() -> None:
    op = op_attributes.register("tests.halved", "Every second row.")
    op.set_num_inputs(1)
    op.add_argument("data", "Tensor", "A matrix.")
    op.set_attrs_type_key("DictAttrs")
    op.add_type_rel("tests.halved", lambda types, attrs: relay.TensorType((types[0].shape[0] // 2, 3), "float32"))
    op.set_support_level(3)
    op_attributes.register_pattern("tests.halved", op_attributes.OpPattern.INJECTIVE)
    op_attributes.register_stateful("tests.halved", False)
    assert (op.num_inputs, op.support_level, op.description) == (1, 3, "Every second row.")
    (argument,) = op.arguments
    assert (argument.name, argument.type_info, argument.description) == ("data", "Tensor", "A matrix.")
    assert op.attrs_type_key == "DictAttrs"
    assert (relay.op.get("exp").num_inputs, relay.op.get("ceil").support_level) == (1, 3)
    x = relay.var("x", shape=(8, 3))
    call = relay.Call(op, [relay.exp(x)])
    func = run_opt_pass(relay.Function([x], call), relay.transform.InferType())
    assert str(func.body.checked_type) == "Tensor[(4, 3), float32]"
    fused = run_opt_pass(relay.Function([x], call), relay.transform.FuseOps(fuse_opt_level=2))
    assert isinstance(fused.body.op, relay.Function)
    with pytest.raises(ArgumentError, match=r"operator tests\.halved is already registered"):
        op_attributes.register("tests.halved")
    with pytest.raises(ArgumentError, match="'Nothing' is not a type relation"):
        op.add_type_rel("Nothing")


def test_operators_say_what_they_take() -> None:
    convolution = tvm.ir.Op.get("nn.conv2d")
    assert [(a.name, a.type_info) for a in convolution.arguments] == [("data", "Tensor"), ("weight", "Tensor")]
    assert convolution.arguments[0].description
    keys = [tvm.ir.Op.get(name).attrs_type_key for name in ("nn.conv2d", "zeros", "concatenate", "add", "tir.exp")]
    assert keys == ["relay.attrs.Conv2DAttrs", "relay.attrs.InitOpAttrs", "relay.attrs.ConcatenateAttrs", "", ""]
    assert list(tvm.ir.Op.get("tir.exp").arguments) == []


def test_failures_of_a_programs_relation_reach_the_program() -> None:
    op = op_attributes.register("tests.broken")
    op.add_type_rel("tests.broken", lambda types, attrs: [][0])
    with pytest.raises(IndexError) as caught:
        run_opt_pass(relay.Call(op, [relay.var("x", shape=(2,))]), relay.transform.InferType())
    assert isinstance(caught.value, tvm.error.TVMError)
    op.add_type_rel("tests.broken", lambda types, attrs: None)
    with pytest.raises(tvm.error.TVMError, match="must return a type, returned None"):
        run_opt_pass(relay.Call(op, [relay.var("x", shape=(2,))]), relay.transform.InferType())


def test_shape_functions_are_attributes() -> None:
    op_attributes.register("tests.doubled_shape")

    @op_attributes.register_shape_func("tests.doubled_shape", True)
    def shapes(attrs: object, inputs: Sequence[object], out_ndims: Sequence[int]) -> list[object]:
        return []

    op = relay.op.get("tests.doubled_shape")
    assert op.get_attr("FShapeFunc") is shapes
    assert op.get_attr("TShapeDataDependent") is True


def test_an_operator_of_a_program_has_attributes_or_none() -> None:
    op = op_attributes.register("tests.scaled")
    seen = []

    def same(types: Sequence[object], attrs: object) -> object:
        seen.append(attrs)
        return types[0]

    op.add_type_rel("tests.scaled", same)
    op_attributes.register_compute(
        "tests.scaled",
        lambda attrs, ins, out: [te.compute(ins[0].shape, lambda *i: ins[0](*i) * attrs.get("scale", 2.0))],
    )
    op_attributes.register_injective_schedule("tests.scaled")
    op_attributes.register_pattern("tests.scaled", op_attributes.OpPattern.ELEMWISE)
    x = relay.var("x", shape=(3,))
    given = relay.Call(op, [x], tvm.ir.make_node("DictAttrs", scale=3.0))
    assert "scale=3f" in str(given)
    data = np.array([1, -2, 3], "float32")
    for call, factor in ((relay.Call(op, [x]), 2), (given, 3)):
        mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(call)))
        for kind in ("graph", "vm", "debug"):
            result = relay.create_executor(kind, mod=mod, target="llvm").evaluate()(data)
            np.testing.assert_array_equal(result.numpy(), np.maximum(data * factor, 0))
    assert seen[0] is None
    assert any(attrs is not None and attrs["scale"] == 3 for attrs in seen)


def test_small_names_of_graphs() -> None:
    builder = relay.ScopeBuilder()
    x = relay.var("x", shape=(2,))
    assert builder.type_of(x) == relay.TensorType((2,), "float32")
    assert builder.type_of(relay.nn.relu(x)) is None
    assert tvm.relay.ShapeVar("n").kind == relay.TypeKind.ShapeVar
    assert callable(tvm.relay.loops.while_loop)
    with pytest.raises(TypeError, match="astype cannot be used on tuple"):
        relay.split(x, 2).astype("int32")
    assert tvm.topi.random.threefry_test_wrapping("llvm", tvm.cpu())
    out = te.compute((4,), lambda i: i + 1, name="out")
    result = tvm.nd.array(np.zeros(4, "int32"))
    tvm.target.codegen.build_module(tvm.lower(te.create_schedule(out.op), [out]), "llvm")(result)
    np.testing.assert_array_equal(result.numpy(), [1, 2, 3, 4])
    assert tvm.tir.stmt.stmt_list(tvm.tir.stmt.stmt_seq(tvm.tir.Evaluate(1), tvm.tir.Evaluate(2)))[1].value == 2


def test_an_operator_without_any_definition_is_named() -> None:
    relay.op.op.register("test.undefined")
    with pytest.raises(InterpreterError, match=r"interpreter: test\.undefined\(.*\): the operator has neither"):
        apply_operator(relay.op.get("test.undefined"), {}, [np.ones(2, "float32")])


def test_an_attribute_that_does_not_exist_is_looked_up_as_a_name_or_as_a_key() -> None:
    attrs = relay.nn.conv2d(relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))).attrs
    assert attrs.get("stride") is None
    for error in (AttributeError, KeyError):
        with pytest.raises(error, match="have no attribute 'stride'; did you mean 'strides'"):
            attrs["stride"]
