"""The table of public names: the definition of each ``tvm.x.y``.

A name that is not listed is found by its path: ``tvm.tir.analysis`` is ``compiler.tir.analysis``, and
``tvm.te.compute`` is ``compute`` in the ``__all__`` of ``compiler.te``.
"""

from __future__ import annotations

from compiler.older_names import OLDER_MODULES

__all__ = [
    "COMPLETED_BY",
    "PUBLIC",
]

STANDARD_MODULES = {
    "core.rly": "compiler.relay.standard_modules:define_storage",
    "gradient.rly": "compiler.relay.standard_modules:define_gradients",
    "nat.rly": "compiler.testing.relay.nat:define_nat",
    "prelude.rly": "compiler.relay.prelude:Prelude",
}
"""Functions that add the definitions of a file to a module, for ``IRModule.import_from_std``."""

PUBLIC = {
    **OLDER_MODULES,
    "tvm._ffi": "compiler.runtime.ffi",
    "tvm._ffi.base": "compiler.runtime.ffi_base",
    "tvm._ffi.runtime_ctypes": "compiler.runtime.c_types",
    "tvm._ffi.registry": "compiler.runtime.packed_func",
    "tvm._ffi.registry.register_extension": "compiler.runtime.ffi:register_extension",
    "tvm._ffi.registry.register_object": "compiler.runtime.ffi:register_object",
    "tvm.IRModule": "compiler.ir.module:IRModule",
    "tvm.TVMError": "compiler.ir.error:TVMError",
    "tvm.arith": "compiler.arith",
    "tvm.arith._ffi_api": "compiler.arith._ffi_api",
    "tvm.arith.detect_common_subexpr": "compiler.tir.analysis.common_subexpr:detect_common_subexpr",
    "tvm.arith._ffi_api.DomainTouched": "compiler.tir.analysis.domain_touched:domain_touched",
    "tvm.arith._ffi_api.DomainTouchedAccessMap": "compiler.tir.analysis.domain_touched:domain_touched_access_map",
    "tvm.auto_scheduler": "compiler.driver.auto_scheduler",
    **{
        f"tvm.auto_scheduler.{module}": f"compiler.driver.auto_scheduler.{place}"
        for module, place in (
            ("dispatcher", "relay_integration"),
            ("loop_state", "sketch"),
            ("measure_record", "record"),
            ("workload_registry", "workload"),
        )
    },
    "tvm.auto_scheduler.compute_dag": "compiler.driver.auto_scheduler",
    "tvm.autotvm": "compiler.autotvm",
    "tvm.autotvm.LocalBuilder": "compiler.driver.autotvm.measure_methods:LocalBuilder",
    "tvm.autotvm.LocalRunner": "compiler.driver.autotvm.measure_methods:LocalRunner",
    "tvm.autotvm.callback": "compiler.driver.autotvm.callback",
    "tvm.autotvm.measure_option": "compiler.driver.autotvm.measure_methods:measure_option",
    "tvm.autotvm.record": "compiler.autotvm.task.record",
    "tvm.autotvm.record.ApplyHistoryBest": "compiler.autotvm.task.history:ApplyHistoryBest",
    "tvm.autotvm.GLOBAL_SCOPE": "compiler.autotvm.env:GLOBAL_SCOPE",
    **{f"tvm.autotvm.utils.{name}": f"compiler.topi.utils:{name}" for name in ("get_const_int", "get_const_tuple")},
    **{f"tvm.autotvm.{name}": f"compiler.autotvm.{name}" for name in ("env", "tophub", "utils")},
    **{
        f"tvm.autotvm.task.{name}": f"compiler.driver.autotvm.extraction:{name}"
        for name in ("extract_from_multiple_program", "extract_from_program")
    },
    "tvm.autotvm.task.relay_integration": "compiler.driver.autotvm.extraction",
    "tvm.autotvm.tuner": "compiler.driver.autotvm.tuner",
    "tvm.autotvm.tuner.XGBTuner": "compiler.driver.autotvm.model_based_tuner:XGBTuner",
    **{
        f"tvm.autotvm.tuner.{module}": f"compiler.driver.autotvm.{place}"
        for module, place in (
            ("ga_tuner", "tuner"),
            ("index_based_tuner", "tuner"),
            ("model_based_tuner", "model_based_tuner"),
            ("tuner", "tuner"),
            ("xgboost_tuner", "model_based_tuner"),
        )
    },
    **{
        f"{module}.RPCRunner": "compiler.driver.autotvm.measure_methods:RPCRunner"
        for module in ("tvm.autotvm", "tvm.autotvm.measure")
    },
    "tvm.autotvm.tuner.callback": "compiler.driver.autotvm.callback",
    "tvm.autotvm.measure.measure_methods": "compiler.driver.autotvm.measure_methods",
    **{
        f"tvm.autotvm.measure.{name}": f"compiler.driver.autotvm.measure_methods:{name}"
        for name in ("LocalBuilder", "LocalRunner", "create_measure_batch", "measure_option")
    },
    "tvm.build": "compiler.driver.build:build",
    "tvm.build_config": "compiler.driver.older_names:build_config",
    "tvm.contrib": "compiler.contrib",
    "tvm.contrib.debugger": "compiler.contrib.debugger",
    "tvm.contrib.debugger.debug_executor": "compiler.runtime.debug_executor",
    "tvm.contrib.debugger.debug_result": "compiler.runtime.debug_result",
    "tvm.contrib.graph_executor": "compiler.runtime.graph_module",
    "tvm.contrib.pipeline_executor_build": "compiler.contrib.pipeline_executor",
    "tvm.contrib.relay_viz": "compiler.contrib.relay_viz",
    "tvm.convert": "compiler.runtime.packed_func:convert",
    "tvm.driver": "compiler.driver",
    "tvm.driver.build_module": "compiler.driver.build_module",
    "tvm.error": "compiler.ir.error",
    "tvm.get_global_func": "compiler.runtime.packed_func:get_global_func",
    "tvm.instrument": "compiler.ir.instrument",
    "tvm.ir": "compiler.ir",
    "tvm.ir._ffi_api": "compiler.ir.base",
    "tvm.ir.analysis": "compiler.ir.analysis",
    "tvm.ir.Array": "compiler.runtime.container:Array",
    "tvm.ir.Constructor": "compiler.relay.adt:Constructor",
    "tvm.ir.GlobalTypeVar": "compiler.relay.ty:GlobalTypeVar",
    "tvm.ir.Map": "compiler.runtime.container:Map",
    "tvm.ir.AffineType": "compiler.relay.transform.fake_quantization:AffineType",
    "tvm.ir.TensorAffineType": "compiler.relay.transform.fake_quantization:TensorAffineType",
    "tvm.ir.TupleAffineType": "compiler.relay.transform.fake_quantization:TupleAffineType",
    "tvm.ir.RelayRefType": "compiler.relay.ty:RefType",
    "tvm.ir.TensorType": "compiler.relay.ty:TensorType",
    "tvm.ir.TupleType": "compiler.relay.ty:TupleType",
    "tvm.ir.TypeCall": "compiler.relay.ty:TypeCall",
    "tvm.ir.TypeData": "compiler.relay.adt:TypeData",
    "tvm.ir.attrs.make_node": "compiler.ir.type_keys:make_node",
    "tvm.ir.attrs.DictAttrs": "compiler.ir.dict_attrs:DictAttrs",
    "tvm.ir.container": "compiler.runtime.container",
    "tvm.lower": "compiler.driver.lower:lower",
    "tvm.nd": "compiler.runtime.ndarray",
    "tvm.parser": "compiler.relay.parser",
    "tvm.rpc": "compiler.contrib.rpc",
    "tvm.contrib.rpc": "compiler.contrib.rpc",
    "tvm.register_error": "compiler.ir.error:register_error",
    "tvm.register_extension": "compiler.runtime.ffi:register_extension",
    "tvm.register_func": "compiler.runtime.packed_func:register_func",
    "tvm.register_object": "compiler.runtime.ffi:register_object",
    "tvm.relay": "compiler.relay",
    "tvm.relay.Prelude": "compiler.relay.prelude:Prelude",
    "tvm.relay.ScopeBuilder": "compiler.relay.scope_builder:ScopeBuilder",
    "tvm.relay.analysis.extract_fused_functions": ("compiler.relay.transform.fused_functions:extract_fused_functions"),
    "tvm.relay.analysis.get_calibration_data": "compiler.driver.relay.calibration_data:get_calibration_data",
    "tvm.relay.analysis.sparse_conv2d": "compiler.driver.relay.data_dep_optimization.sparse_conv2d",
    "tvm.relay.analysis.sparse_dense": "compiler.driver.relay.data_dep_optimization.sparse_dense",
    "tvm.relay.astext": "compiler.relay.printer:astext",
    "tvm.relay.base": "compiler.relay.base",
    "tvm.relay.frontend.tensorflow2": "compiler.relay.frontend.tensorflow",
    "tvm.relay.backend": "compiler.driver.relay.backend",
    "tvm.relay.backend._backend": "compiler.driver.relay.backend.memory_plan",
    "tvm.relay.backend.aot": "compiler.driver.relay.backend.aot",
    "tvm.relay.backend.vm": "compiler.driver.relay.vm",
    "tvm.relay.build": "compiler.driver.relay.build:build",
    "tvm.relay.build_config": "compiler.driver.older_names:relay_build_config",
    "tvm.relay.build_module": "compiler.driver.relay.build_module",
    "tvm.relay.create_executor": "compiler.driver.relay.executor:create_executor",
    "tvm.relay.data_dep_optimization": "compiler.driver.relay.data_dep_optimization",
    "tvm.relay.dataflow_pattern": "compiler.relay.dataflow_pattern",
    "tvm.relay.backend.vm.VMExecutor": "compiler.driver.relay.executor:VMExecutor",
    "tvm.relay.expr.Function": "compiler.relay.function:Function",
    "tvm.relay.expr.bind": "compiler.relay.binding:bind",
    **{
        f"tvm.relay.expr.{name}WithFields": f"compiler.relay.with_fields:{name}WithFields"
        for name in (
            *("Call", "Constant", "If", "Let", "RefCreate", "RefRead", "RefWrite", "Tuple", "TupleGetItem", "Var"),
        )
    },
    "tvm.relay.function.FunctionWithFields": "compiler.relay.with_fields:FunctionWithFields",
    **{
        f"tvm.relay.op.{name}": f"compiler.relay.expr:{name}"
        for name in ("Call", "Constant", "Expr", "Tuple", "TupleWrapper", "const")
    },
    "tvm.relay.pretty_print": "compiler.relay.printer:text",
    "tvm.relay.SequentialSpan": "compiler.ir.source_span:SequentialSpan",
    **{
        f"{qnn}.canonicalizations": "compiler.relay.transform.integer_lookup"
        for qnn in ("tvm.relay.qnn", "tvm.relay.qnn.op")
    },
    **{
        f"{qnn}.legalizations": "compiler.relay.transform.qnn_legalizations"
        for qnn in ("tvm.relay.qnn", "tvm.relay.qnn.op")
    },
    "tvm.relay.expr.RefCreate": "compiler.relay.reference:RefCreate",
    "tvm.relay.expr.RefRead": "compiler.relay.reference:RefRead",
    "tvm.relay.expr.RefWrite": "compiler.relay.reference:RefWrite",
    "tvm.relay.frontend": "compiler.relay.frontend",
    "tvm.relay.frontend.ChangeDatatype": "compiler.relay.frontend.change_datatype:ChangeDatatype",
    "tvm.relay.frontend.change_datatype": "compiler.relay.frontend.change_datatype",
    "tvm.relay.frontend.common": "compiler.relay.frontend.common",
    **{
        f"tvm.relay.frontend.common.{name}": f"compiler.relay.frontend.attr_cvt:{name}"
        for name in ("AttrCvt", "Renamer", "RequiredAttr")
    },
    "tvm.relay.fromtext": "compiler.relay.parser:fromtext",
    "tvm.relay.load_param_dict": "compiler.runtime.params:load_param_dict",
    "tvm.relay.op._make": "compiler.relay.op",
    "tvm.relay.op.op": "compiler.relay.op_attributes",
    "tvm.relay.op.op.call_lowered": "compiler.relay.op.call_lowered:call_lowered",
    "tvm.relay.op.op.debug": "compiler.relay.op.debugging:debug",
    **{
        f"{module}.{name}": f"compiler.relay.transform.{place}:{name}"
        for module in ("tvm.relay.op", "tvm.relay.op.op")
        for name, place in (
            ("register_fake_quantization_to_integer", "fake_quantization"),
            ("register_mixed_precision_conversion", "mixed_precision"),
            ("register_optional_fake_quantization_to_integer", "fake_quantization"),
        )
    },
    "tvm.relay.optimize": "compiler.driver.relay.build_module:optimize",
    "tvm.relay.parse": "compiler.relay.parser:parse",
    "tvm.relay.parse_expr": "compiler.relay.parser:parse_expr",
    "tvm.relay.prelude": "compiler.relay.prelude",
    "tvm.relay.qnn": "compiler.relay.op.qnn",
    "tvm.relay.quantize": "compiler.driver.relay.quantize",
    "tvm.relay.qnn.op": "compiler.relay.op.qnn",
    "tvm.relay.qnn.RequantizeConfig": "compiler.relay.op.qnn.rounding:RequantizeConfig",
    "tvm.relay.qnn.transform": "compiler.relay.transform.qnn",
    "tvm.relay.save_param_dict": "compiler.runtime.params:save_param_dict",
    "tvm.relay.scope_builder": "compiler.relay.scope_builder",
    "tvm.relay.testing": "compiler.testing.relay",
    "tvm.relay.transform": "compiler.relay.transform",
    "tvm.relay.transform.mangle_module_name": "compiler.driver.relay.backend.utils:mangle_module_name",
    "tvm.relay.transform._ffi_api": "compiler.relay.transform",
    "tvm.relay.vm": "compiler.driver.relay.vm",
    "tvm.topi.x86.dense_alter_op": "compiler.relay.op.nn.dense_alter_op",
    "tvm.support": "compiler.runtime.support",
    "tvm.tir.analysis.get_vtcm_compaction_passes": "compiler.tir.transform.vtcm_compaction:get_vtcm_compaction_passes",
    "tvm.tir.stmt_functor": "compiler.tir.stmt_functor",
    "tvm.tir.stmt_functor.renew_defs": "compiler.tir.renewal:renew_defs",
    "tvm.runtime": "compiler.runtime",
    "tvm.runtime.ObjectPath": "compiler.ir.object_path:ObjectPath",
    "tvm.runtime.name_transforms": "compiler.runtime.name_transforms",
    "tvm.runtime.ObjectPathPair": "compiler.ir.object_path:ObjectPathPair",
    "tvm.runtime.PackedFunc": "compiler.runtime.packed_func:PackedFunc",
    "tvm.runtime.ShapeTuple": "compiler.runtime.container:ShapeTuple",
    "tvm.runtime.String": "compiler.runtime.container:String",
    "tvm.runtime.container": "compiler.runtime.container",
    **{
        f"tvm.runtime.module.{name}": f"compiler.runtime.library:{name}"
        for name in ("load_module", "load_static_library", "system_lib")
    },
    "tvm.runtime.module.enabled": "compiler.runtime.device:enabled",
    "tvm.runtime.module.num_threads": "compiler.runtime.threads:num_threads",
    "tvm.runtime.load_static_library": "compiler.runtime.library:load_static_library",
    "tvm.runtime.object": "compiler.runtime.object",
    "tvm.runtime.object_generic": "compiler.runtime.object",
    "tvm.runtime.object_path": "compiler.ir.object_path",
    "tvm.runtime.packed_func": "compiler.runtime.packed_func",
    **{
        f"tvm.runtime.{name}": f"compiler.runtime.object:{name}"
        for name in ("ObjectGeneric", "ObjectTypes", "convert_to_object")
    },
    "tvm.runtime.Scriptable": "compiler.ir.scriptable:Scriptable",
    "tvm.runtime.script_printer": "compiler.ir.scriptable",
    "tvm.runtime.support": "compiler.runtime.support",
    "tvm.runtime.profiler_vm": "compiler.runtime.profiler_vm",
    "tvm.runtime.profiling": "compiler.runtime.profiling",
    "tvm.runtime.Report": "compiler.runtime.profile_report:Report",
    "tvm.runtime.convert": "compiler.runtime.packed_func:convert",
    "tvm.script": "compiler.tir.script",
    **{
        f"tvm.script.tir.{name}": f"compiler.tir.script.ir_builder.tir:{name}"
        for name in ("arg", "func_name", "func_ret")
    },
    "tvm.script.tir.target": "compiler.target.target:Target",
    "tvm.script.tir.llvm_lookup_intrinsic_id": "compiler.target.codegen:llvm_lookup_intrinsic_id",
    "tvm.script.ir.dummy_global_info": "compiler.target.global_info:DummyGlobalInfo",
    "tvm.script.ir.vdevice": "compiler.target.global_info:VDevice",
    "tvm.target": "compiler.target",
    "tvm.target.datatype": "compiler.tir.datatype",
    "tvm.target.intrin": "compiler.ir",
    "tvm.target.x86": "compiler.target.x86",
    "tvm.target.compilation_config": "compiler.target.virtual_device",
    "tvm.target.target.TargetFeatures": "compiler.target.target_features:TargetFeatures",
    **{
        f"tvm.target.target.{name}": f"compiler.target:{name}"
        for name in (
            *("adreno", "arm_cpu", "bifrost", "cuda", "hexagon", "intel_graphics", "mali", "micro", "rasp"),
            *("riscv_cpu", "rocm", "stm32", "vta"),
        )
    },
    "tvm.te": "compiler.te",
    "tvm.te.hybrid": "compiler.te.hybrid",
    **{f"tvm.te.schedule.{name}": f"compiler.tir.index_map:{name}" for name in ("AXIS_SEPARATOR", "IndexMap")},
    **{
        f"tvm.te.operation.{name}": f"compiler.te:{name}"
        for name in (
            *("create_prim_func", "extern", "extern_primfunc", "reduce_axis", "scan", "size_var", "thread_axis", "var"),
        )
    },
    **{
        f"tvm.te.tensor.{name}": f"compiler.te:{name}"
        for name in ("ComputeOp", "ExternOp", "HybridOp", "PlaceholderOp", "ScanOp", "TensorComputeOp")
    },
    "tvm.te.operation.const": "compiler.ir.primexpr:const",
    "tvm.te.tensor.BaseComputeOp": "compiler.te.tensor:BaseComputeOp",
    "tvm.te.tensor.TensorIntrinCall": "compiler.te.tensor_intrin:TensorIntrinCall",
    "tvm.meta_schedule.testing.te_workload": "compiler.testing.te_workload",
    "tvm.testing": "compiler.testing",
    "tvm.testing.utils": "compiler.testing",
    "tvm.tir": "compiler.tir",
    "tvm.tir.BlockDependenceInfo": "compiler.tir.schedule.block_dependence_info:BlockDependenceInfo",
    "tvm.tir.BlockScope": "compiler.tir.schedule:BlockScope",
    "tvm.tir.block_dependence_info": "compiler.tir.schedule.block_dependence_info",
    **{f"{module}.IndexMap": "compiler.tir.index_map:IndexMap" for module in ("tvm.tir", "tvm.tir.function")},
    "tvm.tir.buffer.decl_buffer": "compiler.tir.decl_buffer:decl_buffer",
    "tvm.tir.buffer.DataProducer": "compiler.ir.primexpr:DataProducer",
    "tvm.tir.Schedule": "compiler.tir.schedule:Schedule",
    "tvm.tir.ScheduleDebugMask": "compiler.tir.schedule:ScheduleDebugMask",
    **{
        f"{module}.ScheduleError": "compiler.tir.schedule:ScheduleError"
        for module in ("tvm.tir", "tvm.tir.schedule.schedule")
    },
    "tvm.tir.ScheduleState": "compiler.tir.schedule:ScheduleState",
    "tvm.tir.StmtSRef": "compiler.tir.schedule:StmtSRef",
    **{
        f"{module}.TensorIntrin": "compiler.tir.intrin_registry:TensorIntrin"
        for module in ("tvm.tir", "tvm.tir.function")
    },
    "tvm.tir.Trace": "compiler.tir.schedule:Trace",
    "tvm.tir.expr": "compiler.ir.primexpr",
    "tvm.tir.ir_builder": "compiler.tir.ir_builder",
    "tvm.tir.schedule": "compiler.tir.schedule",
    "tvm.tir.schedule.transform": "compiler.tir.schedule.transform",
    "tvm.tir.analysis._ffi_api": "compiler.tir.analysis._ffi_api",
    "tvm.tir.analysis.analysis": "compiler.tir.analysis",
    "tvm.tir.analysis.OOBChecker": "compiler.tir.schedule.out_of_bounds:OOBChecker",
    "tvm.script.ir_builder.ir.frame": "compiler.tir.script.ir_builder.frame",
    "tvm.script.ir_builder.ir.ir": "compiler.tir.script.ir_builder.ir",
    "tvm.script.ir_builder.tir.frame": "compiler.tir.script.ir_builder.frame",
    "tvm.script.parser._core": "compiler.tir.script.core",
    "tvm.script.parser.core": "compiler.tir.script.core",
    "tvm.script.parser.core.diagnostics": "compiler.tir.script.core.diagnostics",
    "tvm.script.parser.core.doc": "compiler.tir.script.core.doc",
    "tvm.script.parser.core.doc_core": "compiler.tir.script.core.doc",
    "tvm.script.parser.core.evaluator": "compiler.tir.script.core.evaluator",
    "tvm.script.parser.ir": "compiler.tir.script.ir",
    "tvm.script.parser.tir": "compiler.tir.script.tir",
    "tvm.tir.tensor_intrin": "compiler.tir.intrinsics",
    "tvm.tir.transform": "compiler.tir.transform",
    "tvm.topi": "compiler.topi",
    "tvm.topi.cuda.conv3d_winograd": "compiler.topi.winograd_tiles",
    "tvm.topi.cuda.tensor_intrin": "compiler.topi.schedules.gpu.tensor_intrin",
    "tvm.topi.cpp": "compiler.topi",
    "tvm.topi.cpp.generic": "compiler.topi.generic",
    "tvm.topi.cpp.nn": "compiler.topi.nn",
    "tvm.topi.cpp.utils": "compiler.topi.utils",
    "tvm.topi.cpp.vision": "compiler.topi.vision",
    "tvm.topi.cpp.x86": "compiler.topi.x86",
    "tvm.topi.gpu": "compiler.topi.cuda",
    "tvm.topi.sparse.utils": "compiler.testing.topi.sparse_matrices",
    "tvm.topi.signal": "compiler.topi.fourier",
    "tvm.topi.testing": "compiler.testing.topi",
    "tvm.transform": "compiler.ir.transform",
    "tvm.DataTypeCode": "compiler.runtime.data_type:DataTypeCode",
    "tvm.DataType": "compiler.runtime.data_type:DataType",
    "tvm.Object": "compiler.ir.node:Node",
    "tvm.runtime.DataType": "compiler.runtime.data_type:DataType",
    "tvm.runtime.DataTypeCode": "compiler.runtime.data_type:DataTypeCode",
    "tvm.runtime.Object": "compiler.ir.node:Node",
    "tvm.runtime.const": "compiler.ir.primexpr:const",
    "tvm.runtime.save_param_dict_to_file": "compiler.runtime.params:save_param_dict_to_file",
    "tvm.runtime.load_param_dict_from_file": "compiler.runtime.params:load_param_dict_from_file",
    "tvm.ir.BaseExpr": "compiler.ir.expr:BaseExpr",
    "tvm.ir.RelayExpr": "compiler.ir.expr:RelayExpr",
    **{
        f"{package}.{name}": f"compiler.runtime.device:{name}"
        for package in ("tvm", "tvm.nd", "tvm.runtime")
        for name in (
            *("Device", "cl", "cpu", "cuda", "device", "ext_dev", "hexagon", "metal", "mtl", "opencl", "rocm", "vpi"),
            *("vulkan", "webgpu"),
        )
    },
    **{
        f"{package}.{name}": f"compiler.target.memory_pools:{name}"
        for package in ("tvm", "tvm.ir")
        for name in (
            *("ConstantMemoryPools", "ConstantPoolInfo", "PoolInfo", "PoolInfoProperties"),
            *("WorkspaceMemoryPools", "WorkspacePoolInfo"),
        )
    },
    **{
        f"tvm.ir.{name}": f"compiler.target.global_info:{name}" for name in ("DummyGlobalInfo", "GlobalInfo", "VDevice")
    },
    "tvm.ir.global_info": "compiler.target.global_info",
    "tvm.ir.memory_pools": "compiler.target.memory_pools",
    "tvm.ir.adt": "compiler.ir",
    "tvm.ir.affine_type": "compiler.ir",
    "tvm.ir.tensor_type": "compiler.ir",
    "tvm.ir.type": "compiler.ir",
    "tvm.ir.type_relation": "compiler.ir",
    "tvm.ir.expr.GlobalVar": "compiler.ir.function:GlobalVar",
    "tvm.ir.expr.PrimExpr": "compiler.ir.primexpr:PrimExpr",
    "tvm.ir.expr.Range": "compiler.ir.primexpr:Range",
    "tvm.tir.transform.transform": "compiler.tir.transform",
    "tvm.tir.transform.function_pass": "compiler.tir.transform",
    "tvm.tir.block_scope": "compiler.tir.schedule",
    "tvm.tir.expr.BufferLoad": "compiler.tir.buffer:BufferLoad",
    **{
        f"tvm.tir.expr.{name}": f"compiler.{place}"
        for name, place in (
            ("Any", "ir.primexpr:AnyDim"),
            ("BinaryOpExpr", "ir.operations:BinaryOp"),
            ("CallEffectKind", "ir.op:CallEffectKind"),
            ("CmpExpr", "ir.operations:CmpOp"),
            ("ConstExpr", "tir.expr_classes:ConstExpr"),
            ("DataType", "runtime.data_type:DataType"),
            ("DataTypeCode", "runtime.data_type:DataTypeCode"),
            ("EqualOp", "ir.operations:EQ"),
            ("ExprOp", "ir.operators:ExprOperators"),
            ("LogicalExpr", "tir.expr_classes:LogicalExpr"),
            ("NotEqualOp", "ir.operations:NE"),
            ("PrimExprWithOp", "ir.scalars:PrimExpr"),
        )
    },
    "tvm.generic": "compiler.tir.generic",
    "tvm.relay.loops": "compiler.relay.loops",
    "tvm.topi.random.threefry_test_wrapping": "compiler.testing.topi.wrapping:threefry_test_wrapping",
    "tvm.target.codegen.build_module": "compiler.driver.build:build",
    "tvm.tir.stmt.stmt_list": "compiler.tir:stmt_list",
    "tvm.tir.stmt.stmt_seq": "compiler.tir:stmt_seq",
    **{
        f"tvm.tir.stmt.{name}": f"compiler.tir.producer_stmt:{name}"
        for name in ("BufferRealize", "Prefetch", "ProducerRealize", "ProducerStore")
    },
    "tvm.tir.stmt.Block": "compiler.tir.block:Block",
    "tvm.tir.stmt.BlockRealize": "compiler.tir.block:BlockRealize",
    "tvm.tir.stmt.MatchBufferRegion": "compiler.tir.block:MatchBufferRegion",
    "tvm.tir.stmt.BufferRegion": "compiler.tir.buffer:BufferRegion",
    "tvm.relay.analysis.analysis": "compiler.relay.analysis",
    "tvm.relay.backend.executor_factory": "compiler.driver.relay.backend.executor_factory",
    "tvm.runtime.executor": "compiler.runtime.executor",
    "tvm.runtime.executor.aot_executor": "compiler.runtime.aot_executor",
    "tvm.relay.backend.executor": "compiler.driver.relay.backend",
    "tvm.relay.backend.runtime": "compiler.driver.relay.backend",
    "tvm.relay.function": "compiler.relay.function",
    "tvm.relay.param_dict": "compiler.runtime.params",
    "tvm.relay.op.algorithm": "compiler.relay.op",
    "tvm.relay.op.reduce": "compiler.relay.op",
    "tvm.relay.op.tensor": "compiler.relay.op",
    "tvm.relay.op.transform": "compiler.relay.op",
    "tvm.relay.transform.transform": "compiler.relay.transform",
    "tvm.arith.bound": "compiler.arith",
    **{
        f"tvm.arith.int_set.estimate_region_{bound}": f"compiler.arith:estimate_region_{bound}"
        for bound in ("lower_bound", "strict_bound", "upper_bound")
    },
    "tvm.arith.int_solver": "compiler.arith",
    "tvm.arith.iter_affine_map": "compiler.arith",
    "tvm.topi.vision.rcnn": "compiler.topi.vision",
    "tvm.topi.vision.ssd": "compiler.topi.vision",
    "tvm.topi.nn.utils": "compiler.topi.nn.padding",
    "tvm.topi.nn.Workload": "compiler.topi.nn.workload:Workload",
    "tvm.topi.nn._get_workload": "compiler.topi.nn.workload:get_workload",
    "tvm.utils.roofline": "compiler.driver.roofline",
}
"""Definitions of public names: a module, or ``module:attribute``."""

