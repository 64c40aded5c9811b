"""A session of this process keeps files, loads libraries and finds functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic import rpc
from compiler.ir.error import ArgumentError


def test_a_library_is_sent_and_called(tmp_path: Path) -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1, name="B")
    path = tmp_path / "lib.o"
    tvm.build(te.create_schedule(B.op), [A, B], "llvm", name="one").export_library(str(path))
    remote = rpc.LocalSession()
    remote.upload(path)
    path.unlink()
    assert remote.listdir(".") == ["lib.o"]
    device = remote.cpu()
    a, b = tvm.nd.array(np.zeros(4, "float32"), device), tvm.nd.empty((4,), "float32", device)
    remote.load_module("lib.o")["one"](a, b)
    assert b.numpy().tolist() == [1] * 4


def test_files_and_functions() -> None:
    remote = rpc.LocalSession()
    remote.upload(bytearray(b"abc"), "text")
    assert remote.download("text") == b"abc"
    remote.remove("text")
    for refused in (remote.download, remote.remove, remote.load_module):
        with pytest.raises(ArgumentError, match="there is no file 'text'"):
            refused("text")
    with pytest.raises(ArgumentError, match="target must name the file"):
        remote.upload(b"abc")
    assert remote.get_function("testing.echo")(3) == 3
    assert remote.device("llvm") == tvm.cpu()
