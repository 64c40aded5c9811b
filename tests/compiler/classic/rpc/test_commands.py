"""``tvm.exec``: the commands that start a server and ask a tracker."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time

import pytest

from compiler.classic import alias, rpc
from compiler.classic.exec import query, serve
from compiler.classic.rpc.tracker import Tracker


def test_a_server_is_started_and_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tracker = Tracker(port=0)
    options = ["--tracker", f"127.0.0.1:{tracker.port}", "--key", "board", "--port", "0", "--silent"]
    monkeypatch.setattr(sys, "argv", ["rpc_server", *options])
    pid = os.fork()
    if not pid:
        try:
            serve()
        finally:
            os._exit(0)
    connection = rpc.connect_tracker(tracker.host, tracker.port)
    with connection.request("board", session_timeout=30) as remote:
        assert remote.listdir(".") == []
    monkeypatch.setattr(sys, "argv", ["query_rpc_tracker", "--port", str(tracker.port)])
    query()
    assert "server:board" in capsys.readouterr().out
    os.kill(pid, signal.SIGTERM)
    assert os.waitpid(pid, 0)[1] == 0
    while connection.summary()["server_info"]:
        time.sleep(0.02)
    tracker.terminate()


def test_python_runs_the_commands_by_their_names() -> None:
    alias.install()
    for name in ("rpc_tracker", "rpc_server", "rpc_proxy", "query_rpc_tracker"):
        spec = importlib.util.find_spec(f"tvm.exec.{name}")
        assert spec is not None
        assert spec.submodule_search_locations is None
