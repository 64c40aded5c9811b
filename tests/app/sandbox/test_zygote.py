"""What the zygote holds: the compiler, and nothing of the server."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from app import patience
from app.config import Config, ConfigurationError
from app.jobs.local_runner import start_local_runner
from app.sandbox import Limits, Mechanism, NoSandbox, Sandbox, SandboxError, Tier, client, wire
from app.sandbox.readable import PROJECT
from app.sandbox.zygote import Zygote
from tests.app.sandbox.conftest import HANDLERS, STRONGEST, TESTS

IMPORTED = b"import json, sys; emit(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})).encode())"
NOBODY = 65534
AS_NOBODY = f"""
import os
from app.sandbox import probe, syscalls
os.setgroups([])
os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # as a process has it that was started as nobody
print(probe.outcome(probe.try_processes))
"""
"""Prints why there is no process namespace for nobody; Python itself may lie where only root may read it."""
LOW_NUMBERS = f"""
import os, sys
from types import SimpleNamespace
from app.sandbox import Tier
from app.sandbox.client import ZygoteProcess
from app.sandbox.zygote import CONTROL

os.dup2(os.open(os.devnull, os.O_RDONLY), CONTROL)  # no socket gets that number

def open_members():
    os.dup2(os.open(sys.argv[1], os.O_WRONLY), CONTROL)
    return [CONTROL]

group = SimpleNamespace(open_members=open_members)
process = ZygoteProcess("{HANDLERS}:run_script", ["json"], ["{TESTS}"], Tier(), 0, group)
process.wait_until_booted()
process.close()
"""
"""Starts a zygote whose control group is a file, with the number that its control socket will have."""
ABANDONED = f"""
import os
from app.sandbox import Tier
from app.sandbox.client import ZygoteProcess

ZygoteProcess("{HANDLERS}:run_script", ["json"], ["{TESTS}"], %s, 0, None)
os._exit(0)
"""
"""Ends before the zygote that it starts has anything to say."""
FEW_FILES = f"""
import resource, sys
from app.sandbox import Sandbox

resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
with Sandbox("{HANDLERS}:run_script", preload=["json"], readable=["{TESTS}"]) as sandbox:
    job = sandbox.start(b"emit(b'there')")
    print(*job.messages(), job.outcome.detail)
"""
"""Runs a script where a process may have few files open."""
THE_SERVERS = {"flask", "werkzeug", "sqlalchemy", "sqlite3", "h11", "jinja2", "ssl"}


def test_it_holds_nothing_of_the_server() -> None:
    with Sandbox(f"{HANDLERS}:run_script", preload=["app.recorder.handler", "json"], readable=[TESTS]) as sandbox:
        (message,) = sandbox.start(IMPORTED).messages()
    imported = set(json.loads(message))
    assert {"numpy", "llvmlite", "compiler"} <= imported
    assert not imported & THE_SERVERS


@pytest.mark.parametrize("tier", ["Tier()", "None"])
def test_one_whose_server_has_ended_meanwhile_says_nothing(tier: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ABANDONED % tier]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert (ended.returncode, ended.stderr) == (0, ""), "it ends too: the pipe of errors is closed"


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        ("tests.nothing:run", r"No module named 'tests\.nothing'"),
        (f"{HANDLERS}:nothing", "has no attribute 'nothing'"),
        ("tests.app.sandbox.ending:run", "the zygote did not start$"),
        ("tests.app.sandbox.threaded:run", "expected to be single-threaded after the imports"),
    ],
)
def test_a_zygote_that_cannot_work_says_why(handler: str, message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        Sandbox(handler, tier=Tier())


def test_a_kernel_without_pidfds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(os, "pidfd_open", missing)
    settings = wire.Settings(
        handler="", preload=[], readable=[], mechanisms=frozenset(), scratch="", members=[], first_uid=0
    )
    with pytest.raises(OSError, match=r"pidfd_open, which kernels have since Linux 5\.3: Function not implemented"):
        Zygote(settings, frozenset())


def test_a_zygote_that_waits_for_a_processor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "BOOT_SECONDS", 1e-3)
    with pytest.raises(SandboxError, match="the zygote did not start"):
        Sandbox(f"{HANDLERS}:run_script", tier=Tier(), preload=["json"], readable=[TESTS])
    monkeypatch.setattr(patience, "held_back", lambda before, after, passed: passed)
    with Sandbox(f"{HANDLERS}:run_script", tier=Tier(), preload=["json"], readable=[TESTS]) as sandbox:
        assert sandbox.start(b"").outcome.status == "ok"


@pytest.mark.skipif(Mechanism.USER_ID not in STRONGEST.mechanisms, reason="scripts run as this user")
def test_scripts_of_other_users_must_reach_the_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "closed" / "open"
    inner.mkdir(parents=True)
    inner.parent.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(inner))
    with pytest.raises(SandboxError, match=r"cannot enter '.*', where temporary files are: set TMPDIR to a directory"):
        Sandbox(f"{HANDLERS}:run_script", tier=Tier(mechanisms=frozenset({Mechanism.USER_ID})), readable=[TESTS])


def test_a_zygote_that_is_slow_is_no_reason_to_run_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> Sandbox:
        raise error

    monkeypatch.setattr("app.sandbox.Sandbox", fails)
    for error, advised in ((SandboxError("the zygote did not start"), False), (NoSandbox("this host has none"), True)):
        with pytest.raises(ConfigurationError, match=str(error)) as refused:
            start_local_runner(Config())
        assert ("--unsafe-local" in str(refused.value)) == advised


def test_scripts_run_as_soon_as_one_of_several_zygotes_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    booted, others = client.ZygoteProcess.wait_until_booted, threading.Event()

    def boot(process: client.ZygoteProcess) -> None:
        if threading.current_thread() is not threading.main_thread():
            assert others.wait(60.0)
        booted(process)

    monkeypatch.setattr(client.ZygoteProcess, "wait_until_booted", boot)
    with Sandbox(f"{HANDLERS}:run_script", tier=Tier(), preload=["json"], readable=[TESTS], pool=2) as sandbox:
        assert sandbox.start(b"").outcome.status == "ok"
        others.set()
        assert len(sandbox.zygotes) == 2
        assert [sandbox.start(b"").outcome.status for _ in range(2)] == ["ok", "ok"]


def test_jobs_do_not_wait_for_what_few_scripts_need() -> None:
    tier = Tier(mechanisms=STRONGEST.mechanisms)
    with Sandbox("tests.app.sandbox.endless:run", tier=tier, readable=[TESTS]) as sandbox:
        assert [sandbox.start(b"").outcome.status for _ in range(2)] == ["ok", "ok"]


def test_what_few_scripts_need_is_imported_while_jobs_run() -> None:
    tier = Tier(mechanisms=STRONGEST.mechanisms)
    with Sandbox("tests.app.sandbox.unhurried:run", tier=tier, readable=[TESTS]) as sandbox:
        staying = sandbox.start(b"60")
        sandbox._zygotes[0].wait_until_warm(10.0)
        assert list(sandbox.start(b"").messages()) == [b"3"]
        staying.cancel()


def test_jobs_go_on_where_what_few_scripts_need_cannot_be_imported(capfd: pytest.CaptureFixture[str]) -> None:
    tier = Tier(mechanisms=STRONGEST.mechanisms)
    with Sandbox("tests.app.sandbox.failing:run", tier=tier, readable=[TESTS]) as sandbox:
        before = sandbox.zygotes
        assert sandbox.start(b"").outcome.status == "ok"
        sandbox._zygotes[0].wait_until_warm(60.0)
        assert sandbox.start(b"").outcome.status == "ok"
        assert sandbox.zygotes == before
    assert "a library that few scripts need" in capfd.readouterr().err


def test_a_zygote_in_which_what_few_scripts_need_starts_a_thread_ends(capfd: pytest.CaptureFixture[str]) -> None:
    tier = Tier(mechanisms=STRONGEST.mechanisms)
    with Sandbox("tests.app.sandbox.threaded_later:run", tier=tier, readable=[TESTS]) as sandbox:
        assert sandbox._zygotes[0]._process.wait(60.0) != 0
    assert "expected to be single-threaded" in capfd.readouterr().err


def test_where_children_cannot_import_anything_a_zygote_has_done_so_first() -> None:
    tier = Tier(mechanisms=STRONGEST.mechanisms & {Mechanism.SECCOMP})
    with Sandbox("tests.app.sandbox.unhurried:run", tier=tier, readable=[TESTS]) as sandbox:
        assert list(sandbox.start(b"").messages()) == [b"3"]


def test_a_sandbox_is_closed_while_a_zygote_starts() -> None:
    sandbox = Sandbox(f"{HANDLERS}:run_script", tier=Tier(), preload=["json"], readable=[TESTS], pool=3)
    sandbox.close()
    assert all(not os.path.exists(f"/proc/{pid}") for pid in sandbox.zygotes)


def test_a_zygote_joins_a_group_whose_descriptor_has_the_number_of_its_control_socket(tmp_path: Path) -> None:
    group = tmp_path / "cgroup.procs"
    group.touch()
    subprocess.run([sys.executable, "-c", LOW_NUMBERS, group], cwd=PROJECT, check=True)
    assert group.read_text() == "0"


def test_a_zygote_that_was_stopped_is_replaced() -> None:
    with Sandbox(f"{HANDLERS}:run_script", tier=Tier(), preload=["json"], readable=[TESTS]) as sandbox:
        [stopped] = sandbox.zygotes
        os.kill(stopped, signal.SIGSTOP)
        assert sandbox.start(b"", limits=Limits(wall_seconds=3600.0)).outcome.detail == "the sandbox was restarted"
        assert sandbox.start(b"").outcome.status == "ok"
        assert sandbox.zygotes != [stopped]


def test_a_zygote_that_has_ended_gets_no_job_while_a_process_of_it_still_holds_its_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Sandbox(f"{HANDLERS}:run_script", tier=Tier(), preload=["json"], readable=[TESTS]) as sandbox:
        [ended] = sandbox.zygotes
        monkeypatch.setattr(sandbox._zygotes[0]._process, "poll", lambda: -signal.SIGKILL)
        assert sandbox.start(b"").outcome.status == "ok"
        assert sandbox.zygotes != [ended]


def test_a_job_may_end_and_be_given_up_at_once() -> None:
    with Sandbox(f"{HANDLERS}:run_script", tier=Tier(), preload=["json"], readable=[TESTS]) as sandbox:
        [zygote] = sandbox.zygotes
        job = sandbox.start(b"emit(b'begun'); import time; time.sleep(0.2)")
        messages = job.messages()
        assert next(messages) == b"begun"
        os.kill(zygote, signal.SIGSTOP)
        time.sleep(0.5)
        job.cancel()
        os.kill(zygote, signal.SIGCONT)  # it hears of both in one turn
        assert sandbox.start(b"").outcome.status == "ok"
        assert sandbox.zygotes == [zygote]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize(("files", "said"), [(64, "b'there' "), (20, "OSError: [Errno 24] Too many open files")])
def test_a_script_runs_where_a_process_may_have_few_files_open_or_is_told_that(files: int, said: str) -> None:
    command = [sys.executable, "-c", FEW_FILES, str(files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"{said}\n", "")


def test_whoever_may_make_a_user_namespace_has_one_of_processes() -> None:
    """The probe's word is held against a process that tries it by other means."""
    become = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    made = subprocess.run(["unshare", "--user", "--pid", "--fork", "true"], cwd="/", capture_output=True, **become)
    probed = subprocess.run([sys.executable, "-c", AS_NOBODY], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert (probed.stdout.strip() == "") == (made.returncode == 0), (probed.stdout, made.stderr)
