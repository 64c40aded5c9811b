"""Buffers by expression: ``relay.backend._backend.GraphPlanMemory``."""

from __future__ import annotations

from compiler import relay
from compiler.classic.relay.backend.memory_plan import GraphPlanMemory
from compiler.ir import IRModule
from compiler.relay.transform import FuseOps, InferType


def test_a_chain_alternates_between_two_buffers() -> None:
    x = relay.var("x", shape=(10,))
    chain = [x]
    for _ in range(6):
        chain.append(relay.exp(chain[-1]))
    main = FuseOps(0)(InferType()(IRModule.from_expr(relay.Function([x], chain[-1]))))["main"]
    plan = GraphPlanMemory(main).expr_to_storage_info
    parameter = plan.pop(main.params[0])
    buffers = {info.storage_ids[0] for info in plan.values()}
    assert len(plan) == 6
    assert len(buffers) == 2
    assert parameter.storage_ids[0] not in buffers
    assert {size for info in plan.values() for size in info.storage_sizes} == {40}
    assert {device for info in plan.values() for device in info.device_types} == {1}
