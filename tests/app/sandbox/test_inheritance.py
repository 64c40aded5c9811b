"""What a child finds when it starts: no open file, variable or memory of the server's."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from app.sandbox import Limits, Mechanism, Sandbox, UnsafeLocal
from app.sandbox.handler import STATISTICS
from app.sandbox.zygote import HOST_NAME
from tests.app.sandbox.conftest import HANDLERS, TESTS
from tests.app.sandbox.processes import begin, tree, user_id

DESCRIPTORS = b"""
import fcntl, json
def is_open(fd):
    try:
        fcntl.fcntl(fd, fcntl.F_GETFD)
    except OSError:
        return False
    return True
emit(json.dumps([fd for fd in range(4096) if is_open(fd)]).encode())
"""
VARIABLES = b"import json, os; emit(json.dumps(sorted(os.environ)).encode())"


def test_only_its_own_files_are_open(scripts: Sandbox) -> None:
    with tempfile.TemporaryFile() as ours:
        os.set_inheritable(ours.fileno(), True)
        (said,) = scripts.start(DESCRIPTORS).messages()
        (opened,) = scripts.start(b"import os; os.dup2(0, 50)\n" + DESCRIPTORS).messages()
    assert json.loads(said) == [0, 1, 2, 3, STATISTICS]
    assert json.loads(opened) == [0, 1, 2, 3, STATISTICS, 50]


def test_what_says_how_the_job_went_is_out_of_reach(scripts: Sandbox) -> None:
    forged = b'{"type":"exited","exit_code":0,"signal":null,"timed_out":false,"cpu_seconds":0,"peak_bytes":0}'
    job = scripts.start(
        f"import os\nfor fd in range(4, 200):\n    try: os.write(fd, {forged!r})\n    except OSError: continue\n"
        f"emit({forged!r})\nos._exit(7)".encode()
    )
    assert list(job.messages()) == [forged]
    assert (job.outcome.status, job.outcome.exit_code) == ("crash", 7)


def test_the_environment_is_made_of_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_DATABASE", "postgresql://user:password@host/")
    monkeypatch.setenv("LD_PRELOAD", "")
    local = UnsafeLocal(f"{HANDLERS}:run_script")
    (seen,) = local.start(VARIABLES).messages()
    assert "STRATA_DATABASE" in json.loads(seen)
    with Sandbox(f"{HANDLERS}:run_script", preload=["json"], readable=[TESTS]) as sandbox:
        (seen,) = sandbox.start(VARIABLES).messages()
    assert json.loads(seen) == ["LANG", "PATH"]


@pytest.mark.parametrize("source", ["os.environ.get('PYTHONPATH')", "ctypes.CDLL(None).getenv(b'PYTHONPATH') or None"])
def test_python_and_native_code_find_no_folder_of_the_server(scripts: Sandbox, source: str) -> None:
    (seen,) = scripts.start(f"import os, ctypes, json; emit(json.dumps({source}).encode())".encode()).messages()
    assert json.loads(seen) is None


def test_the_name_of_the_machine_is_not_told(scripts: Sandbox) -> None:
    (name,) = scripts.start(b"import os; emit(os.uname().nodename.encode())").messages()
    assert name.decode() == (HOST_NAME if Mechanism.NETWORK in scripts.tier.mechanisms else os.uname().nodename)


def test_the_command_line_of_the_zygote_names_no_secret(scripts: Sandbox) -> None:
    (pid, *_) = scripts.zygotes
    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    assert "run_script" in command
    assert "://" not in command


def test_two_children_have_two_user_ids(scripts: Sandbox) -> None:
    before = {pid for zygote in scripts.zygotes for pid in tree(zygote)}
    jobs = [scripts.start(b"import time; emit(b'here'); time.sleep(100)") for _ in range(2)]
    messages = [begin(job) for job in jobs]
    children = {pid for zygote in scripts.zygotes for pid in tree(zygote)} - before
    ids = {user_id(pid) for pid in children}
    for job, rest in zip(jobs, messages, strict=True):
        job.cancel()
        assert list(rest) == []
    own_ids = Mechanism.USER_ID in scripts.tier.mechanisms
    assert len(children) == 2
    assert len(ids) == (2 if own_ids else 1)
    assert own_ids != (os.geteuid() in ids)


def test_a_child_that_cannot_build_a_wall_does_not_run() -> None:
    with Sandbox(f"{HANDLERS}:run_script", preload=["json"], readable=[TESTS]) as sandbox:
        job = sandbox.start(b"emit(b'ran')", limits=Limits(cpus=(4095,)))
        assert list(job.messages()) == []
        assert job.outcome.status == "setup"
        assert "OSError" in job.outcome.detail
