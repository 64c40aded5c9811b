"""Serialises schedules for ``tvm.ir.save_json`` and ``pickle``: their outputs and the primitives applied.

Reading applies the primitives again.  :mod:`compiler.te.program` is another form, for programs that are not trusted.
"""

from __future__ import annotations

from dataclasses import fields

from compiler.ir.origin import NO_SPAN
from compiler.ir.serialization.codecs import Fields, register_codec
from compiler.te.scheduling.primitives import Primitive
from compiler.te.scheduling.replay import replay_onto
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import Stage

_FIELDS = tuple(f.name for f in fields(Primitive) if f.name != "span")


def _written(schedule: Schedule) -> Fields:
    calls = [[getattr(p, name) for name in _FIELDS] for p in schedule.primitives]
    return {"outputs": schedule.outputs, "primitives": calls}


def _read(written: Fields) -> Schedule:
    schedule = Schedule(written["outputs"])
    calls = [dict(zip(_FIELDS, call, strict=True)) for call in written["primitives"]]
    replay_onto(schedule, [Primitive(**call, span=NO_SPAN) for call in calls])
    return schedule


def _stage(written: Fields) -> Stage:
    """Return a stage of a schedule of its own; primitives that are applied again know stages by their operations."""
    return Schedule([written["op"]])[written["op"]]


register_codec(Schedule, "Schedule", _written, _read)
register_codec(Stage, "Stage", lambda stage: {"op": stage.origin_op}, _stage)
