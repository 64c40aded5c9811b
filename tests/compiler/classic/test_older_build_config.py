"""Names of older releases do what took their places does, and say so once."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.alias import install
from compiler.classic.names.older import OLDER
from compiler.classic.older_build_config import build_config, relay_build_config
from compiler.ir.deprecation import deprecated
from compiler.ir.error import AttrsError
from compiler.ir.passes.context import PassContext
from compiler.runtime.graph import graph_module as graph_executor

install()


@pytest.fixture(autouse=True)
def nothing_said_yet() -> Iterator[None]:
    deprecated.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield


def test_contexts_of_passes() -> None:
    with relay_build_config(opt_level=3, required_pass=["FastMath"], disabled_pass=["FuseOps"]) as chosen:
        assert PassContext.current() is chosen
        assert (chosen.opt_level, chosen.required_pass, chosen.disabled_pass) == (3, ["FastMath"], ["FuseOps"])
    loops = build_config(disable_vectorize=True, auto_unroll_max_step=8)
    assert loops.config == {"tir.disable_vectorize": True, "tir.UnrollLoop": {"auto_max_step": 8}}
    with pytest.raises(AttrsError, match="no configuration option 'frobnicate'"):
        build_config(frobnicate=1)


def looked_up(name: str) -> object:
    value: object = tvm
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("older", OLDER)
def test_an_older_name_is_what_took_its_place_and_says_so_once(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parent, _, name = older.rpartition(".")
    if isinstance(vars(looked_up(parent)).get(name), ModuleType):
        monkeypatch.delattr(looked_up(parent), name)  # type: ignore[arg-type]  # another test has imported it
    with pytest.warns(DeprecationWarning, match="is deprecated: use") as notes:
        value = looked_up(older)
    assert [str(note.message) for note in notes] == [f"{older} is deprecated: use {OLDER[older]}"]
    assert isinstance(looked_up(parent), type) or name not in dir(looked_up(parent))
    with warnings.catch_warnings(record=True) as more:
        assert looked_up(older) is value is looked_up(OLDER[older])
    assert more == []


@pytest.mark.parametrize("older", ["tvm.contrib.graph_runtime", "tvm.autotvm.util"])
def test_an_older_module_that_is_imported_is_noted_too(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, older, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{older} is deprecated"):
        importlib.import_module(older)


def test_a_note_stands_at_the_line_of_the_program() -> None:
    with pytest.warns(DeprecationWarning, match=r"NDArray\.asnumpy is deprecated: use NDArray\.numpy") as notes:
        assert tvm.nd.array([1.0]).asnumpy() == [1.0]
    assert notes[0].filename == __file__


RELEASE_0_6 = """
import numpy as np
import tvm
import topi
from topi.util import get_const_tuple

A = tvm.placeholder((8, 4), name="A")
k = tvm.reduce_axis((0, 4), name="k")
B = tvm.compute((8,), lambda i: tvm.sum(tvm.select(A[i, k] > 0, tvm.exp(A[i, k]), tvm.const(0, "float32")), axis=k))
C = topi.nn.relu(B)
s = tvm.create_schedule(C.op)
s[B].parallel(B.op.axis[0])
f = tvm.build(s, [A, C], "llvm")
assert isinstance(B.op.body[0], tvm.expr.Reduce) and get_const_tuple(A.shape) == (8, 4)
a = np.linspace(-1, 1, 32, dtype="float32").reshape(8, 4)
c = tvm.nd.array(np.zeros(8, "float32"), tvm.cpu(0))
f(tvm.nd.array(a), c)
np.testing.assert_allclose(c.asnumpy(), np.where(a > 0, np.exp(a), 0).sum(1), rtol=1e-5)
"""


def test_a_program_of_0_6_computes_and_is_told_each_name_once(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(RELEASE_0_6)
    command = [sys.executable, "-m", "compiler", str(tmp_path / "program.py")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    for older, newer in (("tvm.placeholder", "tvm.te.placeholder"), ("topi", "tvm.topi"), ("tvm.expr", "tvm.tir.expr")):
        assert ended.stderr.count(f"{older} is deprecated: use {newer}") == 1


def test_devices_may_be_given_as_contexts() -> None:
    """Until 0.7 devices were contexts: ``ctx`` is another name of the parameter, which is told once."""
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    data = tvm.nd.array(np.ones(2, "float32"), ctx=tvm.cpu(0))
    with pytest.warns(DeprecationWarning, match="create_executor: the parameter ctx is deprecated: use device"):
        run = relay.create_executor("vm", mod, ctx=tvm.cpu(0), target="llvm").evaluate()
    assert run(data).numpy().tolist() == [2, 2]
    graph, lib, _ = relay.build(mod, "llvm")
    executor = graph_executor.create(graph, lib, ctx=tvm.cpu(0))
    executor.run(x=data)
    written = executor.get_output(0, tvm.nd.empty((2,), ctx=tvm.cpu(0)))
    assert written.numpy().tolist() == [2, 2]
    assert executor.module.time_evaluator("run", ctx=tvm.cpu(0), number=1)().mean > 0
    with pytest.raises(TypeError, match="ctx"):
        tvm.nd.array(data, device=tvm.cpu(0), ctx=tvm.cpu(0))


def test_the_engine_of_kernels_prints_what_it_has_made(capsys: pytest.CaptureFixture[str]) -> None:
    engine = looked_up("tvm.relay.backend.compile_engine").get()  # type: ignore[attr-defined]
    engine.clear()
    x = relay.var("x", shape=(2,))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], x + x)))
    assert engine.lower(mod["main"], "llvm") is engine.lower(mod["main"], "llvm")
    engine.dump()
    said = capsys.readouterr().out
    assert said.startswith("llvm: used 2 times")
    assert "add(%x, %x)" in said


@pytest.mark.parametrize(("older", "method"), [("bilinear", "linear"), ("nearest_neighbor", "nearest_neighbor")])
def test_images_were_resized_in_two_dimensions(older: str, method: str) -> None:
    x = relay.var("x", shape=(1, 4, 5, 3))
    resized = relay.image.resize(x, (8, 10), "NHWC", older, "asymmetric", out_dtype="float64")
    expected = relay.image.resize2d(x, (8, 10), None, "NHWC", method, "asymmetric", out_dtype="float64")
    tvm.ir.assert_structural_equal(resized, expected, map_free_vars=True)
