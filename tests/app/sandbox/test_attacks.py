"""Every attack, against all mechanisms together, against each that claims to stop it alone, and against none."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from app.sandbox import Limits, Mechanism, Runner, Sandbox, UnsafeLocal
from tests.app.sandbox.attacks import ATTACKS, Attack
from tests.app.sandbox.conftest import HANDLERS, STRONGEST, TESTS, MakeSandbox
from tests.app.sandbox.handlers import Errand

HARMLESS_IN_CONTAINERS = {"see whether the database exists"}
ALONE = [
    (attack, mechanism)
    for attack in ATTACKS
    for mechanism in sorted(attack.stopped)
    if mechanism in STRONGEST.mechanisms
]


VICTIM = """
import contextlib, ctypes, sys
from app.sandbox import syscalls
syscalls.keep_capabilities(())
with contextlib.suppress(OSError):
    syscalls.call("prctl", 0x59616D61, -1, 0, 0, 0)  # where Yama knows it: whoever likes may debug this process
treasure = ctypes.create_string_buffer(b"treasure")
print(ctypes.addressof(treasure), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def victim() -> Iterator[dict[str, str | int]]:
    """A process that holds a secret, and no more privileges than an attacker that nothing isolates."""
    process = subprocess.Popen(
        [sys.executable, "-c", VICTIM],
        cwd=Path(TESTS).parent,
        env={"SECRET": "treasure", "PATH": os.defpath},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        yield {"victim": process.pid, "address": int(process.stdout.readline())}


@pytest.fixture(scope="module")
def facts(victim: dict[str, str | int]) -> Iterator[dict[str, str | int]]:
    """A world outside that is worth an attack."""
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as server:
        outside = Path(name)
        outside.chmod(0o777)
        secret = outside / "database"
        secret.write_text("treasure")
        secret.chmod(0o666)
        abstract = f"strata-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("\0" + abstract)
            listener.listen()
            yield victim | {
                "secret": str(secret),
                "outside": name,
                "server": os.getpid(),
                "port": server.getsockname()[1],
                "abstract": abstract,
                "program": os.path.realpath(sys.executable),
            }


def attempt(sandbox: Runner, attack: Attack, facts: dict[str, str | int]) -> str:
    """What the attack met: ``reached …``, an errno or a signal.  Afterwards the sandbox must work as before."""
    doomed = Path(str(facts["outside"]), "doomed")
    doomed.mkdir(exist_ok=True)
    doomed.chmod(0o777)
    job = sandbox.start(msgspec.json.encode(Errand(attack.script, facts)), limits=Limits(wall_seconds=10))
    said = [message.decode() for message in job.messages()]
    outcome = job.outcome
    after = sandbox.start(msgspec.json.encode(Errand("result = 6 * 7")))
    assert list(after.messages()) == [b"reached 42"]
    if outcome.signal is not None:
        return signal.Signals(outcome.signal).name
    assert outcome.status == "ok", outcome
    return said[-1]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_all_walls_stop_it(attack: Attack, full: Sandbox, facts: dict[str, str | int]) -> None:
    stopped = attack.stopped_by(full.tier)
    met = attempt(full, attack, facts)
    # What nothing stops is known as well: under Landlock alone one sees that a file exists, and no more.
    assert met in stopped if stopped else attack.name in HARMLESS_IN_CONTAINERS and met.startswith("reached")


@pytest.mark.parametrize(("attack", "mechanism"), ALONE, ids=lambda value: getattr(value, "name", str(value)).lower())
def test_each_wall_stops_it_alone(
    attack: Attack, mechanism: Mechanism, sandbox_of: MakeSandbox, facts: dict[str, str | int]
) -> None:
    assert attempt(sandbox_of(mechanism), attack, facts) == attack.stopped[mechanism]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_succeeds_where_no_wall_stands(attack: Attack, sandbox_of: MakeSandbox, facts: dict[str, str | int]) -> None:
    met = attempt(sandbox_of(), attack, facts)
    if attack.host_may_refuse and not met.startswith("reached"):
        assert met == attempt(UnsafeLocal(f"{HANDLERS}:run_errand"), attack, facts)
        return
    assert met.startswith("reached")
