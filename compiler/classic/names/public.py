"""Where TVM's names are defined here that no package of the core offers by itself."""

from __future__ import annotations

from compiler.classic.names.older import OLDER_MODULES

FUNCTIONS = {
    "implementations of operators": {
        "configuration_of": "compiler.classic.autotvm.operator_templates:configuration_of",
        "implementation_of": "compiler.classic.relay.op_strategy.selection:implementation_of",
        "is_tuned": "compiler.classic.autotvm.operator_templates:is_tuned",
    },
    "relay operator attributes": {"FTVMStrategy": "compiler.classic.relay.op_strategy.selection:own_strategy"},
    "standard modules": {
        "core.rly": "compiler.relay.standard_modules:define_storage",
        "gradient.rly": "compiler.relay.standard_modules:define_gradients",
        "nat.rly": "compiler.classic.testing.relay.nat:define_nat",
        "prelude.rly": "compiler.classic.relay.prelude:Prelude",
    },
}
"""By extension point of the core, the functions that it calls by a name; of standard modules they add the definitions
of a file to a module, for ``IRModule.import_from_std``.
"""

COMMANDS = ("query_rpc_tracker", "rpc_proxy", "rpc_server", "rpc_tracker")
_OWN = """
    auto_scheduler autotvm autotvm.callback autotvm.env autotvm.graph_tuner autotvm.tophub autotvm.tuner autotvm.utils
    contrib contrib.debugger exec ir.analysis meta_schedule relay.analysis.annotated_regions relay.analysis.call_graph
    relay.analysis.feature relay.backend relay.backend.executor_factory relay.base
    relay.build_module relay.contrib relay.data_dep_optimization relay.dataflow_pattern relay.loops relay.prelude
    relay.quantize relay.scope_builder relay.transform.flexible_shape relay.transform.infer_layout_utils rpc
    runtime.executor runtime.name_transforms runtime.object runtime.profiler_vm runtime.profiling runtime.support
    target.tag target.x86 te.autodiff te.hybrid testing tir.block_dependence_info tir.generic topi.cuda
    topi.nn.pooling topi.x86
"""
"""Modules that are here by the same path."""
_SEVERAL = {
    "compiler.arith": "arith.bound arith.int_solver arith.iter_affine_map",
    "compiler.classic.autotvm.model_based_tuner": "autotvm.tuner.model_based_tuner autotvm.tuner.xgboost_tuner",
    "compiler.classic.autotvm.tuner": "autotvm.tuner.ga_tuner autotvm.tuner.index_based_tuner autotvm.tuner.tuner",
    "compiler.classic.frontend.tensorflow": "relay.frontend.tensorflow relay.frontend.tensorflow2",
    "compiler.classic.relay.backend": "relay.backend.executor relay.backend.runtime",
    "compiler.classic.rpc": "contrib.rpc rpc.client",
    "compiler.classic.tir.script_builder.frame": "script.ir_builder.ir.frame script.ir_builder.tir.frame",
    "compiler.classic.topi.cuda": "topi.cpp.cuda topi.gpu",
    "compiler.driver.relay.vm": "relay.backend.vm relay.vm",
    "compiler.ir": "ir.adt ir.affine_type ir.tensor_type ir.type ir.type_relation target.intrin",
    "compiler.relay.op": "relay.op._make relay.op.algorithm relay.op.reduce relay.op.tensor relay.op.transform",
    "compiler.relay.op.qnn": "relay.qnn relay.qnn.op",
    "compiler.relay.transform": "relay.transform._ffi_api relay.transform.transform",
    "compiler.relay.transform.quantize.integer_lookup": "relay.qnn.canonicalizations relay.qnn.op.canonicalizations",
    "compiler.relay.transform.quantize.qnn_legalizations": "relay.qnn.legalizations relay.qnn.op.legalizations",
    "compiler.runtime.arrays.params": "relay.param_dict runtime.params",
    "compiler.tir.script.core": "script.parser._core script.parser.core",
    "compiler.tir.script.core.doc": "script.parser.core.doc script.parser.core.doc_core",
    "compiler.tir.transform": "tir.transform.function_pass tir.transform.transform",
    "compiler.topi.vision": "topi.cpp.vision topi.vision.rcnn topi.vision.ssd",
}
"""Modules that have several names."""
MODULES = {
    **OLDER_MODULES,
    **{f"tvm.{name}": "compiler.classic." + name for name in _OWN.split()},
    **{f"tvm.{name}": module for module, names in _SEVERAL.items() for name in names.split()},
    "tvm._ffi": "compiler.classic.runtime.ffi",
    "tvm._ffi.base": "compiler.classic.runtime.ffi_base",
    "tvm._ffi.registry": "compiler.runtime.modules.packed_func",
    "tvm._ffi.runtime_ctypes": "compiler.runtime.arrays.c_types",
    "tvm.arith._ffi_api": "compiler.classic.arith.ffi_api",
    "tvm.auto_scheduler.compute_dag": "compiler.classic.auto_scheduler",
    "tvm.auto_scheduler.dispatcher": "compiler.classic.auto_scheduler.relay_integration",
    "tvm.auto_scheduler.measure_record": "compiler.classic.auto_scheduler.record",
    "tvm.auto_scheduler.workload_registry": "compiler.classic.auto_scheduler.workload",
    "tvm.autotvm.measure.measure_methods": "compiler.classic.autotvm.measure_methods",
    "tvm.autotvm.record": "compiler.classic.autotvm.task.record",
    "tvm.autotvm.task.relay_integration": "compiler.classic.autotvm.extraction",
    "tvm.autotvm.tuner.callback": "compiler.classic.autotvm.callback",
    "tvm.autotvm.tuner.droplet_tuner": "compiler.classic.autotvm.droplet_tuner",
    "tvm.contrib.debugger.debug_executor": "compiler.classic.runtime.debug_executor",
    "tvm.contrib.debugger.debug_result": "compiler.classic.runtime.debug_result",
    "tvm.contrib.graph_executor": "compiler.runtime.graph.graph_module",
    "tvm.contrib.pipeline_executor_build": "compiler.classic.contrib.pipeline_executor",
    "tvm.contrib.sparse": "compiler.topi.sparse_tensors",
    "tvm.driver.build_module": "compiler.classic.build_module",
    "tvm.driver.tvmc": "compiler.classic.tvmc",
    **{f"tvm.exec.{name}": "compiler.classic.exec" for name in COMMANDS},
    "tvm.generic": "compiler.classic.tir.generic",
    "tvm.ir._ffi_api": "compiler.ir.base",
    "tvm.ir.container": "compiler.runtime.container",
    "tvm.ir.global_info": "compiler.classic.target.global_info",
    "tvm.ir.memory_pools": "compiler.classic.target.memory_pools",
    "tvm.meta_schedule.arg_info": "compiler.classic.meta_schedule.runner",
    "tvm.meta_schedule.extracted_task": "compiler.classic.meta_schedule.tune",
    "tvm.meta_schedule.utils": "compiler.classic.meta_schedule",
    "tvm.meta_schedule.testing.te_workload": "compiler.classic.testing.te_workload",
    "tvm.relay.analysis.analysis": "compiler.relay.analysis",
    "tvm.relay.analysis.sparse_conv2d": "compiler.classic.relay.data_dep_optimization.sparse_conv2d",
    "tvm.relay.analysis.sparse_dense": "compiler.classic.relay.data_dep_optimization.sparse_dense",
    "tvm.relay.backend._backend": "compiler.classic.relay.backend.memory_plan",
    "tvm.relay.frontend.change_datatype": "compiler.classic.frontend.change_datatype",
    "tvm.relay.frontend.common": "compiler.classic.frontend.common",
    "tvm.relay.frontend.keras": "compiler.classic.frontend.keras",
    "tvm.relay.frontend.tflite": "compiler.classic.frontend.tflite",
    "tvm.relay.op.contrib": "compiler.classic.relay.contrib",
    "tvm.relay.op.op": "compiler.classic.relay.op_attributes",
    "tvm.relay.op.strategy": "compiler.classic.relay.op_strategy",
    "tvm.relay.qnn.transform": "compiler.relay.transform.quantize.qnn",
    "tvm.relay.testing": "compiler.classic.testing.relay",
    "tvm.relay.transform.fake_quantization_to_integer": (
        "compiler.classic.relay.transform.quantization.fake_quantization_to_integer"
    ),
    "tvm.relay.transform.mixed_precision": "compiler.classic.relay.transform.quantization.mixed_precision",
    "tvm.rpc.proxy": "compiler.classic.rpc.tracker",
    "tvm.runtime.executor.aot_executor": "compiler.runtime.graph.aot_executor",
    "tvm.runtime.module": "compiler.runtime.modules.module",
    "tvm.runtime.ndarray": "compiler.runtime.arrays.ndarray",
    "tvm.runtime.object_generic": "compiler.classic.runtime.object",
    "tvm.runtime.object_path": "compiler.ir.object_path",
    "tvm.runtime.script_printer": "compiler.ir.scriptable",
    "tvm.script.ir_builder": "compiler.classic.tir.script_builder",
    "tvm.script.ir_builder.ir.ir": "compiler.classic.tir.script_builder.ir",
    "tvm.script.parser.core.diagnostics": "compiler.tir.script.core.diagnostics",
    "tvm.script.parser.core.evaluator": "compiler.tir.script.core.evaluator",
    "tvm.script.parser.ir": "compiler.tir.script.ir",
    "tvm.script.parser.tir": "compiler.tir.script.tir",
    "tvm.script.tirx": "compiler.tir.script.tirx",
    "tvm.script.printer": "compiler.classic.tir.script_printer",
    "tvm.support": "compiler.classic.runtime.support",
    "tvm.target.compilation_config": "compiler.target.virtual_device",
    "tvm.target.datatype": "compiler.tir.expressions.datatype",
    "tvm.te.operation": "compiler.te.definition.operation",
    "tvm.te.schedule": "compiler.te.scheduling.schedule",
    "tvm.te.tag": "compiler.te.definition.tag",
    "tvm.te.tensor": "compiler.te.definition.tensor",
    "tvm.te.tensor_intrin": "compiler.te.definition.tensor_intrin",
    "tvm.testing.utils": "compiler.classic.testing",
    "tvm.tir.analysis._ffi_api": "compiler.classic.tir.analysis_ffi_api",
    "tvm.tir.analysis.analysis": "compiler.tir.analysis",
    "tvm.tir.block_scope": "compiler.tir.schedule",
    "tvm.tir.buffer": "compiler.tir.statements.buffer",
    "tvm.tir.data_layout": "compiler.tir.layout.data_layout",
    "tvm.tir.expr": "compiler.ir.expr.primexpr",
    "tvm.tir.function": "compiler.tir.statements.function",
    "tvm.tir.op": "compiler.tir.expressions.op",
    "tvm.tir.schedule._type_checker": "compiler.classic.tir.schedule_type_checker",
    "tvm.tir.schedule.testing": "compiler.classic.tir.schedule_testing",
    "tvm.tir.stmt": "compiler.tir.statements.stmt",
    "tvm.tir.tensor_intrin": "compiler.classic.tir.intrinsics",
    "tvm.topi.cpp": "compiler.topi",
    "tvm.topi.cpp.generic": "compiler.topi.generic",
    "tvm.topi.cpp.nn": "compiler.topi.nn",
    "tvm.topi.cpp.utils": "compiler.topi.utils",
    "tvm.topi.cpp.x86": "compiler.classic.topi.x86",
    "tvm.topi.cuda.conv3d_winograd": "compiler.classic.topi.winograd_tiles",
    "tvm.topi.cuda.tensor_intrin": "compiler.classic.topi.gpu_tensor_intrin",
    "tvm.topi.nn.utils": "compiler.topi.nn.padding",
    "tvm.topi.scatter": "compiler.topi.arrays.scatter",
    "tvm.topi.signal": "compiler.topi.fourier",
    "tvm.topi.sparse.utils": "compiler.classic.testing.topi.sparse_matrices",
    "tvm.topi.testing": "compiler.classic.testing.topi",
    "tvm.topi.x86.tensor_intrin": "compiler.classic.topi.x86_tensor_intrin",
    "tvm.topi.x86.dense_alter_op": "compiler.relay.op.nn.dense_alter_op",
    "tvm.utils.roofline": "compiler.classic.roofline",
}
"""Modules, by their names in TVM."""

