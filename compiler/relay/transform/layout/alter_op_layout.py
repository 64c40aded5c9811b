"""AlterOpLayout: gives each operator the fastest layout for the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.ir.types import Type
from compiler.relay.expr import Call
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.layout.layout_rewriter import LayoutRewriter, placeholders
from compiler.relay.transform.rewriter import relay_op
from compiler.target.target import Target


class AlterOpLayout(FunctionPass, opt_level=3, required=("InferType",)):
    """Let each operator choose the layout that ``target`` computes fastest in, such as channels in blocks.

    Level 3; requires InferType.  Between two such operators nothing is transformed, where all in between works in any
    layout.  What programs set as ``FTVMAlterOpLayout`` of an operator, from attributes, arguments, placeholders of
    their types and the type of the result to another call of as many arguments or None, comes before what the
    operator's row says.  Without ``target`` it is the current one, else this machine.  The method is that of Y. Liu et
    al., "Optimizing CNN Model Inference on CPUs", USENIX ATC 2019.

    Examples
    --------
    ``AlterOpLayout(target='llvm -mcpu=haswell')``, whose vectors hold eight floats::

        def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
          nn.relu(nn.conv2d(%x, %w))
        }
        ->
        def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
          %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW8c");
          %1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW8i8o");
          %2 = nn.contrib_conv2d_NCHWc(%0, %1, data_layout="NCHW8c", kernel_layout="OIHW8i8o", out_layout="NCHW8c");
          layout_transform(nn.relu(%2), src_layout="NCHW8c", dst_layout="NCHW")
        }
    """

    target: Target | str | None = None

    def options(self) -> dict[str, Any]:
        """Return the target as the text that it can be made from."""
        return {"target": None if self.target is None else str(self.target)}

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        given = Target(self.target) if isinstance(self.target, str) else self.target
        target = given or Target.current() or Target("llvm -mcpu=native")

        def choose(call: Call, types: Sequence[Type], out_type: Type) -> RelayExpr | None:
            op = relay_op(call)
            rule = None if op is None else op.get_attr("FTVMAlterOpLayout")
            if rule is not None:
                made: RelayExpr | None = rule(call.attrs, call.args, placeholders(types), out_type)
                return made
            return None if op is None or op.alter_layout is None else op.alter_layout(call, types, target)

        with target:
            return LayoutRewriter(choose).rewrite_function(func)
