"""Operators that programs describe, and what attributes say about their fields."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.error import ArgumentError


def test_a_program_describes_an_operator() -> None:
    tvm.ir.register_op_attr("test.described", "note", 1)
    op = tvm.ir.Op.get("test.described")
    assert (op.num_inputs, op.support_level, op.attrs_type_key, op.arguments) == (-1, 10, "", ())
    op.set_num_inputs(1)
    op.add_argument("data", "Tensor", "What is described.")
    op.set_support_level(3)
    op.set_attrs_type_key("DictAttrs")
    assert (op.num_inputs, op.support_level, op.attrs_type_key) == (1, 3, "DictAttrs")
    assert [(a.name, a.type_info, a.description) for a in op.arguments] == [("data", "Tensor", "What is described.")]
    assert tvm.ir.Op.get("test.described").num_inputs == 1
    assert tvm.ir.Op.get("tir.exp").num_inputs == -1
    with pytest.raises(ArgumentError, match=r"test\.described takes no type relation 'Identity'"):
        op.add_type_rel("Identity")


def test_an_operator_is_written_as_its_name() -> None:
    assert tvm.ir.Op.get("nn.relu").astext().splitlines() == ['#[version = "0.0.5"]', "nn.relu"]


def test_attributes_say_what_their_fields_are() -> None:
    data, weight = relay.var("data", shape=(1, 3, 8, 8)), relay.var("weight", shape=(4, 3, 3, 3))
    fields = {field.name: field for field in relay.nn.conv2d(data, weight).attrs.list_field_info()}
    assert fields["groups"].type_info == "int, default=1"
    assert fields["strides"].type_info == "Array, default=[1, 1]"
    assert fields["channels"].type_info == "PrimExpr, default=(nullptr)"
    assert fields["data_layout"].type_info == "runtime.String, default=NCHW"
    assert fields["out_dtype"].type_info == "DataType, default=void"
    assert "element" in fields["dilation"].description
    assert [f.type_info for f in relay.clip(data, 0, 1).attrs.list_field_info()] == ["double", "double"]
    assert [f.type_info for f in relay.cast(data, "int8").attrs.list_field_info()] == ["DataType"]
