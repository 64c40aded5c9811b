"""Scripts that want too much: time, memory, threads, disk, files, output."""

from __future__ import annotations

import pytest

from app.sandbox import Limits, Sandbox
from app.sandbox.interface import Status
from app.sandbox.limits import MIB
from app.sandbox.tier import FileAccess

BOMBS: dict[str, tuple[str, str, Limits, Status]] = {
    # name: (what is stopped, the same within the limits, limits, how it ends)
    "endless loop": ("while True: pass", "for _ in range(1000): pass", Limits(wall_seconds=0.4), "timeout"),
    "endless loop behind signals": (
        "import signal\n"
        "for number in signal.valid_signals():\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): continue\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "while True: pass",
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
        Limits(wall_seconds=0.4),
        "timeout",
    ),
    "sleep": ("import time; time.sleep(100)", "import time; time.sleep(0.01)", Limits(wall_seconds=0.4), "timeout"),
    "stopping itself": (
        "import signal; signal.raise_signal(signal.SIGSTOP)\nwhile True: pass",
        "import signal; signal.raise_signal(signal.SIGCONT)",
        Limits(wall_seconds=0.4),
        "timeout",
    ),
    "processor time of threads": (
        "import threading\n"
        "def spin():\n    while True: pass\n"
        "for _ in range(4): threading.Thread(target=spin).start()\n"
        "spin()",
        "import threading; t = threading.Thread(target=print); t.start(); t.join()",
        Limits(wall_seconds=30, cpu_seconds=1),
        "timeout",
    ),
    "one huge allocation": ("bytearray(1 << 33)", "bytearray(1 << 20)", Limits(memory_bytes=256 * MIB), "memory"),
    "many allocations": (
        "kept = []\nwhile True: kept.append(bytes(1 << 20))",
        "kept = [bytes(1 << 20) for _ in range(50)]",
        Limits(memory_bytes=256 * MIB),
        "memory",
    ),
    "an array": (
        "import numpy; numpy.ones((1 << 15, 1 << 15))",
        "import numpy; numpy.ones((1 << 10, 1 << 10))",
        Limits(memory_bytes=256 * MIB),
        "memory",
    ),
    "address space": (
        "import mmap\ntry: mmap.mmap(-1, 1 << 40, prot=0)\nexcept OSError: raise MemoryError",
        "import mmap; mmap.mmap(-1, 1 << 20, prot=0)",
        Limits(memory_bytes=256 * MIB),
        "memory",
    ),
    "deep recursion": (
        "import sys; sys.setrecursionlimit(1 << 30)\n"
        "class Deep:\n    def __repr__(self): return repr(self)\n"
        "repr(Deep())",
        "def deep(n): return n and deep(n - 1)\ndeep(500)",
        Limits(),
        "crash",
    ),
    "recursion": ("def deep(): deep()\ndeep()", "def deep(n): return n and deep(n - 1)\ndeep(500)", Limits(), "crash"),
    "endless output": ("while True: emit(b'x' * 1000)", "emit(b'x' * 1000)", Limits(output_bytes=1 << 20), "output"),
    "endless empty output": ("while True: emit(b'')", "emit(b'')", Limits(output_bytes=1 << 16), "output"),
    "one huge message": ("emit(b'x' * (1 << 21))", "emit(b'x' * (1 << 19))", Limits(message_bytes=1 << 20), "output"),
    "announced, never sent": (
        "import os; os.write(3, b'\\xff\\xff\\xff\\xff')",
        "import os; os.write(3, b'\\0\\0\\0\\0')",
        Limits(),
        "output",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bomb(name: str, scripts: Sandbox) -> None:
    bomb, _, limits, status = BOMBS[name]
    job = scripts.start(bomb.encode(), limits=limits)
    for _ in job.messages():
        continue
    assert job.outcome.status == status, job.outcome
    assert job.outcome.detail


@pytest.mark.parametrize("name", BOMBS)
def test_the_same_within_limits(name: str, scripts: Sandbox) -> None:
    _, harmless, limits, _ = BOMBS[name]
    job = scripts.start(f"{harmless}\nemit(b'done')".encode(), limits=limits)
    assert list(job.messages())[-1] == b"done"
    assert job.outcome.status == "ok"


COUNTS: dict[str, tuple[str, Limits, int, int]] = {
    # name: (script that emits how far it came, limits, at least, at most)
    "threads": (
        "import _thread, time\ndef start():\n    _thread.start_new_thread(time.sleep, (100,))\n    return True\n",
        Limits(threads=20),
        10,
        19,
    ),
    "open files": ("import os\ndef start(): return os.dup(0)\n", Limits(open_files=32), 20, 28),
    "files": (
        "import itertools\nnumbers = itertools.count()\n"
        "def start():\n    open(f'file{next(numbers)}', 'w').close()\n    return True\n",
        Limits(),
        100,
        1024,
    ),
    "disk": (
        "import os\nfile = open('large', 'wb', buffering=0)\n"
        "def start(): return file.write(bytes(1 << 16)) == 1 << 16\n",
        Limits(files_bytes=1 << 20),
        8,
        16,
    ),
    "pipes": ("import os\ndef start(): return os.pipe()\n", Limits(open_files=32), 8, 14),
    "console": ("import os\ndef start(): return os.write(1, b'x' * 512) == 512\n", Limits(), 8, 16),
}


@pytest.mark.parametrize("name", COUNTS)
def test_how_far_a_script_comes(name: str, scripts: Sandbox) -> None:
    script, limits, least, most = COUNTS[name]
    if name in {"files", "disk"} and scripts.tier.files is not FileAccess.WRITE:
        least = most = 0
    body = f"{script}while start(): count += 1".replace("\n", "\n    ")
    loop = f"import os\ncount = 0\ntry:\n    {body}\nexcept (OSError, RuntimeError): pass\n"
    job = scripts.start(f"{loop}emit(str(count).encode())\nos._exit(0)".encode(), limits=limits)
    (count,) = job.messages()
    assert job.outcome.status == "ok"
    assert least <= int(count) <= most


def test_what_native_code_prints_is_kept_within_bounds(scripts: Sandbox) -> None:
    job = scripts.start(b"import os; os.write(2, b'sparks')")
    assert job.outcome.console == "sparks"
    flooded = scripts.start(b"import os\nwhile True: os.write(1, b'x' * 100)")
    assert set(flooded.outcome.console[:8000]) == {"x"}
    assert len(flooded.outcome.console) <= 8192


def test_cancelling_ends_the_job(scripts: Sandbox) -> None:
    job = scripts.start(b"emit(b'started')\nwhile True: pass", limits=Limits(wall_seconds=30))
    for message in job.messages():
        assert message == b"started"
        job.cancel()
    assert job.outcome.status == "cancelled"


def test_leaving_the_messages_cancels(scripts: Sandbox) -> None:
    job = scripts.start(b"emit(b'started')\nwhile True: emit(b'more')", limits=Limits(wall_seconds=30))
    messages = job.messages()
    assert next(messages) == b"started"
    messages.close()  # type: ignore[attr-defined]
    assert job.outcome.status == "cancelled"


def test_messages_come_as_they_are_sent(scripts: Sandbox) -> None:
    job = scripts.start(b"import time\nemit(b'first')\ntime.sleep(100)", limits=Limits(wall_seconds=30))
    assert next(job.messages()) == b"first"
    job.cancel()


def test_how_it_ended_is_told(scripts: Sandbox) -> None:
    raised = scripts.start(b"raise RuntimeError('sorry')").outcome
    assert (raised.status, raised.exit_code) == ("crash", 70)
    assert "RuntimeError: sorry" in raised.console
    left = scripts.start(b"import sys; sys.exit(3)").outcome
    assert (left.status, left.exit_code, left.detail) == ("crash", 3, "exit code 3")
    fell = scripts.start(b"import ctypes; ctypes.string_at(8)").outcome
    assert fell.status == "crash"
    assert "SIGSEGV" in fell.detail
