"""Temporary files, archives and the C++ compiler."""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic.contrib import cc, clang, download, pickle_memoize, pipeline_executor, tar, utils
from compiler.classic.names import unavailable
from compiler.classic.names.resolution import module_of
from compiler.ir.error import ArgumentError, BuildError, UnavailableError


def test_folders_go_with_their_object(tmp_path: Path) -> None:
    folder = utils.tempdir()
    Path(folder.relpath("a.txt")).write_text("a")
    assert folder.listdir() == ["a.txt"]
    folder.remove()
    assert not folder.path.exists()
    with utils.tempdir(tmp_path / "own") as own:
        assert own.path == tmp_path / "own"
        with pytest.raises(ArgumentError, match="exists"):
            utils.tempdir(tmp_path / "own")
    assert not own.path.exists()
    kept = utils.tempdir(tmp_path / "kept", keep_for_debug=True)
    kept.remove()
    assert kept.path.exists()


def test_folders_are_kept_on_request() -> None:
    with utils.TempDirectory.set_keep_for_debug():
        first = utils.tempdir()
        with utils.TempDirectory.set_keep_for_debug(False):
            removed = utils.tempdir()
        second = utils.tempdir()
    assert isinstance(first.temp_dir, str)
    assert int(second.path.name) == int(first.path.name) + 1
    datetime.strptime(first.path.parent.name.split("___")[0], "%Y-%m-%dT%H-%M-%S")
    assert removed.temp_dir in utils.TempDirectory.TEMPDIRS
    assert first.temp_dir not in utils.TempDirectory.TEMPDIRS
    for folder in (first, removed):
        folder.remove()
    assert first.path.exists()
    assert not removed.path.exists()
    assert removed.temp_dir not in utils.TempDirectory.TEMPDIRS
    shutil.rmtree(first.path.parent)


def test_archives_hold_files(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(b"\1\2")
    tar.tar(str(tmp_path / "all.tar"), [str(tmp_path / "a.o")])
    tar.untar(str(tmp_path / "all.tar"), str(tmp_path / "out"))
    assert (tmp_path / "out" / "a.o").read_bytes() == b"\1\2"


def compiles() -> bool:
    """Return whether there is a compiler of C++, and not of C alone, which may have the same name."""
    compiler = cc.get_cc()
    command = [compiler or "", "-x", "c++", "-fsyntax-only", os.devnull]
    return compiler is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(not compiles(), reason="no C++ compiler")
def test_libraries_are_compiled(tmp_path: Path) -> None:
    source = tmp_path / "seven.cc"
    source.write_text('extern "C" int seven() { return 7; }')
    cc.create_shared(str(tmp_path / "seven.so"), str(source))
    assert ctypes.CDLL(str(tmp_path / "seven.so")).seven() == 7
    cc.cross_compiler(cc.get_cc() or "")(str(tmp_path / "again.so"), str(source))
    assert ctypes.CDLL(str(tmp_path / "again.so")).seven() == 7
    source.write_text("int seven( {")
    with pytest.raises(BuildError, match="failed"):
        cc.create_shared(str(tmp_path / "bad.so"), str(source))


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert clang.find_clang(required=False) == []
    with pytest.raises(UnavailableError, match="no Clang"):
        clang.create_llvm("int main() {}")
    with pytest.raises(UnavailableError, match="no C"):
        cc.create_shared("a.so", "a.o")
    with pytest.raises(UnavailableError, match="cannot be fetched"):
        download.download("http://localhost:9/model", tmp_path / "model", retries=1)


def test_one_object_file_is_linked_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    built = tvm.build(te.create_schedule(b.op), [a, b], "llvm", name="add_one")
    built.save(str(tmp_path / "add.o"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    cc.create_shared(str(tmp_path / "add.so"), [str(tmp_path / "add.o")])
    result = tvm.nd.array(np.zeros(4, "float32"))
    tvm.runtime.load_module(str(tmp_path / "add.so"))(tvm.nd.array(np.arange(4, dtype="float32")), result)
    assert result.numpy().tolist() == [1, 2, 3, 4]


def test_files_that_are_there_are_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("here")
    download.download("http://localhost:9/model", tmp_path / "model")
    assert (tmp_path / "model").read_text() == "here"


def test_results_are_computed_once() -> None:
    calls: list[int] = []

    @pickle_memoize.memoize("tests")
    def square(x: int) -> list[int]:
        calls.append(x)
        return [x * x]

    square(3).append(0)
    assert square(3) == [9]
    assert square(4) == [16]
    assert calls == [3, 4]


def test_parts_that_are_not_provided_can_be_named_but_not_called() -> None:
    collage = unavailable.unavailable_module("tvm.relay.collage")
    assert collage.collage.MEASURE_NUMBER is not None
    partition: Any = unavailable.unavailable_module("tvm.relay.transform.CollagePartition")
    for call in (partition, collage.collage.CostEstimator):
        with pytest.raises(UnavailableError, match=r"^tvm\.relay\..* is not available: partitions are not"):
            call({})


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("tvm.relay.op.contrib", "ethosn"),
        ("tvm.relay.qnn", "contrib_dense_pack"),
        ("tvm.relay.transform", "StaticMemoryPlan"),
        ("tvm.relay.backend", "StorageInfo"),
        ("tvm.relay.backend.te_compiler", "lower"),
        ("tvm.relay", "_make"),
    ],
)
def test_they_are_found_in_their_modules(module: str, name: str) -> None:
    with pytest.raises(UnavailableError, match=rf"^{module}\.{name} is not available: .*;"):
        getattr(importlib.import_module(module_of(module)), name)()


def test_models_in_stages_are_refused() -> None:
    assert not pipeline_executor.pipeline_executor_enabled()
    with pytest.raises(UnavailableError, match=r"PipelineConfig is not available: models are not pipelined"):
        pipeline_executor.PipelineConfig()
