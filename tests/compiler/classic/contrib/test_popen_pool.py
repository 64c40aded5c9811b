"""Functions are called in processes of their own: results, exceptions, timeouts, crashes, initialisation."""

from __future__ import annotations

import os

import pytest

from compiler.classic.contrib.popen_pool import PopenPoolExecutor, PopenWorker, StatusKind
from compiler.ir.error import ArgumentError, TVMError
from tests.compiler.classic.contrib.jobs import (
    after_initializer,
    call_cpp_ffi,
    call_cpp_py_ffi,
    call_py_ffi,
    fast_summation,
    initializer,
    register_ffi,
    terminate_self,
    timeout_job,
)


def test_one_process_makes_calls_until_it_is_worn_out_or_hangs() -> None:
    worker = PopenWorker(initializer, (1, 2, 3), maximum_uses=3)
    with pytest.raises(TVMError, match="no call is in progress"):
        worker.recv()
    factor = 3
    worker.send(lambda x, offset: (os.getpid(), x * factor + offset), (4,), {"offset": 1})
    first, value = worker.recv()
    assert value == 13
    assert first != os.getpid()
    worker.send(fast_summation, (10,))
    assert worker.recv() == 55
    worker.send(_refuse)
    with pytest.raises(ArgumentError, match="must not be larger"):
        worker.recv()
    assert worker.is_alive()
    worker.send(lambda: (os.getpid(), after_initializer()))
    second, state = worker.recv()
    assert second != first
    assert state == (1, 2, 3)
    worker.send(timeout_job, (20,), timeout=0.05)
    with pytest.raises(TimeoutError, match=r"more than 0\.05 s"):
        worker.recv()
    assert not worker.is_alive()
    worker.join()


def test_an_initializer_is_called() -> None:
    with pytest.raises(ArgumentError, match="initializer must be callable"):
        PopenWorker("first")


def _refuse() -> None:
    raise ArgumentError("must not be larger")


def test_a_pool_tells_how_each_call_ended() -> None:
    def some(x: int) -> int:
        if x == 1:
            terminate_self()
        return 100 // x

    with PopenPoolExecutor(max_workers=1, timeout=30, initializer=register_ffi) as pool:
        results = list(pool.map_with_error_catching(some, [0, 1, 2]))
        assert [r.status for r in results] == [StatusKind.EXCEPTION, StatusKind.EXCEPTION, StatusKind.COMPLETE]
        assert isinstance(results[0].value, ZeroDivisionError)
        assert isinstance(results[1].value, ChildProcessError)
        assert results[2].value == 50
        calls = [pool.submit(call, 7) for call in (call_cpp_ffi, call_cpp_py_ffi, call_py_ffi)]
        assert [call.result() for call in calls] == [7] * 3
