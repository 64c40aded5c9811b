"""AlterOpLayout: operators in the layouts that the target computes fastest in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext, PassInfo, register_named_pass
from compiler.relay.expr import Call, Function
from compiler.relay.transform.function_pass import FunctionPass, TransformPass
from compiler.relay.transform.layout_rewriter import LayoutRewriter
from compiler.relay.transform.rewriter import relay_op
from compiler.target.target import Target


def AlterOpLayout(target: Target | None = None) -> FunctionPass:
    """Lets each operator choose its layout, such as channels in blocks as wide as a vector.

    For example::

        nn.conv2d(%x, %w)       ->   %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW8c");
                                     %1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW8i8o");
                                     %2 = nn.contrib_conv2d_NCHWc(%0, %1, …);
                                     layout_transform(%2, src_layout="NCHW8c", dst_layout="NCHW")

    Between two such operators nothing is transformed, where all in between works in any layout.

    Parameters
    ----------
    target : Target, optional
        The current one, else this machine when left out.
    """

    def alter(func: Function, mod: IRModule, ctx: PassContext) -> Any:
        found = target or Target.current() or Target("llvm -mcpu=native")

        def choose(call: Call, types: Sequence[Any]) -> Call | None:
            op = relay_op(call)
            return None if op is None or op.alter_layout is None else op.alter_layout(call, types, found)

        return LayoutRewriter(choose).rewrite(func)

    return TransformPass(alter, PassInfo(3, "AlterOpLayout", ("InferType",)))


register_named_pass("AlterOpLayout", AlterOpLayout)
