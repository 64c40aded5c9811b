"""Passes over graphs, one a file: ``relay.transform``."""

from compiler.relay.transform.function_pass import FunctionPass, function_pass
from compiler.relay.transform.fuse_ops import FuseOps
from compiler.relay.transform.infer_type import InferType, InferTypeLocal
from compiler.relay.transform.simplify_inference import SimplifyInference
from compiler.relay.transform.to_a_normal_form import ToANormalForm, ToANormalFormExpr
from compiler.relay.transform.to_basic_block_normal_form import ToBasicBlockNormalForm
from compiler.relay.transform.to_graph_normal_form import ToGraphNormalForm

__all__ = [
    "FunctionPass",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "SimplifyInference",
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
    "ToGraphNormalForm",
    "function_pass",
]
