"""The system call filter: a table of rules, compiled to classic BPF.

Benign scripts that use numpy, the JIT, threads, OpenMP and BLAS need the calls of :data:`ALLOWED`, and those of
:func:`checked` with the arguments stated there.  Calls that no benign script makes (:data:`FATAL`) and foreign ABIs
kill the process; everything else fails with EPERM.
"""

from __future__ import annotations

import ctypes
import errno
import os
from dataclasses import dataclass
from functools import cache

from app.sandbox import syscalls
from app.sandbox.syscalls import Machine
from app.sandbox.tier import FileAccess


def _calls(names: str) -> frozenset[str]:
    return frozenset(names.split())


ALLOWED = _calls(
    # memory
    "mmap munmap mprotect mremap madvise brk msync mincore mbind get_mempolicy "
    # threads
    "futex set_robust_list rseq membarrier gettid getpid getppid exit exit_group sched_yield sched_getaffinity getcpu "
    # signals to oneself
    "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack restart_syscall setitimer "
    "getitimer pause "
    # time and facts
    "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage sysinfo uname getrandom "
    "getuid geteuid getgid getegid getrlimit "
    # open files
    "read write readv writev pread64 pwrite64 close lseek fstat fstatfs getcwd dup dup2 dup3 pipe2 poll ppoll select "
    "pselect6 ftruncate"
)
LOOKS_AT_FILES = _calls(
    "stat lstat newfstatat statx statfs access faccessat faccessat2 readlink readlinkat chdir fchdir getdents64"
)
CHANGES_FILES = _calls(
    "mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 truncate fallocate fsync fdatasync umask chmod "
    "fchmod fchmodat utimensat flock copy_file_range sendfile"
)
STARTS_A_PROGRAM = _calls("execve arch_prctl set_tid_address sched_get_priority_min sched_get_priority_max")
"""The calls for executing a program and for its startup; Landlock decides which programs."""
FATAL = _calls(
    "ptrace process_vm_readv process_vm_writev process_madvise bpf io_uring_setup io_uring_enter io_uring_register "
    "userfaultfd perf_event_open add_key request_key keyctl mount umount2 pivot_root chroot move_mount open_tree "
    "fsopen fsconfig fsmount fspick mount_setattr setns unshare init_module finit_module delete_module kexec_load "
    "kexec_file_load reboot swapon swapoff open_by_handle_at kcmp iopl ioperm modify_ldt quotactl acct settimeofday "
    "clock_settime adjtimex clock_adjtime vhangup pidfd_getfd syslog fanotify_init sethostname setdomainname"
)

_THREAD_FLAGS = 0x003D_0F00
"""VM, FS, FILES, SYSVSEM, SIGHAND, THREAD, SETTLS, PARENT_SETTID, CHILD_CLEARTID: the flags of a POSIX thread."""
_CLONE_DETACHED = 0x0040_0000
"""Ignored by the kernel; musl sets it."""
_TCGETS = 0x5401
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC; not F_SETOWN, which aims signals."""
_TILE_REGISTERS = (0x1021, 0x1023)
"""ARCH_GET_XCOMP_SUPP and ARCH_REQ_XCOMP_PERM: what kernels for AMX ask for; it adds to what is saved of a thread."""
_NOT_READ_ONLY = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | getattr(os, "O_TMPFILE", 0) & ~getattr(os, "O_DIRECTORY", 0)


@dataclass(frozen=True)
class Check:
    """A condition that a masked 32-bit half of an argument has one of some values."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFF_FFFF
    high: bool = False


@dataclass(frozen=True)
class Rule:
    """A call that is allowed if all checks hold, and otherwise fails with an errno."""

    checks: tuple[Check, ...]
    refusal: int = errno.EPERM


def checked(pid: int, files: FileAccess) -> dict[str, Rule]:
    """Return the rules for calls that are allowed depending on their arguments.

    Parameters
    ----------
    pid
        Process id of the filtered process, as seen by itself.
    files
        File access of the process.
    """
    rules = {
        "clone": Rule((Check(0, (_THREAD_FLAGS, _THREAD_FLAGS | _CLONE_DETACHED)),)),
        "clone3": Rule((Check(0, ()),), errno.ENOSYS),  # its flags are in memory; glibc falls back to clone
        "tgkill": Rule((Check(0, (pid,)),)),
        "ioctl": Rule((Check(1, (_TCGETS,)),), errno.ENOTTY),
        "fcntl": Rule((Check(1, _FCNTL_COMMANDS),)),
        "prlimit64": Rule((Check(0, (0, pid)), Check(2, (0,)), Check(2, (0,), high=True))),
        "prctl": Rule((Check(0, (syscalls.PR_SET_NAME,)),)),
        "arch_prctl": Rule((Check(0, _TILE_REGISTERS),)),
    }
    if files is FileAccess.READ:
        rules["open"] = Rule((Check(1, (0,), _NOT_READ_ONLY),), errno.EACCES)
        rules["openat"] = Rule((Check(2, (0,), _NOT_READ_ONLY),), errno.EACCES)
    elif files is FileAccess.NONE:
        rules["open"] = rules["openat"] = Rule((Check(0, ()),), errno.EACCES)
        rules.update({name: Rule((Check(0, ()),), errno.EACCES) for name in LOOKS_AT_FILES})
    return rules


