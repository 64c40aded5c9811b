"""A search over a recorded model: its kernels are those of the script's build, which is built with what was found."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from app.artifacts import Answer, Mode, Options
from app.protocol import Failed, Message, RecordedFunction, Request, Snapshot
from app.recorder.measuring import model_searching
from app.recorder.measuring.model_searching import search, show
from app.recorder.measuring.recorded_graph import read_graph
from app.recorder.session import Session
from app.searches import LOG, CandidateTexts, ModelSearch, SearchSettings, SoughtKernel, Tried
from compiler import te
from compiler.classic.alias import install
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.ir.serialization.json_format import save_json
from compiler.search import Evolution
from compiler.search.models import ModelOutcome, ModelTuning
from compiler.search.pairing import Pairing

MODEL = """\
import numpy as np
import tvm
from tvm import relay

x = relay.var("x", shape=(2, 300))
w = relay.const(np.random.default_rng(0).normal(size=({wide}, 300)).astype("float32"))
y = relay.nn.relu(relay.nn.dense(x, w))
y = relay.nn.softmax(relay.nn.dense(y, relay.const(np.ones((8, {wide}), "float32"))))
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], y)), target="llvm -mcpu=native")
"""
SMALL, SEEDED = MODEL.format(wide=24), MODEL.format(wide=600)
"""A model that is recorded with its weights, and one whose weights are made of a seed."""
Searched = Callable[..., list[Message]]


def session(script: str, mode: Mode, **options: Any) -> list[Message]:
    messages: list[Message] = []
    Session(Request(mode=mode, script=script, options=Options(**options)), messages.append, guarded=False).run()
    return messages


def recorded(script: str) -> str:
    return next(m.graph for m in reversed(session(script, "record")) if isinstance(m, RecordedFunction))


def answer(script: str, **options: Any) -> Answer:
    return next(m.answer for m in reversed(session(script, "compile", **options)) if isinstance(m, Snapshot))


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Searched:
    """Search a recorded model for so many candidates, and let the model be faster with one of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("compiler.search.models._EVOLUTION", Evolution(population=2))

    def run(graph: str, trials: int = 2) -> list[Message]:
        class Short(ModelTuning):
            def run(self, *_: Any, **others: Any) -> ModelOutcome:
                found = self.tasks[0]
                others["doing"]("a round")
                found.search(trials)
                others["doing"]("the end")
                found.tuning.search.best = found.tuning.search.trials[0]
                return super().run(0)

            def _kernel_seconds(self, models: Any, turns: int) -> list[dict[str, list[float]]]:
                names = {name for _, name in self._default.executor.calls()}
                return [{name: [2.0 - at] * 3 for name in names} for at in range(len(models))]

        monkeypatch.setattr(model_searching, "ModelTuning", Short)
        monkeypatch.setattr("compiler.search.models.paired", lambda *_: Pairing(0.75, 1e-3, 1.5, 2.0, (1.5,) * 4))
        told: list[Message] = []
        settings = SearchSettings(seconds=100, model=True)
        search(Request(mode="search", program=graph, search=settings), told.append)
        return told

    return run


@pytest.mark.parametrize("script", [SMALL, SEEDED])
def test_what_a_search_decides_is_what_the_script_builds(script: str, searched: Searched) -> None:
    told = searched(recorded(script))
    states = [message for message in told if isinstance(message, ModelSearch)]
    assert [state.trials for state in states] == [0, 0, 2, 2]
    begun, end = states[0], states[-1]
    assert begun.total is None, "what is told before the model is compiled"
    assert {kernel.workload for kernel in begun.kernels} >= {kernel.workload for kernel in end.kernels}
    assert (end.before, end.after) == (2.0, 1.5)
    assert [kernel.kept for kernel in end.kernels] == [True] + [False] * (len(end.kernels) - 1)
    before, best, total = end.kernels[0].before, end.kernels[0].best, end.total
    assert before is not None
    assert best == pytest.approx(before / 2)
    assert total is not None
    assert end.expected == pytest.approx(total - before / 2)
    records = [message.record for message in told if isinstance(message, Tried)]
    assert {json.loads(record)["workload"] for record in records} == {end.kernels[0].workload}
    Path(LOG).write_text("\n".join(records))
    again = next(m for m in searched(recorded(script)) if isinstance(m, ModelSearch) and m.total)
    assert again.trials == 2, "those of the log"
    (unit,) = (unit for unit in answer(script).units if unit.kind == "graph")
    assert {kernel.name for kernel in unit.kernels if kernel.found} == {end.kernels[0].name}
    shown = answer(script, kernel=end.kernels[0].name)
    assert shown.units[-1].name == end.kernels[0].name, "its loops and code are shown"
    assert recorded(script) == recorded(script), "another search begins where the operators do"


