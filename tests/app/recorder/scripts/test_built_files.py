"""Files of what a script built are what other programs read."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from app.built_files import FILE_KINDS, FileSubject, read_part
from app.recorder.recorder import Recorder
from app.recorder.scripts.built_files import make_file, send_file
from compiler import relay, te
from compiler.classic import alias
from compiler.ir.instrument import instrumented


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    """What was seen of a script with a model and two functions, the first of which was only lowered."""
    recorder = Recorder()
    with instrumented(recorder):
        x = relay.var("x", shape=(2, 3))
        relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), target="llvm")
        a = te.placeholder((8,), name="a")
        b = te.compute((8,), lambda i: a[i] * 2.0, name="b")
        tvm.lower(te.create_schedule(b.op), [a, b], name="lowered")
        tvm.build(te.create_schedule(b.op), [a, b], "llvm", name="double")
    return recorder


@pytest.mark.parametrize("form", [kind.form for kind in FILE_KINDS if not kind.of_kernels])
def test_every_form_is_made_of_a_function(recorder: Recorder, form: str) -> None:
    made = make_file(FileSubject(form=form), recorder)
    assert made.name == "double"
    assert made.content


def test_a_file_is_sent_in_parts(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.built_files.PART_BYTES", 100)
    parts: list[bytes] = []
    said = send_file(FileSubject(form="ll"), recorder, 1 << 20, parts.append)
    content = make_file(FileSubject(form="ll"), recorder).content
    assert [place for place, _ in map(read_part, parts)] == list(range(0, len(content), 100))
    assert b"".join(part for _, part in map(read_part, parts)) == content
    assert (said.name, said.size, said.problem) == ("double", len(content), "")


def test_a_file_that_is_too_large_says_how_else_it_is_made(recorder: Recorder) -> None:
    parts: list[bytes] = []
    said = send_file(FileSubject(form="so", model=True), recorder, 1000, parts.append)
    assert not parts
    assert "at most 1,000 can be downloaded" in said.problem
    assert "export_library" in said.problem


def test_the_library_of_a_model_runs(recorder: Recorder, tmp_path: Path) -> None:
    path = tmp_path / "model.so"
    path.write_bytes(make_file(FileSubject(form="so", model=True), recorder).content)
    executor = tvm.contrib.graph_executor.GraphModule(tvm.runtime.load_module(path)["default"](tvm.cpu(0)))
    data = np.array([[-1, 0, 2], [3, -4, 5]], "float32")
    executor.run(x=data)
    np.testing.assert_array_equal(executor.get_output(0).numpy(), np.maximum(data, 0))


def test_tvmscript_builds_to_the_same(recorder: Recorder, tmp_path: Path) -> None:
    alias.install()
    path = tmp_path / "double.py"
    path.write_bytes(make_file(FileSubject(form="tvmscript"), recorder).content)
    module = runpy.run_path(str(path))["Module"]
    out = tvm.nd.empty((8,))
    tvm.build(module, target="llvm")(tvm.nd.array(np.arange(8, dtype="float32")), out)
    np.testing.assert_array_equal(out.numpy(), np.arange(8) * 2)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (FileSubject(form="cubin"), "launches no kernel"),
        (FileSubject(form="so", unit=0), "cannot be built"),
        (FileSubject(form="c", model=True), "shared library"),
    ],
)
def test_what_cannot_be_made_is_refused_in_words(recorder: Recorder, subject: FileSubject, words: str) -> None:
    assert words in send_file(subject, recorder, 1 << 20, [].append).problem


def test_a_script_that_builds_nothing_has_no_files() -> None:
    for subject, words in ((FileSubject(form="so", model=True), "no model"), (FileSubject(form="so"), "no function")):
        assert words in send_file(subject, Recorder(), 1 << 20, [].append).problem
