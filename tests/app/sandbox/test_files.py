"""The working directory: attached files under their own names, and nothing of anybody else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from app.sandbox import Limits, Mechanism, Sandbox, StoredFile, UnsafeLocal, client
from app.sandbox.files import MAX_STORED
from app.sandbox.interface import Runner
from app.sandbox.tier import FileAccess
from tests.app.sandbox.conftest import HANDLERS, STRONGEST, MakeSandbox

LIST = b"import json, os; emit(json.dumps(sorted(os.listdir('.'))).encode())"
PATH_MECHANISMS = [
    mechanism for mechanism in (Mechanism.PRIVATE_ROOT, Mechanism.LANDLOCK) if mechanism in STRONGEST.mechanisms
]
PLAIN = ["model.onnx", "weights 2.npz", "Übergröße.txt", "模型.onnx", "-rf", "a" * 120, "$(reboot)", "<b>.txt", "a'\"b"]
HOSTILE = [
    "",
    ".",
    "..",
    ".bashrc",
    "../escape",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "nul\0byte",
    "line\nbreak",
    "\x1b[31mred",
    "right\u202eto-left",
    "a" * 121,
    "ü" * 61,
]


@pytest.fixture(params=[*PATH_MECHANISMS, "unsafe-local"])
def runner(request: pytest.FixtureRequest, sandbox_of: MakeSandbox) -> Runner:
    if request.param == "unsafe-local":
        return UnsafeLocal(f"{HANDLERS}:run_script")
    return sandbox_of(Mechanism.SECCOMP, request.param, handler="run_script")


@pytest.mark.parametrize("name", PLAIN)
def test_attached_files_are_read_by_their_names(name: str, scripts: Sandbox) -> None:
    job = scripts.start(f"emit(open({name!r}, 'rb').read())".encode(), {name: b"\0content\xff"})
    assert list(job.messages()) == [b"\0content\xff"]


def test_attached_files_lie_alone_in_the_directory(runner: Runner) -> None:
    job = runner.start(LIST, {"b.bin": b"b" * 100_000, "a.txt": b"", "c": b"c"})
    assert [json.loads(message) for message in job.messages()] == [["a.txt", "b.bin", "c"]]
    again = runner.start(LIST)
    assert [json.loads(message) for message in again.messages()] == [[]]


@pytest.mark.parametrize("path", ["", "'.'", "'./'", "None"])
def test_attached_files_are_listed_without_a_wall_that_knows_paths(path: str, sandbox_of: MakeSandbox) -> None:
    scripts = sandbox_of(Mechanism.SECCOMP, handler="run_script")
    listing = f"import os; emit(' '.join(sorted(os.listdir({path}))).encode())".encode()
    assert list(scripts.start(listing, {"b": b"", "a": b"a"}).messages()) == [b"a b"]
    assert list(scripts.start(b"import os; os.listdir('..')", {"a": b""}).messages()) == []


READERS = {
    "bytes": "open('a.bin', 'rb').read()",
    "by its path": "open('./a.bin', mode='rb').read()",
    "a path object": "__import__('pathlib').Path('a.bin').read_bytes()",
    "text": "open('a.bin', encoding='latin-1').read().encode('latin-1')",
    "twice": "open('a.bin', 'rb').read(2) + open('a.bin', 'rb').read()[2:]",
}


@pytest.mark.parametrize("reader", READERS)
def test_files_are_read_where_nothing_can_be_opened(reader: str, sandbox_of: MakeSandbox) -> None:
    alone = sandbox_of(Mechanism.SECCOMP, handler="run_script")
    job = alone.start(f"emit({READERS[reader]})".encode(), {"a.bin": b"caf\xe9", "other": b""})
    assert list(job.messages()) == [b"caf\xe9"]
    other = alone.start(b"try:\n    open('/etc/passwd')\nexcept PermissionError:\n    emit(b'refused')")
    assert list(other.messages()) == [b"refused"]


def test_contents_arrive_whole(runner: Runner) -> None:
    content = bytes(range(256)) * 8192
    job = runner.start(b"emit(open('big', 'rb').read())", {"small": b"x", "big": content, "last": b"y"})
    assert list(job.messages()) == [content]


def test_stored_files_are_copied_beside_attached_ones(runner: Runner, tmp_path: Path) -> None:
    content = os.urandom(3 << 20)
    path = tmp_path / "stored"
    path.write_bytes(content)
    stored = StoredFile(path, len(content))
    files = {"first": stored, "attached": b"small", "again": stored}
    script = b"for name in ('first', 'again', 'attached'): emit(open(name, 'rb').read())"
    assert list(runner.start(script, files).messages()) == [content, content, b"small"]
    if runner.tier.files is FileAccess.WRITE:
        list(runner.start(b"open('first', 'r+b').write(b'forged')", files).messages())
    assert path.read_bytes() == content, "a script writes to its own copy"


def test_a_script_holds_no_descriptor_of_a_stored_file(scripts: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "stored").write_bytes(b"content")
    stored = StoredFile(tmp_path / "stored", 7)
    script = b"""
