"""``export_library``: which compiler links, and what of a file stays when others link it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.classic.contrib import cc, tar
from compiler.driver.relay.build import build
from compiler.ir.error import ArgumentError, BuildError, UnavailableError
from compiler.ir.module import IRModule
from compiler.relay import Function, const, nn, var
from compiler.runtime.arrays.ndarray import array, empty
from compiler.runtime.device import cpu
from compiler.runtime.graph.factory import GraphExecutorFactory
from compiler.runtime.modules.library import load_module
from compiler.runtime.modules.linking import _LINKERS
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.object_file import ObjectFile, with_data
from tests.compiler.target.kernels import compile_module, elementwise

needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="no compiler")
WEIGHTS = np.arange(12, dtype="float32").reshape(3, 4)


@pytest.fixture(scope="module")
def add() -> Module:
    return compile_module(elementwise(lambda x, y: x + y, ["float32", "float32"], "float32", 8))


@pytest.fixture(scope="module")
def model() -> GraphExecutorFactory:
    """A layer with weights, which a library holds as data."""
    x = var("x", shape=(1, 4))
    return build(IRModule.from_expr(Function([x], nn.dense(x, const(WEIGHTS)))), "llvm")


def adds(path: str | os.PathLike[str]) -> bool:
    """Return whether a file holds the function, and it adds."""
    out = empty((8,))
    load_module(path)(array(np.ones(8, "float32")), array(np.ones(8, "float32")), out)
    return bool((out.numpy() == 2).all())


def multiplies(path: str | os.PathLike[str]) -> bool:
    """Return whether a file holds the model with its weights."""
    executor = load_module(path)["default"](cpu())
    executor.set_input("x", array(np.ones((1, 4), "float32")))
    executor.run()
    return bool((executor.get_output(0).numpy() == WEIGHTS.sum(1)).all())


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Put a cross compiler on the path, and return what returns the arguments of its last call."""
    program = tmp_path / "bin" / "aarch64-linux-gnu-gcc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\nexec cc "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return lambda: (tmp_path / "called").read_text()


@needs_compiler
def test_the_compiler_that_is_named_links(add: Module, calls: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "five.c").write_text("int five(void) { return 5; }")
    subprocess.run(["cc", "-c", "-fPIC", "five.c"], cwd=tmp_path, check=True)
    path = tmp_path / "add.so"
    more = str(tmp_path / "five.o")
    add.export_library(path, cc="aarch64-linux-gnu-gcc", options=["-lm"], addons=[more], workspace_dir=tmp_path)
    assert "-shared" in calls()
    assert f"-lm {more}" in calls()
    assert adds(path)
    assert ctypes.CDLL(str(path)).five() == 5
    assert adds(tmp_path / "lib0.o"), "the workspace keeps the object code"


@needs_compiler
def test_a_function_makes_the_library(add: Module, tmp_path: Path) -> None:
    given: list[object] = []

    def compile_all(output: str, files: list[str], options: list[str], **others: object) -> str:
        given.extend([[Path(file).name for file in files], others])
        cc.create_shared(output, [file for file in files if file.endswith(".o")], options)
        return "made"

    path = str(tmp_path / "add.so")
    assert add.export_library(path, fcompile=compile_all, addons=["x.a"], options=["-lm"], level=3) == "made"
    assert given == [["x.a", "lib0.o"], {"level": 3}]
    assert adds(path)
    add.export_library(path, cc.cross_compiler("cc", options=["-lm"]))
    assert adds(path)


def test_no_function_makes_the_library(add: Module, tmp_path: Path) -> None:
    add.export_library(path := str(tmp_path / "add.so"), False)
    assert adds(path)


