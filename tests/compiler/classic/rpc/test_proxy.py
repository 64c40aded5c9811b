"""A proxy joins clients with servers that cannot be reached; who has another secret is told apart by the server."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.rpc.proxy_server import Proxy
from compiler.ir.error import RPCError, RPCSessionTimeoutError
from compiler.runtime.rpc.client import session_on as connect
from compiler.runtime.rpc.handshake import listen
from compiler.runtime.rpc.tracker import TrackerSession
from tests.compiler.runtime.rpc.servers import serving

HOST = "127.0.0.1"
SECRET = "sixteen characters"


def test_a_session_goes_through_a_proxy() -> None:
    proxy = Proxy(listen(HOST, [0], b""))
    proxy.start()
    with serving("a", SECRET.encode(), proxy=proxy.port), serving("b", proxy=proxy.port):
        values = np.random.default_rng(0).normal(size=(30, 1000))
        with connect(HOST, proxy.port, "a", 60, SECRET) as first, connect(HOST, proxy.port, "b") as second:
            for remote in (first, second):
                array = tvm.nd.array(values, remote.cpu())
                np.testing.assert_array_equal(array.numpy(), values)
        with pytest.raises(RPCError, match="the secret is another one"):
            connect(HOST, proxy.port, "a", 60, SECRET[::-1])
        # The servers come back for others, and sessions end with their time here as well.
        slow = connect(HOST, proxy.port, "a", 0.2, SECRET)
        with pytest.raises(RPCSessionTimeoutError, match=r"the session's 0\.2 seconds are over"):
            [slow.listdir(".") for _ in iter(int, 1)]  # without end
        with connect(HOST, proxy.port, "a", 60, SECRET) as remote:
            assert remote.listdir(".") == []
        with pytest.raises(RPCError, match="this is a proxy, which is no tracker"):
            TrackerSession(HOST, proxy.port)
    proxy.end()
