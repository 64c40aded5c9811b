"""Exported libraries hold the kernels of a device beside the host's code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.ir.error import ArgumentError, UnavailableError
from compiler.runtime.modules.device_module import DeviceModule
from compiler.runtime.modules.module import Module
from compiler.target.cuda_tools import missing_tools

KINDS = ("cuda", "opencl", "metal", "webgpu", "nvptx", "rocm")


def _scaled(kind: str) -> Module:
    a = te.placeholder((64, 32), name="A")
    b = te.compute((64, 32), lambda i, j: a[i, j] * 2.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(b.op.axis[1], te.thread_axis("threadIdx.x"))
    return tvm.build(s, [a, b], kind)


@pytest.fixture
def without_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without NVIDIA's compilers, which take a second."""
    monkeypatch.setattr("compiler.target.cuda_tools.tools._folders", lambda: ())


@pytest.mark.usefixtures("without_tools")
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_come_back(kind: str, tmp_path: Path) -> None:
    built = _scaled(kind)
    path = tmp_path / "scaled.o"
    built.export_library(str(path))
    loaded = tvm.runtime.load_module(path)
    (kernels,), (own,) = loaded.imported_modules, built.imported_modules
    assert isinstance(kernels, DeviceModule)
    assert (kernels.type_key, str(kernels.target)) == (own.type_key, str(own.target))
    assert kernels.get_source() == own.get_source()
    tvm.ir.assert_structural_equal(kernels.kernels, own.kernels)
    kernels.save(str(tmp_path / f"again.{own.format}"))
    assert (tmp_path / f"again.{own.format}").read_text() == own.get_source()
    arrays = [np.zeros((64, 32), "float32") for _ in range(2)]
    with pytest.raises(UnavailableError, match="this machine has no runtime for") as refused:
        built(*arrays)
    with pytest.raises(UnavailableError) as refused_again:
        loaded(*arrays)
    assert str(refused_again.value) == str(refused.value)


@pytest.mark.usefixtures("without_tools")
def test_the_host_launches_what_was_loaded(tmp_path: Path) -> None:
    _scaled("cuda").export_library(str(tmp_path / "scaled.so"))
    loaded = tvm.runtime.load_module(tmp_path / "scaled.so")
    launches: list[tuple[str, dict[str, int]]] = []
    kernels = loaded.imported_modules[0]
    kernels.launcher = lambda name, args, extents: launches.append((name, dict(extents)))
    loaded(*(np.zeros((64, 32), "float32") for _ in range(2)))
    assert launches == [("main_kernel", {"blockIdx.x": 64, "threadIdx.x": 32})]


@pytest.mark.skipif(bool(missing_tools()), reason=missing_tools() or "none")
def test_machine_code_is_in_the_library(tmp_path: Path) -> None:
    built = _scaled("cuda")
    built.export_library(str(tmp_path / "scaled.o"))
    (kernels,) = tvm.runtime.load_module(tmp_path / "scaled.o").imported_modules
    kernels.save(str(tmp_path / "scaled.cubin"))
    assert (tmp_path / "scaled.cubin").read_bytes()[:4] == b"\x7fELF"
    assert ".entry main_kernel" in kernels.get_source("ptx")
    assert "FMUL" in built.imported_modules[0].get_source("sass") or "FADD" in built.imported_modules[0].get_source(
        "sass"
    )
    with pytest.raises(ArgumentError, match=r"'cubin' is binary; write it to a file with save\('kernels\.cubin'\)"):
        kernels.get_source("cubin")


@pytest.mark.usefixtures("without_tools")
def test_a_model_keeps_its_kernels(tmp_path: Path) -> None:
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    built = relay.build(mod, "cuda", params={"w": np.ones((4, 8), "float32")})
    built.export_library(str(tmp_path / "model.so"))
    loaded = tvm.runtime.load_module(tmp_path / "model.so")
    assert loaded.graph_json == built.graph_json
    assert loaded.get_lib().imported_modules[0].get_source() == built.get_lib().imported_modules[0].get_source()


def test_damaged_kernels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scaled.o"
    _scaled("opencl").export_library(str(path))
    data = path.read_bytes()
    at = data.index(b"__kernel")
    path.write_bytes(data[:at] + b"XX" + data[at + 2 :])
    with pytest.raises(ArgumentError, match="is damaged"):
        tvm.runtime.load_module(path)
