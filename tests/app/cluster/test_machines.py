"""Scripts of two servers run on the machines of a cluster."""

from __future__ import annotations

import io
import json
import os
import threading
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from distributed import Client
from flask import Flask

from app import create_app
from app.built_files import PART_BYTES
from app.cluster.host import Host
from app.cluster.messages import Assignment, Facts
from app.cluster.runner import Cluster
from app.config import ConfigurationError
from app.protocol import Request
from app.sandbox import Limits, Machine, Tier
from app.services import services_of
from app.store.uploads import Uploads
from tests.app.cluster.conftest import NAMES, Machines
from tests.app.runners import ScriptedRunner, wait_until

SCRIPT = """
import tvm
from tvm import te
A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] + {number}.0, name="B")
s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], target="llvm")
"""

WEIGHTS = np.arange(3 << 20, dtype="float32")
LARGE = """
import numpy as np
import tvm
from tvm import relay
x = relay.var("x", shape=(3 << 20,))
weights = relay.const(np.arange(3 << 20, dtype="float32"))
relay.build(tvm.IRModule.from_expr(relay.Function([x], x + weights)), "llvm")
"""

SLEEP_SECONDS = 4
SLEEPING = f"import time\ntime.sleep({SLEEP_SECONDS})"
RUNNING = (
    SCRIPT.format(number=5)
    + f"""
import numpy as np
f(tvm.nd.array(np.ones(64, "float32")), tvm.nd.array(np.ones(64, "float32")))
import time
time.sleep({SLEEP_SECONDS})
"""
)
REQUEST = msgspec.json.encode(Request(mode="compile", script=""))
FACTS = Facts(machine=Machine(host="here", cpu="Test CPU"), version="0", tier=Tier(), compiling=1)


@pytest.fixture(scope="module")
def server(machines: Machines) -> Iterator[Flask]:
    app = machines.server("first")
    yield app
    services_of(app).runner.close()


def compiled(server: Flask, script: str) -> dict[str, Any]:
    """Return the answer to a script."""
    response = server.test_client().post("/api/compile", json={"script": script})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json
    return answer


def cluster_of(server: Flask) -> Cluster:
    """Return what a server starts jobs by."""
    runner = services_of(server).runner
    assert isinstance(runner, Cluster)
    return runner


def machine_at_work(server: Flask) -> str:
    """Wait until a machine works on the one job of a server, and return its name."""
    cluster = cluster_of(server)
    wait_until(lambda: any(job.machine is not None for job in list(cluster._jobs)))
    [job] = list(cluster._jobs)
    assert job.machine is not None
    return job.machine.host


def test_a_script_is_compiled_on_a_machine(server: Flask) -> None:
    answer = compiled(server, SCRIPT.format(number=1))
    assert answer["status"] == "ok"
    assert answer["environment"]["host"] in NAMES
    assert answer["units"][-1]["built"]


def test_the_health_check_names_the_machines(server: Flask) -> None:
    health = server.test_client().get("/healthz").json
    assert sorted(machine["host"] for machine in health["machines"]) == sorted(NAMES)
    assert health["sandbox"]["tier"] != "unsafe-local"


def test_a_script_that_fails_says_so(server: Flask) -> None:
    answer = compiled(server, "import tvm\nraise ValueError('mine')")
    assert answer["problems"][0]["message"] == "mine"


def test_attached_and_stored_files_reach_the_machine(server: Flask) -> None:
    client = server.test_client()
    stored = client.post("/api/uploads", data={"file": (io.BytesIO(b"large"), "model.onnx")}).json["id"]
    workspace = {
        "script": "print(open('a.txt').read(), open('model.onnx').read())",
        "files": {"a.txt": b64encode(b"small").decode()},
        "uploads": {"model.onnx": stored},
    }
    answer = client.post("/api/compile", json=workspace).json
    assert "small large" in "".join(piece["text"] for piece in answer["console"])


def test_a_file_in_many_parts_comes_from_a_machine(server: Flask) -> None:
    made = server.test_client().post("/api/files", json={"script": LARGE, "file": {"form": "so", "model": True}})
    assert made.status_code == 200, made.text
    assert len(made.data) > 8 * PART_BYTES
    assert made.data.count(WEIGHTS.tobytes()) == 1


def test_measurements_name_their_machine(server: Flask) -> None:
    client = server.test_client()
    started = client.post("/api/ladders", json={"script": SCRIPT.format(number=2)}).json
    events = client.get(started["events"]).text
    measured = [json.loads(line[6:]) for line in events.splitlines() if line.startswith('data: {"type":"measured"')]
    assert measured, events
    assert {one["measurement"]["source"] for one in measured} == {"server"}
    hosts = {one["measurement"]["host"] for one in measured}
    assert len(hosts) == 1, "one ladder is climbed on one machine"
    assert hosts <= set(NAMES)