DEFINITIONS = {
    "compiler.classic.runtime.object": {"tvm.runtime": "ObjectGeneric ObjectTypes convert_to_object"},
    "compiler.classic.runtime.report": {"tvm.runtime": "Report"},
    "compiler.classic.target.memory_pools": {
        "tvm tvm.ir": (
            "ConstantMemoryPools ConstantPoolInfo PoolInfo PoolInfoProperties WorkspaceMemoryPools WorkspacePoolInfo"
        )
    },
    "compiler.classic.frontend.keras": {"tvm.relay.frontend": "from_keras"},
    "compiler.classic.frontend.tensorflow": {"tvm.relay.frontend": "from_tensorflow"},
    "compiler.classic.frontend.tflite": {"tvm.relay.frontend": "from_tflite"},
    "compiler.classic.tir.script_builder.ir": {"tvm.script.ir": "lookup_vdevice module_get_attr module_set_attr"},
    "compiler.arith": {
        "tvm.arith.int_set": ("estimate_region_lower_bound estimate_region_strict_bound estimate_region_upper_bound")
    },
    "compiler.classic.arith.solve_linear_equations": {"tvm.arith": "solve_linear_equations"},
    "compiler.classic.arith.solve_linear_inequalities": {"tvm.arith": "solve_linear_inequalities"},
    "compiler.classic.autotvm.env": {"tvm.autotvm": "GLOBAL_SCOPE"},
    "compiler.classic.autotvm.task.history": {"tvm.autotvm.record": "ApplyHistoryBest"},
    "compiler.classic.autotvm.extraction": {"tvm.autotvm.task": "extract_from_multiple_program extract_from_program"},
    "compiler.classic.autotvm.measure_methods": {
        "tvm.autotvm": "LocalBuilder LocalRunner RPCRunner measure_option",
        "tvm.autotvm.measure": "LocalBuilder LocalRunner RPCRunner create_measure_batch measure_option",
    },
    "compiler.classic.autotvm.droplet_tuner": {"tvm.autotvm.tuner": "DropletTuner"},
    "compiler.classic.autotvm.model_based_tuner": {"tvm.autotvm.tuner": "XGBTuner"},
    "compiler.classic.frontend.change_datatype": {"tvm.relay.frontend": "ChangeDatatype"},
    "compiler.classic.older_build_config": {"tvm": "build_config", "tvm.relay": "build_config=relay_build_config"},
    "compiler.classic.relay.analysis.annotated_regions": {"tvm.relay.analysis": "AnnotatedRegionSet"},
    "compiler.classic.relay.analysis.call_graph": {"tvm.relay.analysis": "CallGraph"},
    "compiler.classic.relay.analysis.extraction": {
        "tvm.relay.analysis": "all_dtypes check_constant extract_intermdeiate_expr"
    },
    "compiler.classic.relay.analysis.feature": {"tvm.relay.analysis": "Feature detect_feature"},
    "compiler.classic.relay.analysis.layers": {"tvm.relay.analysis": "LayerCounter count_layers search_fc_transpose"},
    "compiler.classic.relay.analysis.mac_count": {"tvm.relay.analysis": "get_total_mac_number"},
    "compiler.classic.relay.transform.cps": {"tvm.relay.transform": "ToCPS=to_cps to_cps un_cps"},
    "compiler.classic.relay.transform.defunctionalize": {"tvm.relay.transform": "Defunctionalization"},
    "compiler.classic.relay.transform.recast": {"tvm.relay.transform": "RecastMutator recast"},
    "compiler.classic.target.devices": {
        "tvm.target tvm.target.target": (
            "adreno arm_cpu bifrost cuda hexagon intel_graphics mali micro rasp riscv_cpu rocm stm32 vta"
        ),
        "tvm.target": "opengl",
    },
    "compiler.classic.target.generic_func": {
        "tvm.target": "GenericFunc generic_func get_native_generic_func override_native_generic_func",
        "tvm.relay.op.strategy": "generic_func override_native_generic_func",
    },
    "compiler.classic.target.tag": {"tvm.target": "list_tags register_tag"},
    "compiler.classic.te.autodiff.gradient": {"tvm.te": "gradient"},
    "compiler.classic.tir.analysis.anchor_block": {"tvm.tir.analysis": "find_anchor_block"},
    "compiler.classic.tir.analysis.buffer_access_lca": {"tvm.tir.analysis": "detect_buffer_access_lca"},
    "compiler.classic.tir.analysis.flops": {"tvm.tir.analysis": "estimate_tir_flops"},
    "compiler.classic.tir.analysis.memory_constraints": {
        "tvm.tir.analysis": (
            "apply_prim_func_arg_and_result_memory_constraints get_prim_func_arg_and_result_memory_constraints"
        )
    },
    "compiler.classic.tir.analysis.purity": {"tvm.tir.analysis": "assert_pure_function is_pure_function"},
    "compiler.classic.relay.backend.utils": {"tvm.relay.transform": "mangle_module_name"},
    "compiler.classic.relay.build_module": {"tvm.relay": "optimize"},
    "compiler.classic.relay.calibration_data": {"tvm.relay.analysis": "get_calibration_data"},
    "compiler.classic.relay.prelude": {"tvm.relay": "Prelude"},
    "compiler.classic.relay.scope_builder": {"tvm.relay": "ScopeBuilder"},
    "compiler.classic.relay.transform.quantization.fake_quantization": {
        "tvm.ir": "AffineType TensorAffineType TupleAffineType",
        "tvm.relay.op tvm.relay.op.op": (
            "register_fake_quantization_to_integer register_optional_fake_quantization_to_integer"
        ),
    },
    "compiler.classic.relay.transform.fused_functions": {"tvm.relay.analysis": "extract_fused_functions"},
    "compiler.classic.relay.transform.quantization.mixed_precision": {
        "tvm.relay.op tvm.relay.op.op": "register_mixed_precision_conversion"
    },
    "compiler.classic.relay.with_fields": {
        "tvm.relay.expr": (
            "CallWithFields ConstantWithFields IfWithFields LetWithFields RefCreateWithFields "
            "RefReadWithFields RefWriteWithFields TupleGetItemWithFields TupleWithFields "
            "VarWithFields"
        ),
        "tvm.relay.function": "FunctionWithFields",
    },
    "compiler.classic.testing.topi.wrapping": {"tvm.topi.random": "threefry_test_wrapping"},
    "compiler.classic.tir.block_dependence_info": {"tvm.tir": "BlockDependenceInfo"},
    "compiler.classic.tir.common_subexpr": {"tvm.arith": "detect_common_subexpr"},
    "compiler.classic.tir.domain_touched": {
        "tvm.arith._ffi_api": ("DomainTouched=domain_touched DomainTouchedAccessMap=domain_touched_access_map")
    },
    "compiler.classic.tir.script_builder.tir": {"tvm.script.tir": "arg func_name func_ret"},
    "compiler.classic.topi.nn.binary": {
        "tvm.topi.nn": (
            "binarize_pack binary_dense bitpack bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense"
        )
    },
    "compiler.classic.topi.nn.convolutions": {
        "tvm.topi.nn": (
            "conv conv1d conv1d_ncw conv1d_nwc conv2d conv2d_hwcn conv2d_nchw conv2d_nhwc conv3d_ncdhw conv3d_ndhwc "
            "group_conv1d_ncw group_conv1d_nwc group_conv2d_nchw group_conv2d_nhwc"
        )
    },
    "compiler.classic.topi.nn.depthwise": {
        "tvm.topi.nn": (
            "depthwise_conv2d_NCHWc depthwise_conv2d_backward_input_nhwc depthwise_conv2d_backward_weight_nhwc "
            "depthwise_conv2d_nchw depthwise_conv2d_nhwc"
        )
    },
    "compiler.classic.topi.nn.image_convolutions": {
        "tvm.topi.nn": (
            "conv2d_NCHWc conv2d_NCHWc_int8 conv2d_winograd_nchw conv2d_winograd_nchw_without_weight_transform "
            "conv2d_winograd_nhwc conv2d_winograd_nhwc_without_weight_transform correlation_nchw "
            "deformable_conv2d_nchw deformable_conv2d_nhwc unpack_NCHWc_to_nchw"
        )
    },
    "compiler.classic.topi.nn.lstm": {"tvm.topi.nn": "lstm"},
    "compiler.classic.topi.nn.normalization": {
        "tvm.topi.nn": (
            "group_norm instance_norm layer_norm rms_norm scale_shift_nchw scale_shift_nchwc scale_shift_nhwc"
        )
    },
    "compiler.classic.topi.nn.pooling": {
        "tvm.topi.nn": "adaptive_pool adaptive_pool1d adaptive_pool3d global_pool pool1d pool2d pool3d pool_grad"
    },
    "compiler.classic.topi.nn.transposed_convolutions": {
        "tvm.topi.nn": (
            "conv1d_transpose_ncw conv2d_transpose_nchw conv3d_transpose_ncdhw group_conv1d_transpose_ncw "
            "group_conv2d_transpose_nchw group_conv3d_transpose_ncdhw"
        )
    },
    "compiler.classic.topi.nn.workload": {"tvm.topi.nn": "Workload _get_workload=get_workload get_workload"},
    "compiler.driver.build": {"tvm.target.codegen": "build_module=build"},
    "compiler.driver.relay.executor": {"tvm.relay.backend.vm": "VMExecutor"},
    "compiler.ir.attrs.dict_attrs": {"tvm.ir.attrs": "DictAttrs"},
    "compiler.ir.function": {"tvm.ir.expr": "GlobalVar"},
    "compiler.ir.op": {"tvm.tir.expr": "CallEffectKind"},
    "compiler.ir.expr.operations": {"tvm.tir.expr": "BinaryOpExpr=BinaryOp CmpExpr=CmpOp EqualOp=EQ NotEqualOp=NE"},
    "compiler.ir.expr.operators": {"tvm.tir.expr": "ExprOp=ExprOperators"},
    "compiler.ir.expr.primexpr": {
        "tvm.te.operation": "const",
        "tvm.tir.buffer": "DataProducer",
        "tvm.ir.expr": "PrimExpr Range",
        "tvm.tir.expr": "Any=AnyDim",
    },
    "compiler.ir.expr.scalars": {"tvm.tir.expr": "PrimExprWithOp=PrimExpr"},
    "compiler.ir.serialization.type_keys": {"tvm.ir.attrs": "make_node"},
    "compiler.relay.binding": {"tvm.relay.expr": "bind"},
    "compiler.relay.expr": {"tvm.relay.op": "Call Constant Expr Tuple TupleWrapper const"},
    "compiler.relay.function": {"tvm.relay.expr": "Function"},
    "compiler.relay.op.call_lowered": {"tvm.relay.op.op": "call_lowered"},
    "compiler.relay.op.debugging": {"tvm.relay.op.op": "debug"},
    "compiler.relay.op.qnn.rounding": {"tvm.relay.qnn": "RequantizeConfig"},
    "compiler.relay.reference": {"tvm.relay.expr": "RefCreate RefRead RefWrite"},
    "compiler.runtime.arrays.data_type": {"tvm.tir.expr": "DataType DataTypeCode"},
    "compiler.runtime.device": {"tvm.runtime.module": "enabled"},
    "compiler.classic.runtime.ffi": {"tvm tvm._ffi.registry": "register_extension register_object"},
    "compiler.runtime.modules.library": {"tvm.runtime.module": "load_module load_static_library system_lib"},
    "compiler.runtime.parallel.threads": {"tvm.runtime.module": "num_threads"},
    "compiler.target.codegen": {"tvm.script.tir": "llvm_lookup_intrinsic_id"},
    "compiler.classic.target.global_info": {
        "tvm.ir": "DummyGlobalInfo GlobalInfo VDevice",
        "tvm.script.ir": "dummy_global_info=DummyGlobalInfo vdevice=VDevice",
    },
    "compiler.target.target": {"tvm.script.tir": "target=Target"},
    "compiler.target.target_features": {"tvm.target.target": "TargetFeatures"},
    "compiler.te": {
        "tvm.te.operation": ("create_prim_func extern extern_primfunc reduce_axis scan size_var thread_axis var"),
        "tvm.te.tensor": "ComputeOp ExternOp HybridOp PlaceholderOp ScanOp TensorComputeOp",
    },
    "compiler.te.definition.tensor": {"tvm.te.tensor": "BaseComputeOp"},
    "compiler.te.definition.tensor_intrin": {"tvm.te.tensor": "TensorIntrinCall"},
    "compiler.tir": {"tvm.tir.stmt": "stmt_list stmt_seq"},
    "compiler.tir.statements.block": {"tvm.tir.stmt": "Block BlockRealize MatchBufferRegion"},
    "compiler.tir.statements.buffer": {"tvm.tir.expr": "BufferLoad", "tvm.tir.stmt": "BufferRegion"},
    "compiler.tir.statements.decl_buffer": {"tvm.tir.buffer": "decl_buffer"},
    "compiler.classic.tir.expr_classes": {"tvm.tir.expr": "ConstExpr LogicalExpr"},
    "compiler.tir.layout.index_map": {"tvm.te.schedule": "AXIS_SEPARATOR IndexMap", "tvm.tir.function": "IndexMap"},
    "compiler.tir.expressions.intrin_registry": {"tvm.tir.function": "TensorIntrin"},
    "compiler.tir.statements.producer_stmt": {"tvm.tir.stmt": "BufferRealize Prefetch ProducerRealize ProducerStore"},
    "compiler.tir.statements.renewal": {"tvm.tir.stmt_functor": "renew_defs"},
    "compiler.tir.schedule": {"tvm.tir.schedule.schedule": "ScheduleError"},
    "compiler.classic.tir.out_of_bounds": {"tvm.tir.analysis": "OOBChecker"},
    "compiler.topi.utils": {"tvm.autotvm.utils": "get_const_int get_const_tuple"},
}
"""By the module that defines them, the names of other modules of TVM; ``Object=Node`` is called ``Node`` there."""

COMPLETED_BY = {
    "autotvm templates": ("compiler.classic.autotvm.operator_templates",),
    "tvm.te.schedule": ("compiler.classic.te.schedule_steps",),
    "functions": (
        "compiler.classic.contrib.cblas", "compiler.classic.contrib.random", "compiler.classic.relay.ccompiler",
        "compiler.classic.relay.lower_te", "compiler.classic.testing.callbacks",
    ),
    "nodes": (
        "compiler.classic.relay.tvm_nodes", "compiler.classic.target.global_info",
        "compiler.classic.target.memory_pools", "compiler.classic.testing.objects",
    ),
    "passes": (
        "compiler.classic.frontend.change_datatype", "compiler.classic.relay.transform",
        "compiler.classic.tir.transform",
    ),
    "tvm.relay.op": ("compiler.classic.relay.op_attributes",),
    "tvm.relay.transform": ("compiler.classic.relay.transform",),
    "tvm.tir.transform": ("compiler.classic.tir.transform",),
}  # fmt: skip
"""Modules whose import extends a public module or a registry; they are loaded when a name is not found otherwise."""