@pytest.mark.parametrize(
    ("name", "options", "error", "words"),
    [
        ("a.so", {"cc": "no-such-gcc"}, UnavailableError, "export_library: this machine has no no-such-gcc"),
        ("a.so", {"cc": 3}, ArgumentError, "cc must be the name of a compiler, got 3"),
        ("a.so", {"fcompile": "gcc"}, ArgumentError, "a function; the name of a compiler is for cc, got 'gcc'"),
        ("a.so", {"level": 3}, ArgumentError, "'level' is for a function fcompile only"),
        ("a.tar", {"options": ["-lm"]}, ArgumentError, "nothing is linked for an archive"),
        pytest.param(
            "a.so",
            {"workspace_dir": "nowhere"},
            BuildError,
            "cannot write 'nowhere/lib0.o': No such file",
            marks=needs_compiler,
        ),
    ],
)
def test_what_cannot_be_linked(
    add: Module, name: str, options: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        add.export_library(str(tmp_path / name), **options)
    assert list(tmp_path.iterdir()) == []


@needs_compiler
def test_what_the_linker_says_is_told(add: Module, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"export_library: cc failed: .*nonsense"):
        add.export_library(tmp_path / "a.so", cc="cc", options=["-nonsense"])


def test_weights_stay_whoever_links(model: GraphExecutorFactory, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("one.so", "two.so", "three.o", "four.so", "five.so", "six.tar")]
    model.export_library(paths[0])
    model.export_library(paths[2])
    model.export_library(paths[5])
    if any(map(shutil.which, _LINKERS[:3])):
        model.export_library(paths[1], cc="cc", options=["-Wl,--gc-sections", "-Wl,--strip-all"])
        cc.create_shared(paths[3], paths[2])
        model.export_library(paths[4], fcompile=cc.create_shared)
    assert all(map(multiplies, filter(os.path.exists, paths)))


def test_data_is_a_section_that_no_process_loads(model: GraphExecutorFactory) -> None:
    code = model.exported("a.o")
    section = ObjectFile(code).sections[-1]
    assert (section.name, section.flags) == (".strata", 0)
    assert ObjectFile(with_data(code, b"more")).content(ObjectFile(with_data(code, b"more")).sections[-1]) == b"more"
    assert with_data(code, b"") == code
    assert with_data(b"\xcf\xfa\xed\xfe", b"data") == b"\xcf\xfa\xed\xfedata", "of another format it stands behind"


def test_an_archive_holds_object_code(add: Module, tmp_path: Path) -> None:
    for options in ({}, {"fcompile": tar.tar}):
        path = str(tmp_path / "add.tar")
        add.export_library(path, **options)  # type: ignore[arg-type]
        with tarfile.open(path) as archive:
            assert archive.getnames() == ["lib0.o"]
        assert adds(path)
    (tmp_path / "x.o").write_bytes(b"x")
    add.export_library(path, fcompile=tar.tar, addons=[str(tmp_path / "x.o")])
    with pytest.raises(ArgumentError, match=r"one file of object code in '.*add.tar', got x.o, lib0.o"):
        load_module(path)


@pytest.mark.parametrize("end", [300, 600])
def test_an_archive_that_was_cut_off_is_refused(add: Module, tmp_path: Path, end: int) -> None:
    path = tmp_path / "add.tar"
    add.export_library(str(path))
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ArgumentError, match=r"load_module: .*add\.tar"):
        load_module(str(path))


def test_a_compiler_that_cannot_be_called_is_told(add: Module, tmp_path: Path) -> None:
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(BuildError, match=r"export_library: .*broken-cc could not link: .*No such file"):
        add.export_library(str(tmp_path / "add.so"), cc=str(broken))


@needs_compiler
def test_a_library_is_written_anew_while_it_is_loaded(add: Module, model: GraphExecutorFactory, tmp_path: Path) -> None:
    path = tmp_path / "kernel.so"
    add.export_library(path)
    loaded, out = load_module(path), empty((8,))
    (tmp_path / "link.so").symlink_to(path)
    model.export_library(tmp_path / "link.so")
    loaded(array(np.ones(8, "float32")), array(np.ones(8, "float32")), out)
    assert (out.numpy() == 2).all()
    assert (tmp_path / "link.so").is_symlink()
    assert multiplies(path)
