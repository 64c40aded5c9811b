"""Huge pages for the memory of a zygote: of these, a fork copies one entry of the page table instead of 512."""

from __future__ import annotations

import contextlib
import os
import re

from app.sandbox import syscalls

SIZE = 2 << 20
"""Of a huge page, where small ones have 4 KiB."""
_MADV_COLLAPSE = 25
_ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw.p 0+ 00:00 0 *(?:\[heap\])?$", re.ASCII | re.MULTILINE)


def collapse(processes: int) -> None:
    """Move this process's own memory into huge pages; nothing happens where the kernel has none to give.

    Parameters
    ----------
    processes : int
        Descriptor of ``/proc``.
    """
    with open(os.open("self/maps", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes), encoding="utf-8") as maps:
        areas = [[int(end, 16) for end in found.groups()] for found in _ANONYMOUS.finditer(maps.read())]
    for begin, end in areas:
        first, last = -(-begin // SIZE) * SIZE, end // SIZE * SIZE
        if first < last:
            with contextlib.suppress(OSError):  # in part, or not at all: before Linux 6.1, or without such pages
                syscalls.call("madvise", first, last - first, _MADV_COLLAPSE)
