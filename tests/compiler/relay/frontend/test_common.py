"""What programs convert models with: ``tvm.relay.frontend.common``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.ir.error import OpNotImplemented

common: Any = relay.frontend.common


def _x(*shape: Any) -> relay.Var:
    return relay.var("x", shape=shape)


def test_types_and_shapes() -> None:
    double = relay.add(_x(2, 3), _x(2, 3))
    assert common.infer_type(double).checked_type == relay.TensorType((2, 3))
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
