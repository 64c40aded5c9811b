"""Two recorded models whose kernels are timed in turns."""

from __future__ import annotations

import pytest

from app.artifacts import Options
from app.protocol import Failed, Message, ModelTimes, Progress, RecordedVariant, Request
from app.recorder.measuring import model_turns
from app.recorder.measuring.program_measurement import measure_program
from compiler.runtime.graph.graph_executor import GraphExecutor
from tests.app.recorder.measuring.test_model_searching import SEEDED, SMALL, answer, recorded


def timed(*texts: str) -> list[Message]:
    told: list[Message] = []
    variants = [RecordedVariant(label=f"model {at}", program=text) for at, text in enumerate(texts)]
    measure_program(Request(mode="measure", variants=variants, options=Options()), told.append)
    return told


def test_both_models_run_in_each_round_and_their_kernels_are_those_of_the_scripts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[GraphExecutor] = []
    run = model_turns._run

    def noted(executor: GraphExecutor) -> dict[str, float]:
        ran.append(executor)
        return run(executor)

    monkeypatch.setattr(model_turns, "_run", noted)
    monkeypatch.setattr(model_turns, "ROUNDS", 4)
    told = timed(recorded(SMALL), recorded(SEEDED))
    times = told[-1]
    assert isinstance(times, ModelTimes)
    assert times.rounds == 4
    first, second = dict.fromkeys(ran)
    assert ran == [first, second, second, first] * 2, "the one that was first is last the next time"
    for script, measured in zip((SMALL, SEEDED), times.models, strict=True):
        (unit,) = (unit for unit in answer(script).units if unit.kind == "graph")
        assert measured.keys() == {kernel.name for kernel in unit.kernels}
        assert all(0 < seconds < 1 for seconds in measured.values())
    assert [m.done for m in told if isinstance(m, Progress)][-1] == 4


def test_rounds_end_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_turns, "ROUNDS_SECONDS", 0.0)
    times = timed(recorded(SMALL), recorded(SMALL))[-1]
    assert isinstance(times, ModelTimes)
    assert times.rounds == model_turns.LEAST_ROUNDS


def test_what_cannot_be_run_is_said_with_its_model() -> None:
    device = recorded(SMALL.replace("llvm -mcpu=native", "webgpu"))
    told = timed(recorded(SMALL), device)[-1]
    assert isinstance(told, Failed)
    assert told.label == "model 1"
    assert "kernels of a device are not launched here" in told.problem.message
