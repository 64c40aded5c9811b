"""Schedules as scripts: names are kept, every kernel of a model comes out as the script that makes the same kernel."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te, tir
from compiler.classic import alias
from compiler.driver.relay.lower import LoweredKernel
from compiler.te.program import NotExpressible
from compiler.te.script import write_script

TARGET = "llvm -mcpu=native"


def run(text: str) -> dict[str, Any]:
    """Run a script, and return what it names."""
    alias.install()
    names: dict[str, Any] = {}
    exec(text, names)
    return names


def test_names_and_primitives_are_those_of_the_schedule() -> None:
    a, b = (te.placeholder((64, 64), name=name) for name in "AB")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    cached = s.cache_write(c, "local")
    outer, _ = s[c].split(c.op.axis[0], factor=16)
    s[cached].compute_at(s[c], outer)
    s[c].parallel(outer)
    expected = '''"""matmul"""

import tvm
from tvm import te

A = te.placeholder((64, 64), dtype="float32", name="A")
B = te.placeholder((64, 64), dtype="float32", name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=[k]), name="C")

s = te.create_schedule(C.op)
C_local = s.cache_write(C, "local")
i, j = s[C].op.axis
i_outer, i_inner = s[C].split(i, factor=16)
s[C_local].compute_at(s[C], i_outer)
s[C].parallel(i_outer)

args = [A, B, C]
f = tvm.build(s, args, target="llvm", name="matmul")
'''
    assert write_script(s, [a, b, c], name="matmul") == expected


def expressions(x: Any) -> list[Any]:
    """Return expressions whose text depends on how tightly operators bind, and on what literals are."""
    n = tir.const(3, "int32")
    return [
        x - (x - 1.0),
        (x + 2.0) * -3.0 / (x * x + 0.1),
        tir.Select(tir.all(x > 0.25, tir.Not(x == 0.5)), x, tir.const(-7, "float32")),
        tir.if_then_else(tir.any(x > 0.75, x < 0.25), tir.exp(x), te.max(x, 0.5)),
        (x * 10.0).astype("int32").astype("float32") + n.astype("float32"),
        tir.truncmod((x * 10.0).astype("int32") - 5, 3).astype("float32"),
        te.max(x, tir.const(-1e30, "float32")) * 1e-5,
        ((x > 0.5).astype("int32") + (x < 0.5).astype("int32")).astype("float32"),
    ]


def computed(a: Any, place: int) -> Any:
    return te.compute((32,), lambda i: expressions(a[i])[place], name="B")


def test_expressions_mean_the_same_in_a_script() -> None:
    values = np.random.default_rng(0).random(32, "float32")
    for place in range(8):
        a = te.placeholder((32,), name="A")
        b = computed(a, place)
        s = te.create_schedule(b.op)
        text = write_script(s, [a, b])
        results = []
        for function in (run(text)["f"], tvm.build(s, [a, b])):
            out = tvm.nd.array(np.zeros(32, "float32"))
            function(tvm.nd.array(values), out)
            results.append(out.numpy())
        np.testing.assert_array_equal(*results, err_msg=text)


def test_a_reduction_of_ones_own_is_defined_in_the_script() -> None:
    a = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    larger = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), te.max(x[1], y[1])),
        lambda index, value: (tir.const(-1, index), te.min_value(value)),
    )
    place, value = te.compute((4,), lambda i: larger((k, a[i, k]), axis=k), name="argmax")
    s = te.create_schedule(place.op)
    names = run(write_script(s, [a, place, value]))
    data = np.random.default_rng(0).random((4, 9), "float32")
    out = [tvm.nd.array(np.zeros(4, dtype)) for dtype in ("int32", "float32")]
    names["f"](tvm.nd.array(data), *out)
    np.testing.assert_array_equal(out[0].numpy(), data.argmax(1))
    np.testing.assert_array_equal(out[1].numpy(), data.max(1))


def test_a_value_that_is_used_often_has_a_name() -> None:
    a = te.placeholder((8,), name="A")

    def power(i: Any) -> Any:
        x = a[i] * 0.5
        for _ in range(40):
            x = x * x + 0.125
        return x

    b = te.compute((8,), power, name="B")
    text = write_script(te.create_schedule(b.op), [a, b])
    assert len(text) < 4000
    assert max(map(len, text.splitlines())) < 120
    run(text)


def test_what_no_script_says_is_refused() -> None:
    a = te.placeholder((8,), name="A")
    b = te.extern((8,), [a], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="B")
    with pytest.raises(NotExpressible, match="B is a ExternOp"):
        write_script(te.create_schedule(b.op), [a, b])


def model_kernels(name: str) -> dict[str, LoweredKernel]:
    pytest.importorskip("onnx")
    from tests import models

    mod, params = relay.frontend.from_onnx(models.build(name, small=True))
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=TARGET, params=params)
    kernels: dict[str, LoweredKernel] = lib.get_lib().kernels
    return kernels


@pytest.mark.parametrize("name", ["resnet18", pytest.param("mobilenetv2", marks=pytest.mark.long), "bert"])
def test_the_script_of_every_kernel_of_a_model_computes_what_the_kernel_computes(name: str) -> None:
    random = np.random.default_rng(0)
    kernels = [*model_kernels(name).values()]
    assert len(kernels) > 10
    for kernel in kernels if "STRATA_EXAMPLES" in os.environ else kernels[::3]:
        script = run(write_script(kernel.schedule, [*kernel.inputs, *kernel.outputs], TARGET, kernel.name))
        tensors = [*kernel.inputs, *kernel.outputs]
        arrays = [(random.random([int(d) for d in t.shape]) * 3).astype(t.dtype) for t in tensors]
        results = []
        for function in (script["f"], tvm.build(kernel.prim_func, target=TARGET)):
            made = [tvm.nd.array(a) for a in arrays]
            function(*made)
            results.append([m.numpy() for m in made[len(kernel.inputs) :]])
        for ours, theirs in zip(*results, strict=True):
            # A kernel divides by constants, a schedule multiplies by their reciprocals.
            units = 1.0 if "divide" in kernel.name else 0.0
            np.testing.assert_allclose(ours, theirs, rtol=units * 2.0**-22, atol=0, err_msg=kernel.name)


def test_a_dense_kernels_script_agrees_with_numpy() -> None:
    [kernel] = [k for k in model_kernels("resnet18").values() if "dense" in k.name]
    script = run(write_script(kernel.schedule, [*kernel.inputs, *kernel.outputs], TARGET, kernel.name))
    random = np.random.default_rng(0)
    arrays = [random.random([int(d) for d in t.shape], "float32") for t in (*kernel.inputs, *kernel.outputs)]
    made = [tvm.nd.array(a) for a in arrays]
    script["f"](*made)
    x, weight, *bias = arrays[:-1]
    packed = weight.transpose(0, 2, 1).reshape(-1, weight.shape[1]) if weight.ndim == 3 else weight
    expected = x @ packed[: arrays[-1].shape[1]].T + sum(bias)
    np.testing.assert_allclose(made[-1].numpy(), expected, rtol=1e-4)
