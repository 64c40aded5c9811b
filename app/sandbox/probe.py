"""Detection of the isolation mechanisms of this host, by trying each in a fork of the first zygote."""

from __future__ import annotations

import os
from collections.abc import Callable

from app.sandbox import landlock, namespaces, readable, seccomp, syscalls
from app.sandbox.tier import FileAccess, Mechanism, Tier

_TRIAL_UID = 64_000


def try_all(scratch: str) -> Tier:
    """Return the strongest tier of this host: try every mechanism in a fork of this process, which has no threads.

    Parameters
    ----------
    scratch
        An empty directory.
    """
    trials = {**_TRIALS, Mechanism.PRIVATE_ROOT: lambda: _try_private_root(scratch)}
    outcomes = {mechanism: outcome(trial) for mechanism, trial in trials.items()}
    return Tier(
        mechanisms=frozenset(mechanism for mechanism, problem in outcomes.items() if not problem),
        reasons={mechanism.value: problem for mechanism, problem in outcomes.items() if problem},
        as_root=os.geteuid() == 0 and bool(outcomes[Mechanism.USER_ID]),
    )


def outcome(trial: Callable[[], None]) -> str:
    """Run a trial in a fork; return its error message, empty on success."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            trial()
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}"[:1000].encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        problem = pipe.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return problem or (f"ended with {code}" if code else "")


def _try_seccomp() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(FileAccess.NONE)
    try:
        os.open("/", os.O_RDONLY)
    except PermissionError:
        return
    raise OSError("the filter does not filter")


def _try_landlock() -> None:
    if not landlock.abi():
        raise OSError("the kernel has none, or it is switched off")
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict([], [])
    try:
        os.open("/", os.O_RDONLY)
    except PermissionError:
        return
    raise OSError("Landlock does not restrict")


def _privileged() -> None:
    """Gain the privilege to create namespaces, by a user namespace if necessary."""
    if not syscalls.has_capability("SYS_ADMIN"):
        namespaces.enter_user_namespace()


def _try_private_root(scratch: str) -> None:
    _privileged()
    namespaces.unshare(syscalls.CLONE_NEWNS)
    namespaces.enter_private_root(scratch, readable.paths(), readable.DEVICES)
    namespaces.mount_workspace(1 << 20, os.geteuid(), os.getegid())


def try_processes() -> None:
    """Do as the zygote does: as the first process of a namespace, switch to new ones and back.

    Switching back requires privileges over the target namespace; over the initial one, only root has them.
    """
    _privileged()
    namespaces.unshare(syscalls.CLONE_NEWPID)
    problem = outcome(_try_leaving)
    if problem:
        raise OSError(problem)


def _try_leaving() -> None:
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    namespaces.unshare(syscalls.CLONE_NEWPID)
    syscalls.call("setns", own, syscalls.CLONE_NEWPID)


def _try_network() -> None:
    _privileged()
    namespaces.unshare(syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS)


def _try_user_id() -> None:
    os.setgroups([])
    os.setresgid(_TRIAL_UID, _TRIAL_UID, _TRIAL_UID)
    os.setresuid(_TRIAL_UID, _TRIAL_UID, _TRIAL_UID)


_TRIALS: dict[Mechanism, Callable[[], None]] = {
    Mechanism.SECCOMP: _try_seccomp,
    Mechanism.LANDLOCK: _try_landlock,
    Mechanism.PROCESSES: try_processes,
    Mechanism.NETWORK: _try_network,
    Mechanism.USERS: lambda: namespaces.unshare(syscalls.CLONE_NEWUSER),
    Mechanism.USER_ID: _try_user_id,
}
