"""Passes over graphs, one a file: ``relay.transform``."""

from compiler.relay.transform.alter_op_layout import AlterOpLayout
from compiler.relay.transform.backward_fold_scale_axis import BackwardFoldScaleAxis
from compiler.relay.transform.canonicalize_cast import CanonicalizeCast
from compiler.relay.transform.canonicalize_ops import CanonicalizeOps
from compiler.relay.transform.combine_parallel import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from compiler.relay.transform.convert_layout import ConvertLayout
from compiler.relay.transform.dead_code_elimination import DeadCodeElimination
from compiler.relay.transform.defuse_ops import DefuseOps
from compiler.relay.transform.dynamic_to_static import DynamicToStatic
from compiler.relay.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from compiler.relay.transform.eta_expand import EtaExpand
from compiler.relay.transform.fast_math import FastMath
from compiler.relay.transform.first_order_gradient import FirstOrderGradient
from compiler.relay.transform.fold_constant import FoldConstant, FoldConstantExpr
from compiler.relay.transform.fold_scale_axis import FoldScaleAxis
from compiler.relay.transform.forward_fold_scale_axis import ForwardFoldScaleAxis
from compiler.relay.transform.function_pass import FunctionPass, function_pass
from compiler.relay.transform.fuse_ops import FuseOps
from compiler.relay.transform.gradient import gradient
from compiler.relay.transform.infer_type import InferType, InferTypeLocal
from compiler.relay.transform.inline import Inline
from compiler.relay.transform.lambda_lift import LambdaLift
from compiler.relay.transform.merge_composite import MergeComposite
from compiler.relay.transform.partial_evaluate import PartialEvaluate
from compiler.relay.transform.pipeline import build_passes, optimization_passes, optimize
from compiler.relay.transform.remove_unused_functions import RemoveUnusedFunctions
from compiler.relay.transform.simplify_expr import SimplifyExpr
from compiler.relay.transform.simplify_inference import SimplifyInference
from compiler.relay.transform.to_a_normal_form import ToANormalForm, ToANormalFormExpr
from compiler.relay.transform.to_basic_block_normal_form import ToBasicBlockNormalForm
from compiler.relay.transform.to_graph_normal_form import ToGraphNormalForm

__all__ = [
    "AlterOpLayout",
    "BackwardFoldScaleAxis",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "ConvertLayout",
    "DeadCodeElimination",
    "DefuseOps",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "EtaExpand",
    "FastMath",
    "FirstOrderGradient",
    "FoldConstant",
    "FoldConstantExpr",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FunctionPass",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "Inline",
    "LambdaLift",
    "MergeComposite",
    "PartialEvaluate",
    "RemoveUnusedFunctions",
    "SimplifyExpr",
    "SimplifyInference",
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
    "ToGraphNormalForm",
    "build_passes",
    "function_pass",
    "gradient",
    "optimization_passes",
    "optimize",
]
