"""What all levels share, under TVM's names: ``tvm.ir``."""

from __future__ import annotations

from compiler.ir import instrument, transform
from compiler.ir.error import TVMError
from compiler.ir.module import BaseFunc, GlobalVar, IRModule
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.primexpr import PrimExpr, Range
from compiler.ir.structural import structural_equal, structural_hash
from compiler.ir.types import FuncType, PointerType, PrimType, Type

__all__ = [
    "BaseFunc",
    "FuncType",
    "GlobalVar",
    "IRModule",
    "Node",
    "Op",
    "PointerType",
    "PrimExpr",
    "PrimType",
    "Range",
    "TVMError",
    "Type",
    "instrument",
    "structural_equal",
    "structural_hash",
    "transform",
]
