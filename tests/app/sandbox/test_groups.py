"""What all scripts take together: a control group bounds it where the host allows one, and else the tier says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.sandbox import Limits, Sandbox, Shared, groups
from app.sandbox.groups import ControlGroup, NoGroup
from app.sandbox.interface import TOGETHER
from app.sandbox.tier import CONTROL_GROUP
from compiler.runtime import cpus
from tests.app.sandbox.conftest import HANDLERS, TESTS

MIB = 1 << 20
HOLD = b"data = bytearray(b'x' * (%d << 20))\nemit(b'held')\nimport time\ntime.sleep(%d)\n"
ROOMY = Limits(memory_bytes=1024 * MIB, wall_seconds=60.0, cpu_seconds=60.0)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    shared = Shared(memory_bytes=400 * MIB, tasks=40)
    with Sandbox(f"{HANDLERS}:run_script", readable=[TESTS], shared=shared) as sandbox:
        if not sandbox.tier.bounded_together:
            pytest.skip(sandbox.tier.reasons[CONTROL_GROUP])
        yield sandbox


def test_scripts_that_take_too_much_together_are_stopped_and_told_so(sandbox: Sandbox) -> None:
    jobs = [sandbox.start(HOLD % (150, 30), limits=ROOMY) for _ in range(4)]
    ended = next(job for job in jobs if not _lives(job))
    assert (ended.outcome.status, ended.outcome.detail) == ("memory", TOGETHER)
    for job in jobs:
        job.cancel()
    alone = sandbox.start(HOLD % (150, 0), limits=ROOMY)
    assert list(alone.messages()) == [b"held"]
    assert alone.outcome.status == "ok"


def _lives(job: object) -> bool:
    """Whether a job comes to hold its memory and still does when the others have come to it."""
    messages = job.messages()  # type: ignore[attr-defined]
    return next(messages, None) == b"held"


def test_threads_are_bounded_together(sandbox: Sandbox) -> None:
    script = (
        b"import _thread, time\nstarted = 0\n"
        b"try:\n    while started < 60:\n        _thread.start_new_thread(time.sleep, (5,))\n        started += 1\n"
        b"except RuntimeError: pass\nemit(b'%d' % started)\n"
    )
    (started,) = sandbox.start(script, limits=Limits(threads=64)).messages()
    assert 0 < int(started) < 40


def test_the_group_is_gone_with_the_sandbox(sandbox: Sandbox) -> None:
    group = sandbox._group
    assert group is not None
    assert all(path.is_dir() for path in group._directories)
    sandbox.close()
    assert not any(path.exists() for path in group._directories)


def test_without_groups_scripts_run_and_the_tier_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "mounts", lambda: iter(()))
    with Sandbox(f"{HANDLERS}:run_script", readable=[TESTS], shared=Shared(memory_bytes=1024 * MIB)) as sandbox:
        assert not sandbox.tier.bounded_together
        assert sandbox.tier.reasons[CONTROL_GROUP] == "no hierarchy has the controller 'memory'"
        assert list(sandbox.start(b"emit(b'runs')").messages()) == [b"runs"]


def test_a_subtree_of_version_2_is_limited_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "system.slice" / "strata.service"
    own.mkdir(parents=True)
    (own / "cgroup.controllers").write_text("cpu memory pids\n")
    (own / "cgroup.subtree_control").write_text("")
    monkeypatch.setattr(cpus, "mounts", lambda: iter([("", tmp_path, "/")]))
    monkeypatch.setattr(cpus, "own_groups", lambda: iter([("", "/system.slice/strata.service")]))
    [parent] = groups._parents()
    assert parent == own
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"
    scripts = own / "scripts"
    scripts.mkdir()
    (scripts / "memory.max").write_text("max")
    group = ControlGroup([scripts])
    group.limit(1 << 30, 100)
    assert (scripts / "memory.max").read_text() == str(1 << 30)
    assert (scripts / "pids.max").read_text() == "100"
    (scripts / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\n")
    assert group.kills == 3


def test_a_subtree_that_is_not_ours_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "mounts", lambda: iter([("memory", tmp_path, "/"), ("pids", tmp_path, "/")]))
    monkeypatch.setattr(cpus, "own_groups", lambda: iter([("memory", "/missing"), ("pids", "/missing")]))
    with pytest.raises(NoGroup, match="No such file or directory"):
        groups.make_group(1 << 30, 10)
