"""Linux system calls through ctypes: numbers and wrappers."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Literal

Machine = Literal["x86_64", "aarch64"]
MACHINES: tuple[Machine, ...] = ("x86_64", "aarch64")

# fmt: off
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "access": (21, None), "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171),
    "arch_prctl": (158, None), "bind": (49, 200),
    "bpf": (321, 280), "brk": (12, 214), "capget": (125, 90), "capset": (126, 91), "chdir": (80, 49),
    "chmod": (90, None), "chroot": (161, 51), "clock_adjtime": (305, 266), "clock_getres": (229, 114),
    "clock_gettime": (228, 113), "clock_nanosleep": (230, 115), "clock_settime": (227, 112), "clone": (56, 220),
    "clone3": (435, 435), "close": (3, 57), "close_range": (436, 436), "connect": (42, 203),
    "copy_file_range": (326, 285), "delete_module": (176, 106), "dup": (32, 23), "dup2": (33, None),
    "dup3": (292, 24), "execve": (59, 221), "execveat": (322, 281), "exit": (60, 93), "exit_group": (231, 94),
    "faccessat": (269, 48), "faccessat2": (439, 439), "fallocate": (285, 47), "fanotify_init": (300, 262),
    "fchdir": (81, 50), "fchmod": (91, 52), "fchmodat": (268, 53), "fcntl": (72, 25), "fdatasync": (75, 83),
    "finit_module": (313, 273), "flock": (73, 32), "fork": (57, None), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fsopen": (430, 430), "fspick": (433, 433), "fstat": (5, 80), "fstatfs": (138, 44), "fsync": (74, 82),
    "ftruncate": (77, 46), "futex": (202, 98), "get_mempolicy": (239, 236), "getcpu": (309, 168), "getcwd": (79, 17),
    "getdents64": (217, 61), "getegid": (108, 177), "geteuid": (107, 175), "getgid": (104, 176),
    "getitimer": (36, 102), "getpid": (39, 172), "getppid": (110, 173), "getrandom": (318, 278),
    "getrlimit": (97, 163), "getrusage": (98, 165), "gettid": (186, 178), "gettimeofday": (96, 169),
    "getuid": (102, 174), "init_module": (175, 105), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425), "ioctl": (16, 29), "ioperm": (173, None), "iopl": (172, None), "kcmp": (312, 272),
    "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219), "kill": (62, 129),
    "landlock_add_rule": (445, 445), "landlock_create_ruleset": (444, 444), "landlock_restrict_self": (446, 446),
    "lseek": (8, 62), "lstat": (6, None), "madvise": (28, 233), "mbind": (237, 235), "membarrier": (324, 283),
    "memfd_create": (319, 279), "mincore": (27, 232), "mkdir": (83, None), "mkdirat": (258, 34), "mmap": (9, 222),
    "modify_ldt": (154, None), "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "mprotect": (10, 226), "mremap": (25, 216), "msync": (26, 227), "munmap": (11, 215),
    "name_to_handle_at": (303, 264), "nanosleep": (35, 101), "newfstatat": (262, 79), "open": (2, None),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "openat": (257, 56), "pause": (34, None),
    "perf_event_open": (298, 241), "personality": (135, 92), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pipe2": (293, 59), "pivot_root": (155, 41), "poll": (7, None),
    "ppoll": (271, 73), "prctl": (157, 167), "pread64": (17, 67), "prlimit64": (302, 261),
    "process_madvise": (440, 440), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pselect6": (270, 72), "ptrace": (101, 117), "pwrite64": (18, 68), "quotactl": (179, 60), "read": (0, 63),
    "readlink": (89, None), "readlinkat": (267, 78), "readv": (19, 65), "reboot": (169, 142), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "request_key": (249, 218), "restart_syscall": (219, 128),
    "rmdir": (84, None), "rseq": (334, 293), "rt_sigaction": (13, 134), "rt_sigpending": (127, 136),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigtimedwait": (128, 137),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126), "sched_getaffinity": (204, 123),
    "sched_setaffinity": (203, 122), "sched_yield": (24, 124), "seccomp": (317, 277), "select": (23, None),
    "sendfile": (40, 71), "set_robust_list": (273, 99), "set_tid_address": (218, 96), "setdomainname": (171, 162),
    "sethostname": (170, 161), "setitimer": (38, 103), "setns": (308, 268), "setresuid": (117, 147),
    "setsid": (112, 157), "settimeofday": (164, 170), "setuid": (105, 146), "sigaltstack": (131, 132),
    "socket": (41, 198), "socketpair": (53, 199), "stat": (4, None), "statfs": (137, 43), "statx": (332, 291),
    "swapoff": (168, 225), "swapon": (167, 224), "sysinfo": (99, 179), "syslog": (103, 116), "tgkill": (234, 131),
    "time": (201, None), "times": (100, 153), "tkill": (200, 130), "truncate": (76, 45), "umask": (95, 166),
    "umount2": (166, 39), "uname": (63, 160), "unlink": (87, None), "unlinkat": (263, 35), "unshare": (272, 97),
    "userfaultfd": (323, 282), "utimensat": (280, 88), "vfork": (58, None), "vhangup": (153, 58), "write": (1, 64),
    "writev": (20, 66),
}
# fmt: on
"""Numbers of system calls on x86_64 and aarch64; None if the machine has no such call."""

CLONE_NEWNS = 0x0002_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

LAST_CAPABILITY = 40
CAPABILITIES = {"KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8, "SYS_ADMIN": 21}

_libc = ctypes.CDLL(None, use_errno=True)


def machine() -> Machine:
    """Return the architecture of this process.

    Raises
    ------
    OSError
        If it is not supported.
    """
    name = platform.machine()
    for known in MACHINES:
        if name == known:
            return known
    raise OSError(f"sandbox: no system call table for machine {name!r}")


def number(name: str, on: Machine) -> int | None:
    """Return the number of a system call; None if the machine has no such call."""
    return NUMBERS[name][MACHINES.index(on)]


def call(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | ctypes.Structure | None) -> int:
    """Make a system call; structures are passed by reference.

    Raises
    ------
    OSError
        If the call fails, with its errno and name.
    """
    nr = number(name, machine())
    if nr is None:
        raise OSError(f"{name}: no such system call on {machine()}")
    result: int = _libc.syscall(ctypes.c_long(nr), *(_argument(a) for a in arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def _argument(value: object) -> object:
    """Widen a Python value to register size; variadic calls would otherwise pass 32 bits."""
    if isinstance(value, int):
        return ctypes.c_long(value)
    if isinstance(value, ctypes.Structure):
        return ctypes.byref(value)
    return value


def prctl(option: int, argument: int = 0) -> None:
    """Call prctl(2) for this process."""
    call("prctl", option, argument, 0, 0, 0)


def close_all_but(keep_below: int) -> None:
    """Close all file descriptors from ``keep_below`` on."""
    try:
        call("close_range", keep_below, 0x7FFF_FFFF, 0)
    except OSError:
        # Kernels before 5.9 have no close_range.
        os.closerange(keep_below, os.sysconf("SC_OPEN_MAX"))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilitySets(ctypes.Structure):
    """Effective, permitted and inheritable sets: the low 32 capabilities, then the high ones."""

    _fields_ = [("words", ctypes.c_uint32 * 6)]


_CAPABILITY_VERSION_3 = 0x2008_0522


def effective_capabilities() -> int:
    """Return the bit set of this thread's effective capabilities."""
    sets = _CapabilitySets()
    call("capget", _CapabilityHeader(_CAPABILITY_VERSION_3, 0), sets)
    return int(sets.words[0]) | int(sets.words[3]) << 32


def has_capability(name: str) -> bool:
    """Return whether a capability of this thread is effective."""
    return bool(effective_capabilities() >> CAPABILITIES[name] & 1)


def keep_capabilities(names: tuple[str, ...]) -> None:
    """Drop all other capabilities, also from the bounding set if this thread may change it."""
    kept = sum(1 << CAPABILITIES[name] for name in names) & effective_capabilities()
    if has_capability("SETPCAP"):
        for capability in range(LAST_CAPABILITY + 1):
            if not kept >> capability & 1:
                prctl(PR_CAPBSET_DROP, capability)
    call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    low, high = kept & 0xFFFF_FFFF, kept >> 32
    sets = _CapabilitySets((ctypes.c_uint32 * 6)(low, low, 0, high, high, 0))
    call("capset", _CapabilityHeader(_CAPABILITY_VERSION_3, 0), sets)
