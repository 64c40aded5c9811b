"""FoldScaleAxis: scales of channels go into weights, in both directions."""

from __future__ import annotations

from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, PassContext
from compiler.relay.transform.backward_fold_scale_axis import BackwardFoldScaleAxis
from compiler.relay.transform.fold_constant import FoldConstant
from compiler.relay.transform.forward_fold_scale_axis import ForwardFoldScaleAxis


class FoldScaleAxis(Pass):
    """Puts scales of channels into weights, those of results first, and computes the new weights.

    After :func:`SimplifyInference` this makes a batch normalisation behind a convolution disappear: its factors go into
    the weights, and what is left of it is the addition of a bias.
    """

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for each in (BackwardFoldScaleAxis(), FoldConstant(), ForwardFoldScaleAxis(), FoldConstant()):
            mod = each(mod)
        return mod
