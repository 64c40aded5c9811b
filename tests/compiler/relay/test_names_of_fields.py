"""Constructors take fields by the names that TVM gives them, and expressions say where they are."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.dataflow_pattern import TupleGetItemPattern, TypePattern, VarPattern, wildcard
from compiler.classic.relay.with_fields import FunctionWithFields
from compiler.ir.diagnostics import override_renderer
from compiler.relay.expr import Let
from compiler.relay.inference.errors import TypeInferenceError

X = relay.var("x", shape=(3, 4))


def test_fields_by_their_names() -> None:
    let = Let(variable=X, value=relay.const(1.0), body=X)  # type: ignore[call-arg]
    assert let.var is X
    assert VarPattern(name_hint="x").match(X)
    assert not VarPattern(name_hint="y").match(X)
    assert TypePattern(pattern=wildcard(), ttype=relay.TensorType((3, 4))).match(X)
    pair = relay.Tuple([X, X])
    assert TupleGetItemPattern(tuple_value=wildcard(), index=1).match(relay.TupleGetItem(pair, 1))
    assert tvm.ir.Range(0, 4, None).extent.value == 4


def test_a_function_says_where_its_result_is() -> None:
    x, device = relay.var("x", shape=(3, 4)), tvm.target.VirtualDevice(tvm.cpu(0))
    func = relay.Function([x], relay.exp(x))
    anywhere = tvm.target.VirtualDevice()
    assert func.virtual_device_ == x.virtual_device_ == relay.exp(x).virtual_device_ == anywhere
    placed = FunctionWithFields(func, virtual_device=device)
    assert placed.virtual_device_ == device
    assert str(placed).startswith("fn (%x: Tensor[(3, 4), float32], virtual_device=VirtualDevice(device_type=1")
    assert tvm.ir.structural_equal(relay.parse_expr(placed.astext()), placed)


def test_bases_and_texts_of_names() -> None:
    assert issubclass(tvm.ir.RelayExpr, tvm.ir.BaseExpr)
    assert issubclass(tvm.tir.PrimExpr, tvm.ir.BaseExpr)
    assert relay.GlobalVar("f").astext().splitlines()[-1] == "@f"


def test_renderers_hear_which_types_differ() -> None:
    heard: list[str] = []
    override_renderer(lambda context: heard.extend(d.message for d in context.diagnostics))
    takes = relay.Function([relay.var("a", shape=(2, 4))], relay.const(1))
    try:
        with pytest.raises(TypeInferenceError):
            relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([X], relay.Call(takes, [X]))))
    finally:
        override_renderer(None)
    first, second = heard
    assert "Tensor[(3, 4), float32]" in first
    assert first.endswith("dimension 0 conflicts: 3 does not match 2.")
    assert second.endswith("In particular `Tensor[(2, 4), float32]` does not match `Tensor[(3, 4), float32]`")
