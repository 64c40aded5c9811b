"""Candidates that are measured on another machine: each in a session that is over when its measurement is known."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.runtime.modules.module import Module
from compiler.runtime.rpc.client import RPCSession, session_on
from compiler.search.measurer import Kernel
from compiler.search.pairing import Patience
from compiler.search.remote import RemoteMeasurer
from tests.compiler.runtime.rpc.servers import serving


def _scaled(factor: float) -> Module:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * factor, name="B")
    return tvm.build(te.create_schedule(b.op), [a, b], "llvm")


def _refused() -> Kernel:
    raise RuntimeError("LLVM does not take it")


def test_what_fails_there_is_a_record_and_no_session_outlasts_its_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[RPCSession] = []
    ended: list[RPCSession] = []
    close = RPCSession.close
    monkeypatch.setattr(RPCSession, "close", lambda self: (ended.append(self), close(self)))
    with serving() as port:

        def session() -> RPCSession:
            begun.append(session_on("127.0.0.1", port, session_timeout=limit))
            return begun[-1]

        limit = 60.0
        arrays = [np.arange(8, dtype="float32"), np.zeros(8, "float32")]
        measurer = RemoteMeasurer(arrays, session, patience=Patience(turn=1e-5, most=4, seconds=0.1))
        assert measurer.expect(lambda: _scaled(2)).kind == "ok"
        expected = ("ok", "wrong", "refused", "ok")
        builds = [lambda: _scaled(2), lambda: _scaled(2.01), _refused, lambda: _scaled(2)]
        for found, kind in zip(measurer.measure(builds), expected, strict=True):
            assert found.kind == kind, found.message
            assert begun == ended
        assert len(begun) == 4
        limit = 0.3
        (late,) = measurer.measure([lambda: _scaled(2)], Patience(turn=60))
        assert late.kind == "hung", late.message
