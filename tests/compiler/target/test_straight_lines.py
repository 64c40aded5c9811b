"""Code without loops, which LLVM's vectoriser may make invalid, is then compiled without it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.target.codegen.llvm import pipeline
from compiler.target.codegen.llvm.generate import codegen
from compiler.target.target import Target
from compiler.te.definition.numpy_reference import evaluate


def means() -> tuple[te.Schedule, list[te.Tensor]]:
    """Return the means of rows of six, whose loops LLVM writes out."""
    A = te.placeholder((4, 7, 2, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    total = te.compute((4, 7, 2), lambda i, j, c: te.sum(A[i, j, c, k], axis=k), name="total")
    mean = te.compute((4, 7, 2), lambda i, j, c: total[i, j, c] / 6.0, name="mean")
    return te.create_schedule(mean.op), [A, mean]


@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "skylake-avx512"])
def test_what_llvm_makes_of_sums_side_by_side_is_valid(cpu: str) -> None:
    s, args = means()
    text = codegen(lower(s, args), Target(f"llvm -mcpu={cpu}")).optimised
    pipeline.parse(text)  # verifies


def test_means_of_short_rows_are_computed() -> None:
    s, args = means()
    data = np.random.default_rng(0).normal(size=(4, 7, 2, 6)).astype("float32")
    result = np.zeros((4, 7, 2), "float32")
    build(s, args, target="llvm -mcpu=x86-64")(data, result)
    np.testing.assert_allclose(result, evaluate([args[1]], {args[0]: data})[0], rtol=1e-5)


def test_the_vectoriser_is_left_out_where_it_fails_only() -> None:
    s, args = means()
    target = Target("llvm -mcpu=x86-64")
    text = codegen(lower(s, args), target).emitted
    module = pipeline.parse(text)
    pipeline.optimise(module, target)
    with pytest.raises(RuntimeError, match="does not dominate all uses"):
        module.verify()
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    assert "<4 x float>" in codegen(lower(te.create_schedule(b.op), [a, b]), target).optimised


@pytest.mark.parametrize(("cpu", "vector"), [("haswell", r"vfmadd\w+ps"), ("sapphirerapids", r"vfmadd\w+ps")])
@pytest.mark.parametrize("depth", [64, 128])
def test_a_loop_around_a_short_sum_is_vectorised(cpu: str, vector: str, depth: int) -> None:
    a, b = te.placeholder((32, depth), name="a"), te.placeholder((depth, 32), name="b")
    k = te.reduce_axis((0, depth), name="k")
    c = te.compute((32, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    assembly = build(te.create_schedule(c.op), [a, b, c], target=f"llvm -mcpu={cpu}").get_source("asm")
    assert len(re.findall(vector, assembly)) >= depth
    assert not re.findall(r"vfmadd\w+ss", assembly)


@pytest.mark.parametrize("cpu", ["haswell", "sapphirerapids"])
def test_a_sum_of_vectors_stays_a_loop(cpu: str) -> None:
    a, b = te.placeholder((64, 64), name="a"), te.placeholder((64, 64), name="b")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    s = te.create_schedule(c.op)
    outer, lanes = s[c].split(c.op.axis[1], 16)
    s[c].reorder(c.op.axis[0], outer, k, lanes)
    s[c].vectorize(lanes)
    assembly = build(s, [a, b, c], target=f"llvm -mcpu={cpu}").get_source("asm")
    assert 0 < len(re.findall(r"vfmadd\w+ps", assembly)) < 64
    assert "(%rsp)" not in assembly  # nothing is moved out of a loop without having a register
