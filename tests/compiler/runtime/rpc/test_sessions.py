"""A session runs on a server what is sent to it; a crash, a time limit or nonsense end it, and not the server."""

from __future__ import annotations

import gc
import os
import random
import signal
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.ir.error import ArgumentError, RPCError, RPCSessionTimeoutError
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.runtime.graph import graph_module
from compiler.runtime.modules.packed_func import register_func, remove_global_func
from compiler.runtime.rpc import client, frames, handshake, server, session
from compiler.runtime.rpc.client import RPCSession
from compiler.runtime.rpc.client import session_on as connect
from compiler.runtime.rpc.messages import Request, packed
from compiler.runtime.rpc.remote import RemoteArray
from compiler.runtime.vm import VirtualMachine
from tests.compiler.runtime.rpc.servers import serving
from tests.machines import pretended

SECRET = "sixteen characters"
HOST = "127.0.0.1"


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


FUNCTIONS = {"crash": _crash, "sleep": time.sleep, "echo": lambda *args: args[0], "pid": os.getpid}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server with the key ``here`` and functions of its own."""
    for name, function in FUNCTIONS.items():
        register_func(f"rpc.test.{name}", function)
    try:
        with serving("here") as port:
            yield port
    finally:
        for name in FUNCTIONS:
            remove_global_func(f"rpc.test.{name}")


@pytest.fixture
def remote(port: int) -> Iterator[RPCSession]:
    """A session on it."""
    with connect(HOST, port, "here") as session:
        yield session


def _library(folder: Path, target: str = "llvm") -> Path:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0 + 1.0, name="B")
    path = folder / "lib.tar"
    tvm.build(te.create_schedule(B.op), [A, B], target, name="twice").export_library(str(path))
    return path


def test_a_library_is_sent_called_and_measured(remote: RPCSession, tmp_path: Path) -> None:
    remote.upload(_library(tmp_path))
    module = remote.load_module("lib.tar")
    device = remote.cpu()
    values = np.random.default_rng(1).normal(size=37).astype("float32")
    a, b = tvm.nd.array(values, device), tvm.nd.empty((37,), "float32", device)
    module(a, b)
    np.testing.assert_allclose(b.numpy(), values * 2 + 1, rtol=1e-6)
    a[3:5] = 7
    module["twice"](a, b)
    assert b[3] == 15
    assert b.copyto(tvm.cpu()).numpy().tolist() == np.asarray(b).tolist() == tvm.nd.array(b).numpy().tolist()
    times = module.time_evaluator(module.entry_name, device, number=3, repeat=2)(a, b)
    assert len(times.results) == 2
    assert times.mean > 0
    assert module.implements_function("twice")
    assert not module.implements_function("thrice")
    assert str(device) == f"remote[{remote.number}]:cpu(0)"
    assert device.exist
    assert not remote.device("vulkan").exist


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
     "bfloat16", "e4m3_float8", "e5m2_float8", "float32x4"],
)  # fmt: skip
def test_arrays_of_every_type_come_back_as_they_were(remote: RPCSession, dtype: str) -> None:
    scalar = dtype.partition("x")[0] if "x4" in dtype else dtype
    bits = np.random.default_rng(2).integers(0, 256, 5 * 3 * 4 * 8).astype("uint8")
    if dtype == "bool":
        bits %= 2
    here = tvm.nd.empty((5, 3), dtype)
    memory = here.view()
    memory[...] = np.frombuffer(bits.tobytes()[: memory.nbytes], numpy_dtype(scalar)).reshape(memory.shape)
    there = tvm.nd.empty((5, 3), dtype, remote.cpu()).copyfrom(here)
    assert (there.shape, there.dtype, there.nbytes) == ((5, 3), dtype, here.nbytes)
    assert there.view().tobytes() == memory.tobytes()
    assert there.copyto(tvm.nd.empty((5, 3), dtype, remote.cpu())).view().tobytes() == memory.tobytes()


def test_values_of_functions(remote: RPCSession) -> None:
    echo = remote.get_function("rpc.test.echo")
    given: list[object] = [None, True, -(2**63), 2**63, 2.5, float("inf"), "text", b"bytes", [1, ["two"]], {"a": 1}]
    for value in given:
        assert echo(value) == value
    assert np.isnan(echo(float("nan")))
    assert echo(np.int16(7)) == 7
    assert echo(remote.cpu()) == remote.cpu()
    array = tvm.nd.array(np.arange(3), remote.cpu())
    assert isinstance(echo(array), RemoteArray)
    with pytest.raises(RPCError, match=f"{remote.peer}: call of rpc.test.echo: IndexError"):
        echo()
    for value, reason in ((object(), "a value of type object cannot be sent"), (2**64, "an int of more than 64 bits")):
        with pytest.raises(ArgumentError, match=reason):
            echo(value)
    assert echo(1) == 1


def test_a_message_that_is_too_large_does_not_end_the_session(remote: RPCSession) -> None:
    echo = remote.get_function("rpc.test.echo")
    with pytest.raises(RPCError, match=r"a message of \d+ bytes is too large; the most are 1048576"):
        echo(b"x" * (1 << 20))
    assert echo("alive") == "alive"


def test_what_lies_elsewhere_is_told_apart(remote: RPCSession, tmp_path: Path) -> None:
    path = _library(tmp_path)
    remote.upload(path.read_bytes(), "sub/lib.tar")
    assert remote.listdir("sub") == ["lib.tar"]
    there, here = remote.load_module("sub/lib.tar"), tvm.runtime.load_module(path)
    a = tvm.nd.array(np.ones(3, "float32"))
    with pytest.raises(ArgumentError, match=r"tvm\.nd\.array\(x, remote\.cpu\(\)\)"):
        there(a, a)
    with pytest.raises(ArgumentError, match=f"an array on {remote.peer} cannot be used here: copy it with"):
        here(tvm.nd.array(a, remote.cpu()), tvm.nd.array(a))
    with pytest.raises(ArgumentError, match=rf"time_evaluator: .* is a device of {remote.peer}: only code that"):
        here.time_evaluator("twice", remote.cpu())
    with pytest.raises(ArgumentError, match="is a device of this machine"):
        remote.get_function("rpc.test.echo")(tvm.cpu())
    for name in ("../lib.tar", "/etc/passwd", "..", "../a\0b"):
        with pytest.raises(RPCError, match="is not within the folder of the session"):
            remote.upload(b"", name)
    with pytest.raises(RPCError, match=r"get_function 'thrice': Module: no function is named 'thrice'"):
        there["thrice"]
    remote.remove("sub/lib.tar")
    with pytest.raises(RPCError, match=rf"^{remote.peer}: download 'sub/lib\.tar': there is no file"):
        remote.download("sub/lib.tar")


def test_files_and_arrays_that_are_sent_in_pieces(remote: RPCSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PIECE", 1000)
    content = random.Random(3).randbytes(2500)
    remote.upload(content, "file")
    assert remote.download("file") == content
    array = tvm.nd.array(np.frombuffer(content, "uint8"), remote.cpu())
    assert array.numpy().tobytes() == content


def test_what_has_become_shorter_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PIECE", 4)
    with serving() as port, connect(HOST, port) as remote:
        remote.upload(b"12345678", "file")
        array = tvm.nd.array(np.arange(6, dtype="uint8"), remote.cpu())
        assert bytes(remote.download("file")) == b"12345678"
        assert remote.read(array, 6) == bytes(range(6))
        with pytest.raises(RPCError, match="read: it has 6 bytes, not 9"):
            remote.read(array, 9)
        ask = remote._ask

        def ask_and_shorten(operation: str, arguments: tuple[object, ...]) -> Any:
            answer = ask(operation, arguments)
            ask("upload", ("file", 0), b"")
            return answer

        monkeypatch.setattr(remote, "_ask", ask_and_shorten)
        with pytest.raises(RPCError, match="download: it has 4 bytes, not 8"):
            remote.download("file")


def test_a_graph_runs_there(remote: RPCSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_LARGEST", 500)  # graphs and parameters may be larger than messages
    x = relay.var("x", shape=(2, 3))
    weight = np.random.default_rng(4).normal(size=(50, 3)).astype("float32")
    built = relay.build(relay.Function([x], relay.nn.dense(x, relay.const(weight))), "llvm")
    built.export_library(str(tmp_path / "net.tar"))
    built.get_lib().export_library(str(tmp_path / "kernels.tar"))
    remote.upload(tmp_path / "net.tar")
    remote.upload(tmp_path / "kernels.tar")
    device = remote.cpu()
    made = graph_module.create(built.get_graph_json(), remote.load_module("kernels.tar"), device)
    made.load_params(tvm.runtime.save_param_dict(built.get_params()))
    for model in (graph_module.GraphModule(remote.load_module("net.tar")["default"](device)), made):
        values = np.random.default_rng(5).normal(size=(2, 3)).astype("float32")
        model.run(x=values)
        np.testing.assert_allclose(model.get_output(0).numpy(), values @ weight.T, rtol=1e-5)
        model.set_input("x", tvm.nd.array(values * 2, device))
        model.run()
        output = model.get_output(0, tvm.nd.empty((2, 50)))
        np.testing.assert_allclose(output.numpy(), values @ weight.T * 2, rtol=1e-5)
        assert len(model.benchmark(device, repeat=2, number=2).results) == 2
        assert len(model.benchmark(device, repeat=2, number=2, end_to_end=True).results) == 2
        out = tvm.nd.empty((2, 50), "float32", device)
        model.set_output_zero_copy(0, out)
        model.run(x=values)
        np.testing.assert_allclose(out.numpy(), values @ weight.T, rtol=1e-5)
    other = graph_module.create(built.get_graph_json(), remote.load_module("kernels.tar"), device)
    other.share_params(made, tvm.runtime.save_param_dict(built.get_params()))
    other.run(x=values)
    np.testing.assert_allclose(other.get_output(0).numpy(), values @ weight.T, rtol=1e-5)
    with pytest.raises(ArgumentError, match=r"only code that remote\.load_module loaded there runs on it"):
        built["default"](device)
    with pytest.raises(ArgumentError, match="its code and programs are not here"):
        VirtualMachine(remote.load_module("kernels.tar"), device)


def test_code_for_another_processor_is_refused(remote: RPCSession, tmp_path: Path) -> None:
    remote.upload(_library(tmp_path, "llvm -mtriple=aarch64-linux-gnu"))
    with pytest.raises(RPCError, match=r"load_module 'lib\.tar': this module is for aarch64; this server runs \w+$"):
        remote.load_module("lib.tar")


def test_code_for_a_newer_processor_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _library(tmp_path, "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512")
    older = pretended("a single core without AVX", monkeypatch)
    with older, serving() as port, connect(HOST, port) as remote:
        remote.upload(path)
        with pytest.raises(RPCError, match=r"this module needs avx.*, avx512f, .* this server's CPU does not have$"):
            remote.load_module("lib.tar")


def test_a_crash_ends_the_session_and_not_the_server(port: int) -> None:
    remote = connect(HOST, port, "here")
    with pytest.raises(
        RPCError, match=f"^{HOST}:{port}: call of rpc.test.crash: the process of the session ended with SIGSEGV$"
    ):
        remote.get_function("rpc.test.crash")()
    with pytest.raises(RPCError, match="the session is closed"):
        remote.listdir(".")
    with connect(HOST, port, "here") as other:
        assert other.get_function("rpc.test.echo")(3) == 3


def test_a_session_ends_with_its_time(port: int) -> None:
    remote = connect(HOST, port, "here", session_timeout=0.2)
    with pytest.raises(RPCSessionTimeoutError, match=r"call of rpc.test.sleep: the session's 0\.2 seconds are over"):
        remote.get_function("rpc.test.sleep")(60)
    with serving(limit=0.2) as limited, connect(HOST, limited) as other:
        function = other.get_function("rpc.test.sleep")
        with pytest.raises(RPCSessionTimeoutError, match="the time of the session is over"):
            function(60)


def test_a_session_that_the_server_ended_in_time_is_late_by_a_clock_that_started_later(port: int) -> None:
    remote = connect(HOST, port, "here", session_timeout=0.1)
    remote._ends += 0.5
    with pytest.raises(RPCSessionTimeoutError, match=r"the session's 0\.1 seconds are over"):
        remote.get_function("rpc.test.sleep")(60)


def test_a_session_ends_when_its_client_is_gone(port: int) -> None:
    remote = connect(HOST, port, "here")
    array = tvm.nd.empty((1,), device=remote.cpu())
    pid = remote.get_function("rpc.test.pid")()
    del remote
    assert array.shape == (1,)
    os.kill(pid, 0)
    del array
    gc.collect()
    # This one is served once the other is over.
    with connect(HOST, port, "here"), pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_call_that_its_client_left_is_ended(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_ABANDONED", 0.1)
    monkeypatch.setattr(client, "_PATIENCE", 10)
    with serving() as own:
        remote = connect(HOST, own)
        given = packed(remote.get_function("rpc.test.sleep"), remote._extension)
        remote._channel.send(Request("call", [given, [60]]))
        remote.close()
        with connect(HOST, own) as other:
            assert other.listdir(".") == []


def test_who_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GREETING", 0.5)
    with serving() as port, socket.create_connection((HOST, port)) as silent:
        silent.settimeout(10)
        silent.recv(100)
        with connect(HOST, port) as remote:
            assert remote.listdir(".") == []


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_times_that_no_session_can_take(port: int, seconds: float) -> None:
    with pytest.raises(ArgumentError, match="session_timeout must be seconds, or 0 for no limit"):
        connect(HOST, port, "here", session_timeout=seconds)


def test_arrays_that_nobody_holds_are_freed(remote: RPCSession) -> None:
    array = tvm.nd.empty((1,), "float32", remote.cpu())
    assert isinstance(array, RemoteArray)
    remote.free(array.held.number)
    remote.listdir(".")
    with pytest.raises(RPCError, match="there is nothing on this server that a value of kind 3 refers to"):
        array.numpy()
    freed = array.held.number
    other = tvm.nd.empty((1,), "float32", remote.cpu())
    assert isinstance(other, RemoteArray)
    number = other.held.number
    del other
    assert remote._freed == [number]
    assert number != freed


def test_who_has_another_key_or_secret_is_refused(port: int) -> None:
    with pytest.raises(RPCError, match=f"^{HOST}:{port}: .*its key is 'here', not 'there'"):
        connect(HOST, port, "there")
    with pytest.raises(RPCError, match="does not prove that it has the secret"):
        connect(HOST, port, "here", secret=SECRET)
    with pytest.raises(ArgumentError, match="a secret needs at least 16 characters, got 5"):
        connect(HOST, port, "here", secret="short")
    with serving(secret=SECRET.encode()) as secured:
        with pytest.raises(RPCError, match="the secret is another one"):
            connect(HOST, secured, secret=SECRET + "!")
        with pytest.raises(RPCError, match="asks for a secret: set STRATA_RPC_SECRET"):
            connect(HOST, secured)
        with connect(HOST, secured, secret=SECRET) as remote:
            values = np.arange(1000, dtype="int32")
            assert (tvm.nd.array(values, remote.cpu()).numpy() == values).all()
            remote._channel.trust(b"k" * 32, b"k" * 32)
            with pytest.raises(RPCError, match="a frame whose signature is wrong"):
                remote.listdir(".")


def test_an_answer_that_nobody_waited_for_is_none_to_the_next_question(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = connect(HOST, port, "here")

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(remote._channel, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        remote.listdir(".")
    monkeypatch.undo()
    with pytest.raises(RPCError, match="the session is closed"):
        remote.get_function("rpc.test.echo")


def test_nobody_answers() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(RPCError, match=f"^{HOST}:{port}: connect: nobody answers"):
        connect(HOST, port)


def test_ports_that_are_taken_or_that_there_are_not() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(RPCError, match=f"^{HOST}: cannot listen on port {port}: .*in use"):
            handshake.listen(HOST, [port], b"")
    for port in (65536, 10**6):
        with pytest.raises(RPCError, match=f"^{HOST}: cannot listen on port {port}: "):
            handshake.listen(HOST, [port], b"")
        with pytest.raises(RPCError, match=f"^{HOST}:{port}: connect: nobody answers"):
            connect(HOST, port)


def test_what_is_no_frame_ends_the_session_with_a_sentence(port: int) -> None:
    """Random bytes: before the greeting, as frames with right lengths, and as true frames with one byte changed."""
    rng = random.Random(6)
    sent: list[tuple[bytes, bool]] = [(b"GET / HTTP/1.1\r\n\r\n", False), (b"SRP1" + b"\xff" * 9, True)]
    for _ in range(20):
        junk = rng.randbytes(rng.randrange(1, 60))
        sent.append((junk, False))
        sent.append((struct.pack(">4sBII", b"SRP1", 0, len(junk), 0) + junk, True))
    for data, is_greeted in sent:
        with socket.create_connection((HOST, port)) as sock:
            sock.settimeout(10)
            channel = frames.Channel(sock, "server")
            if is_greeted:
                handshake.introduce(channel, "session", "here", b"")
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := sock.recv(4096):
                answer += piece
            # A frame that ends too soon is a connection that was closed.
            is_short = len(data) < 13 or (not is_greeted and data[:4] == b"SRP1")
            assert (b"; the session is closed" if is_greeted else b"refused") in answer or is_short, data
    with connect(HOST, port, "here") as remote:
        assert remote.get_function("rpc.test.echo")("alive") == "alive"


def test_requests_that_make_no_sense_are_answered(remote: RPCSession) -> None:
    for operation, arguments in (
        ("nothing", ()),
        ("read", (1, 2)),
        ("upload", ("x", -1)),
        ("empty", ([1, "a"], "float32", remote.cpu())),
        ("empty", ([2**62, 2**62], "float32", remote.cpu())),
        ("call", (5, [])),
        ("listdir", ()),
        ("method", (remote.cpu(), "__class__", [], {})),
        ("method", (remote.cpu(), "exist", [])),
    ):
        with pytest.raises(RPCError, match=f"^{remote.peer}: {operation}"):
            remote.ask(operation, *arguments)
    array = tvm.nd.empty((2,), "float32", remote.cpu())
    with pytest.raises(RPCError, match="an array of 8 bytes does not have 12"):
        remote.ask("write", array, 4, body=b"12345678")
    assert remote.listdir(".") == []


def test_a_server_goes_on_when_nobody_reads_what_it_says() -> None:
    """What it says goes to a pipe whose reader is gone."""
    reading, writing = os.pipe()
    kept = os.dup(2)
    os.dup2(writing, 2)
    os.close(reading)
    os.close(writing)
    try:
        with serving(is_silent=False) as port:
            os.dup2(kept, 2)
            for _ in range(2):
                with connect(HOST, port) as remote:
                    assert remote.listdir(".") == []
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def test_a_server_that_has_no_room_for_a_session_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with serving() as port:
        for _ in range(2):
            with pytest.raises(RPCError, match=f"^{HOST}:{port}: no session can begin here: No such file or directory"):
                connect(HOST, port)


def test_addresses_that_others_can_reach_are_warned_of() -> None:
    assert handshake.warning_of("127.0.0.1", b"") == handshake.warning_of("::1", b"") == ""
    assert handshake.warning_of("0.0.0.0", SECRET.encode()) == ""
    for host in ("0.0.0.0", "", "::"):
        assert "whoever connects may run any code" in handshake.warning_of(host, b"")
