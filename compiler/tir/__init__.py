"""Tensor IR under TVM's names: ``tvm.tir``.

The passes (``tir.transform``) are in a higher layer and are loaded when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.expr.primexpr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    CommReducer,
    DataProducer,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    ProducerLoad,
    Ramp,
    Range,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Sub,
    Var,
    convert,
)
from compiler.ir.expr.primexpr import AnyDim as Any
from compiler.ir.extension import public_module
from compiler.ir.op import CallEffectKind
from compiler.tir import analysis
from compiler.tir.expressions import device_ops  # noqa: F401  (registers its operators)
from compiler.tir.expressions import op as _op
from compiler.tir.expressions.op import *  # noqa: F403
from compiler.tir.layout.data_layout import BijectiveLayout, Layout, bijective_layout, layout
from compiler.tir.printing import printer
from compiler.tir.statements import stmt_functor
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.flat_access import Load, Store
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize, Prefetch, ProducerRealize, ProducerStore
from compiler.tir.statements.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)

__all__ = [
    *_op.__all__, "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "Allocate", "AllocateConst", "And", "Any", "AssertStmt",
    "AttrStmt", "BijectiveLayout", "Block", "BlockRealize", "Broadcast", "Buffer", "BufferLoad", "BufferRealize",
    "BufferRegion", "BufferStore", "Call", "CallEffectKind", "Cast", "CommReducer", "DataProducer", "DeclBuffer", "Div",
    "Evaluate", "FloatImm", "FloorDiv", "FloorMod", "For", "ForKind", "IfThenElse", "IntImm", "IterVar", "Layout",
    "Let", "LetStmt", "Load", "MatchBufferRegion", "Max", "Min", "Mod", "Mul", "Not", "Or", "Prefetch", "PrimExpr",
    "PrimFunc", "ProducerLoad", "ProducerRealize", "ProducerStore", "Ramp", "Range", "Reduce", "Select", "SeqStmt",
    "Shuffle", "SizeVar", "Stmt", "Store", "StringImm", "Sub", "Var", "While", "analysis", "bijective_layout",
    "convert", "decl_buffer", "layout", "printer", "stmt_functor", "stmt_list", "stmt_seq",
]  # fmt: skip


def stmt_seq(*args: PrimExpr | Stmt) -> Stmt:
    """Return statements, and expressions to evaluate, as one sequence; a single statement as itself."""
    stmts = [a if isinstance(a, Stmt) else Evaluate(convert(a)) for a in args]
    return stmts[0] if len(stmts) == 1 else SeqStmt(tuple(stmts))


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """Return the statements of a sequence, or the statement alone."""
    return list(stmt.seq) if isinstance(stmt, SeqStmt) else [stmt]


if not TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.tir", __all__)
