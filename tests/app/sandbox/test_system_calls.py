"""Raw system calls, by number and from machine code: what the filter does with each that it knows by name."""

from __future__ import annotations

import json
import signal
import struct

import pytest

from app.sandbox import Runner, Sandbox, UnsafeLocal, seccomp, syscalls
from app.sandbox.tier import FileAccess
from tests.app.sandbox.conftest import HANDLERS, MakeSandbox

HARMLESS = (-1, -1, -1, -1, -1, -1)
"""Arguments with which no call does anything, whoever makes it."""
ENDS_OR_STARTS_PROCESSES = {"fork", "vfork", "clone", "clone3", "exit", "exit_group", "execve", "execveat", "kill"}
A_CHILD_HAS_DONE_IT = {"setsid"}
HERE = syscalls.machine()
FATAL = sorted(name for name in seccomp.FATAL if syscalls.number(name, HERE) is not None)
REFUSED = sorted(
    name
    for name in set(syscalls.NUMBERS)
    - seccomp.FATAL
    - seccomp.allowed(FileAccess.WRITE)
    - ENDS_OR_STARTS_PROCESSES
    - A_CHILD_HAS_DONE_IT
    if syscalls.number(name, HERE) is not None and name not in seccomp.checked(1, FileAccess.WRITE)
)
EACH = """
import errno, json
answers = {}
for name in names.split():
    try:
        call(name, -1, -1, -1, -1, -1, -1)
        answers[name] = ""
    except OSError as problem:
        answers[name] = errno.errorcode[problem.errno]
emit(json.dumps(answers).encode())
"""


def answers(sandbox: Runner, names: list[str]) -> dict[str, str]:
    """What each call answered to one script that made them all."""
    script = f"from app.sandbox.syscalls import call\nnames = {' '.join(names)!r}\n{EACH}"
    job = sandbox.start(script.encode())
    messages = list(job.messages())
    assert job.outcome.status == "ok", job.outcome
    found: dict[str, str] = json.loads(messages[0])
    return found


@pytest.mark.parametrize("name", FATAL)
def test_no_honest_program_makes_this_call(name: str, scripts: Sandbox) -> None:
    job = scripts.start(f"from app.sandbox.syscalls import call\ncall({name!r}, {str(HARMLESS)[1:-1]})".encode())
    assert job.outcome.signal == signal.SIGSYS
    assert "forbidden system call" in job.outcome.detail


def test_calls_that_kill_reach_the_kernel_without_the_filter(sandbox_of: MakeSandbox) -> None:
    assert answers(sandbox_of(handler="run_script"), FATAL).keys() == set(FATAL)


def test_calls_that_are_not_allowed_are_refused(scripts: Sandbox) -> None:
    assert {"socket", "memfd_create", "landlock_restrict_self", "seccomp", "pidfd_open"} <= set(REFUSED)
    assert answers(scripts, REFUSED) == dict.fromkeys(REFUSED, "EPERM")


def refused(runner: Runner) -> set[str]:
    """Calls that answer EPERM there."""
    return {name for name, answer in answers(runner, REFUSED).items() if answer == "EPERM"}


def test_calls_that_are_refused_reach_the_kernel_without_the_filter(sandbox_of: MakeSandbox) -> None:
    by_the_host = refused(UnsafeLocal(f"{HANDLERS}:run_script"))
    assert refused(sandbox_of(handler="run_script")) <= by_the_host
    assert len(by_the_host) < len(REFUSED) / 2


LAST_NUMBER = 600
"""Beyond the calls of any kernel of today."""
PROBES = {335, 336} if HERE == "x86_64" else set()
"""Calls of the kernel's own trampolines, which no filter sees; whoever else makes them gets SIGILL."""


def test_every_number_that_is_not_allowed_is_refused(scripts: Sandbox) -> None:
    """Also those of calls that the table does not name, or that do not exist yet."""
    known = seccomp.FATAL | seccomp.allowed(scripts.tier.files) | seccomp.checked(1, scripts.tier.files).keys()
    named = {syscalls.number(name, HERE) for name in known}
    others = sorted(set(range(LAST_NUMBER)) - named - PROBES)
    assert len(others) > 300
    script = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
