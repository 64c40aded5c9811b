"""Each pass keeps what random programs compute, and makes no access that was not there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.ir.transform import Pass
from compiler.tir import transform
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import ForKind
from tests.compiler.tir.transform.programs import apply, assert_same, functions

KINDS = (ForKind.SERIAL, ForKind.UNROLLED, ForKind.PARALLEL)

PASSES: dict[str, Callable[[], Pass]] = {
    "simplify": transform.Simplify,
    "unroll": transform.UnrollLoop,
    "remove_no_op": transform.RemoveNoOp,
    "common_subexpressions": transform.CommonSubexprElimTIR,
    "equivalent_subexpressions": lambda: transform.CommonSubexprElimTIR(identify_equiv_terms=True),
    "partition": transform.LoopPartition,
    "hoist": transform.HoistIfThenElse,
    "hoist_expressions": transform.HoistExpression,
    "define_once": transform.ConvertSSA,
    "storage": transform.StorageRewrite,
    "narrow": lambda: transform.NarrowDataType(32),
    "flatten": lambda: transform.StorageFlatten(64),
    "unsafe_select": transform.RewriteUnsafeSelect,
    "bounds": transform.InstrumentBoundCheckers,
    "serial": lambda: transform.VectorizeLoop(False),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(func=functions(kinds=KINDS, likely=True), n=st.integers(0, 9))
def test_pass_keeps_the_meaning(name: str, func: PrimFunc, n: int) -> None:
    assert_same(func, apply(func, PASSES[name]()), scalars={"n": n})


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(func=functions(kinds=KINDS, likely=True), n=st.integers(0, 9), constant=st.booleans())
def test_passes_in_the_usual_order_keep_the_meaning(func: PrimFunc, n: int, constant: bool) -> None:
    config = {
        "tir.LoopPartition": {"partition_const_loop": constant},
        "tir.UnrollLoop": {"auto_max_step": 8 if constant else 0},
    }
    after = apply(
        func,
        transform.StorageFlatten(64),
        transform.Simplify(),
        transform.LoopPartition(),
        transform.StorageRewrite(),
        transform.HoistIfThenElse(),
        transform.UnrollLoop(),
        transform.Simplify(),
        transform.RemoveNoOp(),
        transform.RewriteUnsafeSelect(),
        transform.CommonSubexprElimTIR(),
        config=config,
    )
    assert_same(func, after, scalars={"n": n})
