"""``python -m app``: it says where it is, answers there, and says what keeps it from starting."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from app.config import ConfigurationError
from app.store.data_directory import open_data_directory

COMMAND = [sys.executable, "-m", "app"]
INSTALLED = Path(__file__).parents[2] / "app/deployment/strata_explorer/__main__.py"


@pytest.mark.parametrize("ends", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_it_says_where_it_is_and_answers_there(tmp_path: Path, ends: signal.Signals) -> None:
    command = [*COMMAND, "--port", "0", "--data", str(tmp_path / "new" / "my folder? #1")]
    scratch = Path(tempfile.mkdtemp())  # which, unlike what is below pytest's directory, everybody can enter
    scratch.chmod(0o755)
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as server:
        assert server.stdout is not None
        said = server.stdout.readline()
        try:
            found = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert found is not None, said
            with urllib.request.urlopen(found[0] + "healthz") as response:
                assert json.load(response)["status"] == "ok"
            request = urllib.request.Request(
                found[0] + "api/compile", b'{"script": "print(6 * 7)"}', {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request) as response:
                assert [piece["text"] for piece in json.load(response)["console"]] == ["42\n"]
            link = {"workspace": {"script": "print(12345)"}}
            request = urllib.request.Request(
                found[0] + "api/links", json.dumps(link).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request) as response:
                saved = json.load(response)["id"]
        finally:
            server.send_signal(ends)
        assert server.wait(20) == 0
    scratch.rmdir()  # nothing is left behind
    data = tmp_path / "new" / "my folder? #1"
    [backup] = (data / "backups").iterdir()
    for file in (data / "strata.sqlite3", backup):
        alone = shutil.copy(file, tmp_path / "alone.sqlite3")
        with closing(sqlite3.connect(alone)) as copy:
            assert copy.execute("SELECT id FROM links").fetchall() == [(saved,)], "each is complete by itself"
    assert data.stat().st_mode & 0o077 == 0, "what people stored is nobody else's business"


@pytest.mark.parametrize("ends", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_one_that_is_ended_while_it_starts_leaves_nothing(tmp_path: Path, ends: signal.Signals) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [*COMMAND, "--port", "0", "--data", str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    ) as server:
        assert server.stderr is not None
        assert "is starting" in server.stderr.readline()
        server.send_signal(ends)
        _, said = server.communicate(timeout=60)
    assert server.returncode == 128 + ends
    assert "Traceback" not in said
    assert not [*scratch.iterdir()]


@pytest.mark.parametrize(
    ("command", "module", "source", "code"),
    [
        ("main", "app.shell.main", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT),
        (
            "tvmc",
            "compiler.classic.tvmc.main",
            "import os, signal\nos.kill(os.getpid(), signal.SIGINT)",
            -signal.SIGINT,
        ),
        ("tvmc", "compiler.classic.tvmc.main", "import signal\ndef main(): signal.raise_signal(signal.SIGINT)", 130),
    ],
)
def test_an_interrupted_command_shows_no_traceback(
    command: str, module: str, source: str, code: int, tmp_path: Path
) -> None:
    file = tmp_path / (module.replace(".", "/") + ".py")
    file.parent.mkdir(parents=True)
    file.write_text(source)
    for folder in list(file.parents)[: module.count(".")]:
        (folder / "__init__.py").touch()
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell's background ignores it
    called = f"{heard}; import runpy, sys; sys.exit(runpy.run_path({str(INSTALLED)!r})[{command!r}]())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-P", "-c", called], stderr=subprocess.PIPE, env=environment, timeout=30)
    assert (ended.returncode, ended.stderr) == (code, b"")


def test_a_data_directory_whose_name_the_locale_cannot_read_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"d.udcc3.udca0ta' has characters that the locale .* PYTHONUTF8=1"):
        open_data_directory(Path("/nowhere/d\udcc3\udca0ta"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0", "--unsafe-local"], "refusing to listen on 0.0.0.0"),
        (["--port", "many"], "invalid int value"),
        pytest.param(
            ["--data", "/proc/nothing"], "the data directory /proc/nothing cannot be created", marks=pytest.mark.long
        ),
        (["--data", "/proc/self"], "the data directory /proc/self cannot be written to: "),
        (["--data", __file__], f"the data directory {__file__} is a file (ENOTDIR)"),
        pytest.param(["--database", "nonsense"], "the database nonsense cannot be used", marks=pytest.mark.long),
        (["--database", "sqlite:////proc/nothing/x"], "x cannot be used: unable to open database file\n"),
        (["--database", "nosuch://me:secret@host/x"], "the database nosuch://me:***@host/x cannot be used"),
    ],
)
def test_what_keeps_it_from_starting(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = subprocess.run([*COMMAND, "--data", str(tmp_path), *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("start", "arguments", "words"),
    [
        (
            "import os, pwd; del os.environ['HOME']; pwd.getpwuid = {}.__getitem__",
            [],
            "this user has no home directory for the permalinks: expected one in --data or STRATA_DATA_DIR",
        ),
        (
            "import tempfile; tempfile.tempdir = '/proc/nothing'",
            ["--data", "data"],
            "there is no place for temporary files: No such file or directory (ENOENT); TMPDIR names one",
        ),
    ],
)
def test_what_a_system_lacks_keeps_it_from_starting(
    start: str, arguments: list[str], words: str, tmp_path: Path
) -> None:
    program = f"{start}; import sys; from app.__main__ import main; main(sys.argv[1:])"
    environment = {**os.environ, "HOME": "/", "XDG_DATA_HOME": "", "PYTHONPATH": str(INSTALLED.parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60, cwd=tmp_path,
        env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"strata: {words}")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [*COMMAND, "--unsafe-local", "--data", str(tmp_path), "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr
