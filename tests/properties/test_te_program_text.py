"""A program that was written as text and read again is the same program; a text that was damaged is refused."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, note, reject
from hypothesis import strategies as st

from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_equal
from compiler.te.program import read_program, write_program
from compiler.te.scheduling.schedule import Schedule
from tests.properties.te_programs import Program, pick, programs
from tests.properties.te_schedules import schedules
from tests.properties.test_te_schedules import relaxed, run


def lowered(schedule: Schedule, args: list[Any]) -> IRModule | str:
    """Return the loops of a schedule, or why there are none."""
    try:
        return lower(schedule, args)
    except TVMError as error:
        return str(error)


@given(st.data())
@relaxed
def test_a_program_read_from_its_text_has_the_same_loops(data: st.DataObject) -> None:
    program = programs(data.draw)
    schedule = schedules(data.draw, program)
    args = [*program.inputs, *program.outputs]
    text = write_program(schedule, args, "llvm -mcpu=haswell", "kernel")
    note(text)
    read = read_program(text)
    assert (read.target, read.name) == ("llvm -mcpu=haswell", "kernel")
    assert [p.label for p in read.schedule.primitives] == [p.label for p in schedule.primitives]
    before, after = lowered(schedule, args), lowered(read.schedule, list(read.args))
    if isinstance(before, str):
        assert before == after
    else:
        assert structural_equal(before, after)
    assert write_program(read.schedule, read.args, read.target, read.name) == text


@given(st.data())
@relaxed
def test_every_prefix_of_a_program_read_from_its_text_computes_what_numpy_computes(data: st.DataObject) -> None:
    program = programs(data.draw, stages=2)
    schedule = schedules(data.draw, program, steps=4)
    read = read_program(write_program(schedule, [*program.inputs, *program.outputs]))
    count = data.draw(st.integers(0, len(read.schedule.primitives)))
    prefix, mapped = read.schedule.replay(count)
    args = [mapped(a) for a in read.args]
    inputs = args[: len(program.inputs)]
    made = Program(inputs, [t for t in args if t not in inputs])
    run(prefix, made, made.outputs)


@given(st.data())
@relaxed
def test_a_damaged_text_is_refused_by_an_error_of_the_project(data: st.DataObject) -> None:
    program = programs(data.draw)
    schedule = schedules(data.draw, program)
    document = json.loads(write_program(schedule, [*program.inputs, *program.outputs]))
    for _ in range(data.draw(st.integers(1, 3))):
        damage(data.draw, document)
    note(json.dumps(document))
    try:
        read = read_program(json.dumps(document))
    except TVMError:
        return
    lowered(read.schedule, list(read.args))


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 40)
    | st.sampled_from([2**31, 2**63, -1.5, 1e300, "int8", "i", "", "x" * 2_000]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["rows", "roots", "value", "axis", "stage", "tuple"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def damage(draw: Any, document: Any) -> None:
    """Replace, remove, repeat or exchange something, anywhere in a document."""
    places = list(every_place(document))
    if not places:
        reject()
    container, key = pick(draw, places)
    match draw(st.integers(0, 4)):
        case 0:
            container[key] = draw(JUNK)
        case 1:
            del container[key]
        case 2:
            other, there = pick(draw, places)
            container[key] = json.loads(json.dumps(other[there]))
        case 3 if isinstance(container, list):
            container.insert(key, container[key])
        case _ if isinstance(container[key], int):
            container[key] += draw(st.sampled_from([-1, 1]))


def every_place(value: Any) -> Any:
    """Yield each list or object within a document with each of its indices or names."""
    if isinstance(value, (list, dict)):
        for key in range(len(value)) if isinstance(value, list) else list(value):
            yield value, key
            yield from every_place(value[key])
