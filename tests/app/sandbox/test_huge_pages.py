"""The memory of a zygote: in huge pages, where the kernel has them, and unchanged."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from app.sandbox.huge_pages import SIZE

PROJECT = Path(__file__).parents[3]
COLLAPSED = f"""
import os
from app.sandbox import huge_pages

data = [os.urandom({SIZE}) for _ in range(8)]
sums = [hash(part) for part in data]
huge_pages.collapse(os.open("/proc", os.O_PATH))
assert [hash(bytes(bytearray(part))) for part in data] == sums
with open("/proc/self/smaps_rollup") as rollup:
    print(next(line.split()[1] for line in rollup if line.startswith("AnonHugePages")))
"""
RELEASE = tuple(map(int, platform.release().split(".")[:2])) if sys.platform == "linux" else (0, 0)


@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="this kernel has no huge pages")
@pytest.mark.skipif(RELEASE < (6, 1), reason="this kernel collapses none on demand")
def test_memory_is_moved_into_huge_pages_unchanged() -> None:
    ended = subprocess.run([sys.executable, "-c", COLLAPSED], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert int(ended.stdout) >= 4 * SIZE >> 10
