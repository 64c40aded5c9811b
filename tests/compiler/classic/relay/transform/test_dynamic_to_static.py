"""Shapes that are arguments become known where they can be computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler.relay
from compiler.ir import IRModule
from compiler.ir.instrument import DerivationLog, instrumented
from compiler.relay import transform
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call
from compiler.relay.inference import TypeInferenceError, infer_module
from compiler.relay.ty import TensorType
from tests.compiler.relay.transform.meaning import run
from tests.compiler.relay.transform.programs import assert_same

relay: Any = compiler.relay

X = np.arange(12, dtype="float32").reshape(2, 6)


def _operators(mod: IRModule) -> set[str]:
    return {p.op.name for p in post_order(mod["main"]) if isinstance(p, Call)}


def _check(func: Any, result: TensorType, *args: Any) -> IRModule:
    """Check that all dynamic operators are gone, what the type is then, and that the value is what it was."""
    mod = infer_module(IRModule.from_expr(func))
    assert any(name.startswith("dyn.") for name in _operators(mod))
    done = transform.DynamicToStatic()(mod)
    assert not any(name.startswith("dyn.") for name in _operators(done))
    assert done["main"].ret_type == result
    assert_same(run(done, *args), run(mod, *args))
    assert transform.DynamicToStatic()(done) is done
    return done


def test_a_shape_that_is_computed_from_a_shape() -> None:
    x = relay.var("x", shape=(2, 6))
    turned = relay.reverse(relay.shape_of(x), axis=0)
    done = _check(relay.Function([x], relay.reshape(relay.exp(x), turned)), TensorType((6, 2)), X)
    assert _operators(done) == {"reshape", "exp"}


def test_whoever_listens_hears_of_each_replacement() -> None:
    x = relay.var("x", shape=(2, 6))
    dynamic = relay.reshape(relay.exp(x), relay.reverse(relay.shape_of(x), axis=0))
    mod = infer_module(IRModule.from_expr(relay.Function([x], relay.tanh(dynamic))))
    log = DerivationLog()
    with instrumented(log):
        done = transform.DynamicToStatic()(mod)
    assert [(d.before, d.after.op.name) for d in log.entries] == [(dynamic, "reshape"), (mod["main"].body, "tanh")]
    assert log.entries[-1].after is done["main"].body


def test_one_replacement_decides_the_next() -> None:
    x = relay.var("x", shape=(2, 6))
    once = relay.reshape(x, relay.shape_of(relay.transpose(x)))
    twice = relay.tile(once, relay.shape_of(relay.sum(once, axis=0, keepdims=True)))
    _check(relay.Function([x], twice), TensorType((6, 4)), X)


def test_names_of_shapes() -> None:
    x, shape, y = relay.var("x", shape=(2, 6)), relay.var("shape"), relay.var("y")
    later = relay.broadcast_to(relay.const(1.0), relay.shape_of(y))
    body = relay.Let(shape, relay.shape_of(x), relay.Let(y, relay.reshape(x, shape), relay.add(y, later)))
    _check(relay.Function([x], body), TensorType((2, 6)), X)


def test_branches() -> None:
    c, x = relay.var("c", "bool"), relay.var("x", shape=(2, 6))
    there = relay.reshape(x, relay.shape_of(x))
    body = relay.If(c, there, relay.exp(there))
    _check(relay.Function([c, x], body), TensorType((2, 6)), np.array(False), X)


def test_a_slice() -> None:
    x = relay.var("x", shape=(2, 6))
    end = relay.concatenate([relay.const(np.array([1])), relay.const(np.array([4]))], axis=0)
    ones = relay.const(np.array([1, 1]))
    part = relay.strided_slice(x, relay.const(np.array([0, 1])), end, ones)
    mod = transform.DynamicToStatic()(infer_module(IRModule.from_expr(relay.Function([x], part))))
    assert mod["main"].ret_type == TensorType((1, 3))


def test_what_depends_on_the_data_stays() -> None:
    x, shape = relay.var("x", shape=(2, 6)), relay.var("shape", shape=(2,), dtype="int64")
    mod = infer_module(IRModule.from_expr(relay.Function([x, shape], relay.reshape(x, shape))))
    assert transform.DynamicToStatic()(mod) is mod


def test_a_shape_whose_length_has_to_be_computed() -> None:
    x = relay.var("x", shape=(2, 6))
    shape = relay.shape_of(x)
    whole = relay.strided_slice(shape, [0], relay.shape_of(shape))
    mod = IRModule.from_expr(relay.Function([x], relay.full(relay.const(3.0), whole)))
    with pytest.raises(TypeInferenceError, match="the length of shape is the rank"):
        infer_module(mod)
    assert transform.DynamicToStatic()(mod)["main"].ret_type == TensorType((2, 6))


def test_of_branches_of_different_shapes_the_one_that_is_taken_stays() -> None:
    x = relay.var("x", shape=(2, 6))
    taken = relay.less(relay.take(relay.shape_of(x), relay.const(0)), relay.const(3))
    either = relay.If(taken, relay.reshape(x, (3, 4)), relay.reshape(x, (4, 3)))
    mod = transform.DynamicToStatic()(IRModule.from_expr(relay.Function([x], either)))
    assert mod["main"].ret_type == TensorType((3, 4))
    assert _operators(mod) == {"reshape"}


def test_what_fits_neither_before_nor_afterwards_is_refused() -> None:
    x = relay.var("x", shape=(2, 6))
    with pytest.raises(TypeInferenceError, match="reshape"):
        transform.DynamicToStatic()(IRModule.from_expr(relay.Function([x], relay.reshape(x, (5, 5)))))
