"""Tensor expressions: what to compute, and schedules for how to compute it."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.te.definition.axis import reduce_axis, size_var, thread_axis, var
from compiler.te.definition.extern import ExternOp, extern, extern_primfunc
from compiler.te.definition.hybrid_op import HybridOp
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, compute, placeholder
from compiler.te.definition.scan import ScanOp, scan
from compiler.te.definition.tag import tag_scope
from compiler.te.definition.tensor import Operation, Tensor, TensorSlice
from compiler.te.definition.tensor_compute import TensorComputeOp
from compiler.te.definition.tensor_intrin import decl_tensor_intrin
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.te.lowering.specialized_condition import SpecializedCondition
from compiler.te.scheduling import json_format as schedule_json  # noqa: F401  (says how schedules are saved)
from compiler.te.scheduling.schedule import Schedule, create_schedule
from compiler.te.scheduling.stage import Stage
from compiler.tir.expressions.op import *  # noqa: F403
from compiler.tir.expressions.op import __all__ as _expression_names
from compiler.tir.layout.index_map import AXIS_SEPARATOR

__all__ = [
    "AXIS_SEPARATOR", "ComputeOp", "ExternOp", "HybridOp", "Operation", "PlaceholderOp", "ScanOp", "Schedule",
    "SpecializedCondition", "Stage", "Tensor", "TensorComputeOp", "TensorSlice", "compute", "create_prim_func",
    "create_schedule", "decl_tensor_intrin", "extern", "extern_primfunc", "placeholder", "reduce_axis", "scan",
    "size_var", "tag_scope", "thread_axis", "var", *_expression_names,
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.te", __all__)
