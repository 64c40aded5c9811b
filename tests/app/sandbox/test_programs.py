"""Jobs that go on as a program: the one that their limits name, isolated like every other job."""

from __future__ import annotations

import os
import sys

import pytest

from app.sandbox import Limits, Mechanism, Outcome, Sandbox, readable
from app.sandbox.tier import Tier
from tests.app.sandbox.conftest import STRONGEST, MakeSandbox

LOADER = next(path for path in readable.executables("") if os.path.exists(path))
"""A program that every tier of this host can show to a job: what starts all others, which says its own version."""
BECOME = "from app.sandbox.handler import Execute\nemit(b'before')\nraise Execute({program!r}, {argument!r})"
TIERS = [STRONGEST.mechanisms, STRONGEST.mechanisms & {Mechanism.SECCOMP, Mechanism.LANDLOCK}]
needs_landlock = pytest.mark.skipif(Mechanism.LANDLOCK not in STRONGEST.mechanisms, reason="no Landlock here")


def become(sandbox: Sandbox, path: str, argument: str = "--version", **limits: object) -> tuple[list[bytes], Outcome]:
    script = BECOME.format(program=path, argument=argument)
    job = sandbox.start(script.encode(), limits=Limits(**limits))  # type: ignore[arg-type]
    return list(job.messages()), job.outcome


@needs_landlock
@pytest.mark.parametrize("mechanisms", TIERS, ids=["all", "files"])
def test_a_job_goes_on_as_the_program_of_its_limits(sandbox_of: MakeSandbox, mechanisms: frozenset[Mechanism]) -> None:
    sandbox = sandbox_of(*mechanisms, handler="run_script")
    messages, outcome = become(sandbox, LOADER, program=LOADER)
    assert outcome.status == "ok"
    assert messages[0] == b"before"
    assert b"ld.so" in messages[1]
    assert len(messages) == 2


@needs_landlock
def test_no_other_program_is_executed(sandbox_of: MakeSandbox) -> None:
    sandbox = sandbox_of(*TIERS[1], handler="run_script")
    program = os.path.realpath(sys.executable)
    _, outcome = become(sandbox, program, program=LOADER)
    assert outcome.status == "crash"
    assert "Permission denied" in outcome.console


def test_a_job_without_a_program_sends_no_message_without_its_length(scripts: Sandbox) -> None:
    messages, outcome = become(scripts, LOADER)
    assert messages == [b"before"]
    assert outcome.status == "output"


def test_a_job_without_a_program_executes_none(scripts: Sandbox) -> None:
    job = scripts.start(f"import os\nos.execv({LOADER!r}, [{LOADER!r}, '--version'])".encode())
    assert list(job.messages()) == []
    outcome = job.outcome
    assert outcome.status == "crash"
    assert "Operation not permitted" in outcome.console


def test_where_no_wall_knows_programs_the_job_is_refused(sandbox_of: MakeSandbox) -> None:
    sandbox = sandbox_of(Mechanism.SECCOMP, handler="run_script")
    messages, outcome = become(sandbox, LOADER, program=LOADER)
    assert outcome.status == "setup"
    assert "can restrict which program" in outcome.detail
    assert messages == []
    assert not Tier(mechanisms=frozenset({Mechanism.SECCOMP})).executes


@needs_landlock
def test_what_a_program_writes_counts_against_the_limits(sandbox_of: MakeSandbox) -> None:
    sandbox = sandbox_of(*STRONGEST.mechanisms, handler="run_script")
    _, outcome = become(sandbox, LOADER, "--help", program=LOADER, output_bytes=100)
    assert outcome.status == "output"
    _, outcome = become(sandbox, LOADER, "--no-such-option", program=LOADER)
    assert outcome.status == "crash"
    assert outcome.console
