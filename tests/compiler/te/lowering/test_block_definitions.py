"""Blocks become definitions again: what ``create_prim_func`` makes of some tensors computes the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent

import numpy as np
import pytest

from compiler import te
from compiler.te.definition.numpy_reference import evaluate
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.block_definitions import NotDefinitions, definitions_of_blocks
from compiler.tir.schedule.schedule import Schedule
from tests.compiler.tir.transform.programs import program


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


NO_DEFINITIONS = {
    """
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + 1
    """: "a buffer is stored by several blocks",
    """
    for i in range(8):
        B[i] = A[i]
    """: "a BufferStore stands outside of the blocks",
    """
    for i in range(1, 9):
        with T.block("B"):
            v = T.axis.spatial((1, 9), i)
            B[v] = A[v]
    """: "axis 'v' is not a loop from 0 on",
    """
    for i in range(1, 9):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    """: "axis 'v' is not a loop from 0 on",
    """
    for i, j in T.grid(8, 1):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            o = T.axis.opaque(1, j)
            B[v] = A[v]
    """: "does not store one element for each value of its axes",
    """
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial((1, 8), i)
            B[v] = A[v]
    """: "axis 'v' is not a loop from 0 on",
    """
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    """: "axis 'v' is only part of its loop",
    """
    for i, j in T.grid(8, 4):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    """: "has a condition, or loops that are not its axes",
    """
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.where(i < 5)
            B[v] = A[v]
    """: "has a condition, or loops that are not its axes",
    """
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            if A[v] > 0:
                B[v] = A[v]
    """: "is more than one store",
    """
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            a = T.match_buffer(A[v : v + 1], (1,), "int32", offset_factor=1)
            B[v] = a[0]
    """: "is more than one store",
    """
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            P = T.alloc_buffer((1,), "int32")
            B[v] = P[0]
    """: "is more than one store",
    """
    for i in range(8):
        with T.block("B"):
            v = T.axis.opaque(8, i)
            B[v] = A[v]
    """: "does not store one element for each value of its axes",
    """
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[7 - v] = A[v]
    """: "does not store one element for each value of its axes",
    """
    for i in range(5):
        with T.block("B"):
            v = T.axis.spatial(5, i)
            B[v] = A[v]
    """: "does not store one element for each value of its axes",
    """
    for i, k in T.grid(8, 8):
        with T.block("B"):
            v, w = T.axis.remap("SR", [i, k])
            with T.init():
                B[v] = 0
            B[v] = B[v] * 2 + A[w]
    """: "is not a sum, product, minimum or maximum",
    """
    P = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = P[v]
    for i in range(8):
        with T.block("P"):
            v = T.axis.spatial(8, i)
            P[v] = A[v]
    """: "'P' is read before it is stored",
}
"""Each program stores other values, or not all of them, than a definition of its buffers would."""


@pytest.mark.parametrize(("text", "reason"), NO_DEFINITIONS.items())
def test_what_is_more_or_less_than_a_definition_defines_nothing(text: str, reason: str) -> None:
    func = program(dedent(text), params="A: T.Buffer((8,), 'int32'), B: T.Buffer((8,), 'int32')")
    with pytest.raises(NotDefinitions, match=re.escape(reason)):
        definitions_of_blocks(func)
