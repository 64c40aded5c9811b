"""Every target of the selector gives assembly whose lines know where they come from."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from app.gallery import load_gallery
from compiler.target.assembly_targets import HOST, assembly_targets

OTHERS = [key for key in assembly_targets() if key != HOST]


def assembly(explorer: FlaskClient, key: str) -> tuple[Any, list[Any]]:
    """Return the answer for the first example, and its assembly listings in the order of the timeline."""
    body = {"script": load_gallery().first.script, "options": {"assembly": key}}
    answer = explorer.post("/api/compile", json=body).get_json()
    assert answer["status"] == "ok", answer
    steps = [step for step in answer["units"][0]["steps"] if step["group"] == "assembly"]
    return answer, [answer["listings"][step["listing"]] for step in steps]


@pytest.mark.sample(3)
@pytest.mark.parametrize("key", OTHERS)
def test_a_target_has_its_assembly_beside_this_machine_s(explorer: FlaskClient, key: str) -> None:
    answer, listings = assembly(explorer, key)
    assert answer["console"] == []
    assert len(listings) == 2
    assert all(listing["linked"] > 0.5 for listing in listings)
    names = [step["name"] for step in answer["units"][0]["steps"] if step["group"] == "assembly"]
    assert names[1] == assembly_targets()[key].name
    assert sum(step["group"] == "llvm" for step in answer["units"][0]["steps"]) == 2


def test_an_unknown_target_is_a_note(explorer: FlaskClient) -> None:
    answer, listings = assembly(explorer, "z80")
    assert len(listings) == 1
    [note] = answer["console"]
    assert note["stream"] == "note"
    assert "'z80'" in note["text"]
    assert "aarch64-neon" in note["text"]
