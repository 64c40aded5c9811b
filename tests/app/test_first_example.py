"""The first example: its stored ladder is one of this script, climbs at every step, and ends beside NumPy."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from app.artifacts import Measurement
from app.gallery import load_gallery
from app.recorder.definitions import definition_of
from tests.benchmarks.stored_ladder import program_of


class Stored(msgspec.Struct):
    """A ladder that came with an example."""

    date: str
    measurements: list[Measurement]


def test_the_stored_ladder_is_of_the_first_example_and_climbs() -> None:
    example = load_gallery().first
    stored = msgspec.json.decode(example.ladder, type=Stored)
    program = program_of(example.script)
    rungs = [m for m in stored.measurements if m.kind == "prefix"]
    primitives = ["default", *program.primitives]
    assert [(m.step, m.name) for m in rungs] == [(0, "default")] + [
        (step, name) for step, name in enumerate(primitives) if step and not name.startswith("split")
    ]
    assert {m.definition for m in rungs} == {definition_of(program)}
    assert {(m.source, m.checked, m.disturbed) for m in rungs} == {("package", "ok", False)}
    rates = [m.gflops or 0.0 for m in rungs]
    assert min(after / before for before, after in pairwise(rates)) > 1.5
    [numpy] = [m.gflops for m in stored.measurements if m.kind == "numpy"]
    assert rates[-1] > 0.95 * (numpy or 0.0)
