"""The passes over loop IR, a file each, under TVM's names."""

from compiler.tir.transform.common_subexpr_elim import CommonSubexprElimTIR
from compiler.tir.transform.pass_base import PrimFuncPass, prim_func_pass
from compiler.tir.transform.remove_no_op import RemoveNoOp
from compiler.tir.transform.simplify import Simplify
from compiler.tir.transform.storage_flatten import StorageFlatten
from compiler.tir.transform.storage_rewrite import StorageRewrite
from compiler.tir.transform.unroll_loop import UnrollLoop
from compiler.tir.transform.vectorize_loop import VectorizeLoop

__all__ = [
    "CommonSubexprElimTIR",
    "PrimFuncPass",
    "RemoveNoOp",
    "Simplify",
    "StorageFlatten",
    "StorageRewrite",
    "UnrollLoop",
    "VectorizeLoop",
    "prim_func_pass",
]
