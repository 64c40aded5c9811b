"""Quantises floating-point models to integers: ``tvm.relay.quantize``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.classic.relay.quantize.calibrate import Dataset, calibrate
from compiler.classic.relay.quantize.conversions import partition_conversions
from compiler.classic.relay.transform.quantization.quantize_annotate import QAnnotateExpr, QuantizeAnnotate, annotate
from compiler.classic.relay.transform.quantization.quantize_config import (
    QAnnotateKind,
    QConfig,
    QuantizeContext,
    current_qconfig,
    kind2str,
    qconfig,
    quantize_context,
)
from compiler.classic.relay.transform.quantization.quantize_partition import (
    QPartitionExpr,
    QuantizePartition,
    partition,
)
from compiler.classic.relay.transform.quantization.quantize_realize import QRealizeIntExpr, QuantizeRealize, realize
from compiler.driver.relay.params import bind_params
from compiler.ir.error import expected
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext, Sequential, module_pass
from compiler.relay.transform import CanonicalizeOps, FoldConstant, FoldScaleAxis, InferType, SimplifyInference

__all__ = [
    "QAnnotateExpr", "QAnnotateKind", "QConfig", "QPartitionExpr", "QRealizeIntExpr", "QuantizeAnnotate",
    "QuantizeContext", "QuantizePartition", "QuantizeRealize", "annotate", "calibrate", "current_qconfig", "kind2str",
    "partition", "partition_conversions", "prerequisite_optimize", "qconfig", "quantize", "quantize_context", "realize",
]  # fmt: skip

_PARTITIONS = ("disabled", "enabled", "fully_integral")


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """Return a model as quantization expects it: parameters bound, batch norms folded into convolutions.

    What the level of the current context leaves out is left out, such as ``FoldScaleAxis`` below 3.
    """
    passes = [SimplifyInference(), FoldConstant(), FoldScaleAxis(), CanonicalizeOps(), FoldConstant()]
    if params:
        mod = bind_params(mod, params)
    return Sequential([InferType(), *passes])(mod)


def quantize(mod: IRModule, params: Mapping[str, object] | None = None, dataset: Dataset | None = None) -> IRModule:
    """Quantize a model, a graph of floating point with constant weights, by the options of the current ``qconfig``.

    The dataset has inputs that scales are found from, for the modes ``kl_divergence`` and ``percentile``. Raises
    ArgumentError if an option makes no sense, or a dataset is missing. Raises NotIntegralError if the graph must be
    integral throughout and is not.

    Examples
    --------
    >>> with relay.quantize.qconfig(calibrate_mode="global_scale", global_scale=8.0):
    ...     mod = relay.quantize.quantize(mod, params)
    """
    config = current_qconfig()
    if config.partition_conversions not in _PARTITIONS:
        names = ", ".join(map(repr, _PARTITIONS))
        expected("qconfig", "partition_conversions", f"one of {names}", config.partition_conversions)
    mod = prerequisite_optimize(mod, params)
    passes = [
        partition(),
        annotate(),
        module_pass(calibrate(dataset), opt_level=1, name="QuantizeCalibrate"),
        InferType(),
        *([] if config.do_simulation else [realize()]),
        FoldConstant(),
    ]
    with PassContext(opt_level=3):
        quantized: IRModule = Sequential(passes)(mod)
    if config.partition_conversions == "disabled":
        return quantized
    dtypes = {config.dtype_input, config.dtype_weight, config.dtype_activation}
    return partition_conversions(quantized, dtypes, config.partition_conversions == "fully_integral")
