"""Every option does what it says, and one that makes no sense is told."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from flask.testing import FlaskClient

DEFINITION = """\
import tvm
from tvm import te
n = 64
A = te.placeholder((n, n), name="A")
k = te.reduce_axis((0, n), name="k")
B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], factor=8)
s[B].unroll(inner)
"""
BUILT = DEFINITION + 'f = tvm.build(s, [A, B], target="llvm{}")\n'


def compiled(explorer: FlaskClient, script: str, **options: Any) -> Any:
    """Return the answer for a script under options."""
    response = explorer.post("/api/compile", json={"script": script, "options": options})
    assert response.status_code == 200, response.text
    return response.get_json()


def texts(answer: Any, group: str) -> list[str]:
    """Return the text of each step of a group."""
    keys = [step["listing"] for step in answer["units"][0]["steps"] if step["group"] == group]
    return ["\n".join(line[0] for line in answer["listings"][key]["lines"]) for key in keys]


def opcodes(text: str) -> Counter[str]:
    """Return how often each instruction of LLVM IR occurs."""
    return Counter(re.findall(r"^  (?:%[\w.]+ = )?(?:tail )?([a-z]+)", text, re.MULTILINE))


def test_the_optimisation_level_is_that_of_targets_that_name_none(explorer: FlaskClient) -> None:
    emitted, untouched = texts(compiled(explorer, BUILT.format(""), opt_level=0), "llvm")
    assert opcodes(untouched) == opcodes(emitted)
    _, optimised = texts(compiled(explorer, BUILT.format(""), opt_level=3), "llvm")
    assert opcodes(optimised)["phi"] < opcodes(emitted)["phi"], "loops of known extent are unrolled"
    lazy = texts(compiled(explorer, BUILT.format(""), opt_level=0), "assembly")
    eager = texts(compiled(explorer, BUILT.format(""), opt_level=3), "assembly")
    assert lazy != eager
    assert texts(compiled(explorer, BUILT.format(" -opt-level=0"), opt_level=3), "assembly") == lazy


def test_the_target_is_that_of_what_the_script_leaves_unbuilt(explorer: FlaskClient) -> None:
    answer = compiled(explorer, DEFINITION, target="llvm -mcpu=x86-64")
    assert answer["units"][0]["target"].startswith("llvm -mcpu=x86-64")
    answer = compiled(explorer, BUILT.format(" -mcpu=haswell"), target="llvm -mcpu=x86-64")
    assert "haswell" in answer["units"][0]["target"]


def test_a_target_that_makes_no_sense_is_told(explorer: FlaskClient) -> None:
    for target in ("lvm", "llvm -mcpu=z80", "llvm -mattr=avx", "llvm -nonsense=1", "cuda", ""):
        answer = compiled(explorer, DEFINITION, target=target)
        said = [entry["text"] for entry in answer["console"] if entry["stream"] == "note"]
        said += [problem["message"] for problem in answer["problems"]]
        assert said, target
        assert any(step["group"] == "lowering" for step in answer["units"][0]["steps"]), "the loops are shown anyway"


def test_a_prefix_shows_the_schedule_as_it_was(explorer: FlaskClient) -> None:
    unit = compiled(explorer, BUILT.format(""), prefix=1)["units"][0]
    steps = [step for step in unit["steps"] if step["group"] == "schedule"]
    assert [(step["name"], step["applied"]) for step in steps] == [
        ("default", True),
        ("split", True),
        ("unroll", False),
    ]
