"""Parallel kernels run in the children of a process that has run some, in all of its threads, and after failures."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from compiler import cpu, relay, te
from compiler.classic.contrib import graph_executor
from compiler.driver.build import build
from compiler.driver.relay import vm
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.extension import load
from compiler.ir.lazy_attribute import lazy_attribute
from compiler.ir.module import IRModule
from compiler.relay import build as relay_build
from compiler.runtime.arrays.ndarray import array, empty
from compiler.runtime.modules.library import load_module
from compiler.runtime.modules.packed_func import get_global_func, register_func
from compiler.runtime.parallel import threads
from compiler.runtime.vm import VirtualMachine
from tests.machines import needs_openmp

N = 4096
nn: Any = relay.op.nn
SECONDS = 100
"""How long a child may take, on however busy a machine; one that hangs takes for ever."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    threads.set_num_threads(2)
    yield
    threads.set_num_threads(None)


def assert_child_does(work: Callable[[], object]) -> None:
    """Do work in a fork, which has to end well and soon."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert not os.WIFSIGNALED(status), f"the child hung for {SECONDS} s: {signal.Signals(os.WTERMSIG(status)).name}"
    assert os.WEXITSTATUS(status) == 0, "the child computed something else"


def parallel(offset: int = 1, target: str = "llvm") -> Any:
    """Return a kernel that adds a number in a parallel loop."""
    A = te.placeholder((N,), name="A")
    B: Any = te.compute((N,), lambda i: A[i] + offset, name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(s[B].split(B.op.axis[0], 64)[0])
    return build(s, [A, B], target)


def check(kernel: Any, offset: int = 1) -> None:
    values = np.arange(N, dtype="float32")
    result = empty((N,))
    kernel(array(values), result)
    np.testing.assert_array_equal(result.numpy(), values + offset)


class _CheckInProcess:
    """A check that can be sent to a process that has the kernel already."""

    _kernels: ClassVar[list[Any]] = []

    def __init__(self, kernel: Any) -> None:
        self._place = len(self._kernels)
        self._kernels.append(kernel)

    def __call__(self, number: int) -> None:
        check(self._kernels[self._place])


def of_machine_code(path: Path) -> Callable[[], object]:
    kernel = parallel()
    return lambda: check(kernel)


def of_a_library(path: Path) -> Callable[[], object]:
    parallel().export_library(str(path / "kernel.so"))
    kernel = load_module(str(path / "kernel.so"))
    return lambda: check(kernel)


def _network() -> tuple[IRModule, Any, Any]:
    x, w = relay.var("x", shape=(64, 64)), relay.var("w", shape=(64, 64))
    values = np.random.default_rng(0).integers(-4, 5, (2, 64, 64)).astype("float32")
    wanted = np.maximum(values[0] @ values[1].T, 0)
    return IRModule.from_expr(relay.Function([x, w], nn.relu(nn.dense(x, w)))), values, wanted


def of_the_graph_executor(path: Path) -> Callable[[], object]:
    mod, values, wanted = _network()
    lib: Any = relay_build(mod, "llvm")
    module = graph_executor.GraphModule(lib["default"](cpu(0)))

    def run() -> None:
        module.run(x=values[0], w=values[1])
        np.testing.assert_array_equal(module.get_output(0).numpy(), wanted)

    return run


def of_the_virtual_machine(path: Path) -> Callable[[], object]:
    mod, values, wanted = _network()
    machine = VirtualMachine(vm.compile(mod, "llvm"), cpu(0))

    def run() -> None:
        found: Any = machine.invoke("main", array(values[0]), array(values[1]))
        np.testing.assert_array_equal(found.numpy(), wanted)

    return run


@pytest.mark.parametrize("made", [of_machine_code, of_a_library, of_the_graph_executor, of_the_virtual_machine])
def test_children_and_their_children_run_parallel_loops(made: Any, tmp_path: Path) -> None:
    run = made(tmp_path)
    run()
    assert_child_does(lambda: (run(), assert_child_does(run)))
    assert_child_does(lambda: assert_child_does(run))
    run()


def test_a_child_of_another_thread_than_the_main_one_runs_parallel_loops() -> None:
    kernel = parallel()
    check(kernel)

    def fork() -> None:
        check(kernel)
        assert_child_does(lambda: check(kernel))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(fork).result(2 * SECONDS)
    check(kernel)


def test_processes_of_a_pool_run_parallel_loops() -> None:
    kernel = parallel()
    check(kernel)
    check_there = _CheckInProcess(kernel)
    with multiprocessing.get_context("fork").Pool(2, signal.alarm, (SECONDS,)) as pool:
        work = pool.map_async(check_there, range(6))
        assert work.get(SECONDS) == [None] * 6, "the processes of the pool hung"


def test_threads_run_parallel_loops_at_once_from_the_first_call_on() -> None:
    kernels = [parallel(offset) for offset in range(3)]

    def work(number: int) -> None:
        check(kernels[number % 3], number % 3)

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, number) for number in range(120)]:
            done.result(SECONDS)
    assert_child_does(lambda: [work(number) for number in range(3)])


def test_parallel_loops_run_after_a_failure() -> None:
    @register_func("test.forks.refuse", override=True)
    def refuse(a: Any, b: Any) -> None:
        raise KeyError("of the callback")

    kernel = parallel()
    A = te.placeholder((N,), name="A")
    B: Any = te.extern((N,), [A], lambda i, o: te.call_packed("test.forks.refuse", i[0], o[0]), name="B")
    failing: Any = build(te.create_schedule(B.op), [A, B], "llvm")
    for _ in range(2):
        with pytest.raises((KeyError, TVMError)):
            failing(array(np.zeros(N, "float32")), empty((N,)))
        with pytest.raises(TVMError):
            kernel(array(np.zeros(N, "float32")), empty((N + 1,)))
        check(kernel)
        assert_child_does(lambda: check(kernel))


def test_a_child_compiles_although_a_thread_of_the_parent_was_compiling() -> None:
    stop = threading.Event()

    def compile_all_the_time() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            parallel(number)

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(compile_all_the_time)
        try:
            for number in range(6):
                assert_child_does(lambda n=number: check(parallel(-n), -n))
        finally:
            stop.set()
        busy.result(SECONDS)


def test_a_fork_waits_for_modules_that_another_thread_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "begun"
    code = f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(0.5)\nvalue = 3\n"
    (tmp_path / "slow_module.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(load, "slow_module:value")
        while not begun.exists():
            time.sleep(0.001)
        assert_child_does(lambda: load("slow_module:value"))
        assert loading.result(SECONDS) == 3


def test_a_child_computes_an_attribute_that_a_thread_of_the_parent_was_computing() -> None:
    begun, goes_on = threading.Event(), threading.Event()

    class Thing:
        def __init__(self, waits: bool) -> None:
            self.waits = waits

        @lazy_attribute
        def size(self) -> int:
            if self.waits:
                begun.set()
                goes_on.wait(SECONDS)
            return 3

    with ThreadPoolExecutor(1) as pool:
        computing = pool.submit(lambda: Thing(waits=True).size)
        assert begun.wait(SECONDS)
        try:
            assert_child_does(lambda: Thing(waits=False).size)
        finally:
            goes_on.set()
        assert computing.result(SECONDS) == 3


def test_programs_configure_the_threads_as_with_tvm() -> None:
    configure: Any = get_global_func("runtime.config_threadpool")
    count: Any = get_global_func("runtime.NumThreads")
    configure(1, 1)
    assert count() == threads.num_threads() == 1
    configure(1, 0)
    assert count() == threads.num_threads()
    configure(-1, 1000)
    assert count() == threads.num_threads()
    for wrong, message in (
        ((5, 1), "mode must be one of 1 "),
        ((1, -1), "nthreads must be an int from 0 on, got -1"),
        ((-2, 1, ["x"]), "a core of cpus must be a number, got 'x'"),
        ((-2, 1, ["60000"]), "no process can run on cores 60000 here"),
    ):
        with pytest.raises(ArgumentError, match=message):
            configure(*wrong)


@needs_openmp
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities")
def test_threads_run_on_the_cores_that_they_are_given() -> None:
    kernel = parallel()
    check(kernel)
    core = max(os.sched_getaffinity(0))

    def confined() -> None:
        configure: Any = get_global_func("runtime.config_threadpool")
        configure(-3, 2, [str(core)])
        assert os.sched_getaffinity(0) == {core}
        threads.set_num_threads(2)
        check(kernel)
        mine = [set(os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")]
        assert mine == [{core}, {core}]

    assert_child_does(confined)
