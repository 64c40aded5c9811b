"""Every tier does honest work, says truthfully what it lacks, and the weakest refuses."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from app.sandbox import (
    Mechanism,
    Sandbox,
    SandboxError,
    Tier,
    UnsafeLocal,
    client,
    landlock,
    namespaces,
    probe,
    seccomp,
)
from tests.app.sandbox.conftest import HANDLERS, STRONGEST, TESTS, MakeSandbox

SECCOMP, LANDLOCK, ROOT = Mechanism.SECCOMP, Mechanism.LANDLOCK, Mechanism.PRIVATE_ROOT
ISOLATED = {ROOT, Mechanism.PROCESSES, Mechanism.NETWORK}
TIERS = {
    "full": frozenset(Mechanism),
    "no user namespaces, as in a container": frozenset({SECCOMP, LANDLOCK, Mechanism.USER_ID}),
    "nobody in a container": frozenset({SECCOMP, LANDLOCK}),
    "no Landlock": frozenset({SECCOMP, *ISOLATED, Mechanism.USERS, Mechanism.USER_ID}),
    "seccomp alone": frozenset({SECCOMP}),
}
OFFERED = {name: mechanisms for name, mechanisms in TIERS.items() if mechanisms <= STRONGEST.mechanisms}


def test_this_host_has_the_wall_that_matters_most() -> None:
    assert sys.platform != "linux" or SECCOMP in STRONGEST.mechanisms
    assert "seccomp alone" in OFFERED


@pytest.mark.parametrize("name", OFFERED)
def test_every_tier_does_honest_work(name: str, sandbox_of: MakeSandbox) -> None:
    sandbox = sandbox_of(*OFFERED[name], handler="run_script")
    assert sandbox.tier.safe_for_public
    script = b"import numpy; emit(str(numpy.arange(12).reshape(3, 4).sum(axis=0)).encode())"
    assert list(sandbox.start(script).messages()) == [b"[12 15 18 21]"]


@pytest.mark.parametrize(
    ("mechanisms", "name"),
    [
        (frozenset(Mechanism), "full"),
        (frozenset({SECCOMP, LANDLOCK, *ISOLATED}), "full"),
        (frozenset({SECCOMP, LANDLOCK, ROOT}), "seccomp+landlock"),
        (frozenset({SECCOMP}), "seccomp"),
        (frozenset(Mechanism) - {SECCOMP}, "unsafe-local"),
        (frozenset(), "unsafe-local"),
    ],
)
def test_names_of_tiers(mechanisms: frozenset[Mechanism], name: str) -> None:
    tier = Tier(mechanisms=mechanisms)
    assert tier.name == name
    assert tier.safe_for_public == (SECCOMP in mechanisms)
    assert not Tier(mechanisms=mechanisms, as_root=True).safe_for_public


def test_a_tier_says_what_is_missing_and_why() -> None:
    tier = Tier(mechanisms=frozenset({SECCOMP}), reasons={LANDLOCK: "the kernel has none"})
    assert str(tier) == "seccomp (seccomp) [no landlock: the kernel has none]"
    assert UnsafeLocal(f"{HANDLERS}:run_script").tier.safe_for_public is False


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_what_the_host_refuses_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(namespaces, "unshare", refuse)
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    monkeypatch.setattr(os, "setresuid", refuse)
    tier = probe.try_all(str(tmp_path))
    assert tier.mechanisms == STRONGEST.mechanisms & {SECCOMP}
    assert tier.reasons[LANDLOCK] == "OSError: the kernel has none, or it is switched off"
    assert "Operation not permitted" in tier.reasons[Mechanism.USERS]
    assert tier.reasons.keys() == {mechanism.value for mechanism in Mechanism} - {SECCOMP}
    assert tier.as_root == (os.geteuid() == 0)
    assert tier.safe_for_public == (os.geteuid() != 0)


def test_a_filter_that_does_not_filter_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(seccomp, "install", lambda files: None)
    monkeypatch.setattr(landlock, "restrict", lambda read, write: None)
    tier = probe.try_all(str(tmp_path))
    assert tier.reasons[SECCOMP] == "OSError: the filter does not filter"
    assert not {SECCOMP, LANDLOCK} & tier.mechanisms


def test_no_sandbox_without_a_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.ZygoteProcess, "wait_for_tier", lambda _: Tier(reasons={SECCOMP: "switched off"}))
    with pytest.raises(SandboxError, match="this host does not support one: switched off"):
        Sandbox(f"{HANDLERS}:run_script")


UNPRIVILEGED = """
import os, sys
from app.sandbox import syscalls
if os.geteuid() == 0:
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
if "container" in sys.argv:
    from app.sandbox import seccomp
    number = syscalls.number("unshare", syscalls.machine())
    code = [(seccomp.LOAD, 0, 0, 0), (seccomp.JUMP_EQUAL, 0, 1, number), (seccomp.RETURN, 0, 0, seccomp.ERRNO | 1),
            (seccomp.RETURN, 0, 0, seccomp.ALLOW)]
    usual, seccomp.program = seccomp.program, lambda *arguments: code
    seccomp.install(None)
    seccomp.program = usual
    seccomp.prepare.cache_clear()
import tempfile
import msgspec
from app.sandbox.probe import try_all
with tempfile.TemporaryDirectory() as scratch:
    sys.stdout.buffer.write(msgspec.json.encode(try_all(scratch)))
"""


@pytest.mark.parametrize("where", ["host", "container"])
def test_what_nobody_gets(where: str) -> None:
    """A server without privileges, and one that may not even make user namespaces, as under Docker's own filter."""
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        environment = {"PATH": os.defpath, "PYTHONPATH": str(Path(TESTS).parent), "TMPDIR": home}
        done = subprocess.run(
            [sys.executable, "-P", "-s", "-c", UNPRIVILEGED, where], env=environment, stdout=subprocess.PIPE, check=True
        )
    tier = msgspec.json.decode(done.stdout, type=Tier)
    assert tier.safe_for_public
    assert Mechanism.USER_ID not in tier.mechanisms
    assert (LANDLOCK in tier.mechanisms) == (LANDLOCK in STRONGEST.mechanisms)
    if where == "container":
        assert tier.mechanisms == STRONGEST.mechanisms & {SECCOMP, LANDLOCK}
        assert tier.name == ("seccomp+landlock" if LANDLOCK in tier.mechanisms else "seccomp")
