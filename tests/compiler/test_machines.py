"""What is built, and what it computes, on processors other than this one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.classic.contrib import graph_executor
from compiler.ir.error import BuildError
from compiler.runtime.machine import available_cores, this_machine
from compiler.target.codegen.llvm import codegen
from compiler.target.cpu.caches import machine_caches
from compiler.target.target import Target
from tests.machines import MACHINES, pretended

SSE2 = "a single core without AVX"


@pytest.fixture(params=MACHINES)
def pretence(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = str(request.param)
    with pretended(name, monkeypatch):
        yield name


def matmul(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    a, b = te.placeholder((n, n), name="a"), te.placeholder((n, n), name="b")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    s = te.create_schedule(c.op)
    i, j = s[c].op.axis
    jo, ji = s[c].split(j, factor=16)
    s[c].reorder(i, jo, s[c].op.reduce_axis[0], ji)
    s[c].vectorize(ji)
    s[c].parallel(i)
    return s, [a, b, c]


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=native"])
def test_code_for_this_machine_is_right_and_uses_only_what_it_has(pretence: str, target: str) -> None:
    s, tensors = matmul(48)
    made = Target(target)
    assembly = codegen(tvm.lower(s, tensors, name="matmul"), made).assembly
    assert made.is_native
    if pretence == SSE2:
        assert (made.vector_bits, made.vector_width()) == (128, 4)
        assert "ymm" not in assembly
        assert "vmul" not in assembly
    a, b = np.random.default_rng(0).random((2, 48, 48), dtype="float32")
    out = tvm.nd.empty((48, 48))
    tvm.build(s, tensors, target, name="matmul")(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-5)


def test_a_model_computes_the_same(pretence: str) -> None:
    x = relay.var("x", shape=(1, 4, 10, 10))
    w = relay.const(np.random.default_rng(1).uniform(-1, 1, (8, 4, 3, 3)).astype("float32"))
    y = relay.nn.softmax(relay.nn.batch_flatten(relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)))))
    model = tvm.IRModule.from_expr(relay.Function([x], y))
    with tvm.transform.PassContext(opt_level=3):
        executor = graph_executor.GraphModule(relay.build(model, "llvm -mcpu=native")["default"](tvm.cpu(0)))
    data = np.random.default_rng(2).random((1, 4, 10, 10), dtype="float32")
    executor.set_input("x", data)
    executor.run()
    expected = relay.create_executor("debug", mod=model).evaluate()(data).numpy()
    np.testing.assert_allclose(executor.get_output(0).numpy(), expected, rtol=1e-4, atol=1e-6)


def test_products_of_bytes_are_summed_without_instructions_for_them(pretence: str) -> None:
    a, b = te.placeholder((4, 64), "uint8", name="a"), te.placeholder((32, 64), "int8", name="b")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((4, 32), lambda i, j: te.sum(a[i, k].astype("int32") * b[j, k].astype("int32"), axis=k), name="c")
    left = np.random.default_rng(0).integers(0, 255, (4, 64)).astype("uint8")
    right = np.random.default_rng(1).integers(-128, 127, (32, 64)).astype("int8")
    out = tvm.nd.empty((4, 32), "int32")
    with Target("llvm -mcpu=native"):
        tvm.build(te.create_schedule(c.op), [a, b, c])(tvm.nd.array(left), tvm.nd.array(right), out)
    np.testing.assert_array_equal(out.numpy(), left.astype("int32") @ right.T.astype("int32"))


def test_what_is_known_of_the_machine_comes_from_one_place(pretence: str) -> None:
    facts = MACHINES[pretence]
    assert this_machine().processor == facts["processor"]
    assert available_cores() == facts.get("cores", available_cores())
    assert tvm.target.codegen.llvm_get_system_cpu() == facts.get("cpu", this_machine().cpu)
    assert tvm.cpu(0).multi_processor_count == available_cores()
    if "caches" in facts:
        assert machine_caches() == ()
    if pretence == SSE2:
        assert not tvm.target.codegen.llvm_cpu_has_features("avx")
        wide = tvm.build(*matmul(32), "llvm -mcpu=haswell")
        with pytest.raises(BuildError, match=r"which this CPU \(x86-64\) does not have"):
            wide(*(tvm.nd.empty((32, 32)) for _ in range(3)))


def test_a_process_that_is_started_finds_the_same_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = "from app.recorder.scripts.environment import environment; print(environment()['cpu'])"
    with pretended(SSE2, monkeypatch):
        ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == MACHINES[SSE2]["processor"]
