"""Floating-point types that processors do not compute with: bfloat16, and those of eight bits."""

from __future__ import annotations

from collections.abc import Set

from compiler.ir import dtype as dt
from compiler.ir.module import IRModule
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.legalize.bf16_compute_legalize import BF16, BF16ComputeLegalize, BF16Promote
from compiler.tir.transform.legalize.bf16_storage_legalize import BF16StorageLegalize
from compiler.tir.transform.legalize.fp8_legalize import FP8, FP8ComputeLegalize, FP8StorageLegalize


def legalize_narrow_floats(module: IRModule, rounds_each: bool = False) -> IRModule:
    """Compute in wider types, and store bits, where a lowered module uses types that processors lack.

    With ``rounds_each``, the result of each operation on bfloat16 is rounded, so that fusing operators of a graph
    changes no value; otherwise only what is stored for the caller, as TVM does, so that sums are kept in single
    precision.
    """
    functions = [func for _, func in module.items() if isinstance(func, PrimFunc)]
    if any(_uses({BF16}, func) for func in functions):
        compute = BF16Promote() if rounds_each else BF16ComputeLegalize()
        module = BF16StorageLegalize()(compute(module))
    if any(_uses(FP8, func) for func in functions):
        module = FP8StorageLegalize()(FP8ComputeLegalize()(module))
    return module


def _uses(types: Set[str], func: PrimFunc) -> bool:
    """Return whether a parameter, or a value that is allocated, converted to or called for, is of one of some types."""
    dtypes = features(func).dtypes.union(buffer.dtype for buffer in func.buffer_map.values())
    return any(dt.element(dtype) in types for dtype in dtypes)