COMPLETED_BY = {
    "tvm.te.schedule": ("compiler.te.schedule_steps",),
    "tvm.topi": ("compiler.relay.op",),
    "tvm.topi.image": ("compiler.relay.op",),
    "tvm.topi.nn": ("compiler.relay.op",),
    "tvm.topi.vision": ("compiler.relay.op",),
    "autotvm templates": ("compiler.driver.relay.operator_templates",),
    "functions": (
        "compiler.runtime.packed_func",
        "compiler.runtime.thread_pool",
        "compiler.contrib.cblas",
        "compiler.contrib.random",
        "compiler.driver.relay.ccompiler",
        "compiler.driver.relay.lower_te",
        "compiler.driver.relay.vm_kernels",
        "compiler.testing.callbacks",
    ),
    "nodes": (
        "compiler.relay.tvm_nodes",
        "compiler.runtime.ndarray",
        "compiler.tir",
        "compiler.target",
        "compiler.te",
        "compiler.relay",
        "compiler.testing.objects",
    ),
    "operators": ("compiler.relay.op",),
    "tensor functions": ("compiler.topi.operators",),
    "text formats": ("compiler.tir", "compiler.relay"),
    "passes": (
        "compiler.tir.transform",
        "compiler.relay.transform",
        "compiler.relay.frontend.change_datatype",
        "compiler.relay.frontend.span_filling",
        "compiler.driver.pipeline",
    ),
}
"""Modules whose import extends a public module or a registry; they are loaded when a name is not found otherwise."""
