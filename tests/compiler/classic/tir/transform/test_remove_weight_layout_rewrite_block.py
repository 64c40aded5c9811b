"""Weights that are given in the layout of the computation need no block that makes it."""

from __future__ import annotations

import numpy as np

from compiler.tir.interpreter import interpret
from compiler.tir.statements.block import Block
from compiler.tir.transform import RemoveWeightLayoutRewriteBlock
from tests.compiler.tir.transform.programs import apply, assert_pass, nodes, program

PARAMS = "A: T.Buffer((8, 8), 'int32'), W: T.Buffer((8, 8), 'int32'), C: T.Buffer((8, 8), 'int32')"
TEXT = """
W_ = T.alloc_buffer((2, 2, 4, 4), "int32")
for i, j in T.grid(8, 8):
    with T.block("rewrite"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
        W_[vi // 4, vj // 4, vi % 4, vj % 4] = W[vi, vj]
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] * W_[vi // 4, vj // 4, vi % 4, vj % 4]
"""


def test_a_weight_is_given_in_its_new_layout() -> None:
    before = program(TEXT, params=PARAMS)
    after = apply(before, RemoveWeightLayoutRewriteBlock())
    assert [tuple(map(int, buffer.shape)) for buffer in after.buffer_map.values()] == [(8, 8), (2, 2, 4, 4), (8, 8)]
    assert not [buffer for block in nodes(after, Block) for buffer in block.alloc_buffers]
    data, weight = (np.random.default_rng(k).integers(0, 9, (8, 8)).astype("int32") for k in (0, 1))
    out = np.zeros((8, 8), "int32")
    interpret(after, [data, np.ascontiguousarray(weight.reshape(2, 4, 2, 4).transpose(0, 2, 1, 3)), out])
    np.testing.assert_array_equal(out, data * weight)


def test_other_functions_stay() -> None:
    text = TEXT.replace('T.block_attr({"meta_schedule.layout_rewrite_preproc": True})', "T.where(True)")
    assert_pass(RemoveWeightLayoutRewriteBlock(), text, params=PARAMS, values=())
