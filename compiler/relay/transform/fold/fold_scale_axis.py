"""FoldScaleAxis: folds channel scales into weights, in both directions."""

from __future__ import annotations

from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, PassContext
from compiler.relay.transform.fold.backward_fold_scale_axis import BackwardFoldScaleAxis
from compiler.relay.transform.fold.fold_constant import FoldConstant
from compiler.relay.transform.fold.forward_fold_scale_axis import ForwardFoldScaleAxis


class FoldScaleAxis(Pass):
    """Put scales of channels into weights, those of results first, and compute the new weights.

    Runs BackwardFoldScaleAxis and ForwardFoldScaleAxis, each followed by FoldConstant; they have their own levels.
    After :class:`SimplifyInference` this makes a batch normalisation behind a convolution disappear: its factors go
    into the weights, and what is left of it is the addition of a bias.

    Examples
    --------
    ``FoldScaleAxis()``::

        def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(4), float32]) {
          multiply(nn.dense(%x, %w), multiply(%s, add(1f, 1f)))
        }
        ->
        def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(4), float32]) {
          nn.dense(%x, multiply(%w, expand_dims(multiply(%s, 2f), axis=1)), units=None)
        }
    """

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for each in (BackwardFoldScaleAxis(), FoldConstant(), ForwardFoldScaleAxis(), FoldConstant()):
            mod = each.run_if_enabled(mod)
        return mod