def test_a_decision_that_cannot_be_read_is_said_and_other_logs_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(LOG).write_text("what a script writes for itself\n")
    assert answer(SMALL).problems == []
    Path(LOG).write_text('{"v": 1, "is_decision": true}\n')
    made = answer(SMALL)
    assert "this line is not a record" in made.problems[0].message
    assert not any(kernel.found for unit in made.units for kernel in unit.kernels)


def run(script: str, file: Path) -> dict[str, Any]:
    install()
    file.write_text(script)
    return runpy.run_path(str(file))


def loops_of(kernel: str) -> str:
    made = answer(SMALL, kernel=kernel)
    step = next(step for step in reversed(made.units[-1].steps) if step.group == "lowering" and step.listing)
    return "\n".join(line.text for line in made.listings[step.listing or ""].lines)


def test_candidates_of_a_kernel_are_shown(searched: Searched, tmp_path: Path) -> None:
    graph = recorded(SMALL)
    told = searched(graph, trials=20)
    workload = next(m for m in told if isinstance(m, ModelSearch)).kernels[0].workload
    tried = [json.loads(message.record)["choices"] for message in told if isinstance(message, Tried)]
    by_way = {dict(choices)["way"]: choices for choices in tried}
    for way in ("rules", "numbers"):
        choices = [(name, value) for name, value in by_way[way]]
        kernel = SoughtKernel(workload=workload)
        shown: list[Message] = []
        show(Request(mode="candidate", program=graph, choices=choices, kernel=kernel), shown.append)
        (texts,) = shown
        assert isinstance(texts, CandidateTexts)
        assert ("sch." in texts.script) is (way == "rules")
        assert ("te.create_schedule" in texts.script) is (way == "numbers")
        assert "for " in texts.loops
        original, found = (run(text, tmp_path / f"{way}.py") for text in (texts.original, texts.script))
        rng = np.random.default_rng(0)
        arrays = [tvm.nd.array(rng.random(t.shape).astype(t.dtype)) for t in (*original["args"], original["args"][-1])]
        original["f"](*arrays[:-1])
        (found.get("found") or found["f"])(*arrays[:-2], arrays[-1])
        np.testing.assert_allclose(arrays[-1].numpy(), arrays[-2].numpy(), rtol=1e-4)
        assert ".text" in texts.assembly
        assert texts.workload == workload
        decision = {"v": 1, "structure": "", "kind": "ok", "seconds": None, "features": [], "is_decision": True}
        made = json.dumps({**decision, "workload": workload, "choices": choices}, separators=(",", ":"))
        Path(LOG).write_text(made)
        assert loops_of(texts.kernel) == texts.loops.replace("main", texts.kernel).strip(), "what is picked is built"
        Path(LOG).write_text(made + "\n" + made.replace(json.dumps(choices, separators=(",", ":")), "null"))
        assert loops_of(texts.kernel) != texts.loops.replace("main", texts.kernel).strip(), "until it is taken out"


@pytest.mark.parametrize(
    ("program", "words"),
    [("graph\n{}\n[]", "load_json"), ("graph\n[]\n", "ranges of the weights"), ("te", "builds no model now")],
)
def test_what_is_no_model_is_refused(program: str, words: str) -> None:
    told: list[Message] = []
    show(Request(mode="candidate", program=program, kernel=SoughtKernel(workload="w")), told.append)
    assert isinstance(told[-1], Failed)
    assert words in told[-1].problem.message


def test_loops_are_no_model() -> None:
    loops = IRModule({"main": te.create_prim_func([te.placeholder((2,), name="A")])})
    with pytest.raises(TVMError, match="not that of a graph"):
        read_graph(f"graph\n{{}}\n{save_json(loops)}")


def test_a_kernel_that_the_model_has_no_longer_is_refused() -> None:
    told: list[Message] = []
    show(Request(mode="candidate", program=recorded(SMALL), kernel=SoughtKernel(workload="w llvm")), told.append)
    assert isinstance(told[-1], Failed)
    assert "no such kernel now" in told[-1].problem.message


def test_a_model_without_anything_to_search_says_so(monkeypatch: pytest.MonkeyPatch, searched: Searched) -> None:
    monkeypatch.setattr("compiler.search.models.Tuning", _refusing)
    told = searched(recorded(SMALL))
    assert isinstance(told[-1], Failed)
    assert "no kernel of the model has schedules to search. no blocks" in told[-1].problem.message


def _refusing(*_: Any, **__: Any) -> None:
    raise TVMError("no blocks")
