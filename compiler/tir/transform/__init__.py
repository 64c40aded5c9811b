"""The passes over loop IR, a file each, under TVM's names."""

from compiler.tir.transform.common_subexpr_elim import CommonSubexprElimTIR
from compiler.tir.transform.flatten_buffer import FlattenBuffer
from compiler.tir.transform.function_passes import Apply, Filter
from compiler.tir.transform.hoist_if_then_else import HoistIfThenElse, InsertHoistIfThenElse
from compiler.tir.transform.inject_double_buffer import InjectDoubleBuffer
from compiler.tir.transform.inject_prefetch import InjectPrefetch
from compiler.tir.transform.inject_virtual_thread import InjectVirtualThread
from compiler.tir.transform.instrument_bound_checkers import InstrumentBoundCheckers
from compiler.tir.transform.loop_partition import LoopPartition
from compiler.tir.transform.narrow_data_type import NarrowDataType
from compiler.tir.transform.pass_base import PrimFuncPass, prim_func_pass
from compiler.tir.transform.remove_no_op import RemoveNoOp
from compiler.tir.transform.rewrite_unsafe_select import RewriteUnsafeSelect
from compiler.tir.transform.simplify import Simplify
from compiler.tir.transform.skip_assert import SkipAssert
from compiler.tir.transform.storage_flatten import StorageFlatten
from compiler.tir.transform.storage_rewrite import StorageRewrite
from compiler.tir.transform.unroll_loop import UnrollLoop
from compiler.tir.transform.vectorize_loop import VectorizeLoop

__all__ = [
    "Apply",
    "CommonSubexprElimTIR",
    "Filter",
    "FlattenBuffer",
    "HoistIfThenElse",
    "InjectDoubleBuffer",
    "InjectPrefetch",
    "InjectVirtualThread",
    "InsertHoistIfThenElse",
    "InstrumentBoundCheckers",
    "LoopPartition",
    "NarrowDataType",
    "PrimFuncPass",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "Simplify",
    "SkipAssert",
    "StorageFlatten",
    "StorageRewrite",
    "UnrollLoop",
    "VectorizeLoop",
    "prim_func_pass",
]
