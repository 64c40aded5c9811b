"""A schedule that was written as a script and run again has the same loops."""

from __future__ import annotations

from typing import Any

from hypothesis import given, note, reject
from hypothesis import strategies as st

from compiler.classic import alias
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.structural import structural_equal
from compiler.te.program import NotExpressible
from compiler.te.script import write_script
from tests.properties.te_programs import programs
from tests.properties.te_schedules import schedules
from tests.properties.test_te_schedules import relaxed


@given(st.data())
@relaxed
def test_a_script_makes_the_same_loops_as_the_schedule_that_it_spells_out(data: st.DataObject) -> None:
    alias.install()
    program = programs(data.draw)
    schedule = schedules(data.draw, program)
    args = [*program.inputs, *program.outputs]
    try:
        expected = lower(schedule, args)
        text = write_script(schedule, args)
    except (NotExpressible, TVMError):
        reject()
    note(text)
    script: dict[str, Any] = {}
    exec(text, script)
    assert [p.label for p in script["s"].primitives] == [p.label for p in schedule.primitives]
    assert structural_equal(lower(script["s"], script["args"]), expected)
