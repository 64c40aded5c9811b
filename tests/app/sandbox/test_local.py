"""Running without a sandbox: the same interface, time and output still bounded, and never called safe."""

from __future__ import annotations

import os
import signal

import pytest

from app.sandbox import Limits, UnsafeLocal
from app.sandbox.interface import Status
from tests.app.sandbox.conftest import HANDLERS
from tests.app.sandbox.processes import alive, all_end, begin


@pytest.fixture
def local() -> UnsafeLocal:
    return UnsafeLocal(f"{HANDLERS}:run_script")


ENDS: dict[str, tuple[str, Limits, Status, str]] = {
    "well": ("emit(b'x')", Limits(), "ok", ""),
    "by exit": ("raise SystemExit(0)", Limits(), "ok", ""),
    "by an exit code": ("raise SystemExit(3)", Limits(), "crash", "exit code 3"),
    "by an exception": ("1 / 0", Limits(), "crash", "exit code 70"),
    "out of memory": ("raise MemoryError", Limits(), "memory", "out of memory"),
    "too late": ("while True: pass", Limits(wall_seconds=0.5), "timeout", "more than 0.5 s"),
    "too much": ("while True: emit(b'x')", Limits(output_bytes=9999), "output", "more than 9999 bytes of output"),
}


@pytest.mark.parametrize("name", ENDS)
def test_how_it_ends(name: str, local: UnsafeLocal) -> None:
    script, limits, status, detail = ENDS[name]
    outcome = local.start(script.encode(), limits=limits).outcome
    assert (outcome.status, outcome.detail) == (status, detail)


def test_it_is_not_safe(local: UnsafeLocal) -> None:
    assert not local.tier.safe_for_public
    assert local.tier.name == "unsafe-local"
    assert "asked to run without" in str(local.tier)


def test_what_is_printed_is_no_message(local: UnsafeLocal) -> None:
    job = local.start(b"import os; print('hello', flush=True); os.write(1, b'there'); emit(b'message')")
    assert list(job.messages()) == [b"message"]
    assert job.outcome.console == "hello\nthere"


def test_what_it_started_ends_with_it(local: UnsafeLocal) -> None:
    script = (
        b"import subprocess\nchild = subprocess.Popen(['sleep', '100'])\nemit(b'here')\n"
        b"emit(str(child.pid).encode())\nwhile True: pass"
    )
    job = local.start(script, limits=Limits(wall_seconds=60))
    messages = begin(job)
    pid = int(next(messages))
    job.cancel()
    assert list(messages) == []
    assert job.outcome.status == "cancelled"
    assert all_end([pid])


def test_a_process_that_it_leaves_holds_nothing_up(local: UnsafeLocal) -> None:
    script = (
        b"import subprocess\nchild = subprocess.Popen(['sleep', '200'], start_new_session=True)\n"
        b"emit(str(child.pid).encode())"
    )
    job = local.start(script)
    (message,) = job.messages()
    assert job.outcome.status == "ok"
    assert alive(int(message))
    os.kill(int(message), signal.SIGKILL)


def test_closing_ends_all_jobs(local: UnsafeLocal) -> None:
    job = local.start(b"emit(b'here')\nwhile True: pass", limits=Limits(wall_seconds=60))
    messages = begin(job)
    local.close()
    assert list(messages) == []
    assert job.outcome.status == "cancelled"