def test_one_at_a_time_is_measured_on_a_machine(tmp_path: Path) -> None:
    """Two hosts are two workers on one machine: the second waits for the first."""
    first, second = [Host(ScriptedRunner(), Uploads(tmp_path / name, 1, 1), FACTS) for name in ("a", "b")]
    began, ended = threading.Event(), threading.Event()

    def measure() -> None:
        began.set()
        with second.measuring():
            ended.set()

    with first.measuring():
        threading.Thread(target=measure).start()
        assert began.wait(10)
        assert not ended.wait(0.2)
    assert ended.wait(10)


def test_a_measurement_has_its_own_cpus(tmp_path: Path) -> None:
    runner = ScriptedRunner()
    host = Host(runner, Uploads(tmp_path, 1, 1), FACTS)
    with host.measuring():
        for own in (1, 0):
            host.start(Assignment(request=REQUEST, files={}, stored={}, limits=Limits(own_cpus=own)))
    measured, compiled = [set(limits.cpus) for limits in runner.limits if limits is not None]
    assert len(measured) == 1
    assert not measured & compiled


def test_an_edit_ends_the_job_before_it(server: Flask) -> None:
    client = server.test_client()
    with ThreadPoolExecutor(1) as other:
        sleeping = other.submit(
            lambda: server.test_client().post("/panes", data={"script": RUNNING, "tab": "t", "seq": "1"})
        )
        machine_at_work(server)
        [job] = list(cluster_of(server)._jobs)
        wait_until(lambda: job._heard)  # its child is at work
        after = client.post("/panes", data={"script": SCRIPT.format(number=3), "tab": "t", "seq": "2"})
        assert after.status_code == 200
        assert sleeping.result().status_code == 204
    wait_until(lambda: not cluster_of(server)._jobs)
    assert job.outcome.status == "cancelled", "it was killed, not waited for"


def test_a_machine_that_goes_away_is_replaced(server: Flask, machines: Machines) -> None:
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(compiled, server, SLEEPING)
        lost = machine_at_work(server)
        machines.kill(lost)
        assert answer.result()["status"] == "ok"
        assert answer.result()["environment"]["host"] not in ("", lost)


def test_what_was_measured_in_part_is_not_measured_again(server: Flask, machines: Machines) -> None:
    client = server.test_client()
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(client.post, "/api/run", json={"script": RUNNING})
        lost = machine_at_work(server)
        [job] = list(cluster_of(server)._jobs)
        wait_until(lambda: job._heard)
        machines.kill(lost)
        assert answer.result().status_code == 503
        assert f"the machine {lost} went away" in answer.result().text


def test_strangers_run_nothing(server: Flask, machines: Machines) -> None:
    """Who reaches the scheduler can neither call a function on the workers nor hand one to it."""
    with Client(machines.address, set_as_default=False) as stranger:
        with pytest.raises(Exception, match=r"unpickled|deserializ|Failed|lost"):
            stranger.submit(os.getpid).result(timeout=20)
        with pytest.raises(Exception, match=r"NoneType|unknown"):
            stranger.run(os.getpid)
    assert compiled(server, SCRIPT.format(number=4))["status"] == "ok"


def test_a_scheduler_that_is_restarted_is_joined_again(server: Flask, machines: Machines) -> None:
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(server.test_client().post, "/api/compile", json={"script": f"{SLEEPING}  # anew"})
        machine_at_work(server)
        machines.stop_scheduler()
        assert answer.result().status_code == 503
        assert f"the cluster's scheduler, {machines.address}, does not answer" in answer.result().text
    machines.start_scheduler()
    wait_until(lambda: server.test_client().get("/healthz").json["machines"] != [], 60)
    wait_until(lambda: cluster_of(server).client.status == "running", 60)
    assert compiled(server, SCRIPT.format(number=6))["environment"]["host"] in machines.workers


def test_without_a_machine_a_script_is_refused(
    server: Flask, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cluster.runner.RETURN_SECONDS", 0.5)
    for name in list(machines.workers):
        machines.kill(name)
    answer = server.test_client().post("/api/compile", json={"script": SCRIPT.format(number=77)})
    assert answer.status_code == 503
    assert "there is no machine in the cluster" in answer.text or "went away" in answer.text
    assert server.test_client().get("/healthz").json["machines"] == []


def test_a_scheduler_that_is_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cluster.runner.CONNECT_SECONDS", 0.5)
    with pytest.raises(ConfigurationError, match=r"the scheduler tcp://127\.0\.0\.1:1 cannot be used"):
        create_app({"SCHEDULER": "tcp://127.0.0.1:1", "STORE": f"file://{tmp_path}/s", "DATA_DIR": tmp_path})


def test_a_cluster_needs_a_store(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="pass --store too"):
        create_app({"SCHEDULER": "tcp://127.0.0.1:1", "DATA_DIR": tmp_path})
