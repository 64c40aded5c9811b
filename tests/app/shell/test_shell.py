"""``strata compile``, ``run``, ``ladder``, … carried out in this process and on a server."""

from __future__ import annotations

import io
import json
import re
import runpy
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from http.client import parse_headers
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from app.sandbox import NoSandbox, SandboxError
from app.services import services_of
from app.shell import explorer as explorers
from app.shell import tuning
from app.shell.failures import Failure
from app.shell.main import main
from app.shell.programs import assembly_of
from compiler.search import Outcome
from compiler.target.assembly_targets import assembly_target
from compiler.target.target import Target

SCRIPT = """\
import tvm
from tvm import te

A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
s = te.create_schedule(B.op)
{schedule}
f = tvm.build(s, [A, B], "llvm", name="twice")
print("built")
"""
PRODUCT = """\
import tvm
from tvm import te

A, B = (te.placeholder((64, 64), name=name) for name in "AB")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
tvm.build(te.create_schedule(C.op), [A, B, C], "llvm")
"""
TWO = """\
import tvm
from tvm import te

A = te.placeholder((64,), name="A")
plus, minus = (te.create_prim_func([A, te.compute((64,), lambda i: A[i] + n, name="B")]) for n in (1, -1))
s = tvm.tir.Schedule(tvm.IRModule({"minus": minus, "plus": plus}))
s.work_on("plus")
s.split(s.get_loops(s.get_block("B"))[0], [None, 4])
tvm.build(s.mod)
"""
VECTORIZED = "o, i = s[B].split(B.op.axis[0], 16)\ns[B].vectorize(i)"


@pytest.fixture
def plain(tmp_path: Path) -> str:
    return _write(tmp_path / "plain.py", SCRIPT.format(schedule=""))


@pytest.fixture
def fast(tmp_path: Path) -> str:
    return _write(tmp_path / "fast.py", SCRIPT.format(schedule=VECTORIZED))


