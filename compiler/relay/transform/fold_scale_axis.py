"""FoldScaleAxis: scales of channels go into weights, in both directions."""

from __future__ import annotations

from compiler.ir.transform import Sequential, register_named_pass
from compiler.relay.transform.backward_fold_scale_axis import BackwardFoldScaleAxis
from compiler.relay.transform.fold_constant import FoldConstant
from compiler.relay.transform.forward_fold_scale_axis import ForwardFoldScaleAxis


def FoldScaleAxis() -> Sequential:
    """Puts scales of channels into weights, those of results first, and computes the new weights.

    After :func:`SimplifyInference` this makes a batch normalisation behind a convolution disappear: its factors go into
    the weights, and what is left of it is the addition of a bias.
    """
    passes = [BackwardFoldScaleAxis(), FoldConstant(), ForwardFoldScaleAxis(), FoldConstant()]
    return Sequential(passes, name="FoldScaleAxis")


register_named_pass("FoldScaleAxis", FoldScaleAxis)