def allowed(files: FileAccess, executes: bool = False) -> frozenset[str]:
    """Return the calls that are allowed regardless of their arguments.

    Parameters
    ----------
    files
        File access of the process.
    executes
        Whether it executes a program instead of a script.
    """
    calls = ALLOWED | STARTS_A_PROGRAM if executes else ALLOWED
    match files:
        case FileAccess.NONE:
            return calls
        case FileAccess.READ:
            return calls | LOOKS_AT_FILES
        case FileAccess.WRITE:
            return calls | LOOKS_AT_FILES | CHANGES_FILES | {"open", "openat"}


AUDIT_ARCHITECTURE: dict[Machine, int] = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
X32_BIT = 0x4000_0000

ALLOW = 0x7FFF_0000
KILL_PROCESS = 0x8000_0000
ERRNO = 0x0005_0000

LOAD = 0x20
JUMP_EQUAL = 0x15
JUMP_AT_LEAST = 0x35
AND = 0x54
RETURN = 0x06

_NUMBER_OFFSET = 0
_ARCHITECTURE_OFFSET = 4
_ARGUMENTS_OFFSET = 16

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""


def program(pid: int, files: FileAccess, machine: Machine, executes: bool = False) -> list[Instruction]:
    """Compile the rules to BPF for a machine.

    Every rule is self-contained, `if this call: decide`, so that jumps stay within a rule and below BPF's limit of 255.
    """
    code: list[Instruction] = [
        (LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (JUMP_EQUAL, 1, 0, AUDIT_ARCHITECTURE[machine]),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD, 0, 0, _NUMBER_OFFSET),
    ]
    if machine == "x86_64":
        code += [(JUMP_AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL_PROCESS)]
    decisions = {name: [(RETURN, 0, 0, KILL_PROCESS)] for name in FATAL}
    decisions |= {name: [(RETURN, 0, 0, ALLOW)] for name in allowed(files, executes)}
    starts = STARTS_A_PROGRAM if executes else frozenset()
    decisions |= {name: _decide(rule) for name, rule in checked(pid, files).items() if name not in starts}
    for name, decision in sorted(decisions.items()):
        nr = syscalls.number(name, machine)
        if nr is not None:
            code += [(JUMP_EQUAL, 0, len(decision), nr), *decision]
    code.append((RETURN, 0, 0, ERRNO | errno.EPERM))
    return code


def _decide(rule: Rule) -> list[Instruction]:
    """Emit the checks of a rule; the first that fails rejects the call."""
    code: list[Instruction] = []
    for check in rule.checks:
        offset = _ARGUMENTS_OFFSET + 8 * check.argument + 4 * check.high  # both machines are little-endian
        code += [(LOAD, 0, 0, offset), (AND, 0, 0, check.mask)]
        for position, value in enumerate(check.values):
            code.append((JUMP_EQUAL, len(check.values) - position, 0, value & check.mask))
        code.append((RETURN, 0, 0, ERRNO | rule.refusal))
    code.append((RETURN, 0, 0, ALLOW))
    return code


class _Filter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Filter))]


_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1
_ANY_PID = 0x7FFF_FFFF
"""Placeholder for the process id in a prepared filter."""


@cache
def prepare(files: FileAccess, executes: bool = False) -> tuple[ctypes.Array[_Filter], tuple[int, ...]]:
    """Return the filter for this machine, and the positions of the process id placeholders.

    Compilation takes longer than all other mechanisms together, so the zygote does it before forking.
    """
    code = program(_ANY_PID, files, syscalls.machine(), executes)
    instructions = (_Filter * len(code))(*(_Filter(*instruction) for instruction in code))
    return instructions, tuple(place for place, instruction in enumerate(code) if instruction[3] == _ANY_PID)


def install(files: FileAccess, executes: bool = False) -> None:
    """Irrevocably install the filter on all threads of this process.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    instructions, places = prepare(files, executes)
    for place in places:
        instructions[place].k = os.getpid()
    loaded = _Program(len(instructions), instructions)
    if syscalls.call("seccomp", _SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_TSYNC, loaded) != 0:
        raise OSError("seccomp: a thread could not take the filter")
