"""``tvm.ir_pass`` of TVM before 0.7: passes over statements, now in ``tvm.tir``.

``tvm.lower(simple_mode=True)`` returned a statement then; the module that it returns now stands for the statement of
its function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from compiler.arith.analyzer import Analyzer
from compiler.ir.deprecation import deprecated
from compiler.ir.expr.primexpr import PrimExpr, Range, Var
from compiler.ir.module import IRModule
from compiler.ir.passes.base import Pass
from compiler.ir.passes.context import PassContext
from compiler.ir.structural import structural_equal
from compiler.tir import analysis, transform
from compiler.tir.statements import stmt_functor
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt

Program: TypeAlias = PrimExpr | Stmt | PrimFunc | IRModule

__all__ = [
    "CanonicalSimplify", "ConvertSSA", "Equal", "ExprUseVar", "IRTransform", "InjectDoubleBuffer",
    "InjectVirtualThread", "LoopPartition", "PostOrderVisit", "RemoveNoOp", "RewriteUnsafeSelect", "Simplify",
    "StorageRewrite", "Substitute", "UnrollLoop", "VectorizeLoop",
]  # fmt: skip


def _note(name: str, place: str) -> None:
    deprecated(f"tvm.ir_pass.{name}", place)


def _statement(node: Program) -> Any:
    """Return the statement of the only function of a module, and anything else as it is."""
    if isinstance(node, IRModule) and len(node.functions) == 1:
        (node,) = node.functions.values()
    return node.body if isinstance(node, PrimFunc) else node


def _passed(stmt: Stmt | PrimFunc | IRModule, applied: Pass, config: Mapping[str, object] | None = None) -> Stmt:
    """Return a statement after a pass over functions."""
    with PassContext(config=dict(config or {})):
        module: IRModule = applied(IRModule({"main": PrimFunc((), _statement(stmt))}))
    body: Stmt = module["main"].body
    return body


def _simplified(
    node: Program, ranges: Mapping[Var, Range] | None, simplify: Callable[[Analyzer, PrimExpr], PrimExpr]
) -> PrimExpr | Stmt:
    if isinstance(node, (Stmt, PrimFunc, IRModule)):
        return _passed(node, transform.Simplify())
    analyzer = Analyzer()
    for var, extent in (ranges or {}).items():
        analyzer.bind(var, extent)
    return simplify(analyzer, node)


def Simplify(node: Program, vrange: Mapping[Var, Range] | None = None) -> PrimExpr | Stmt:
    """Simplify an expression, whose variables may have ranges, or a statement."""
    _note("Simplify", "tvm.arith.Analyzer().simplify, for statements tvm.tir.transform.Simplify")
    return _simplified(node, vrange, Analyzer.simplify)


def CanonicalSimplify(node: Program, vrange: Mapping[Var, Range] | None = None) -> PrimExpr | Stmt:
    """Simplify an expression to its canonical form, or a statement."""
    _note("CanonicalSimplify", "tvm.arith.Analyzer().canonical_simplify")
    return _simplified(node, vrange, Analyzer.canonical_simplify)


def Equal(lhs: Program, rhs: Program) -> bool:
    """Return whether two expressions or statements are the same."""
    _note("Equal", "tvm.ir.structural_equal")
    return bool(structural_equal(_statement(lhs), _statement(rhs)))


def ExprUseVar(expr: PrimExpr, var: Var) -> bool:
    """Return whether a variable occurs in an expression."""
    _note("ExprUseVar", "tvm.tir.analysis.undefined_vars")
    return any(used is var for used in analysis.undefined_vars(expr))


def Substitute(node: Program, vmap: Mapping[Var, PrimExpr]) -> PrimExpr | Stmt:
    """Replace variables by expressions."""
    _note("Substitute", "tvm.tir.stmt_functor.substitute")
    substituted: PrimExpr | Stmt = stmt_functor.substitute(_statement(node), vmap)
    return substituted


def PostOrderVisit(node: Program, fvisit: Callable[[object], None]) -> None:
    """Call a function with every statement and expression, each after its parts."""
    _note("PostOrderVisit", "tvm.tir.stmt_functor.post_order_visit")
    stmt_functor.post_order_visit(_statement(node), fvisit)


def IRTransform(
    stmt: Stmt | PrimFunc | IRModule,
    preorder: Callable[[object], object] | None,
    postorder: Callable[[object], object] | None,
    only_enable: Sequence[str] | None = None,
) -> Stmt:
    """Rebuild a statement, with functions that may replace its nodes."""
    _note("IRTransform", "tvm.tir.stmt_functor.ir_transform")
    return stmt_functor.ir_transform(_statement(stmt), preorder, postorder, only_enable)


def LoopPartition(stmt: Stmt | PrimFunc | IRModule, partition_const_loop: bool = False) -> Stmt:
    """Split loops where the conditions in them change."""
    _note("LoopPartition", "tvm.tir.transform.LoopPartition")
    options = {"tir.LoopPartition": {"partition_const_loop": bool(partition_const_loop)}}
    return _passed(stmt, transform.LoopPartition(), options)


def InjectDoubleBuffer(stmt: Stmt | PrimFunc | IRModule, split_loop: int = 1) -> Stmt:
    """Give buffers that are marked for it a second half, which is filled ahead."""
    _note("InjectDoubleBuffer", "tvm.tir.transform.InjectDoubleBuffer")
    return _passed(stmt, transform.InjectDoubleBuffer(), {"tir.InjectDoubleBuffer": {"split_loop": split_loop}})


def UnrollLoop(
    stmt: Stmt | PrimFunc | IRModule,
    auto_max_step: int = 0,
    auto_max_depth: int = 8,
    auto_max_extent: int = 0,
    explicit_unroll: bool = True,
) -> Stmt:
    """Unroll loops."""
    _note("UnrollLoop", "tvm.tir.transform.UnrollLoop")
    options = {
        "auto_max_step": auto_max_step,
        "auto_max_depth": auto_max_depth,
        "auto_max_extent": auto_max_extent,
        "explicit_unroll": bool(explicit_unroll),
    }
    return _passed(stmt, transform.UnrollLoop(), {"tir.UnrollLoop": options})


def _pass_of_statements(name: str) -> Callable[[Stmt | PrimFunc | IRModule], Stmt]:
    def carried_out(stmt: Stmt | PrimFunc | IRModule) -> Stmt:
        _note(name, f"tvm.tir.transform.{name}")
        return _passed(stmt, getattr(transform, name)())

    carried_out.__name__ = carried_out.__qualname__ = name
    carried_out.__doc__ = f"Carry out the pass {name} on a statement."
    return carried_out


ConvertSSA = _pass_of_statements("ConvertSSA")
InjectVirtualThread = _pass_of_statements("InjectVirtualThread")
RemoveNoOp = _pass_of_statements("RemoveNoOp")
RewriteUnsafeSelect = _pass_of_statements("RewriteUnsafeSelect")
StorageRewrite = _pass_of_statements("StorageRewrite")
VectorizeLoop = _pass_of_statements("VectorizeLoop")
