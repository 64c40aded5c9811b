"""The OpenMP runtime, and how many threads parallel loops get."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Var
from compiler.runtime.arrays.ndarray import empty
from compiler.runtime.machine import available_cores, this_machine
from compiler.runtime.parallel import threads
from compiler.target.codegen.llvm import generate
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import BufferStore, For, ForKind
from tests.compiler.target.kernels import compile_module, function
from tests.machines import needs_openmp


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    yield
    threads.set_num_threads(None)


def squares() -> object:
    out, i = decl_buffer((10,), "int32", "out"), Var("i")
    return compile_module(function([out], For(i, 0, 10, ForKind.PARALLEL, BufferStore(out, i * i, (i,)))))


@needs_openmp
def test_this_machine_has_a_runtime() -> None:
    found = threads.openmp()
    assert found is not None
    assert all(found.addresses[symbol] for symbol in threads.SYMBOLS)
    threads.set_num_threads(1)
    assert threads.parallel_runtime() == f"OpenMP ({found.file}), 1 thread"
    threads.set_num_threads(3)
    assert threads.parallel_runtime().endswith("3 threads")


@needs_openmp
def test_the_environment_may_say_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", "5")
    assert threads.num_threads() == 5
    threads.set_num_threads(2)
    assert threads.num_threads() == 2
    monkeypatch.setenv("TVM_NUM_THREADS", "many")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    threads.set_num_threads(None)
    assert threads.num_threads() == min(available_cores(), this_machine().threads)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", 1 << 20])
def test_counts_that_cannot_be(count: object) -> None:
    with pytest.raises(ArgumentError, match="set_num_threads: count must be an int from 1 to 1024 or None"):
        threads.set_num_threads(count)  # type: ignore[arg-type]


def test_without_a_runtime_loops_are_serial_and_a_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "openmp", lambda: None)
    monkeypatch.setattr(threads, "openmp", lambda: None)
    with pytest.warns(RuntimeWarning, match=r"no OpenMP runtime is installed \(`apt install libgomp1`\)"):
        module = squares()
    assert "GOMP" not in module.get_source("ll")  # type: ignore[attr-defined]
    result = empty((10,), "int32")
    module(result)  # type: ignore[operator]
    np.testing.assert_array_equal(result.numpy(), np.arange(10) ** 2)
    assert threads.num_threads() == 1


RUNTIME = threads.openmp()


@pytest.mark.skipif(RUNTIME is None or "libgomp" not in RUNTIME.file, reason="needs libgomp")
@pytest.mark.parametrize(
    ("of_the_user", "waiting"),
    [
        ({}, "GOMP_SPINCOUNT = '2000'"),
        ({"GOMP_SPINCOUNT": "7"}, "GOMP_SPINCOUNT = '7'"),
        ({"OMP_WAIT_POLICY": "active"}, "OMP_WAIT_POLICY = 'ACTIVE'"),
    ],
)
def test_threads_sleep_soon_unless_the_user_says_otherwise(of_the_user: dict[str, str], waiting: str) -> None:
    program = (
        "import os; from compiler.runtime.parallel.threads import openmp; openmp(); print(os.getenv('GOMP_SPINCOUNT'))"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, **of_the_user, "OMP_DISPLAY_ENV": "verbose"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert waiting in done.stderr
    assert done.stdout.strip() == of_the_user.get("GOMP_SPINCOUNT", "None"), "other programs are started as before"
