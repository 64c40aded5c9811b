"""Memory of machine code between its calls."""

from __future__ import annotations

import ctypes
import resource
import shutil
import subprocess
import sys
import threading
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.runtime.modules.linking import _LINKERS
from compiler.runtime.modules.workspace import pool

_MANY = 1 << 20
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at what Linux and its C library do")


class Blocks:
    """What machine code gets for ``aligned_alloc`` and ``free``, of a pool that is empty at first."""

    def __init__(self) -> None:
        self.code = pool.__wrapped__()
        take, give, kept = (self.code.address(name) for name in ("take", "give", "kept"))
        self._take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(take)
        self.give = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(give)
        self.kept = ctypes.c_int64.from_address(kept)

    def take(self, size: int) -> int:
        """Return where a block of some bytes starts; zero if there is no memory for it."""
        return int(self._take(64, size) or 0)


def test_a_function_that_runs_again_gets_the_pages_that_it_had() -> None:
    a = te.placeholder((_MANY,), name="a")
    b = te.compute((_MANY,), lambda i: a[i] * 2, name="b")
    c = te.compute((_MANY,), lambda i: b[_MANY - 1 - i] + 1, name="c")
    function = tvm.build(te.create_schedule(c.op), [a, c], "llvm")
    x, y = (tvm.nd.array(np.arange(_MANY, dtype="float32")) for _ in range(2))
    function(x, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        function(x, y)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 1024, "each call writes to 1024 pages"
    np.testing.assert_array_equal(y.numpy(), x.numpy()[::-1] * 2 + 1)


def test_a_block_is_given_to_who_asks_for_about_its_size() -> None:
    blocks = Blocks()
    block = blocks.take(3 << 20)
    blocks.give(block)
    assert blocks.kept.value >= 3 << 20
    assert block not in (blocks.take(4 << 20), blocks.take(1 << 18))
    assert blocks.take(2 << 20) == block
    assert blocks.kept.value == 0


def test_no_more_is_kept_than_some_megabytes() -> None:
    blocks = Blocks()
    for block in [blocks.take(40 << 20) for _ in range(3)]:
        blocks.give(block)
    assert 40 << 20 <= blocks.kept.value <= 64 << 20
    for block in [blocks.take(1 << 16) for _ in range(40)]:
        blocks.give(block)
    assert blocks.kept.value < 2 << 20, "the large one had to go, as it was the oldest of the sixteen"
    blocks.give(0)
    blocks.give(blocks.take(100))
    assert blocks.kept.value < 2 << 20


def test_what_is_kept_is_given_back_before_memory_runs_out() -> None:
    blocks = Blocks()
    blocks.give(blocks.take(40 << 20))
    limits = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (16 << 20), limits[1]))
    library = ctypes.CDLL(None)
    library.aligned_alloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    # what the C library keeps of what the process used before
    more = iter(lambda: library.aligned_alloc(ctypes.c_size_t(64), ctypes.c_size_t(48 << 20)), None)
    spare = list(islice(more, 100))
    try:
        if len(spare) == 100:
            pytest.skip("this system does not bound a process's addresses")
        block = blocks.take(48 << 20)
        assert block
        assert blocks.kept.value == 0
        assert not blocks.take(48 << 20), "there is no more"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        for each in spare:
            library.free(each)
    blocks.give(block)


def test_threads_have_blocks_of_their_own() -> None:
    blocks, failures = Blocks(), []

    def work(number: int) -> None:
        for i in range(200):
            block = blocks.take(1 << 17)
            place = ctypes.c_int64.from_address(block)
            place.value = number * 1000 + i
            other = blocks.take(1 << 16)
            ctypes.c_int64.from_address(other).value = -1
            if place.value != number * 1000 + i or block % 64:
                failures.append(number)
            blocks.give(other)
            blocks.give(block)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


OPENED_AND_CLOSED = """
import _ctypes, ctypes, resource, sys
from pathlib import Path
import numpy as np
import compiler as tvm

def resident():
    ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

path, many = sys.argv[1], int(sys.argv[2])
function = tvm.runtime.load_module(path)
x, y = (tvm.nd.array(np.arange(many, dtype="float32")) for _ in range(2))
function(x, y)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    function(x, y)
written = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
np.testing.assert_array_equal(y.numpy(), x.numpy()[::-1] * 2 + 1)
held, handle = resident(), ctypes.CDLL(path)._handle
for _ in range(8):  # as often as it was opened, by the module, too, which is not called any more
    if path in Path("/proc/self/maps").read_text():
        _ctypes.dlclose(handle)
print(written, held - resident())
"""
"""Prints how many pages four calls wrote to for the first time, and how many bytes closing the library gave back."""


@pytest.mark.skipif(not any(map(shutil.which, _LINKERS)), reason="no linker")
def test_an_exported_library_keeps_its_pages_until_it_is_closed(tmp_path: Path) -> None:
    many = 9 << 20  # more bytes than the C library ever keeps of itself
    a = te.placeholder((many,), name="a")
    b = te.compute((many,), lambda i: a[i] * 2, name="b")
    c = te.compute((many,), lambda i: b[many - 1 - i] + 1, name="c")
    path = str(tmp_path / "kept.so")
    tvm.build(te.create_schedule(c.op), [a, c], "llvm").export_library(path)
    # In a process of its own: what the C library keeps depends on what ran in it before.
    ran = subprocess.run([sys.executable, "-c", OPENED_AND_CLOSED, path, str(many)], capture_output=True, text=True)
    assert not ran.stderr
    written, given_back = map(int, ran.stdout.split())
    assert written < 9216, "each call writes to 9216 pages"
    assert given_back > 30 << 20
