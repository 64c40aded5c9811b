"""``tvm.exec``: the commands that start a server and ask a tracker."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time

import pytest

from compiler.classic import alias, rpc
from compiler.classic.exec import join, query, serve, track
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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--timeout", "-1"], "--timeout: expected a number from 0 to 1e+08, got '-1'"),
        (["--timeout", "nan"], "got 'nan'"),
        (["--timeout", "1e300"], "got '1e300'"),
        (["--port", "70000"], "--port: expected a number from 0 to 65535, got '70000'"),
        (["--port", "a"], "got 'a'"),
        (["--port-end", "-2"], "--port-end: expected a number from 0 to 65535"),
        (["--tracker", "here:99999"], "--tracker: expected a number from 0 to 65535, got '99999'"),
        (["--tracker", "9190"], "--tracker: expected host:port, got '9190'"),
        (["--key", "k" * 257], "--key: expected at most 256 characters, got 257"),
    ],
)
def test_absurd_options_are_refused_before_anything_listens(
    options: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("compiler.classic.exec.listen", None)
    monkeypatch.setattr(sys, "argv", ["it", *options])
    for command in (serve, join, track) if options[0].startswith("--port") else (serve,):
        with pytest.raises(SystemExit, match="2"):
            command()
        assert words in capsys.readouterr().err


def test_a_tracker_is_not_asked_at_a_port_that_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TVM_TRACKER_PORT", "many")
    monkeypatch.setattr(sys, "argv", ["it"])
    with pytest.raises(SystemExit, match="2"):
        query()
    assert "--port: expected a number from 0 to 65535, got 'many'" in capsys.readouterr().err


def test_python_runs_the_commands_by_their_names() -> None:
    alias.install()
    for name in ("rpc_tracker", "rpc_server", "rpc_proxy", "query_rpc_tracker"):
        spec = importlib.util.find_spec(f"tvm.exec.{name}")
        assert spec is not None
        assert spec.submodule_search_locations is None
