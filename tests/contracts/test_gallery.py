"""Every example of the gallery runs, in the real sandbox, and shows itself from its loops to its assembly."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from app.gallery import Example, load_gallery
from compiler.target.cuda_tools.tools import missing_tools

EVERY_LEVEL = {"loop", "llvm", "asm"}
SHOWN = {"c-operator": {"loop", "llvm"}, "gpu-tensor-cores": {"loop", "llvm"} if missing_tools() else EVERY_LEVEL}
"""What examples show that do not go all the way: their source stands where LLVM IR does, and no CPU runs it.

Tensor cores have PTX by NVIDIA's compilers alone.
"""


@pytest.mark.sample(4)
@pytest.mark.parametrize("example", load_gallery().examples, ids=lambda example: str(example.name))
def test_an_example_runs(explorer: FlaskClient, example: Example) -> None:
    response = explorer.post("/api/compile", json={"script": example.script})
    assert response.status_code == 200, response.text
    answer = response.get_json()
    problems = [problem for problem in answer["problems"] if problem["severity"] == "error"]
    assert (answer["status"], problems) == ("ok", [])
    assert answer["units"], "an example shows at least one function"
    levels = {listing["level"] for listing in answer["listings"].values()}
    graph = {"graph"} if any(unit["kind"] == "graph" for unit in answer["units"]) else set()
    assert levels == SHOWN.get(example.name, EVERY_LEVEL) | graph
    unit = answer["units"][-1]
    assert {step["listing"] for step in unit["steps"] if step["listing"]} <= set(answer["listings"])
    lines = {row["line"] for row in answer["origins"] if row["level"] == "source"}
    assert lines <= set(range(1, example.script.count("\n") + 2))
    assert lines, "the user's lines are where everything comes from"
