"""What a job is given depends on what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from app import create_app
from app.artifacts import Workspace
from app.errors import Unavailable
from app.jobs.cuda_compiler import cuda_request
from app.jobs.launcher import PATIENCE, Launcher
from app.machine_code import CudaProgram
from app.protocol import Request
from app.sandbox import Job, Limits, SandboxError
from app.services import services_of
from tests.app.fixtures import FixedRunner


class Asked(FixedRunner):
    """Keeps what it is asked for, and starts nothing."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.patience: list[float] = []

    def start(self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> Job:
        assert limits is not None
        decoded = msgspec.json.decode(request, type=Request)
        budget = decoded.budget_seconds
        assert limits.wall_seconds > decoded.patience_seconds >= budget
        self.seconds.append(budget)
        self.patience.append(decoded.patience_seconds)
        raise SandboxError("no process")


@pytest.mark.parametrize(
    ("address", "more", "seconds"),
    [
        ("/api/compile", {}, 3.0),
        ("/api/run", {}, 7.0),
        ("/api/files", {"file": {"form": "so"}}, 7.0),  # a script that takes long to run has files too
    ],
)
def test_who_waits_for_more_than_a_glance_has_the_time_of_a_run(
    tmp_path: Path, address: str, more: dict[str, object], seconds: float
) -> None:
    runner = Asked()
    app = create_app({"DATA_DIR": tmp_path, "COMPILE_SECONDS": 3.0, "RUN_SECONDS": 7.0}, runner)
    assert app.test_client().post(address, json={"script": "x = 1", **more}).status_code == 503
    assert runner.seconds == [seconds]


@pytest.mark.parametrize(
    "begin",
    [
        lambda launcher: launcher.start("compile", Workspace(script="x = 1")),
        lambda launcher: launcher.start_request(Request(mode="trace")),
        lambda launcher: launcher.start_request(cuda_request(CudaProgram(source="", arch="sm_90"))),
    ],
)
def test_what_a_visitor_waits_for_may_take_longer_on_a_busy_machine(
    tmp_path: Path, begin: Callable[[Launcher], Job]
) -> None:
    runner = Asked()
    launcher = services_of(create_app({"DATA_DIR": tmp_path, "COMPILE_SECONDS": 3.0}, runner)).file_maker._launcher
    with pytest.raises(Unavailable):
        begin(launcher)
    assert runner.patience == [PATIENCE * 3.0]