answers = set()
for number in {others}:
    result = libc.syscall(*(ctypes.c_long(value) for value in (number, *{HARMLESS})))
    answers.add((result, errno.errorcode[ctypes.get_errno()]))
emit(str(answers).encode())
"""
    assert list(scripts.start(script.encode()).messages()) == [str({(-1, "EPERM")}).encode()]


def machine_code(code: bytes) -> str:
    """A script that runs native code of its own making, and emits what it returned."""
    return f"""
import ctypes, mmap
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write({code!r})
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
emit(str(ctypes.CFUNCTYPE(ctypes.c_long)(address)()).encode())
"""


X86 = HERE == "x86_64"
GETPID = (
    b"\xb8" + struct.pack("<I", 39) + b"\x0f\x05\xc3"
    if X86
    else struct.pack("<III", 0xD2801588, 0xD4000001, 0xD65F03C0)
)
"""mov eax, 39; syscall; ret, or the same for aarch64."""
FOREIGN = {
    "as a 32-bit program": b"\xb8" + struct.pack("<I", 20) + b"\xcd\x80\xc3",
    "by x32 number": b"\xb8" + struct.pack("<I", 39 | seccomp.X32_BIT) + b"\x0f\x05\xc3",
    "ptrace": b"\xb8" + struct.pack("<I", 101) + b"\x0f\x05\xc3",
}
if not X86:
    FOREIGN = {"ptrace": struct.pack("<III", 0xD2800EA8, 0xD4000001, 0xD65F03C0)}


def test_native_code_may_make_allowed_calls(scripts: Sandbox) -> None:
    (said,) = scripts.start(machine_code(GETPID).encode()).messages()
    assert int(said) > 0


@pytest.mark.parametrize("name", FOREIGN)
def test_native_code_is_killed_for_other_calls(name: str, scripts: Sandbox) -> None:
    job = scripts.start(machine_code(FOREIGN[name]).encode())
    assert list(job.messages()) == []
    # Kernels that know no 32-bit programs end them themselves.
    assert job.outcome.signal in {signal.SIGSYS, signal.SIGSEGV}


@pytest.mark.parametrize(
    ("statement", "errno_name"),
    [
        ("call('clone3', -1, 0)", "ENOSYS"),
        ("call('clone', 0x10000000 | 17, 0, 0, 0, 0)", "EPERM"),
        ("call('ioctl', 0, 0x5412, -1)", "ENOTTY"),
        ("call('fcntl', 3, 8, 1)", "EPERM"),
        ("call('prlimit64', 0, 7, 1, 0)", "EPERM"),
        ("call('prlimit64', 0, 7, 1 << 32, 0)", "EPERM"),
        ("call('prlimit64', 4242, 7, 0, 0)", "EPERM"),
        ("call('prctl', 38, 1, 0, 0, 0)", "EPERM"),
        ("call('tgkill', 4242, 4242, 9)", "EPERM"),
    ],
)
def test_calls_with_other_arguments_are_refused(statement: str, errno_name: str, scripts: Sandbox) -> None:
    script = f"""
import errno
from app.sandbox.syscalls import call
try:
    {statement}
except OSError as problem:
    emit(errno.errorcode[problem.errno].encode())
"""
    assert list(scripts.start(script.encode()).messages()) == [errno_name.encode()]


@pytest.mark.parametrize("machine", syscalls.MACHINES)
@pytest.mark.parametrize("files", FileAccess)
def test_programs_fit_the_kernel(machine: syscalls.Machine, files: FileAccess) -> None:
    code = seccomp.program(1, files, machine)
    assert len(code) <= 4096
    for position, (operation, if_true, if_false, operand) in enumerate(code):
        assert 0 <= operand < 1 << 32
        if operation in {seccomp.JUMP_EQUAL, seccomp.JUMP_AT_LEAST}:
            assert max(if_true, if_false) < 256
            assert position + 1 + max(if_true, if_false) < len(code)
    assert code[-1][0] == seccomp.RETURN
