"""PyTorch inside the sandbox: imported before children are forked, models from scripts and from attached files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from app.artifacts import Answer, Options
from app.protocol import Message, Request, Snapshot
from app.sandbox import Limits, Sandbox

torch = pytest.importorskip("torch")

SCRIPT = """
import sys
assert "torch" in sys.modules
import numpy as np
import torch
import tvm
from tvm import relay

model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU()).eval()
example = torch.randn(2, 6)
for program in (torch.jit.trace(model, example), torch.export.export(model, (example,))):
    mod, params = relay.frontend.from_pytorch(program, [("x", (2, 6))])
    result = relay.create_executor("debug", mod=mod).evaluate()(example.numpy(), **params)
    with torch.no_grad():
        np.testing.assert_allclose(result.numpy(), model(example).numpy(), rtol=1e-4, atol=1e-5)
large = torch.ones(600, 600)
print("computed", float((large @ large).sum()), torch.seed() != torch.seed())
"""
FILE_SCRIPT = """
import tvm
from tvm import relay

mod, params = relay.frontend.from_pytorch("model.pt")
print([list(map(int, p.checked_type.shape)) for p in mod["main"].params if p.name_hint not in params])
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("app.recorder.handler:handle", preload=["app.recorder.handler"]) as sandbox:
        yield sandbox


def answer_of(sandbox: Sandbox, script: str, files: dict[str, bytes]) -> Answer:
    request = Request(mode="compile", script=script, options=Options(threads=2), budget_seconds=200)
    job = sandbox.start(msgspec.json.encode(request), files, Limits(wall_seconds=240, cpu_seconds=100))
    messages = [msgspec.json.decode(raw, type=Message) for raw in job.messages()]
    answers = [message.answer for message in messages if isinstance(message, Snapshot)]
    assert answers, job.outcome
    return answers[-1]


def printed(answer: Answer) -> str:
    return "".join(entry.text for entry in answer.console if entry.stream == "stdout")


def test_a_script_traces_and_exports_models(sandbox: Sandbox) -> None:
    answer = answer_of(sandbox, SCRIPT, {})
    assert answer.problems == []
    assert printed(answer) == "computed 216000000.0 True\n"


class Singular(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.linalg.svdvals(x)


def test_an_attached_file_is_read_inside(sandbox: Sandbox) -> None:
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(torch.nn.ReLU(), torch.zeros(2, 5)), file)
    answer = answer_of(sandbox, FILE_SCRIPT, {"model.pt": file.getvalue()})
    assert answer.problems == []
    assert printed(answer) == "[[2, 5]]\n"
    stored, imported, *_ = answer.units[0].steps
    at = [
        next(node.origins for node in answer.drawings[step.drawing or ""].nodes if node.kind == "operator")
        for step in (stored, imported)
    ]
    assert stored.name == "File"
    assert at[0] == at[1], "a node of the file leads to what it became"
    other = io.BytesIO()
    torch.jit.save(torch.jit.trace(Singular(), torch.ones(3, 3)), other)
    refused = answer_of(sandbox, FILE_SCRIPT, {"model.pt": other.getvalue()})
    [unit], [problem] = refused.units, refused.problems
    assert unit.name == "model file"
    marked = [n.label for n in refused.drawings[unit.steps[0].drawing or ""].nodes if {*n.origins} & {*problem.origins}]
    assert marked == ["aten::linalg_svdvals"]
    damaged = answer_of(sandbox, FILE_SCRIPT, {"model.pt": file.getvalue()[:300]})
    (problem,) = damaged.problems
    assert problem.kind == "ModelError"
    assert problem.line == 5
    assert "'model.pt' (300 bytes) is damaged" in problem.message
