"""Namespaces: private mounts, processes, network and users."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator, Sequence

from app.sandbox import syscalls

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

AT_FDCWD = -100
AT_RECURSIVE = 0x8000

WORKSPACE = "/workspace"
"""Working directory of scripts inside the private root."""


def unshare(flags: int) -> None:
    """Move to new namespaces, given by ``CLONE_NEW*`` flags; see unshare(2)."""
    syscalls.call("unshare", flags)


def enter_user_namespace() -> None:
    """Create and enter a user namespace that maps the current user and group ids to themselves."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(syscalls.CLONE_NEWUSER)
    for name, content in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(content)


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount a file system; see mount(2)."""
    syscalls.call("mount", source.encode(), target.encode(), _text(kind), flags, _text(options))


def _text(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def freeze(path: str, flags: int, recursive: bool = True) -> None:
    """Add flags (read-only, no devices, …) recursively to a mount."""
    attributes = ctypes.create_string_buffer(struct.pack("=QQQQ", flags, 0, 0, 0), 32)
    syscalls.call("mount_setattr", AT_FDCWD, path.encode(), AT_RECURSIVE if recursive else 0, attributes, 32)


def enter_private_root(scratch: str, readable: Sequence[str], devices: Sequence[str]) -> None:
    """Pivot to a root directory that contains only some paths of the old one, read-only.

    Requires a private mount namespace.

    Parameters
    ----------
    scratch
        An empty directory to build the new root in.
    readable
        Absolute paths to bind-mount under the same names.
    devices
        Devices that may be opened; device files below ``readable`` may not.
    """
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("strata", scratch, "tmpfs", MS_NOSUID, "mode=0755,size=1m,nr_inodes=4096")
    for path in readable:
        _bind(scratch, path, MS_RDONLY | MS_NOSUID | MS_NODEV)
    for device in devices:
        _bind(scratch, device, MS_RDONLY | MS_NOSUID)
    os.mkdir(scratch + WORKSPACE)
    freeze(scratch, MS_RDONLY | MS_NOSUID | MS_NODEV, recursive=False)
    os.chdir(scratch)
    syscalls.call("pivot_root", b".", b".")
    syscalls.call("umount2", b".", MNT_DETACH)
    os.chdir("/")


def _bind(root: str, path: str, flags: int) -> None:
    for link, target in _symbolic_links(path):
        os.makedirs(os.path.dirname(root + link), exist_ok=True)
        if not os.path.lexists(root + link):
            os.symlink(target, root + link)
    real = os.path.realpath(path)
    if os.path.isdir(real):
        os.makedirs(root + real, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(root + real), exist_ok=True)
        os.close(os.open(root + real, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC, 0o444))
    mount(real, root + real, None, MS_BIND | MS_REC)
    freeze(root + real, flags)


def _symbolic_links(path: str) -> Iterator[tuple[str, str]]:
    """Yield the symbolic links along a path, with their targets."""
    walked = "/"
    for part in path.split("/"):
        step = os.path.join(walked, part)
        if os.path.islink(step):
            target = os.readlink(step)
            yield step, target
            yield from _symbolic_links(os.path.join(walked, target))
            step = os.path.realpath(step)
        walked = step


def mount_workspace(size: int, uid: int, gid: int) -> None:
    """Mount a private, size-limited tmpfs as the working directory."""
    unshare(syscalls.CLONE_NEWNS)
    options = f"mode=0700,uid={uid},gid={gid},size={size},nr_inodes=1024"
    mount("workspace", WORKSPACE, "tmpfs", MS_NOSUID | MS_NODEV, options)