def _write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_everything_is_carried_out_in_this_process(
    plain: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRATA_UNSAFE_LOCAL", "1")
    assert main(["compile", plain, "--emit", "llvm"]) == 0
    assert "define" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (NoSandbox("this host has none"), 0, "runs without a sandbox, as Python would run it: this host has none"),
        (SandboxError("the zygote did not start"), 1, "strata: the zygote did not start\n"),
    ],
)
def test_only_a_system_without_a_sandbox_runs_a_script_without_one(
    error: Exception,
    code: int,
    words: str,
    plain: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("app.sandbox.Sandbox", fails)
    assert main(["run", plain]) == code
    said = capfd.readouterr()
    assert words in said.err
    assert ("built" in said.out) == (code == 0)


def test_what_keeps_it_from_starting_is_a_sentence(
    plain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRATA_MEMORY", "much")
    assert main(["compile", plain]) == 1
    assert capsys.readouterr().err == "strata: configuration: Expected `int`, got `str` for STRATA_MEMORY\n"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nothing"))
    assert main(["compile", plain]) == 1
    assert "no place for temporary files: No such file or directory (ENOENT); TMPDIR" in capsys.readouterr().err


def test_nothing_of_an_explorer_is_left_when_its_command_has_ended() -> None:
    with explorers.here() as here:
        stubs = Path(services_of(here._client.application).stubs.name)  # type: ignore[attr-defined]
        assert stubs.exists()
    assert not stubs.exists()


def test_loops_assembly_and_the_loops_after_a_pass_are_printed(
    fast: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", fast, "--server", server]) == 0
    loops = capsys.readouterr().out
    assert "T.Broadcast(T.float32(2.0), 16)" in loops
    assert main(["compile", fast, "--server", server, "--emit", "asm", "--target", "llvm -mcpu=haswell"]) == 0
    assembly = capsys.readouterr().out
    assert "ymm" in assembly
    assert main(["compile", fast, "--server", server, "--emit", "llvm", "--target", "llvm -mcpu=haswell"]) == 0
    assert "note: the script itself builds for llvm; --target llvm -mcpu=haswell is for" in capsys.readouterr().err
    assert "zmm" not in assembly
    assert main(["compile", fast, "--server", server, "--pass", "StorageFlatten", "--function", "twice"]) == 0
    assert capsys.readouterr().out != loops


@pytest.mark.parametrize("command", [["run"], ["ladder"], ["diff", "--time"], ["diff", "--emit", "llvm"]])
def test_times_of_another_target_than_is_named_are_told(
    command: list[str], fast: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = [fast] * (1 + (command[0] == "diff"))
    assert main([*command, *scripts, "--server", server, "--target", "llvm -mcpu=haswell"]) == 0
    said = capsys.readouterr().err
    assert said.count(f"{fast}: note: the script itself builds for llvm; --target llvm -mcpu=haswell") == len(scripts)
    assert main([*command, *scripts, "--server", server]) == 0
    assert "note" not in capsys.readouterr().err


def test_json_is_the_apis_answer(fast: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", fast, "--server", server, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "ok"
    assert [unit["name"] for unit in answer["units"]] == ["twice"]


def test_a_run_prints_what_the_script_prints(plain: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", plain, "--server", server]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "built"


def test_a_ladder_says_of_each_step_whether_its_result_is_right(
    fast: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ladder", fast, "--server", server]) == 0
    lines = capsys.readouterr().out.splitlines()
    steps = [line for line in lines if line.startswith(("default", "split", "vectorize"))]
    assert len(steps) == 2, "a split alone is no step"
    assert all("same result" in line for line in steps)
    assert main(["ladder", fast, "--server", server, "--json"]) == 0
    assert [m["step"] for m in json.loads(capsys.readouterr().out)["measurements"] if m["kind"] == "prefix"] == [0, 2]


@pytest.mark.long
def test_two_programs_are_compared(plain: str, fast: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", plain, fast, "--server", server, "--time"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"--- {plain}\n+++ {fast}\n")
    assert "of the first one's time" in out
    assert main(["diff", plain, plain, "--server", server]) == 0
    assert capsys.readouterr().out == "the texts are equal\n"


def test_what_is_legal_next_is_proposed_with_its_gain(
    plain: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["propose", plain, "--server", server, "--loop", "0"]) == 0
    assert "s[B].vectorize(" in capsys.readouterr().out
    assert main(["propose", plain, "--server", server, "--stage", "7"]) == 1
    assert "the schedule has no stage 7: it has 1, counted from 0" in capsys.readouterr().err
    assert main(["propose", plain, "--server", server, "--loop", "3"]) == 1
    assert "the stage has no loop 3: it has 1, counted from 0" in capsys.readouterr().err


def test_what_takes_time_is_said_with_what_would_remove_it(
    plain: str, server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", plain, "--server", server, "--threads", "2"]) == 0
    assert "threads" not in capsys.readouterr().out  # to begin them takes longer than 64 elements
    large = _write(tmp_path / "large.py", SCRIPT.format(schedule="").replace("64", "1 << 22"))
    assert main(["why", large, "--server", server, "--threads", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(" 50%  threads: no loop of B is parallel: 1 of 2 threads wait\n")
    assert re.search(r"s\[B\]\.parallel\(i\)  \(predicted: (1\.9\d|2\.00) times as fast\)", out)


def test_a_link_leads_back_to_its_script(
    plain: str, fast: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["link", fast, "--server", server]) == 0
    link = capsys.readouterr().out.strip()
    assert link.startswith(f"{server}/z/")
    assert main(["diff", fast, link, "--server", server, "--emit", "llvm"]) == 0
    assert capsys.readouterr().out == "the texts are equal\n"


def test_a_page_in_one_file_is_written(
    plain: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", plain, "--server", server]) == 0
    assert capsys.readouterr().out == "plain.html\n"
    assert "<html" in (tmp_path / "plain.html").read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(plain).read_bytes())))
    assert main(["export", "-", "--server", server, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": "strata.html"}


@pytest.mark.parametrize(
    ("script", "code", "sentence"),
    [
        ("from tvm import te\nx = te.placeholder((3,), nme='A')\n", 1, ":2:4: error: TypeError: "),
        ("print('nothing')\n", 1, "Nothing lowered yet"),
        ("from tvm import te\nimport sys; sys.exit(3)\n", 1, ""),
    ],
)
def test_errors_of_a_script_are_said_with_its_line(
    script: str, code: int, sentence: str, server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _write(tmp_path / "wrong.py", script)
    assert main(["compile", name, "--server", server]) == code
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["why"], ["propose"], ["ladder"], ["export", "-o", "page.html"], ["diff", "plain.py"]]
)
def test_every_command_says_where_a_script_is_wrong(
    command: list[str], plain: str, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(plain).parent)
    _write(Path("wrong.py"), "x = (\n")
    assert main([*command, "wrong.py", "--server", server]) == 1
    assert capsys.readouterr().err == "wrong.py:1:4: error: SyntaxError: '(' was never closed\n"


@pytest.mark.parametrize("command", ["why", "propose"])
def test_a_script_of_which_nothing_can_be_said_is_an_error_as_json_too(
    command: str, server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _write(tmp_path / "empty.py", "")
    assert main([command, name, "--server", server]) == 1
    assert capsys.readouterr().err.startswith(f"strata: {name}: ")
    assert main([command, name, "--server", server, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["problem"]


def test_of_two_programs_the_one_that_builds_nothing_is_named(
    plain: str, server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _write(tmp_path / "empty.py", "")
    assert main(["diff", plain, name, "--server", server]) == 1
    assert capsys.readouterr().err.startswith(f"strata: {name}: Nothing lowered yet")
    assert main(["diff", "-", "-", "--server", server]) == 2
    assert "standard input is one program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compile", "nothing.py"], "there is no file nothing.py"),
        (["compile", "."], ". is a directory: expected a file"),
        (["compile", "long.py"], "long.py has more than 1,000,000 bytes"),
        (["compile", "image.bin"], "image.bin is not text: expected a Python script"),
        (["compile", "net.onnx"], "expected a Python script that reads the model, and --file net.onnx"),
        (["compile", "plain.py", "--file", "net.onnx", "--file", "other/net.onnx"], "would have one name"),
        (["compile", "http://127.0.0.1/other"], "is no link to a script"),
        (["compile", "image.bin", "--server", "localhost"], "--server: expected an address"),
        (["compile", "plain.py", "--server", "http://"], "--server: expected an address"),
        (["compile", "plain.py", "--server", "http://two words"], "--server: expected an address"),
        (["mcp", "--server", "localhost"], "--server: expected an address"),
        (["propose", "plain.py", "--stage", "-1"], "Expected `int` >= 0 ($.subject.place.stage)\n"),
    ],
)
def test_a_command_that_names_what_is_not_there_is_refused(
    arguments: list[str], sentence: str, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.py").write_bytes(b"#" * 1_000_001)
    (tmp_path / "image.bin").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "net.onnx").write_bytes(b"\x08\x07\x12\xff" * 300_000)
    _write(tmp_path / "plain.py", SCRIPT.format(schedule=""))
    monkeypatch.setenv("STRATA_SERVER", server)
    assert main(arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_named(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", plain, "--server", "http://127.0.0.1:1"]) == 3
    assert "no server answers at http://127.0.0.1:1" in capsys.readouterr().err


def test_a_link_that_is_not_kept_is_a_wrong_command(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", f"{server}/z/22222222"]) == 2
    assert "there is no link '22222222'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "response",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\n<html>",
    ],
)
@pytest.mark.parametrize("command", ["compile", "why"])
def test_what_is_no_server_of_strata_is_named(
    response: bytes, command: str, plain: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as request:
                request.readline()
                length = int(parse_headers(request).get("Content-Length", 0))
                request.read(length)  # as a connection that is closed before is reset, and what was sent is lost
                connection.sendall(response)

        other = Thread(target=answer)
        other.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert main([command, plain, "--server", address]) == 3
        other.join()
    said = capsys.readouterr()
    assert (said.out, said.err.startswith(f"strata: {address} ")) == ("", True)


def test_a_server_that_closes_the_connection_is_named(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def close() -> None:
            connection, _ = listening.accept()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # by a reset
            connection.close()

        other = Thread(target=close)
        other.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert main(["compile", plain, "--server", address]) == 3
        other.join()
    assert capsys.readouterr().err.startswith(f"strata: {address} closed the connection before it had answered: ")


def test_functions_and_passes_that_do_not_exist_are_answered_with_those_that_do(
    plain: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", plain, "--server", server, "--function", "thrice"]) == 2
    assert "there are: twice" in capsys.readouterr().err
    assert main(["compile", plain, "--server", server, "--emit", "nothing"]) == 2
    assert "there are: loops, llvm, asm" in capsys.readouterr().err
    assert main(["compile", plain, "--server", server, "--pass", "Nothing"]) == 2
    assert "StorageFlatten" in capsys.readouterr().err


def test_a_script_is_read_from_standard_input(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Input:
        buffer = io.BytesIO(SCRIPT.format(schedule="").encode())

    monkeypatch.setattr(sys, "stdin", Input)
    assert main(["compile", "-", "--server", server]) == 0
    assert "B[i] = A[i]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("llvm", "host"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", "x86_64:haswell"),
        ("llvm -mtriple=riscv64-linux-gnu", "riscv64:generic"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -mattr=-fma,-avx2", "x86_64:haswell:-fma,-avx2"),
    ],
)
def test_assembly_is_of_the_processor_that_is_named(target: str, key: str) -> None:
    assert assembly_of(target) == key
    shown = assembly_target(key)
    assert shown is not None
    assert shown.attrs == ",".join(Target(target).mattr)
    assert shown.attrs in shown.name


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("llvm -mcpu=sandybrigde", "unknown CPU 'sandybrigde'"),
        ("llvm -mtriple=nowhere", "no backend for the triple 'nowhere'"),
        (
            "llvm -mtriple=armv7-linux-gnueabihf",
            "assembly is shown for x86_64, aarch64, riscv64, wasm32, not for armv7",
        ),
    ],
)
def test_a_processor_without_assembly_is_refused(target: str, sentence: str) -> None:
    with pytest.raises(Failure, match=sentence):
        assembly_of(target)


def test_options_that_do_not_exist_are_answered_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["compile", "plain.py", "--device", "abacus"])
    assert re.search("'cuda',.* 'webgpu'", capsys.readouterr().err)
    with pytest.raises(SystemExit, match="2"):
        main(["compile", "plain.py", "--emitt", "asm"])
    assert re.match(r"usage: strata compile .*\nstrata compile: error: unrecog", capsys.readouterr().err, re.DOTALL)
    with pytest.raises(SystemExit, match="0"):
        main(["compile", "--help"])
    assert "LLVM IR" in capsys.readouterr().out


def test_the_mark_that_editors_of_windows_begin_files_with_is_no_part_of_a_script(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "marked.py"
    script.write_bytes(b"\xef\xbb\xbfprint('marked')\r\n")
    assert main(["run", str(script), "--server", server]) == 0
    assert capsys.readouterr().out == "marked\n"


def test_closed_streams_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["compile", "-", "--server", "http://127.0.0.1:1"]) == 2
    assert "standard input is closed" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["completion", "bash"]) == 2
    assert "standard output is closed" in capsys.readouterr().err


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["completion", "bash"]) == 1
    assert "no space left" in capsys.readouterr().err


def test_a_locale_without_arrows_loses_no_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with open(tmp_path / "out", "w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["completion", "bash"]) == 0
        print("→")
    assert (tmp_path / "out").read_text().endswith("\\u2192\n")


def test_attached_files_and_threads_reach_the_script(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path / "words.txt", "from a file")
    script = _write(tmp_path / "reads.py", "print(open('words.txt').read())\n")
    assert main(["run", script, "--server", server, "--file", str(tmp_path / "words.txt")]) == 0
    assert capsys.readouterr().out == "from a file\n"
    assert main(["compile", script, "--server", server, "--threads", "1000"]) == 2
    assert "threads" in capsys.readouterr().err


def test_settings_of_a_server_in_the_environment_are_not_for_this_process(
    plain: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRATA_UNSAFE_LOCAL", "1")
    monkeypatch.setenv("STRATA_DATABASE", "nothing://")
    monkeypatch.setenv("STRATA_STORE", "nothing://")
    monkeypatch.setenv("STRATA_SCHEDULER", "tcp://127.0.0.1:1")
    assert main(["compile", plain]) == 0
    assert "B[i]" in capsys.readouterr().out


def test_an_answer_of_another_version_is_no_traceback(
    plain: str, capsys: pytest.CaptureFixture[str], server: str
) -> None:
    class Newer:
        address = "https://strata.example"

        def send(self, path: str, body: object) -> bytes:
            return b'{"url": 3}'

        def lines(self, path: str) -> Any:
            return iter(())

    with pytest.raises(explorers.Failure, match="answers as another version of Strata does"):
        explorers.ask(Newer(), "/api/links", None, list[int])


def test_tune_writes_a_script_with_the_primitives_that_were_found_or_leaves_the_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, log, out = tmp_path / "product.py", tmp_path / "log.jsonl", tmp_path / "found.py"
    script.write_text(PRODUCT)
    command = ["tune", str(script), "--trials", "2", "--seed", "1", "--log", str(log), "-o", str(out)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "2 trials, 0 failed" in printed
    assert all(name in printed for name in ("default  ", "NumPy    "))
    assert len(log.read_text().splitlines()) == 3
    if out.exists():
        made = runpy.run_path(str(out))["found"]
        a, b, c = (np.random.default_rng(0).random((64, 64), "float32") for _ in range(3))
        made(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    else:
        assert "the default, which stays" in printed
    script.write_text(PRODUCT.replace('"llvm"', '"llvm -mtriple=aarch64-linux-gnu"'))
    assert main(command) == 1
    assert "code for aarch64-linux-gnu cannot run on this machine" in capsys.readouterr().err
    script.write_text("print(1)\n")
    assert main(["tune", str(script), "-o", str(tmp_path / "no" / "found.py")]) == 2
    assert "found.py cannot be written: expected a file" in capsys.readouterr().err  # before anything is searched
    assert main(["tune", str(script)]) == 1
    assert "builds no function" in capsys.readouterr().err
    for seconds in ("0", "-1", "nan"):
        assert main(["tune", str(script), "--seconds", seconds]) == 2
        assert f"--seconds must be more than 0, got {seconds}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scheduled", "factor", "written"),
    [
        ("s = te.create_schedule(B.op); s[B].split(B.op.axis[0], 4); tvm.build(s, [A, B])", "B.i.factor", "factor=8"),
        (
            "s = tvm.tir.Schedule(te.create_prim_func([A, B])); s.split(s.get_loops(s.get_block('B'))[0], [None, 4])\n"
            "tvm.build(s.mod)", "i.part1", "factors=[None, 8]",
        ),
    ],
)  # fmt: skip
def test_the_schedule_of_a_program_is_written_with_other_factors_if_that_is_what_is_found(
    scheduled: str, factor: str, written: str, tmp_path: Path
) -> None:
    script = tmp_path / "scheduled.py"
    script.write_text(
        "import tvm\nfrom tvm import te\nA = te.placeholder((64,), name='A')\n"
        f"B = te.compute((64,), lambda i: A[i] + 1, name='B')\n{scheduled}\n"
    )
    built = tuning.built_by(str(script))
    assert built.template is not None
    choices = (("way", f"template {built.template.digest}"), (factor, 8))
    found = Outcome(schedule=None, choices=choices, seconds=1.0, default_seconds=2.0, trials=())
    assert written in tuning.found_script(built, found, "llvm", "Found")


def test_a_schedule_of_a_module_of_several_functions_is_no_template(tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(TWO)
    built = tuning.built_by(str(script))
    assert built.template is not None
    assert tuning.template_of(built) is None


@pytest.mark.parametrize(
    ("script", "options", "code", "sentence"),
    [
        ("x = (\n", [], 1, "strata: wrong.py:1: SyntaxError: '(' was never closed"),
        ("\nraise ValueError('no')\n", [], 1, "strata: wrong.py:2: ValueError: no\n"),
        ("import tvm\ntvm.target.Target('abacus')\n", [], 1, "strata: wrong.py:2: TargetError: "),
        ("import sys\nsys.exit(3)\n", [], 1, "strata: wrong.py ends with 3\n"),
        ("import sys\nsys.exit()\n", [], 1, "strata: the script builds no function\n"),
        ("", ["--trials", "0"], 2, "--trials must be at least 1, got 0"),
        ("", ["--threads", "-1"], 2, "--threads must be at least 1, got -1"),
        ("", ["--seconds", "nan"], 2, "--seconds must be more than 0, got nan"),
        ("", ["--target", "abacus"], 2, "--target: Target: unknown kind 'abacus'"),
    ],
)
def test_what_cannot_be_tuned_is_said_in_a_sentence(
    script: str, options: list[str], code: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    _write(Path("wrong.py"), script)
    assert main(["tune", "wrong.py", *options]) == code
    assert sentence in capsys.readouterr().err


def test_an_interrupted_search_ends_with_what_it_has_found(tmp_path: Path) -> None:
    script, log = tmp_path / "product.py", tmp_path / "log.jsonl"
    script.write_text(PRODUCT)
    called = "from app.shell.main import main; raise SystemExit(main())"
    command = [sys.executable, "-uc", called, "tune", str(script), "--log", str(log), "-o", str(tmp_path / "found.py")]
    with subprocess.Popen(
        [*command, "--seconds", "600"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as search:
        assert search.stdout is not None
        assert "trials, " in search.stdout.readline()
        search.send_signal(signal.SIGINT)
        printed, said = search.communicate(timeout=60)
    assert (search.returncode, said) == (
        0,
        "the search ends after this round, with what it has found; Ctrl+C ends it at once\n",
    )
    assert "default  " in printed
    assert len(log.read_text().splitlines()) > 12, "a round is noted"


def test_a_command_that_another_carries_out_keeps_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    assert "usage: strata serve" in capsys.readouterr().out
    assert main(["python", "-m"]) == 2
    assert "usage: strata python" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["com"], {"compile", "completion"}),
        (["compile", "--em"], {"--emit"}),
        (["compile", "--emit", "l"], {"loops", "llvm"}),
        (["serve", "--nothing"], set()),
        (["compile", "--target", ""], set()),
    ],
)
def test_bash_completes_what_the_parser_takes(
    typed: list[str], offered: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    words = " ".join(f"'{word}'" for word in ["strata", *typed])
    program = f"{capsys.readouterr().out}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed)}; _strata; "
    done = subprocess.run(["bash", "-c", program + 'printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True)
    assert set(done.stdout.split()) == offered, done.stderr
    for shell in ("zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert "strata" in capsys.readouterr().out


LESSON = """\
+++
title = "Twice"
summary = "A loop."
minutes = 3
part = "Loops"
panes = ["source", "loops"]
+++

## Split it

```python start
{start}```

```python answer
{answer}```

```checks
[[check]]
kind = "loops"
stage = "B"
order = ["i.outer", "i.inner"]
```
"""


def test_lessons_are_checked_before_students_take_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split = SCRIPT.format(schedule="s[B].split(B.op.axis[0], 8)")
    plain = SCRIPT.format(schedule="")
    _write(tmp_path / "01_good.md", LESSON.format(start=plain, answer=split))
    _write(tmp_path / "02_backwards.md", LESSON.format(start=split, answer=plain))
    _write(tmp_path / "03_broken.md", "+++\ntitle = 3\n+++\n")
    assert main(["lesson", "check", str(tmp_path), "--no-measure"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert any("01_good.md: 1 steps, no fault" in line for line in said)
    assert any("02_backwards.md: step 1: the answer does not pass" in line for line in said)
    assert any("02_backwards.md: step 1: what it begins with passes already" in line for line in said)
    assert any("03_broken.md" in line and "line 1" in line for line in said)
    assert main(["lesson", "check", str(tmp_path / "nothing")]) == 1
