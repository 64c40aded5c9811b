"""Blocks become definitions again: what ``create_prim_func`` makes of some tensors computes the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler import te
from compiler.te.block_definitions import NotDefinitions, definitions_of_blocks
from compiler.te.numpy_reference import evaluate
from compiler.te.tensor import Tensor
from compiler.tir.schedule.schedule import Schedule


def matmul() -> list[Tensor]:
    a, b = te.placeholder((5, 7), name="a"), te.placeholder((7, 3), name="b")
    k = te.reduce_axis((0, 7), name="k")
    return [a, b, te.compute((5, 3), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")]


def softmax_parts() -> list[Tensor]:
    a = te.placeholder((4, 9), name="a")
    k = te.reduce_axis((0, 9), name="k")
    top = te.compute((4,), lambda i: te.max(a[i, k], axis=k), name="top")
    return [a, te.compute((4, 9), lambda i, j: te.exp(a[i, j] - top[i]), name="e")]


def pooling() -> list[Tensor]:
    a = te.placeholder((6, 6), name="a")
    y, x = te.reduce_axis((0, 2), name="y"), te.reduce_axis((0, 2), name="x")
    return [a, te.compute((3, 3), lambda i, j: te.min(a[i * 2 + y, j * 2 + x], axis=[y, x]), name="p")]


@pytest.mark.parametrize("define", [matmul, softmax_parts, pooling])
def test_blocks_of_tensors_define_the_same_tensors(define: Callable[[], list[Tensor]]) -> None:
    args = define()
    func = te.create_prim_func(args)
    tensors = definitions_of_blocks(func)
    again = [tensors[func.buffer_map[param]] for param in func.params]
    values = [np.random.default_rng(0).random([d.value for d in t.shape]).astype("float32") for t in args[:-1]]  # type: ignore[attr-defined]
    (expected,) = evaluate(args[-1:], dict(zip(args, values, strict=False)))
    (actual,) = evaluate(again[-1:], dict(zip(again, values, strict=False)))
    np.testing.assert_array_equal(actual, expected)


def test_a_block_that_was_split_defines_nothing() -> None:
    sch = Schedule(te.create_prim_func(matmul()))
    block = sch.get_block("c")  # type: ignore[attr-defined]
    sch.split(sch.get_loops(block)[0], factors=[None, 2])  # type: ignore[attr-defined]
    with pytest.raises(NotDefinitions, match="is not a loop from 0 on"):
        definitions_of_blocks(sch.mod["main"])
