"""Names that older releases of TVM had, and what took their places."""

from __future__ import annotations

__all__ = ["OLDER", "OLDER_PACKAGES"]

_TENSOR_EXPRESSIONS = """
    abs all any atan ceil comm_reducer compute const cos create_schedule decl_tensor_intrin div erf exp extern floor
    floordiv floormod fmod if_then_else indexdiv indexmod isfinite isinf isnan log max min nearbyint placeholder
    popcount power reduce_axis round rsqrt scan sigmoid sin size_var sqrt sum tag_scope tanh thread_axis trunc
    truncdiv truncmod var
"""
"""Functions that releases before 0.7 had in ``tvm`` itself."""

_LOOP_IR = "call_extern call_llvm_intrin call_packed call_pure_extern decl_buffer ir_builder"

OLDER = {
    **{f"tvm.{name}": f"tvm.te.{name}" for name in _TENSOR_EXPRESSIONS.split()},
    **{f"tvm.{name}": f"tvm.tir.{name}" for name in _LOOP_IR.split()},
    "tvm.expr": "tvm.tir.expr",
    "tvm.hybrid": "tvm.te.hybrid",
    "tvm.module": "tvm.runtime.module",
    "tvm.relay.Module": "tvm.IRModule",
    "tvm.runtime.module.load": "tvm.runtime.load_module",
    "tvm.schedule": "tvm.te.schedule",
    "tvm.select": "tvm.tir.Select",
    "tvm.stmt": "tvm.tir.stmt",
    "tvm.tensor": "tvm.te.tensor",
    "tvm.autotvm.util": "tvm.autotvm.utils",
    "tvm.container": "tvm.runtime.container",
    "tvm.context": "tvm.device",
    "tvm.contrib.debugger.debug_runtime": "tvm.contrib.debugger.debug_executor",
    "tvm.contrib.graph_runtime": "tvm.contrib.graph_executor",
    "tvm.contrib.util": "tvm.contrib.utils",
    "tvm.gpu": "tvm.cuda",
    "tvm.nd.gpu": "tvm.cuda",
    "tvm.runtime.gpu": "tvm.cuda",
    "tvm.target.create": "tvm.target.Target",
    "tvm.target.target.create": "tvm.target.Target",
    "tvm.topi.nn.util": "tvm.topi.nn.utils",
    "tvm.topi.util": "tvm.topi.utils",
}
"""Each name, and the one to use instead, which a program that uses the older one is told."""

OLDER_PACKAGES = {"topi": "tvm.topi"}
"""Packages that releases before 0.7 had beside ``tvm``."""
