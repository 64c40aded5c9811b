"""Whoever dies takes with it those that depend on it, and what is needed comes back."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.sandbox import Limits, Mechanism, Sandbox, SandboxError, Tier
from app.sandbox import job as sandboxed_job
from tests.app.sandbox.conftest import HANDLERS, STRONGEST, TESTS
from tests.app.sandbox.processes import alive, all_end, begin, tree

FOREVER = b"emit(b'here')\nwhile True: pass"
LONG = Limits(wall_seconds=60, cpu_seconds=60)
TIERS = [STRONGEST.mechanisms, STRONGEST.mechanisms & {Mechanism.SECCOMP}]
SERVER = f"""
import sys
from app.sandbox import Limits, Mechanism, Sandbox, SandboxError, Tier
tier = Tier(mechanisms=frozenset(Mechanism(name) for name in sys.argv[1:]))
sandbox = Sandbox("{HANDLERS}:run_script", tier=tier, readable=[{TESTS!r}])
job = sandbox.start({FOREVER!r}, limits=Limits(wall_seconds=60, cpu_seconds=60))
messages = job.messages()
next(messages)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("mechanisms", TIERS, ids=["all mechanisms", "seccomp alone"])
def test_all_end_when_the_server_is_killed(mechanisms: frozenset[Mechanism]) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, *mechanisms],
        cwd=Path(TESTS).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    assert server.stdin is not None
    with server.stdout, server.stdin:
        assert server.stdout.readline() == b"ready\n"
        family = tree(server.pid)
        assert len(family) >= 3  # the server, a zygote, a child
        server.kill()
        server.wait()
        assert all_end(family)


@pytest.mark.parametrize("mechanisms", TIERS, ids=["all mechanisms", "seccomp alone"])
def test_the_zygote_comes_back_when_it_is_killed(mechanisms: frozenset[Mechanism]) -> None:
    with Sandbox(f"{HANDLERS}:run_script", tier=Tier(mechanisms=mechanisms), readable=[TESTS]) as sandbox:
        job = sandbox.start(FOREVER, limits=LONG)
        messages = begin(job)
        family = tree(sandbox.zygotes[0])
        assert len(family) >= 2
        os.kill(sandbox.zygotes[0], signal.SIGKILL)
        assert list(messages) == []
        assert (job.outcome.status, job.outcome.detail) == ("crash", "the sandbox was restarted")
        assert all_end(family)
        again = sandbox.start(b"emit(b'well')")
        assert list(again.messages()) == [b"well"]
        assert sandbox.zygotes[0] not in family


def test_a_zygote_that_keeps_no_time_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_job, "_GRACE_SECONDS", 0.3)
    with Sandbox(f"{HANDLERS}:run_script", tier=Tier(), readable=[TESTS]) as sandbox:
        job = sandbox.start(FOREVER, limits=Limits(wall_seconds=2, cpu_seconds=60))
        messages = begin(job)
        family = tree(sandbox.zygotes[0])
        os.kill(sandbox.zygotes[0], signal.SIGSTOP)
        assert list(messages) == []
        assert job.outcome.status == "crash"
        assert all_end(family)
        assert list(sandbox.start(b"emit(b'well')").messages()) == [b"well"]


def test_closing_ends_everything() -> None:
    sandbox = Sandbox(f"{HANDLERS}:run_script", pool=2, tier=STRONGEST, readable=[TESTS])
    job = sandbox.start(FOREVER, limits=LONG)
    messages = begin(job)
    family = {pid for zygote in sandbox.zygotes for pid in tree(zygote)}
    sandbox.close()
    assert all_end(family)
    assert list(messages) == []
    assert job.outcome.status == "crash"
    with pytest.raises(SandboxError, match="it is closed"):
        sandbox.start(FOREVER)


def test_a_job_past_its_time_leaves_no_process(scripts: Sandbox) -> None:
    before = {pid for zygote in scripts.zygotes for pid in tree(zygote)}
    job = scripts.start(FOREVER, limits=Limits(wall_seconds=2))
    messages = begin(job)
    children = {pid for zygote in scripts.zygotes for pid in tree(zygote)} - before
    assert len(children) == 1
    assert list(messages) == []
    assert job.outcome.status == "timeout"
    assert not any(map(alive, children))
    assert all(map(alive, scripts.zygotes))


def test_many_jobs_at_one_time() -> None:
    with Sandbox(f"{HANDLERS}:run_script", pool=2, tier=STRONGEST, readable=[TESTS]) as sandbox:
        before = {pid for zygote in sandbox.zygotes for pid in tree(zygote)}
        script = b"import time\nemit(b'here')\ntime.sleep(100)"
        jobs = [sandbox.start(script, limits=Limits(wall_seconds=120)) for _ in range(24)]
        messages = [begin(job) for job in jobs]
        children = {pid for zygote in sandbox.zygotes for pid in tree(zygote)} - before
        assert len(children) == 24
        for job, rest in zip(jobs, messages, strict=True):
            job.cancel()
            assert list(rest) == []
            assert job.outcome.status == "cancelled"
        assert not any(map(alive, children))


def test_a_server_without_descriptors_says_so_and_recovers(scripts: Sandbox) -> None:
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, usual[1]))
    try:
        with pytest.raises(SandboxError, match="Too many open files"):
            scripts.start(b"emit(b'here')")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    assert list(scripts.start(b"emit(b'well')").messages()) == [b"well"]
