"""Passes over Relay graphs, one file each: ``relay.transform``."""

from compiler.ir.extension import public_module
from compiler.ir.passes.package import load_passes
from compiler.relay.transform.derivatives.gradient import gradient
from compiler.relay.transform.fold.fold_constant import FoldConstantExpr
from compiler.relay.transform.function_pass import FunctionPass, function_pass
from compiler.relay.transform.infer_type import InferTypeLocal
from compiler.relay.transform.layout.layout_config import LayoutConfig
from compiler.relay.transform.normal_form.to_a_normal_form import ToANormalFormExpr
from compiler.relay.transform.pipeline import build_passes, optimization_passes, optimize
from compiler.relay.transform.simplify.combine_parallel import BatchingOps

__all__ = [
    "BatchingOps", "FoldConstantExpr", "FunctionPass", "InferTypeLocal", "LayoutConfig", "ToANormalFormExpr",
    "build_passes", "function_pass", "gradient", "optimization_passes", "optimize", *load_passes(globals()),
]  # fmt: skip

__getattr__, __dir__ = public_module("tvm.relay.transform", __all__)
