"""Memory plans of random graphs: no value is overwritten while it is needed, and buffers are large enough."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compiler.driver.relay.graph import GraphProgram, KernelCall
from compiler.driver.relay.memory import plan_memory, type_bytes
from compiler.relay.ty import TensorType

_NO_FUNCTION: Any = None


@st.composite
def programs(draw: st.DrawFn) -> GraphProgram:
    """Calls that read any values before them; some are aliases of their input."""
    sizes = st.sampled_from([1, 2, 8, 64, 100, 4096])
    program = GraphProgram([TensorType((draw(sizes),)) for _ in range(draw(st.integers(1, 3)))])
    program.inputs = [(f"x{i}", i) for i in range(len(program.types))]
    for _ in range(draw(st.integers(0, 12))):
        values = st.integers(0, len(program.types) - 1)
        alias = draw(st.integers(0, 4)) == 0
        inputs = [draw(values)] if alias else draw(st.lists(values, min_size=1, max_size=3))
        types = (
            [program.types[inputs[0]]]
            if alias
            else [TensorType((draw(sizes),)) for _ in range(draw(st.integers(1, 2)))]
        )
        outputs = list(range(len(program.types), len(program.types) + len(types)))
        program.types += types
        program.calls.append(KernelCall(_NO_FUNCTION, inputs, outputs, alias=alias))
    program.outputs = draw(st.lists(st.integers(0, len(program.types) - 1), min_size=1, max_size=3))
    return program


@given(programs())
def test_values_live_as_long_as_they_are_read(program: GraphProgram) -> None:
    plan = plan_memory(program)
    holds: dict[int, int] = {plan.storage[v]: v for _, v in program.inputs}
    origin = list(range(len(program.types)))
    assert len(holds) == len(program.inputs)
    for call in program.calls:
        for value in call.inputs:
            assert holds[plan.storage[value]] == origin[value]
        if call.alias:
            origin[call.outputs[0]] = origin[call.inputs[0]]
            assert plan.storage[call.outputs[0]] == plan.storage[call.inputs[0]]
            continue
        read = {plan.storage[v] for v in call.inputs}
        for value in call.outputs:
            assert plan.storage[value] not in read
            holds[plan.storage[value]] = value
        assert len({plan.storage[v] for v in call.outputs}) == len(call.outputs)
    for value in program.outputs:
        assert holds[plan.storage[value]] == origin[value]
    assert all(type_bytes(t) <= plan.sizes[plan.storage[v]] for v, t in enumerate(program.types))


@given(programs())
def test_a_plan_says_what_it_saves(program: GraphProgram) -> None:
    plan = plan_memory(program)
    assert plan.inputs == sum(type_bytes(program.types[v]) for _, v in program.inputs)
    assert sum(plan.sizes) == plan.inputs + plan.shared
    assert plan.unshared == sum(type_bytes(program.types[v]) for c in program.calls if not c.alias for v in c.outputs)
    assert plan.shared <= plan.unshared
