"""The pass pipeline of ``relay.build``."""

from __future__ import annotations

from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, register_config_option
from compiler.relay.expr import Call
from compiler.relay.op.cast import CastAttrs
from compiler.relay.transform.fold.fold_constant import FoldConstant
from compiler.relay.transform.fold.fold_scale_axis import FoldScaleAxis
from compiler.relay.transform.fuse_ops import FuseOps
from compiler.relay.transform.infer_type import InferType
from compiler.relay.transform.layout.alter_op_layout import AlterOpLayout
from compiler.relay.transform.layout.legalize import Legalize
from compiler.relay.transform.layout.strassen import Strassen
from compiler.relay.transform.layout.winograd import Winograd
from compiler.relay.transform.quantize.byte_functions import TabulateBytes
from compiler.relay.transform.quantize.byte_products import MultiplyBytes
from compiler.relay.transform.quantize.half_products import MultiplyHalves
from compiler.relay.transform.quantize.qnn import CanonicalizeQnn
from compiler.relay.transform.quantize.widen_half_precision import WidenHalfPrecision
from compiler.relay.transform.rewriter import op_name
from compiler.relay.transform.simplify.canonicalize_cast import CanonicalizeCast
from compiler.relay.transform.simplify.canonicalize_ops import CanonicalizeOps
from compiler.relay.transform.simplify.combine_parallel import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from compiler.relay.transform.simplify.convolve_images import ConvolveImages
from compiler.relay.transform.simplify.eliminate_common_subexpr import EliminateCommonSubexpr
from compiler.relay.transform.simplify.fast_math import FastMath
from compiler.relay.transform.simplify.flatten_atrous_conv import FlattenAtrousConv
from compiler.relay.transform.simplify.simplify_expr import SimplifyExpr
from compiler.relay.transform.simplify.simplify_inference import SimplifyInference
from compiler.target.target import Target

# Schedules found by searching are taken from a log of searches; there is none yet, and operators without an entry get
# their usual schedule with and without these options, as in TVM.
register_config_option("relay.backend.use_auto_scheduler", bool)
register_config_option("relay.backend.use_meta_schedule", bool)
register_config_option("relay.backend.tir_converter", str)  # there is one way from operators to the loops of a search


def optimization_passes(target: Target) -> list[Pass]:
    """Return the passes of a build before fusion, in their order; the context's level decides which of them run.

    =====  =====================================================================
    level  what runs from it on
    =====  =====================================================================
    0      CanonicalizeQnn, WidenHalfPrecision, SimplifyInference,
           FlattenAtrousConv, SimplifyExpr
    1      Legalize (of quantised operators)
    2      FoldConstant
    3      EliminateCommonSubexpr, FoldScaleAxis, ConvolveImages,
           CanonicalizeCast, CanonicalizeOps, MultiplyBytes, MultiplyHalves, AlterOpLayout,
           Winograd, Strassen, TabulateBytes
    4      CombineParallelConv2D, -Dense and -BatchMatmul, FastMath
    =====  =====================================================================
    """
    return [
        InferType(),
        Legalize("FTVMQnnLegalize"),
        CanonicalizeQnn(),
        WidenHalfPrecision(),
        SimplifyInference(in_build=True),
        FlattenAtrousConv(),
        EliminateCommonSubexpr(fskip=_is_narrow_cast),
        FoldConstant(in_build=True),
        FoldScaleAxis(),
        ConvolveImages(),
        # Parts of a joined result can take no scale back into the weights, so joining comes after.
        CombineParallelConv2D(),
        CombineParallelDense(),
        CombineParallelBatchMatmul(),
        SimplifyExpr(in_build=True),
        CanonicalizeCast(),
        CanonicalizeOps(),
        MultiplyBytes(),
        MultiplyHalves(),
        AlterOpLayout(target),
        SimplifyExpr(in_build=True),
        FastMath(),
        FoldConstant(in_build=True),
        Winograd(),
        Strassen(),
        TabulateBytes(),
    ]


def build_passes(target: Target) -> list[Pass]:
    """Return all passes of ``relay.build``: those before fusion, fusion (from level 1 on), and the types of kernels."""
    return [*optimization_passes(target), FuseOps(), InferType()]


def optimize(mod: IRModule, target: Target | str | None = None) -> IRModule:
    """Return a module after the passes of ``relay.build`` in the current context, for the current target by default."""
    given = Target(target) if isinstance(target, str) else target
    machine = given or Target.current() or Target("llvm -mcpu=native")
    with machine:
        for each in build_passes(machine):
            mod = each.run_if_enabled(mod)
    return mod


def _is_narrow_cast(call: Call) -> bool:
    """Return whether a call is a cast to 32-bit integers: shared by several kernels it would be stored wide."""
    return op_name(call) == "cast" and CastAttrs.of(call).dtype == "int32"
