"""Blocks of any number of axes are mapped onto the axes of an intrinsic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic.testing import te_workload
from compiler.classic.tir.intrinsics.cuda import WMMA_SYNC_16x16x16_f16f16f32_INTRIN as WMMA
from compiler.tir import IndexMap, TensorIntrin
from compiler.tir.schedule.analysis import get_auto_tensorize_mapping_info

HALF: dict[str, Any] = {"in_dtype": "float16", "out_dtype": "float32"}


@pytest.mark.parametrize(
    ("tensors", "block", "expected"),
    [
        (
            te_workload.conv2d_nhwc(4, 16, 16, 64, 64, 3, 1, 1, **HALF),
            "conv2d_nhwc",
            lambda n, h, w, c, rh, rw, rc: (n * 256 + h * 16 + w, c, rh * 192 + rw * 64 + rc),
        ),
        (
            te_workload.conv1d_nlc(2, 8, 4, 6, 3, 1, 1, **HALF),
            "conv1d_nlc",
            lambda n, at, c, rl, rc: (n * 8 + at, c, rl * 4 + rc),
        ),
        (te_workload.batch_matmul_nkkm(16, 32, 32, 32, **HALF), "Z", lambda b, i, j, k: (b, i, j, k)),
        (te_workload.matmul(1, 32, 32, **HALF), "C", lambda i, j, k: (i, j, k)),
        (te_workload.matmul_relu(64, 32, 32, **HALF), "C", lambda i, j, k: (i, j, k)),
    ],
)
def test_axes_with_the_same_operands_are_fused(
    tensors: tuple[te.Tensor, ...], block: str, expected: Callable[..., Any]
) -> None:
    sch = tvm.tir.Schedule(te.create_prim_func(tensors))
    info = get_auto_tensorize_mapping_info(sch, sch.get_block(block), TensorIntrin.get(WMMA).desc)
    assert info is not None
    (mapping,) = info.mappings
    assert IndexMap.from_func(expected, index_dtype="int32").is_equivalent_to(mapping)
    assert [axis.var.name.removeprefix("v_") for axis in info.lhs_iters] == [
        var.name.removeprefix("v_") for var in mapping.initial_indices
    ]
    assert sorted(info.lhs_buffer_map.values(), key=str) == sorted(info.rhs_buffer_indices, key=str)


def test_the_block_may_be_transformed_as_it_is_mapped() -> None:
    sch = tvm.tir.Schedule(te.create_prim_func(te_workload.conv1d_nlc(2, 8, 16, 16, 1, **HALF)))
    block = sch.get_block("conv1d_nlc")
    info = get_auto_tensorize_mapping_info(sch, block, TensorIntrin.get(WMMA).desc)
    assert info is not None
    sch.transform_block_layout(block, info.mappings[0])
    assert [int(sch.get(loop).extent) for loop in sch.get_loops(block)] == [16, 16, 16]
    x, w = (np.random.default_rng(0).random(shape).astype("float16") for shape in ((2, 8, 16), (1, 16, 16)))
    result = tvm.nd.array(np.zeros((2, 8, 16), "float32"))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(x), tvm.nd.array(w), result)
    np.testing.assert_allclose(result.numpy(), x.astype("float32") @ w[0].astype("float32"), rtol=1e-3)


@pytest.mark.parametrize(
    ("tensors", "block"), [(te_workload.matmul(32, 32, 32), "C"), (te_workload.norm_bmn(2, 32, 32), "C")]
)
def test_other_computations_are_not_mapped(tensors: tuple[te.Tensor, ...], block: str) -> None:
    sch = tvm.tir.Schedule(te.create_prim_func(tensors))
    assert get_auto_tensorize_mapping_info(sch, sch.get_block(block), TensorIntrin.get(WMMA).desc) is None


def test_definitions_are_found_where_tests_of_releases_import_them() -> None:
    assert tvm.meta_schedule.testing.te_workload is te_workload
    a, d = te_workload.norm_bmn(2, 3, 4)
    values = np.random.default_rng(0).random((2, 3, 4)).astype("float32")
    result = tvm.nd.array(np.zeros(2, "float32"))
    tvm.build(te.create_prim_func([a, d]), target="llvm")(tvm.nd.array(values), result)
    np.testing.assert_allclose(result.numpy(), np.sqrt((values**2).sum((1, 2))), rtol=1e-5)
