"""Passes over graphs, a file each: ``relay.transform``."""

from typing import Any

from compiler.ir.error import unknown_name
from compiler.ir.pass_package import load_passes
from compiler.relay.transform.fold_constant import FoldConstantExpr
from compiler.relay.transform.function_pass import FunctionPass, function_pass
from compiler.relay.transform.gradient import gradient
from compiler.relay.transform.infer_type import InferTypeLocal
from compiler.relay.transform.layout_config import LayoutConfig
from compiler.relay.transform.pipeline import build_passes, optimization_passes, optimize
from compiler.relay.transform.recast import recast
from compiler.relay.transform.to_a_normal_form import ToANormalFormExpr

__all__ = [
    "FoldConstantExpr",
    "FunctionPass",
    "InferTypeLocal",
    "LayoutConfig",
    "ToANormalFormExpr",
    "build_passes",
    "function_pass",
    "gradient",
    "optimization_passes",
    "optimize",
    "recast",
    *load_passes(globals()),
]


def __getattr__(name: str) -> Any:
    raise unknown_name("tvm.relay.transform", name, __all__)
