"""Shared libraries that are linked without a linker: the system's loader opens them, and its tools read them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.ir.error import BuildError
from compiler.runtime.modules.native_code import host_triple
from compiler.runtime.modules.shared_object import link_shared_object

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and host_triple().startswith("x86_64")), reason="links ELF for x86-64"
)


def matmul(parallel: bool = False) -> tvm.runtime.Module:
    """Return a product of two matrices after the exponential of one, whose vectors need a table of constants."""
    n = 32
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(te.exp(a[i, k]) * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    s[c].reorder(i, k, j)
    s[c].vectorize(j)
    if parallel:
        s[c].parallel(i)
    return tvm.build(s, [a, b, c], "llvm -mcpu=native", name="matmul")


@pytest.fixture
def without_linker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("without_linker")
@pytest.mark.parametrize("parallel", [False, True])
def test_a_library_is_loaded_and_right(tmp_path: Path, parallel: bool) -> None:
    path = tmp_path / "matmul.so"
    matmul(parallel).export_library(str(path))
    assert path.read_bytes()[16:18] == b"\x03\x00", "an object file, and no library"
    a, b = (np.random.default_rng(seed).random((32, 32), "float32") for seed in (1, 2))
    c = tvm.nd.empty((32, 32))
    tvm.runtime.load_module(path)["matmul"](tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), np.exp(a) @ b, rtol=1e-4)


@pytest.mark.usefixtures("without_linker")
def test_a_program_without_strata_calls_it(tmp_path: Path) -> None:
    path = tmp_path / "matmul.so"
    matmul().export_library(str(path))
    function = ctypes.CDLL(str(path)).matmul
    a, b = (np.random.default_rng(seed).random((32, 32), "float32") for seed in (1, 2))
    c = np.zeros((32, 32), "float32")
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)))
    np.testing.assert_allclose(c, np.exp(a) @ b, rtol=1e-4)


def test_what_others_define_is_found_by_the_loader(tmp_path: Path) -> None:
    """A function, the address of one, and data of the library itself that holds addresses."""
    text = """
declare double @cbrt(double)
@table = global [2 x ptr] [ptr @twice, ptr @cbrt]
@zeros = global [4000 x double] zeroinitializer
define double @twice(double %x) { %y = fmul double %x, 2.0  ret double %y }
define double @apply(i64 %i, double %x) {
  %at = getelementptr [2 x ptr], ptr @table, i64 0, i64 %i
  %f = load ptr, ptr %at
  %y = call double %f(double %x)
  %last = getelementptr [4000 x double], ptr @zeros, i64 0, i64 3999
  %zero = load double, ptr %last
  %z = call double @cbrt(double %y)
  %sum = fadd double %z, %zero
  ret double %sum
}
"""
    path = tmp_path / "apply.so"
    path.write_bytes(link_shared_object(object_code(text)))
    apply = ctypes.CDLL(str(path)).apply
    apply.restype, apply.argtypes = ctypes.c_double, (ctypes.c_int64, ctypes.c_double)
    np.testing.assert_allclose([apply(0, 4.0), apply(1, 27.0)], [2.0, 3.0 ** (1 / 3)])


def object_code(text: str) -> bytes:
    """Return what LLVM makes of its IR, independent of its position."""
    from llvmlite import binding

    machine = binding.Target.from_triple(host_triple()).create_target_machine(reloc="pic", codemodel="small")
    return bytes(machine.emit_object(binding.parse_assembly(f'target triple = "{host_triple()}"\n{text}')))


def test_tools_read_its_symbols_and_sections(tmp_path: Path) -> None:
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf")
    path = tmp_path / "apply.so"
    path.write_bytes(link_shared_object(object_code("define void @nothing() { ret void }")))
    done = subprocess.run(["readelf", "-Wa", str(path)], capture_output=True, text=True, check=True)
    assert "DYN (Shared object file)" in done.stdout
    assert "nothing" in done.stdout
    assert "arning" not in done.stdout + done.stderr, done.stderr


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("@x = thread_local global i32 0\ndefine ptr @f() { ret ptr @x }", "no linker is installed"),
        (b"\xcf\xfa\xed\xfe nothing", "only links ELF"),
    ],
)
def test_what_it_does_not_link_is_refused(text: str | bytes, refusal: str) -> None:
    with pytest.raises(BuildError, match=refusal):
        link_shared_object(object_code(text) if isinstance(text, str) else text)
