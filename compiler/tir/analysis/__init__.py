"""Facts about loop IR, under TVM's names: ``tvm.tir.analysis``."""

from __future__ import annotations

from compiler.ir.primexpr import PrimExpr, Var
from compiler.ir.structural import structural_equal
from compiler.ir.substitute import free_vars
from compiler.tir.analysis.memory import calculate_allocated_bytes, calculate_workspace_bytes, used_buffers
from compiler.tir.analysis.verify import is_lowered, verify_memory, verify_ssa
from compiler.tir.stmt import Stmt

__all__ = [
    "calculate_allocated_bytes",
    "calculate_workspace_bytes",
    "expr_deep_equal",
    "is_lowered",
    "undefined_vars",
    "used_buffers",
    "verify_memory",
    "verify_ssa",
]


def expr_deep_equal(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Return whether two expressions are written alike, with the very same variables."""
    return lhs is rhs or structural_equal(lhs, rhs)


def undefined_vars(node: PrimExpr | Stmt, defs: list[Var] | None = None) -> list[Var]:
    """Return the variables that are used but neither defined in ``node`` nor listed in ``defs``.

    Returns
    -------
    list of Var
        In order of first use.
    """
    known = defs or []
    return [v for v in free_vars(node) if not any(v is d for d in known)]
