"""``tvm.rpc`` under TVM's names: a server in a process of its own, sessions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler.classic import rpc
from compiler.ir.error import ArgumentError, RPCError


def _register() -> None:
    tvm.register_func("rpc.test.addone", lambda x: x + 1)
    tvm.register_func("rpc.test.sum", lambda x: float(x.numpy().sum()))


def test_a_server_has_the_functions_that_its_callback_registers() -> None:
    server = rpc.Server(key="x1", port=0, silent=True, server_init_callback=_register)
    remote = rpc.connect(server.host, server.port, key="x1", session_timeout=60)
    assert remote.get_function("rpc.test.addone")(10) == 11
    x = np.random.default_rng(0).integers(0, 10, size=(3, 4))
    assert remote.get_function("rpc.test.sum")(tvm.nd.array(x, remote.cpu(0))) == x.sum()
    with pytest.raises(ArgumentError, match="session_constructor_args must be None"):
        rpc.connect(server.host, server.port, session_constructor_args=["rpc.Connect"])
    server.terminate()
    with pytest.raises(RPCError, match=f"{remote.peer}: listdir '.': the process of the session ended with SIGKILL"):
        remote.listdir(".")
    with pytest.raises(RPCError, match="nobody answers"):
        rpc.connect(server.host, server.port, key="x1")
