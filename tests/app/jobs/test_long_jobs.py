"""Which requests come after short ones: those with a model, whatever is made of it, and all measurements."""

from __future__ import annotations

import io

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.jobs.fair_queue import FairQueue, Ticket
from app.services import services_of

ASKED = [
    ("/api/compile", {}),
    ("/api/files", {"file": {"form": "so", "model": True}}),
    ("/api/why", {"unit": 0}),
    ("/api/candidates", {"choices": []}),
]


@pytest.mark.parametrize(("address", "more"), ASKED)
def test_what_has_a_model_comes_after_what_has_none(
    client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch, address: str, more: dict[str, object]
) -> None:
    entered: list[Ticket] = []
    enter = FairQueue.enter

    def noted(queue: FairQueue, *args: str, long: bool = False) -> Ticket:
        entered.append(enter(queue, *args, long=long))
        return entered[-1]

    monkeypatch.setattr(FairQueue, "enter", noted)
    stored = client.post("/api/uploads", data={"file": (io.BytesIO(b"model"), "model.onnx")}).json
    assert stored is not None
    for uploads in ({}, {"model.onnx": stored["id"]}):
        client.post(address, json={"script": "s", "uploads": uploads, **more})
        assert [ticket.long for ticket in entered] == [bool(uploads)]
        entered.clear()


def test_measurements_come_after_short_scripts(app: Flask) -> None:
    services = services_of(app)
    with services.measuring.enter("a") as measurement, services.compiling.enter("a") as script:
        assert (measurement.long, script.long) == (True, False)
