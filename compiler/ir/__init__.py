"""Infrastructure shared by all levels of IR: ``tvm.ir``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir import base, diagnostics, instrument, supply, transform
from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.env_func import EnvFunc
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import PrimExpr, Range
from compiler.ir.extension import public_module
from compiler.ir.function import BaseFunc, CallingConv, GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.op import Op, register_intrin_lowering, register_op_attr
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.ir.serialization.type_keys import make_node
from compiler.ir.source_span import SequentialSpan, SourceName, Span
from compiler.ir.structural import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from compiler.ir.types import (
    FuncType,
    IncompleteType,
    PointerType,
    PrimType,
    Type,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
)

__all__ = [
    "Attrs", "BaseFunc", "CallingConv", "DictAttrs", "EnvFunc", "FuncType", "GlobalVar", "IRModule", "IncompleteType",
    "Node", "Op", "PointerType", "PrimExpr", "PrimType", "Range", "SequentialSpan", "SourceName", "Span", "TVMError",
    "Type", "TypeConstraint", "TypeKind", "TypeRelation", "TypeVar", "assert_structural_equal", "base", "diagnostics",
    "get_first_structural_mismatch", "instrument", "load_json", "make_node", "register_intrin_lowering",
    "register_op_attr", "save_json", "structural_equal", "structural_hash", "supply", "transform",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.ir", __all__)
