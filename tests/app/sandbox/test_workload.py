"""Honest work inside every tier: arrays, BLAS threads, machine code, OpenMP, timers, tracebacks."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from app.sandbox import Limits, Mechanism, Sandbox, Tier
from tests.app.sandbox.conftest import HANDLERS, TESTS
from tests.app.sandbox.test_tiers import OFFERED
from tests.machines import needs_openmp

PRELOAD = ("numpy", "numpy.random", "llvmlite.binding", "llvmlite.ir", "threadpoolctl", "threading")
WORK: dict[str, tuple[str, bytes]] = {
    "arrays": (
        "import numpy as np\n"
        "a = np.random.default_rng(0).standard_normal((300, 300))\n"
        "emit(str(np.allclose(np.linalg.inv(a) @ a, np.eye(300))).encode())",
        b"True",
    ),
    "BLAS on two threads": (
        "import numpy as np\nfrom tests.app.sandbox.handlers import blas\n"
        "a = np.ones((700, 700), 'float32')\n"
        "with blas().limit(limits=2):\n"
        "    used = [pool['num_threads'] for pool in blas().info()]\n"
        "    emit(str((used, float((a @ a).sum()))).encode())",
        b"([2], 343000000.0)",
    ),
    "threads": (
        "import threading\nfound = []\n"
        "threads = [threading.Thread(target=found.append, args=(n,)) for n in range(8)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "emit(str(sorted(found)).encode())",
        b"[0, 1, 2, 3, 4, 5, 6, 7]",
    ),
    "a timer": (
        "import signal\n"
        "class Late(BaseException): pass\n"
        "def ring(number, frame): raise Late\n"
        "signal.signal(signal.SIGALRM, ring)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.1, 0.25)\n"
        "def loop():\n    while True: pass\n"
        "try:\n    loop()\n"
        "except Late:\n    signal.setitimer(signal.ITIMER_REAL, 0)\n    emit(b'rang')",
        b"rang",
    ),
    "a traceback": (
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n"
        "    emit(traceback.format_exc().splitlines()[-1].encode())",
        b"ZeroDivisionError: division by zero",
    ),
    "facts about the machine": (
        "import os, time\nemit(str(len(os.sched_getaffinity(0)) > 0 and time.perf_counter() > 0).encode())",
        b"True",
    ),
}
JIT = """
import ctypes
import llvmlite.binding as llvm
machine = llvm.Target.from_default_triple().create_target_machine(opt=3)
module = llvm.parse_assembly('''
declare i32 @omp_get_thread_num()
declare void @GOMP_parallel(ptr, ptr, i32, i32)

define void @body(ptr %data) {
  %id = call i32 @omp_get_thread_num()
  %place = getelementptr i32, ptr %data, i32 %id
  %value = add i32 %id, 1
  store i32 %value, ptr %place
  ret void
}
define void @run(ptr %data, i32 %threads) {
  call void @GOMP_parallel(ptr @body, ptr %data, i32 %threads, i32 0)
  ret void
}
define void @assembly() {
  call void asm sideeffect "nop", ""()
  ret void
}
''')
engine = llvm.create_mcjit_compiler(module, machine)
engine.finalize_object()
seen = (ctypes.c_int * threads)()
ctypes.CFUNCTYPE(None)(engine.get_function_address("assembly"))()
ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)(engine.get_function_address("run"))(seen, threads)
emit(str(list(seen)).encode())
"""


@pytest.fixture(scope="module", params=OFFERED)
def worker(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    tier = Tier(mechanisms=OFFERED[request.param])
    with Sandbox(f"{HANDLERS}:run_script", preload=PRELOAD, tier=tier, readable=[TESTS]) as sandbox:
        yield sandbox


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", WORK)
def test_honest_work(name: str, worker: Sandbox) -> None:
    script, expected = WORK[name]
    job = worker.start(script.encode())
    assert list(job.messages()) == [expected], job.outcome


@needs_openmp
@pytest.mark.parametrize("threads", [1, 2, 16])
def test_machine_code_with_openmp(threads: int, worker: Sandbox) -> None:
    for _ in range(3):
        job = worker.start(f"threads = {threads}\n{JIT}".encode(), limits=Limits(threads=32))
        assert list(job.messages()) == [str([*range(1, threads + 1)]).encode()], job.outcome


@needs_openmp
def test_openmp_with_fewer_threads_than_it_wants(worker: Sandbox) -> None:
    """libgomp ends its process when it cannot start a thread: the job is lost, and no other."""
    job = worker.start(f"threads = 16\n{JIT}".encode(), limits=Limits(threads=4))
    said = list(job.messages())
    if os.geteuid() == 0 and Mechanism.USER_ID not in worker.tier.mechanisms:
        assert job.outcome.status == "ok"  # the kernel counts no threads of root, which is why such a tier is not safe
        return
    assert said == []
    assert job.outcome.status == "crash"
    assert "Thread creation failed" in job.outcome.console


def test_the_cpus_of_a_job_are_its_own(worker: Sandbox) -> None:
    cpu = max(os.sched_getaffinity(0))
    script = b"import os; emit(str(os.sched_getaffinity(0)).encode())"
    assert list(worker.start(script, limits=Limits(cpus=(cpu,))).messages()) == [str({cpu}).encode()]