import os
def is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
emit(repr([n for n in range(256) if is_open(n)]).encode())
"""
    [without] = scripts.start(script).messages()
    [beside] = scripts.start(script, {"a": stored, "b": stored}).messages()
    assert beside == without


def test_a_stored_file_that_became_shorter_stops_the_job(scripts: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "stored").write_bytes(b"content")
    job = scripts.start(b"emit(b'ran')", {"a": StoredFile(tmp_path / "stored", 8)})
    assert list(job.messages()) == []
    assert (job.outcome.status, "ends early" in job.outcome.detail) == ("setup", True)


def test_more_stored_files_than_descriptors_can_travel_are_refused(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "stored").write_bytes(b"c")
    files = {f"f{number}": StoredFile(tmp_path / "stored", 1) for number in range(MAX_STORED + 1)}
    with pytest.raises(ValueError, match=f"at most {MAX_STORED} stored files"):
        runner.start(LIST, files)
    files.popitem()
    [message] = runner.start(LIST, files).messages()
    assert json.loads(message) == sorted(files)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_are_not_plain_are_refused(name: str, runner: Runner) -> None:
    with pytest.raises(ValueError, match="files: expected a plain file name"):
        runner.start(LIST, {name: b"content"})


def test_a_child_checks_names_as_the_server_does(scripts: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "check_files", lambda files, limits: None)
    job = scripts.start(b"emit(b'ran')", {"../escape": b"x"})
    assert list(job.messages()) == []
    assert (job.outcome.status, "expected a plain file name" in job.outcome.detail) == ("setup", True)


def test_files_that_are_too_large_are_refused(runner: Runner) -> None:
    with pytest.raises(ValueError, match="at most 100 bytes together, got 101"):
        runner.start(LIST, {"a": b"x" * 100, "b": b"x"}, Limits(files_bytes=100))
    half = b"x" * 32_768
    [message] = runner.start(LIST, {"a": half, "b": half}, Limits(files_bytes=65_536)).messages()
    assert json.loads(message) == ["a", "b"]


def test_an_attached_module_hides_no_installed_one(runner: Runner) -> None:
    job = runner.start(
        b"import colorsys, json; emit(json.dumps(hasattr(colorsys, 'rgb_to_hsv')).encode())",
        {"colorsys.py": b"raise SystemExit", "json.py": b"raise SystemExit"},
    )
    assert list(job.messages()) == [b"true"]


def test_a_script_may_write_beside_its_files(scripts: Sandbox) -> None:
    script = b"""
import os
open('library.so', 'wb').write(b'exported')
os.mkdir('more')
os.rename('library.so', 'more/library.so')
emit(open('more/library.so', 'rb').read())
"""
    written = [b"exported"] if Mechanism.PRIVATE_ROOT in STRONGEST.mechanisms else []
    assert list(scripts.start(script).messages()) == written


LEAVE = b"""
import os, sys, builtins, numpy
try:
    open('left', 'w').write('x')
except PermissionError:
    assert not writable
os.environ['LEFT'] = 'x'
sys.modules['left'] = sys
builtins.left = 1
numpy.left = 1
emit(b'left')
"""
LOOK = b"""
import os, sys, builtins, numpy
emit(str([os.path.exists('left'), 'LEFT' in os.environ, 'left' in sys.modules,
          hasattr(builtins, 'left'), hasattr(numpy, 'left')]).encode())
"""


def test_a_job_leaves_nothing_for_the_next(scripts: Sandbox) -> None:
    writable = scripts.tier.files is FileAccess.WRITE
    before = f"writable = {writable}\n".encode()
    assert list(scripts.start(before + LEAVE + LOOK).messages()) == [b"left", str([writable, *[True] * 4]).encode()]
    assert list(scripts.start(LOOK).messages()) == [str([False] * 5).encode()]


def test_two_jobs_at_one_time_do_not_meet(scripts: Sandbox) -> None:
    script = b"""
import time
emit(b'here')
time.sleep(0.3)
for name in ('one', 'two'):
    try:
        emit(open(name, 'rb').read())
    except OSError:
        emit(b'nothing')
"""
    first, second = scripts.start(script, {"one": b"1"}), scripts.start(script, {"two": b"2"})
    assert list(first.messages()) == [b"here", b"1", b"nothing"]
    assert list(second.messages()) == [b"here", b"nothing", b"2"]
