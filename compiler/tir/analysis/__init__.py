"""Analyses of TIR, under TVM's names: ``tvm.tir.analysis``."""

from __future__ import annotations

from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.extension import public_module
from compiler.ir.functor import nodes_of
from compiler.ir.structural import structural_equal
from compiler.tir.analysis.block_access import get_block_access_region, get_block_read_write_region
from compiler.tir.analysis.memory import (
    calculate_allocated_bytes,
    calculate_constant_bytes,
    calculate_workspace_bytes,
    used_buffers,
)
from compiler.tir.analysis.verify import is_lowered, verify_memory, verify_ssa
from compiler.tir.analysis.verify_gpu_code import verify_gpu_code
from compiler.tir.analysis.well_formed import verify_well_formed
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, Stmt

__all__ = [
    "calculate_allocated_bytes", "calculate_constant_bytes", "calculate_workspace_bytes", "expr_deep_equal",
    "get_block_access_region", "get_block_read_write_region", "is_lowered", "undefined_vars", "used_buffers",
    "verify_gpu_code", "verify_memory", "verify_ssa", "verify_well_formed",
]  # fmt: skip

__getattr__, __dir__ = public_module("tvm.tir.analysis", __all__)


def expr_deep_equal(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Return whether two expressions are written alike, with the very same variables."""
    return lhs is rhs or structural_equal(lhs, rhs)


def undefined_vars(node: PrimExpr | Stmt | PrimFunc, defs: list[Var] | None = None) -> list[Var]:
    """Return the variables that are used but neither defined in ``node`` nor listed in ``defs``.

    A thread axis is defined where it is launched.
    """
    launches = (n for n in nodes_of(node.body if isinstance(node, PrimFunc) else node, AttrStmt))
    launched = [n.node.var for n in launches if isinstance(n.node, IterVar) and n.attr_key in THREAD_KEYS]
    defined = [*(defs or ()), *launched]
    return [v for v in free_vars(node) if not any(v is d for d in defined)]
