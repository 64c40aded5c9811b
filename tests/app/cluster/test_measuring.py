"""A search measures on the machines of a cluster, and loses no candidate with a machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import pytest

from app import __version__
from app.cluster.measuring import ClusterMeasurer
from app.cluster.runner import Cluster
from app.protocol import Message, Request
from app.recorder.measuring.searching import measure_pair
from app.sandbox import Limits, Machine, Outcome, SandboxError
from app.sandbox.files import Files
from app.searches import Paired
from compiler import te
from compiler.driver.build import build
from compiler.search import Database, Evolution, tune
from compiler.tir.statements.function import PrimFunc
from tests.app.cluster.conftest import Machines
from tests.app.runners import wait_until

TARGET = "llvm -mcpu=native"
TRIALS = 3


def _product(n: int = 6) -> PrimFunc:
    a, b, k = te.placeholder((n, 16), name="A"), te.placeholder((16, n), name="B"), te.reduce_axis((0, 16), name="k")
    return te.create_prim_func([a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])


@dataclass
class _Job:
    outcome: Outcome
    said: list[bytes]

    @property
    def machine(self) -> Machine | None:
        return self.outcome.machine

    def messages(self) -> Iterator[bytes]:
        yield from self.said

    def interrupt(self) -> None:
        raise NotImplementedError

    def cancel(self) -> None:
        raise NotImplementedError


@dataclass
class _Here:
    """Machines that work in this process, one job at a time; some jobs end in another way."""

    machines: list[Machine]
    ends: dict[int, Outcome] = field(default_factory=dict)
    is_real: bool = False
    """Whether candidates are built and run; otherwise each is slower than its reference."""
    asked: list[str] = field(default_factory=list)
    limits: list[Limits] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, request: bytes, files: Files | None, limits: Limits | None, cpu: str) -> _Job:
        assert limits is not None
        with self.lock:
            self.asked.append(cpu)
            self.limits.append(limits)
            if len(self.asked) in self.ends:
                return _Job(self.ends[len(self.asked)], [])
            told: list[Message] = [
                Paired(kind="ok", ratio=1.5, error=0.01, seconds=1.5, reference=1.0, times=[1.5] * 4)
            ]
            if self.is_real:
                measure_pair(msgspec.json.decode(request, type=Request), told.append)
        machine = next(machine for machine in self.machines if machine.cpu == cpu)
        return _Job(Outcome(status="ok", machine=machine), [msgspec.json.encode(message) for message in told])


def _searched(here: _Here, log: Database, processor: str = "") -> list[str]:
    """Search with a few trials on some machines, and return the kinds of what was measured."""
    found = tune(
        _product(), TARGET, trials=TRIALS, per_round=3, evolution=Evolution(1), seed=1, log=log,
        measuring=lambda arrays, threads: ClusterMeasurer(here, TARGET, threads, processor),
    )  # fmt: skip
    return [trial.measurement.kind for trial in found.trials]


def test_a_candidate_whose_machine_goes_away_is_measured_on_another() -> None:
    lost = {at: Outcome(status="lost", detail="it went away") for at in (2, 4, 5)}
    here, log = _Here([Machine(host="a", cpu="X"), Machine(host="b", cpu="X")], lost), Database()
    assert _searched(here, log) == ["ok"] * TRIALS
    assert len([record for record in log if record.choices is not None]) == TRIALS
    assert {limits.own_cpus for limits in here.limits} == {1}, "one measurement a machine at a time"


def test_how_a_job_ended_is_what_is_known_of_its_candidate() -> None:
    ends = {2: Outcome(status="timeout"), 3: Outcome(status="crash", detail="SIGSEGV")}
    kinds = _searched(_Here([Machine(host="a", cpu="X")], ends), Database())
    assert kinds == ["hung", "crashed", "ok"]
    lost = {at: Outcome(status="lost", detail="it went away") for at in range(99)}
    with pytest.raises(SandboxError, match="it went away"):
        _searched(_Here([Machine(host="a", cpu="X")], lost), Database())


def test_processors_of_different_kinds_have_records_of_their_own() -> None:
    here, log = _Here([Machine(host="a", cpu="X"), Machine(host="b", cpu="Y")]), Database()
    for processor in "XY":
        before = len(here.asked)
        _searched(here, log, processor)
        assert set(here.asked[before:]) == {processor}
    workloads = {record.workload for record in log}
    assert [workload.partition(" on ")[2][:1] for workload in sorted(workloads)] == ["X", "Y"]
    with pytest.raises(SandboxError, match="processor Z"):
        ClusterMeasurer(here, TARGET, 1, "Z")


def test_a_candidate_that_computes_something_else_is_told_so() -> None:
    measurer = ClusterMeasurer(_Here([Machine(host="a", cpu="X")], is_real=True), TARGET, 1)
    assert measurer.expect(partial(build, _product(), target=TARGET)).kind == "ok"
    a, b = te.placeholder((6, 16), name="A"), te.placeholder((16, 6), name="B")
    other = te.create_prim_func([a, b, te.compute((6, 6), lambda i, j: a[i, j] * b[j, i], name="C")])
    (found,) = measurer.measure([partial(build, other, target=TARGET)])
    assert found.kind == "wrong"


@pytest.mark.long
def test_a_killed_machine_of_two_loses_no_record(tmp_path: Path, object_store: str) -> None:
    machines = Machines(tmp_path, object_store)
    try:
        machines.join("left", "right")
        cluster = Cluster(machines.address, __version__)
        log = Database(tmp_path / "log.jsonl")

        def kill_at_work() -> None:
            wait_until(lambda: any(job.machine and job.machine.host == "left" for job in list(cluster._jobs)))
            machines.kill("left")

        killing = threading.Thread(target=kill_at_work)
        found = tune(
            _product(64), TARGET, trials=6, per_round=2, evolution=Evolution(1), seed=1, log=log,
            told=lambda progress: killing.start() if progress.trials == 2 else None,
            measuring=lambda arrays, threads: ClusterMeasurer(cluster, TARGET, threads),
        )  # fmt: skip
        killing.join()
        assert [trial.measurement.kind for trial in found.trials] == ["ok"] * 6
        assert len([record for record in Database(tmp_path / "log.jsonl") if record.choices is not None]) == 6
        cluster.close()
    finally:
        machines.close()
