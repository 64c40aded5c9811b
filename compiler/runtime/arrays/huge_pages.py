"""Memory in huge pages: one entry of the translation look-aside buffer stands for 2 MiB instead of 4 KiB."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from compiler.ir.memory import ALIGNMENT
from compiler.runtime.arrays.ndarray import NDArray, aligned_empty

_PAGE = 1 << 21
"""Bytes of a huge page of x86, and of AArch64 with base pages of 4 KiB."""


def copied_together(*groups: Sequence[NDArray]) -> list[list[NDArray]]:
    """Return copies of arrays, such as the weights of kernels, one behind the other in :func:`lasting_memory`.

    What is given several times is copied once.
    """
    views = {id(value): value.view() for group in groups for value in group}
    rooms = [-(-view.nbytes // ALIGNMENT) * ALIGNMENT for view in views.values()]
    memory, copies = lasting_memory(sum(rooms)), {}
    for (key, view), room, end in zip(views.items(), rooms, accumulate(rooms), strict=True):
        copies[key] = memory[end - room :][: view.nbytes].view(view.dtype).reshape(view.shape)
        copies[key][...] = view
    return [[NDArray(copies[id(value)], value.dtype, value.device) for value in group] for group in groups]


def lasting_memory(size: int) -> npt.NDArray[np.uint8]:
    """Return as many bytes, aligned as arrays are, in huge pages where they fill one and the system has them.

    It is for what lasts: the system clears such a page when it is first written to. Raises MemoryError if there is not
    as much.
    """
    if size < _PAGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return aligned_empty((size,), "uint8")
    try:
        pages = mmap.mmap(-1, size + _PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise MemoryError(f"there is no memory of {size} bytes") from None
    with suppress(OSError):  # a system that was built without huge pages
        pages.madvise(mmap.MADV_HUGEPAGE)
    memory = np.frombuffer(pages, np.uint8)
    start = -memory.ctypes.data % _PAGE
    return memory[start : start + size]
