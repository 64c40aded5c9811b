"""What programs convert models with: ``tvm.relay.frontend.common``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.ir.error import ArgumentError, OpNotImplemented
from compiler.ir.op import Op
from compiler.ir.transform import PassContext

common: Any = relay.frontend.common


def _x(*shape: Any) -> relay.Var:
    return relay.var("x", shape=shape)


def test_types_and_shapes() -> None:
    double = relay.add(_x(2, 3), _x(2, 3))
    assert common.infer_type(double).checked_type == relay.TensorType((2, 3))
    assert common.infer_type(relay.Function(relay.analysis.free_vars(double), double)).ret_type == double.checked_type
    assert common.infer_shape(double) == (2, 3)
    assert common.infer_shape(relay.Tuple([_x(1)])) == relay.TupleType([relay.TensorType((1,))])
    assert (common.infer_channels(_x(8, 3, 2, 2)), common.infer_channels(_x(8, 3, 2, 2), True)) == (8, 3)


def test_values_of_known_expressions() -> None:
    one = np.ones((2, 3), "float32")
    assert common.infer_value(relay.add(_x(2, 3), relay.const(1.0)), {"x": one}).numpy().tolist() == (one + 1).tolist()
    with pytest.raises(AssertionError, match="x have no value"):
        common.infer_value(_x(2), {})
    seven = relay.add(relay.const(3), relay.const(4))
    assert common.try_infer_value(seven, on_success=int) == (7, True)
    assert common.try_infer_value(_x(2), on_failure=lambda: "none") == ("none", False)
    assert common.fold_constant(seven).data.numpy() == 7
    resolved = common.try_resolve_var_to_const(_x(2, 3), {"x": one})
    assert resolved.data.numpy().tolist() == one.tolist()


def test_slices_and_scalars() -> None:
    rows = [common.infer_shape(row) for row in common.unbind(_x(2, 3))]
    assert rows == [(3,), (3,)]
    assert common.infer_shape(common.ensure_scalar_shape(relay.const([[1]]))) == ()
    with pytest.raises(AssertionError, match=r"\(2,\)"):
        common.ensure_scalar_shape(relay.const([1, 2]))
    assert common.to_int_list(np.array([1, 2])) == [1, 2]


def test_operators_by_their_last_name() -> None:
    assert common.get_relay_op("conv2d") is relay.nn.conv2d
    assert common.get_relay_op("add") is relay.add
    with pytest.raises(OpNotImplemented, match="nosuch"):
        common.get_relay_op("nosuch")
    assert (common.get_name(_x(1)), common.get_name(relay.const(1))) == ("x", "")
    assert common.new_var("v", shape=(1,)).type_annotation == relay.TensorType((1,))


def _sources(graph: Any) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []

    def visit(expr: Any) -> None:
        if not isinstance(expr, Op):
            name = expr.span.source_name.name if isinstance(expr.span, relay.Span) else None
            found.append((type(expr).__name__, name))

    relay.analysis.post_order_visit(graph, visit)
    return found


def test_spans_are_given_to_what_has_none() -> None:
    x, y = (relay.var(name, shape=(2,)) for name in "xy")
    inner = common.set_span(relay.add(x, relay.const(1.0)), "inner")
    whole = common.set_span(relay.multiply(inner, y), "outer")
    names = dict.fromkeys(_sources(whole))
    assert list(names) == [
        ("Var", "inner"), ("Constant", "inner"), ("Call", "inner"), ("Var", "outer"), ("Call", "outer"),
    ]  # fmt: skip
    function = common.set_span(relay.Function([x], relay.nn.relu(x)), "f")
    assert _sources(function) == [("Var", "f"), ("Call", "f"), ("Function", "f")]
    assert function.body.args[0] is function.params[0]


def test_spans_of_several_graphs() -> None:
    span = relay.Span(relay.SourceName("mine"), 1, 1, 2, 3)
    one, two = common.set_span((relay.const(1), relay.const(2)), span)
    assert one.span == two.span == span == relay.const(3, span=span).span
    parts = common.set_span(relay.split(relay.var("x", shape=(2,)), 2), "parts")
    assert (len(parts), _sources(parts.astuple())) == (2, [("Var", "parts"), ("Call", "parts")])
    graph = relay.const(1)
    with PassContext(config={"relay.frontend.fill_span": False}):
        assert common.set_span(graph, "none") is graph
    with pytest.raises(ArgumentError, match="sym must be an expression"):
        common.set_span({}, "none")
