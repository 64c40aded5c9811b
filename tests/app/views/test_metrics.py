"""``/metrics`` and ``/readyz``: who may read them, and that they say what happened."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

import app
from app import create_app
from app.sandbox import Outcome
from app.services import services_of
from tests.app.runners import Script, ScriptedRunner, broken

DASHBOARD = Path(app.__file__).with_name("deployment") / "grafana.json"


def read(client: FlaskClient) -> dict[str, float]:
    """Return all samples of the server by name and labels, as Prometheus's own parser reads them."""
    parser = pytest.importorskip("prometheus_client.parser", reason="not installed yet")
    response = client.get("/metrics")
    assert response.status_code == 200, response.text
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in parser.text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def test_what_happens_is_counted(client: FlaskClient, runner: ScriptedRunner) -> None:
    runner.scripts["slow"] = Script(outcome=Outcome(status="timeout"))
    before = read(client)
    for script in ("x = 1", "x = 1", "slow"):
        client.post("/api/compile", json={"script": script})
    runner.refuses = broken
    client.post("/api/compile", json={"script": "y"})
    client.get("/z/nothing")
    after = read(client)
    grown = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert grown["strata_answers_total[('source', 'cache')]"] == 1
    assert grown["strata_answers_total[('source', 'work')]"] == 3
    assert grown["strata_jobs_total[('mode', 'compile')]"] == 3
    assert grown["strata_job_ends_total[('status', 'ok')]"] == 1
    assert grown["strata_job_ends_total[('status', 'timeout')]"] == 1
    assert grown["strata_refusals_total[('code', 'unavailable')]"] == 1
    assert grown["strata_refusals_total[('code', 'not_found')]"] == 1
    assert grown["strata_wait_seconds_count[('queue', 'compiling')]"] == 3
    assert grown["strata_memory_bytes[('budget', 'cache')]"] > 0
    assert after["strata_queue_running[('queue', 'compiling')]"] == 0
    assert [name for name in after if name.startswith("strata_info") and "'seccomp'" in name]


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}, 403),
        ("203.0.113.9", {}, 403),
        ("203.0.113.9", {"Authorization": "Bearer wrong"}, 403),
        ("203.0.113.9", {"Authorization": "Bearer sesame"}, 200),
        ("203.0.113.9", {"Authorization": "Bearer \xff"}, 403),
    ],
)
def test_only_the_operator_reads_metrics(tmp_path: Path, address: str, headers: dict[str, str], status: int) -> None:
    if status == 200:
        pytest.importorskip("prometheus_client")
    client = create_app({"DATA_DIR": tmp_path, "METRICS_TOKEN": "sesame"}, ScriptedRunner()).test_client()
    response = client.get("/metrics", headers=headers, environ_base={"REMOTE_ADDR": address})
    assert response.status_code == status
    assert ("strata_info" in response.text) == (status == 200)


def test_without_a_token_none_opens_the_metrics(client: FlaskClient) -> None:
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer"}):
        assert client.get("/metrics", headers=headers, environ_base={"REMOTE_ADDR": "203.0.113.9"}).status_code == 403


def test_the_dashboard_asks_for_what_there_is(client: FlaskClient) -> None:
    client.post("/api/compile", json={"script": "x = 1"})
    client.get("/z/nothing")
    told = {name.partition("[")[0] for name in read(client)}
    asked = set(re.findall(r"\b(?:strata|process)_\w+", DASHBOARD.read_text("utf-8")))
    of_others = {"strata_requests_total", "strata_backup_timestamp_seconds"}  # of connections, of a day
    assert asked - told <= of_others
    assert len(json.loads(DASHBOARD.read_text("utf-8"))["panels"]) == 12


def test_a_server_is_ready_while_its_database_answers(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (client.get("/readyz").status_code, client.get("/readyz").get_json()["problems"]) == (200, [])
    monkeypatch.setattr(services_of(client.application).liveness, "answers", lambda: False)
    silent = client.get("/readyz")
    assert (silent.status_code, silent.get_json()["ready"]) == (503, False)
    assert "database" in silent.get_json()["problems"][0]
