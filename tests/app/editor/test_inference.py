"""What an expression of a script is: found by reading the script and the package, of which nothing runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import parso.cache
import pytest
from flask.testing import FlaskClient

from app import create_app
from app.editor import inference
from app.editor.inference import expression_before, public_type
from app.editor.stubs import stubs_in
from app.jobs.local_runner import HANDLER
from app.sandbox import UnsafeLocal

SCRIPT = """\
import numpy as np
import tvm
from tvm import relay, te, tir

A = te.placeholder((64,), name="A")
C = te.compute((64,), lambda i: A[i] * 2.0, name="C")
low, high = te.compute((64,), lambda i: (A[i], C[i]))
s = te.create_schedule(C.op)
k = te.reduce_axis((0, 4))
yo, yi = s[C].split(C.op.axis[0], 8)
f = tvm.build(s, [A, C], "llvm", name="twice")
dev = tvm.cpu()
sch = tir.Schedule(te.create_prim_func([A, C]))
block = sch.get_block("C")
loops = sch.get_loops(block)
first, second = sch.copy().split(loops[0], [None, 4])
x = relay.var("x", shape=(1, 2))
func = relay.Function([x], relay.nn.relu(x))
mod = tvm.IRModule.from_expr(func)


def tiled(stage: te.Stage):
    outer, inner = stage.split(k, 4)
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, renderer: object) -> FlaskClient:
    """A client of one explorer, whose rendering processes write the stubs once."""
    data = tmp_path_factory.mktemp("data")
    return create_app({"DATA_DIR": data, "RATE_LIMIT": 0}, UnsafeLocal(HANDLER)).test_client()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("stubs"))


def type_of(client: FlaskClient, text: str, rest: str = "") -> str:
    answer = client.post("/types", json={"text": text, "rest": rest})
    assert answer.status_code == 200, answer.text
    name: str = answer.get_json()["name"]
    return name


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("A", "tvm.te.Tensor"),
        ("C", "tvm.te.Tensor"),
        ("high", "tvm.te.Tensor"),
        ("C.op", "tvm.te.Operation"),
        ("C.op.axis[0]", "tvm.tir.IterVar"),
        ("s", "tvm.te.Schedule"),
        ("s[C]", "tvm.te.Stage"),
        ("te.create_schedule(C.op)[C]", "tvm.te.Stage"),
        ("yo", "tvm.tir.IterVar"),
        ("k", "tvm.tir.IterVar"),
        ("f", "tvm.runtime.Module"),
        ("dev", "tvm.Device"),
        ("sch", "tvm.tir.Schedule"),
        ("block", "tvm.tir.schedule.BlockRV"),
        ("loops[0]", "tvm.tir.schedule.LoopRV"),
        ("second", "tvm.tir.schedule.LoopRV"),
        ("sch.fuse(first, second)", "tvm.tir.schedule.LoopRV"),
        ("relay.nn.relu(x)", "tvm.relay.Call"),
        ("func", "tvm.relay.Function"),
        ("mod", "tvm.IRModule"),
        ("te.compute", "tvm.te.compute"),
        ("    stage", "tvm.te.Stage"),
        ("    inner", "tvm.tir.IterVar"),
        ("    if s[C]", "tvm.te.Stage"),
        ("np.zeros(3)", ""),
        ("nothing", ""),
        ("A.shape", ""),
        ("4", ""),
        ("'text'", ""),
    ],
)
def test_an_expression_has_a_public_class(expression: str, name: str, client: FlaskClient) -> None:
    """Asked of a rendering process, which has imported what the page needs and no more."""
    assert type_of(client, SCRIPT + expression) == name


def test_a_name_has_a_value_where_it_is_given_one(client: FlaskClient) -> None:
    before, after = SCRIPT.split(", inner = ")
    assert type_of(client, before, ", inner = " + after) == "tvm.tir.IterVar"


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("x = s[C].split(i", "i"),
        ("x = s[C]", "s[C]"),
        ("f(a, b)[0].op", "f(a, b)[0].op"),
        ("a + b.c", "b.c"),
        ("return C.op", "C.op"),
        ("(1, 2)", ""),
        ("1.5", ""),
        ("])", ""),
        ("", ""),
    ],
)
def test_an_expression_ends_where_the_text_does(text: str, expression: str) -> None:
    assert expression_before(text) == expression


@pytest.mark.parametrize(
    "text", ["x = (", "def f(:\n  a", "a = 'b\nc", "\t a\n  b", "x" * 100_000, "a[" * 2000 + "]" * 2000]
)
def test_what_is_no_python_is_nothing(text: str, folder: str) -> None:
    assert public_type(text, folder) == ""


def test_few_modules_are_kept_parsed(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "_MODULES", 2)
    public_type(SCRIPT + "A", folder)
    assert sum(map(len, parso.cache.parser_cache.values())) <= 2


@pytest.mark.parametrize("part", [0, 1000])
def test_a_module_that_was_written_in_part_is_read_again(folder: str, part: int) -> None:
    """A process may be ended while it writes one."""
    assert public_type(SCRIPT + "te.compute", folder) == "tvm.te.compute"
    for module in Path(folder, "stubs", "cache").rglob("*.pkl"):
        module.write_bytes(module.read_bytes()[:part])
    parso.cache.parser_cache.clear()
    assert public_type(SCRIPT + "te.compute", folder) == "tvm.te.compute"


def test_stubs_are_written_once_and_name_what_is_public(folder: str) -> None:
    stubs, public = stubs_in(folder)
    assert public["compiler.te.definition.tensor.Tensor"] == "tvm.te.Tensor"
    assert [path.name for path in Path(folder).iterdir()] == ["stubs"]
    compile((stubs / "tvm" / "te" / "__init__.pyi").read_text(encoding="utf-8"), "te", "exec")


def test_only_texts_have_types(client: FlaskClient) -> None:
    assert client.post("/types", json={"text": 3}).status_code == 422


def test_a_user_without_a_home_has_hints_too() -> None:
    program = (
        "import os, pwd; del os.environ['HOME']; pwd.getpwuid = {}.__getitem__\n"
        "from app.editor import inference; print(os.environ.get('HOME'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"} | {"HOME": "/"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment)
    assert (done.stdout, done.stderr) == ("None\n", "")
