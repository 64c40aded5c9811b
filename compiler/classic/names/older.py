"""Names of older TVM releases, and their replacements."""

from __future__ import annotations

_TENSOR_EXPRESSIONS = """
    abs all any atan ceil comm_reducer compute const cos create_schedule decl_tensor_intrin div erf exp extern floor
    floordiv floormod fmod if_then_else indexdiv indexmod isfinite isinf isnan log max min nearbyint placeholder
    popcount power reduce_axis round rsqrt scan sigmoid sin size_var sqrt sum tag_scope tanh thread_axis trunc
    truncdiv truncmod var
"""
"""Functions that releases before 0.7 had in ``tvm`` itself."""

_LOOP_IR = """
    acos acosh asin asinh atan2 atanh call_extern call_intrin call_llvm_intrin call_packed call_pure_extern copysign
    cosh decl_buffer exp10 exp2 hypot ir_builder ldexp log10 log1p log2 max_value min_value nextafter sinh tan trace
"""

OLDER = {
    **{f"tvm.{name}": f"tvm.te.{name}" for name in _TENSOR_EXPRESSIONS.split()},
    **{f"tvm.{name}": f"tvm.tir.{name}" for name in _LOOP_IR.split()},
    "tvm.call_pure_intrin": "tvm.tir.call_intrin",
    "tvm.expr": "tvm.tir.expr",
    "tvm.hybrid": "tvm.te.hybrid",
    "tvm.intrin": "tvm.tir",
    "tvm.make": "tvm.tir",
    "tvm.module": "tvm.runtime.module",
    "tvm.ndarray": "tvm.nd",
    "tvm.relay.backend.compile_engine": "tvm.relay.backend.te_compiler",
    "tvm.relay.Module": "tvm.IRModule",
    "tvm.relay.module": "tvm.ir.module",
    **{
        f"tvm.relay.transform.{name}": f"tvm.transform.{name}"
        for name in ("PassContext", "PassInfo", "Sequential", "module_pass")
    },
    "tvm.runtime.module.load": "tvm.runtime.load_module",
    "tvm.schedule": "tvm.te.schedule",
    "tvm.select": "tvm.tir.Select",
    "tvm.stmt": "tvm.tir.stmt",
    "tvm.tensor": "tvm.te.tensor",
    "tvm.tensor_intrin": "tvm.te.tensor_intrin",
    "tvm.TVMContext": "tvm.runtime.Device",
    "tvm.auto_scheduler.load_best": "tvm.auto_scheduler.load_best_record",
    "tvm.autotvm.util": "tvm.autotvm.utils",
    "tvm.container": "tvm.runtime.container",
    "tvm.context": "tvm.device",
    "tvm.contrib.debugger.debug_runtime": "tvm.contrib.debugger.debug_executor",
    "tvm.contrib.graph_runtime": "tvm.contrib.graph_executor",
    "tvm.contrib.util": "tvm.contrib.utils",
    "tvm.driver.build_module.form_irmodule": "tvm.driver.build_module.schedule_to_module",
    "tvm.gpu": "tvm.cuda",
    "tvm.nd.gpu": "tvm.cuda",
    "tvm.runtime.gpu": "tvm.cuda",
    "tvm.runtime.threads": "tvm.runtime.parallel.threads",
    "tvm.target.create": "tvm.target.Target",
    "tvm.target.target.create": "tvm.target.Target",
    "tvm.topi.nn.util": "tvm.topi.nn.utils",
    "tvm.topi.util": "tvm.topi.utils",
}
"""Each name, and the one to use instead, which a program that uses the older one is told."""

OLDER_MODULES = {"tvm.ir_pass": "compiler.classic.older_ir_pass"}
"""Modules whose functions do what others do now, and where they are."""

OLDER_PACKAGES = {"topi": "tvm.topi"}
"""Packages that releases before 0.7 had beside ``tvm``."""
