"""What a package offers though another one defines it, and the modules that complete a registry of a lower layer.

``tvm.x.y`` is otherwise ``compiler.x.y``, or ``y`` in the ``__all__`` of ``compiler.x``.
"""

from __future__ import annotations

__all__ = ["COMPLETED_BY", "DEFINITIONS", "MODULES"]

MODULES = {
    "tvm.arith": "compiler.arith",
    "tvm.driver": "compiler.driver",
    "tvm.error": "compiler.ir.error",
    "tvm.instrument": "compiler.ir.instrument",
    "tvm.ir": "compiler.ir",
    "tvm.nd": "compiler.runtime.arrays.ndarray",
    "tvm.parser": "compiler.relay.parser",
    "tvm.relay": "compiler.relay",
    "tvm.relay.frontend": "compiler.relay.frontend",
    "tvm.relay.function": "compiler.relay.function",
    "tvm.relay.transform": "compiler.relay.transform",
    "tvm.runtime": "compiler.runtime",
    "tvm.runtime.container": "compiler.runtime.container",
    "tvm.runtime.packed_func": "compiler.runtime.modules.packed_func",
    "tvm.script": "compiler.tir.script",
    "tvm.target": "compiler.target",
    "tvm.te": "compiler.te",
    "tvm.tir": "compiler.tir",
    "tvm.tir.ir_builder": "compiler.tir.ir_builder",
    "tvm.tir.schedule": "compiler.tir.schedule",
    "tvm.tir.schedule.transform": "compiler.tir.schedule.transform",
    "tvm.tir.stmt_functor": "compiler.tir.statements.stmt_functor",
    "tvm.tir.transform": "compiler.tir.transform",
    "tvm.topi": "compiler.topi",
    "tvm.transform": "compiler.ir.transform",
}
"""Modules under the names that users know."""

DEFINITIONS = {
    "compiler.driver.build": {"tvm": "build"},
    "compiler.driver.lower": {"tvm": "lower"},
    "compiler.driver.relay.build": {"tvm.relay": "build"},
    "compiler.driver.relay.executor": {"tvm.relay": "create_executor"},
    "compiler.ir.error": {"tvm": "TVMError register_error"},
    "compiler.ir.expr": {"tvm.ir": "BaseExpr RelayExpr"},
    "compiler.ir.module": {"tvm": "IRModule"},
    "compiler.ir.node": {"tvm tvm.runtime": "Object=Node"},
    "compiler.ir.object_path": {"tvm.runtime": "ObjectPath ObjectPathPair"},
    "compiler.ir.expr.primexpr": {"tvm.runtime": "const"},
    "compiler.ir.scriptable": {"tvm.runtime": "Scriptable"},
    "compiler.ir.source_span": {"tvm.relay": "SequentialSpan"},
    "compiler.relay.adt": {"tvm.ir": "Constructor TypeData"},
    "compiler.relay.parser": {"tvm.relay": "fromtext parse parse_expr"},
    "compiler.relay.printer": {"tvm.relay": "astext pretty_print=text"},
    "compiler.relay.ty": {"tvm.ir": "GlobalTypeVar RelayRefType=RefType TensorType TupleType TypeCall"},
    "compiler.runtime.container": {"tvm.ir": "Array Map", "tvm.runtime": "ShapeTuple String"},
    "compiler.runtime.arrays.data_type": {"tvm tvm.runtime": "DataType DataTypeCode"},
    "compiler.runtime.device": {
        "tvm tvm.nd tvm.runtime": ("Device cl cpu cuda device ext_dev hexagon metal mtl opencl rocm vpi vulkan webgpu")
    },
    "compiler.runtime.modules.library": {"tvm.runtime": "load_static_library"},
    "compiler.runtime.modules.packed_func": {
        "tvm": "convert get_global_func register_func",
        "tvm.runtime": "PackedFunc convert",
    },
    "compiler.runtime.arrays.params": {
        "tvm.relay": "load_param_dict save_param_dict",
        "tvm.runtime": "load_param_dict_from_file save_param_dict_to_file",
    },
    "compiler.tir.layout.index_map": {"tvm.tir": "IndexMap"},
    "compiler.tir.expressions.intrin_registry": {"tvm.tir": "TensorIntrin"},
    "compiler.tir.schedule": {
        "tvm.tir": ("BlockScope Schedule ScheduleDebugMask ScheduleError ScheduleState StmtSRef Trace")
    },
}
"""By the module that defines them, the names that packages offer; ``Object=Node`` is called ``Node`` there."""

COMPLETED_BY = {
    "tvm.topi": ("compiler.relay.op",),
    "tvm.topi.image": ("compiler.relay.op",),
    "tvm.topi.nn": ("compiler.relay.op",),
    "tvm.topi.vision": ("compiler.relay.op",),
    "differentiation": ("compiler.relay.transform.derivatives.gradient",),
    "functions": (
        "compiler.runtime.modules.packed_func",
        "compiler.runtime.parallel.pool",
        "compiler.runtime.timing.time_evaluator",
        "compiler.driver.relay.vm_kernels",
    ),
    "nodes": (
        "compiler.runtime.arrays.ndarray",
        "compiler.tir",
        "compiler.tir.statements.memory_info",
        "compiler.target",
        "compiler.te",
        "compiler.relay",
    ),
    "operators": ("compiler.relay.op",),
    "tensor functions": ("compiler.topi.operators",),
    "text formats": ("compiler.tir", "compiler.relay"),
    "passes": (
        "compiler.tir.transform",
        "compiler.relay.transform",
        "compiler.relay.frontend.span_filling",
        "compiler.driver.pipeline",
    ),
}
"""Modules whose import extends a public module or a registry; they are loaded when a name is not found otherwise."""
