"""What each part of the sandbox refuses on its own, before another part would."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from io import FileIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.sandbox import (
    Limits,
    Mechanism,
    Sandbox,
    Tier,
    UnsafeLocal,
    child,
    groups,
    namespaces,
    probe,
    readable,
    seccomp,
    syscalls,
    wire,
    zygote,
)
from app.sandbox.groups import ControlGroup
from app.sandbox.job import CONSOLE_BYTES, JobStreams, SandboxedJob
from app.sandbox.readable import PROJECT
from app.sandbox.tier import FileAccess
from tests.app.sandbox.conftest import HANDLERS

ELSEWHERE = """
import shutil, sys  # the first loads what is only there on Windows, if it is loaded later
sys.platform = "win32"
from app.sandbox import NoSandbox, Sandbox
try:
    Sandbox("module:handler")
except NoSandbox as error:
    print(error)
"""


def test_other_systems_have_no_sandbox() -> None:
    told = subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert told.stdout == "sandbox: win32 does not support one; only --unsafe-local works on this system\n"


def test_a_child_whose_zygote_is_gone_does_not_begin() -> None:
    parent = os.getpid()
    assert probe.outcome(lambda: child._die_with(parent)) == ""
    assert probe.outcome(lambda: child._die_with(parent + 1)) == "ProcessLookupError: the zygote is gone"


def test_no_more_jobs_run_than_there_are_user_ids() -> None:
    full = SimpleNamespace(_jobs={slot: SimpleNamespace(slot=slot) for slot in range(zygote.UIDS)})
    with pytest.raises(BlockingIOError, match=f"{zygote.UIDS} jobs are running already"):
        zygote.Zygote._fork(full, None, None)  # type: ignore[arg-type]


def test_a_filter_that_a_thread_did_not_take_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscalls, "call", lambda *_: 4242)
    with pytest.raises(OSError, match="a thread could not take the filter"):
        seccomp.install(FileAccess.NONE)


def test_a_process_namespace_that_cannot_be_left_again_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_privileged", lambda: None)
    monkeypatch.setattr(namespaces, "unshare", lambda _: None)
    monkeypatch.setattr(probe, "outcome", lambda trial: "OSError: setns")
    with pytest.raises(OSError, match="setns"):
        probe.try_processes()


def test_a_machine_without_a_table_of_calls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(OSError, match="no system call table for machine 'riscv64'"):
        syscalls.machine()


def test_a_call_that_a_machine_does_not_have_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscalls, "machine", lambda: "aarch64")
    with pytest.raises(OSError, match="open: no such system call on aarch64"):
        syscalls.call("open", b"/", 0)


def test_programs_are_executed_where_one_path_is_all_that_can_be() -> None:
    filtered, restricted = Tier(mechanisms=frozenset({Mechanism.SECCOMP})), frozenset(Mechanism) - {Mechanism.SECCOMP}
    assert not filtered.executes
    assert Tier(mechanisms=filtered.mechanisms | {Mechanism.LANDLOCK}).executes
    assert Tier().executes
    assert Tier(mechanisms=restricted - {Mechanism.LANDLOCK}).executes


def test_a_message_without_a_length_ends_with_the_stream_and_only_of_a_program() -> None:
    reader = wire.FrameReader(Limits(program="/bin/true", message_bytes=4))
    reader.feed(wire.UNTIL_END + b"ab")
    assert reader.next() is None
    reader.feed(b"cd")
    assert reader.next() is None, "more may come"
    reader.end()
    assert (reader.next(), reader.next()) == (b"abcd", None)
    longer = wire.FrameReader(Limits(program="/bin/true", message_bytes=4))
    longer.feed(wire.UNTIL_END + b"abcde")
    with pytest.raises(wire.OutputLimit, match="a message of 5 bytes"):
        longer.next()
    script = wire.FrameReader(Limits())
    script.feed(wire.UNTIL_END)
    with pytest.raises(wire.OutputLimit, match="a message of 4294967295 bytes"):
        script.next()


def test_what_lies_below_another_path_is_not_named_twice(tmp_path: Path) -> None:
    for name in ("a", "a/b", "ab", "c"):
        (tmp_path / name).mkdir()
    (tmp_path / "c" / "link").symlink_to(tmp_path / "a" / "b")
    more = [str(tmp_path / name) for name in ("a", "a/b", "ab", "c/link", "none")]
    assert [path for path in readable.paths(more) if path.startswith(str(tmp_path))] == [more[0], more[2]]


def test_groups_of_servers_that_ended_are_removed_and_no_others(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    gone = [f"strata-scripts-{ended.pid}-0", f"strata-server-{ended.pid}"]
    kept = [f"strata-scripts-{os.getpid()}-0", f"strata-{ended.pid}", f"others-scripts-{ended.pid}-0"]
    for name in gone + kept:
        (tmp_path / name).mkdir()
    groups._sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_a_group_is_removed_when_its_last_member_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    member = tmp_path / "scripts" / "member"
    member.mkdir(parents=True)

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            member.rmdir()

    monkeypatch.setattr("time.sleep", sleep)
    group = ControlGroup([tmp_path / "scripts"])
    group.remove()
    assert (len(waited), list(tmp_path.iterdir())) == (3, [])
    group.remove()
    assert len(waited) == 3, "what is gone is not waited for"


def test_a_zygote_that_is_killed_with_an_unread_interrupt_ends_its_job() -> None:
    status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reading, writing = os.pipe()
    console = os.memfd_create("console")
    os.ftruncate(console, CONSOLE_BYTES)
    job = SandboxedJob(
        lambda: pytest.fail("it is gone"), Limits(), JobStreams(FileIO(reading), FileIO(console), status)
    )
    job.interrupt()
    theirs.close()
    os.close(writing)
    assert (job.outcome.status, job.outcome.detail) == ("crash", "the sandbox was restarted")


def test_a_job_that_ended_has_no_more_messages(scripts: Sandbox) -> None:
    for runner in (scripts, UnsafeLocal(f"{HANDLERS}:run_script")):
        job = runner.start(b"emit(b'a')")
        assert list(job.messages()) == [b"a"]
        assert job.outcome.status == "ok"
        assert list(job.messages()) == []
        dropped = runner.start(b"emit(b'a')")
        assert dropped.outcome.status == "ok"
        assert list(dropped.messages()) == [], "who asks how it ended first discards them"
