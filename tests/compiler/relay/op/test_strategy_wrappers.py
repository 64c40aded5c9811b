"""Definitions of one's own as implementations: they get the operator's inputs, then its attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te, topi
from compiler.classic.relay import op_strategy as strategy_room
from compiler.classic.relay.op_strategy.wrappers import HANDED_ON, SCHEDULED
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import UnknownNameError
from compiler.relay.operator import relay_ops
from compiler.target.target import Target

strategy: Any = strategy_room


@pytest.mark.parametrize("name", sorted(HANDED_ON))
def test_the_attributes_are_the_operators(name: str) -> None:
    op, attributes = HANDED_ON[name]
    given = {attribute: attribute.upper() for attribute in attributes.split()}
    assert given.keys() <= set(relay_ops()[op].attributes)
    got: list[object] = []
    data = te.placeholder((2,), name="data")

    def define(*args: object) -> te.Tensor:
        got.extend(args)
        return data

    wrapped = getattr(strategy, f"wrap_compute_{name}")(define)
    assert wrapped(DictAttrs(given), [data, data], None) == [data]
    assert got == [data, data, *given.values()]


def test_a_definition_of_ones_own_computes() -> None:
    wrapped = strategy.wrap_compute_topk(topi.topk)
    data = te.placeholder((5,), name="data")
    attrs = DictAttrs(k=2, axis=-1, ret_type="values", is_ascend=False, dtype="int32")
    outs = wrapped(attrs, [data], None)
    built = tvm.build(strategy.schedule_injective(attrs, outs, Target("llvm")), [data, *outs], "llvm")
    values = tvm.nd.array(np.zeros(2, "float32"))
    built(tvm.nd.array(np.array([3, 9, 1, 7, 2], "float32")), values)
    np.testing.assert_array_equal(values.numpy(), [9, 7])


def test_names_are_those_of_the_tables() -> None:
    assert all(
        getattr(strategy.generic, f"schedule_{name}").__name__ == f"schedule_{name}" for name in SCHEDULED.split()
    )
    with pytest.raises((UnknownNameError, AttributeError)):
        _ = strategy.wrap_compute_nothing
    assert relay.op.strategy.conv2d_strategy is strategy.conv2d_strategy


def test_strategies_of_a_target_are_refused_with_the_place_of_the_general_ones() -> None:
    x86 = strategy.x86
    with pytest.raises(tvm.TVMError, match=r"x86\.conv2d_strategy_cpu is not available: .*strategy\.generic"):
        x86.conv2d_strategy_cpu(None, [], None, None)
