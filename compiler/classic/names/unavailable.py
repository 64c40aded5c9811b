"""Parts of TVM that this package does not provide, each with its reason and what to use instead.

A program may import any of them, so that one which only mentions them still runs; calling one raises
:class:`~compiler.ir.error.UnavailableError` with its reason.
"""

from __future__ import annotations

import sys
from types import ModuleType


def _each(package: str, names: str, reason: str) -> dict[str, str]:
    return {f"{package}.{name}": reason for name in names.split()}


_NO_COMMAND = "this command is not provided; tvm.exec has rpc_tracker, rpc_server, rpc_proxy and query_rpc_tracker"
_NO_MINRPC = "there is no server without Python; tvm.exec.rpc_server is one with it, and speaks this package's protocol"
_NO_CLUSTER = "there is no distributed runtime; models run in this process"
_NO_BOARD = (
    "microcontrollers, FPGAs, phones and other accelerator boards are not supported; build for llvm, c or a GPU target"
)
_NO_GPU_LIBRARY = "vendor GPU libraries are not called; GPU kernels are generated from the schedules of tvm.topi"
_NO_GPU_TOOL = "kernels are not compiled or run through this GPU toolchain; tvm.build returns their source or assembly"
_NO_GPU_SCHEDULES = "there are no schedules for this family of GPUs; the GPU schedules of tvm.topi serve all of them"
_NO_CPU_LIBRARY = "external CPU libraries are not called; operators are compiled from their definitions in tvm.topi"
_NO_NVCC = (
    "NVRTC and ptxas compile CUDA kernels instead of nvcc (pip install 'strata-explorer[cuda]'); get the PTX of a"
    " function that tvm.build returned with imported_modules[0].get_source('ptx')"
)
_NO_OFFLOADING = (
    "there is no code generator for this backend; register your own partitioning patterns with"
    " relay.op.contrib.register_pattern_table and its code generator as relay.ext.NAME"
)
_NO_SKETCH_POLICY = (
    "searched schedules are sketches with parameters rather than lists of transform steps; use"
    " auto_scheduler.SearchTask and ApplyHistoryBest"
)
_NO_COLLAGE = (
    "partitions are not searched for by cost; relay.transform.AnnotateTarget and MergeCompilerRegions choose"
    " the backend of each operator"
)
_NO_RELAX = "Relax is not part of this compiler; write graphs in tvm.relay"
_NO_RULES = "programs are not scheduled by rules; schedule them with tvm.tir.Schedule, or build schedules of tvm.topi"
_NO_FFI = "there is no C++ FFI; build expressions with the functions of tvm.relay and tvm.relay.op"
_ONE_MEMORY_PLAN = "relay.build plans memory in one step; read the plan from the memory attribute of its result"
_ONE_STRATEGY = "all targets share the strategies of relay.op.strategy.generic"
_NO_KERNELS = (
    "kernels written in CUDA or Triton are not part of a program; write them as loops over threads with T.launch_thread"
)
_ONE_PARSER = "the internals of the TVMScript parser are not public; parse a script with tvm.script.from_source"
_ONE_HYBRID_PARSER = "the internals of the hybrid script parser are not public; parse a function with te.hybrid.script"
_CONVERTERS = "the internals of the importers are not public; import a model with its relay.frontend.from_... function"
_ONE_SEARCH = "this part of the search is not a program's to replace; rules, cost models and the like are"
_TUNERS = "use RandomTuner, GridSearchTuner, GATuner or XGBTuner of autotvm.tuner"

_NO_PICTURES = "schedules and graphs are not drawn by Graphviz; the explorer draws them"
_NO_REPORT = "there is no roofline report; the explorer draws the roofline of a kernel"

_LANGUAGE = {
    "tvm.arith.PresburgerSet": "integer sets are intervals; use arith.IntervalSet",
    "tvm.ir.json_compact": "no conversion is needed; tvm.ir.load_json reads the JSON of older releases directly",
    **dict.fromkeys(("tvm.relax", "tvm.script.relax"), _NO_RELAX),
    "tvm.dlight": _NO_RULES,
    **_each("tvm.testing", "fetch_model_from_url load_model", "models are not downloaded; import them from a file"),
    **_each("tvm.testing", "local_run rpc_run", "time a module with its time_evaluator, here or on a tvm.rpc session"),
    **_each("tvm.script", "tir.call_kernel ir_builder.tir.call_kernel ir_builder.tir.external_kernel", _NO_KERNELS),
    **_each("tvm.script.parser.core", "dispatch entry error parser utils", _ONE_PARSER),
    **_each("tvm.script.parser.tir", "entry operation parser", _ONE_PARSER),
    **_each("tvm.te.hybrid", "calls preprocessor utils", _ONE_HYBRID_PARSER),
    "tvm.utils": _NO_REPORT,
    **_each("tvm.utils.roofline", "cuda registry roofline_analysis roofline_from_existing x86", _NO_REPORT),
}

_NO_DEVICE_MEMORY = "no target here has this memory; copy with tvm.tir.Schedule.cache_read into one that the target has"

_TIR = {
    **_each("tvm.tir.transform", "TextureFlatten VerifyVTCMLimit", _NO_DEVICE_MEMORY),
    "tvm.tir.analysis.get_vtcm_compaction_passes": _NO_DEVICE_MEMORY,
    **_each(
        "tvm.tir.tensor_intrin.hexagon",
        "DMA_READ_128_i8 DMA_READ_128_u8 generate_dma_load_intrin",
        "there is no DMA engine of Hexagon; copies are loops",
    ),
    "tvm.tir.usmp": (
        "there is no unified static memory planner; StorageRewrite plans memory within a function, and"
        " relay.build between kernels"
    ),
}

_RELAY = {
    "tvm.relay._ffi_api": _NO_FFI,
    "tvm.relay._make": _NO_FFI,
    "tvm.relay.backend.StorageInfo": _ONE_MEMORY_PLAN,
    **{
        f"tvm.relay.{name}": "the functions of a partitioned module say which operators go to which compiler here"
        for name in ("analysis.operations_distribution", "transform.suffixes")
    },
    "tvm.relay.backend.aot": "the parts of this build are not public; give relay.build executor=Executor('aot')",
    "tvm.relay.backend.contrib": _NO_BOARD,
    "tvm.relay.debug": "relay.op.debug calls the function that a program gives it here, and opens no debugger",
    "tvm.relay.backend.te_compiler.lower": (
        "there is no single entry point; lower a model with relay.build, or one function with te_compiler.get().lower"
    ),
    "tvm.relay.collage": _NO_COLLAGE,
    "tvm.relay.qnn.contrib_dense_pack": "only TVM's Hexagon backend has this operator; use relay.qnn.op.dense",
    "tvm.relay.transform.CollagePartition": _NO_COLLAGE,
    "tvm.relay.transform.StaticMemoryPlan": _ONE_MEMORY_PLAN,
    "tvm.relay.transform.memory_plan": _ONE_MEMORY_PLAN,
    **_each(
        "tvm.relay.op.contrib",
        "arm_compute_lib bnns clml cmsisnn coreml cublas cudnn cutlass ethosn ethosu libtorch mrvl te_target tensorrt"
        " verilator vitis_ai",
        _NO_OFFLOADING,
    ),
    **_each("tvm.relay.op.strategy", "adreno arm_cpu bifrost cuda hexagon intel_graphics mali rocm x86", _ONE_STRATEGY),
}

_IMPORTERS = {
    **_each(
        "tvm.relay.frontend", "nnvm_common pytorch_utils qnn_torch tensorflow_parser tflite_flexbuffer", _CONVERTERS
    ),
    **_each(
        "tvm.relay.frontend",
        "caffe caffe2 coreml darknet mxnet mxnet_qnn_op_utils oneflow paddlepaddle",
        "this format has no importer; convert the model to ONNX and use relay.frontend.from_onnx",
    ),
    **_each(
        "tvm.relay.frontend.common",
        "AttrCvt ExprTable Renamer RequiredAttr StrAttrsDict",
        "converters of a program's own are functions that build expressions of tvm.relay",
    ),
    **{
        f"tvm.relay.frontend.from_{name}": f"convert the model to ONNX with {tool}, then use relay.frontend.from_onnx"
        for name, tool in (
            ("caffe", "caffe2onnx"),
            ("caffe2", "caffe2.python.onnx"),
            ("coreml", "coremltools and onnxmltools"),
            ("darknet", "a tool such as darknet2onnx"),
            ("mxnet", "mx.onnx.export_model"),
            ("oneflow", "oneflow_onnx"),
            ("paddle", "paddle2onnx"),
        )
    },
}

_TUNING = {
    **_each(
        "tvm.auto_scheduler",
        "ApplyHistoryBestOrSample EmptyPolicy _ffi_api feature"
        " get_shape_from_rewritten_layout remove_index_check rewrite_compute_body rewrite_tensor_shape",
        _NO_SKETCH_POLICY,
    ),
    "tvm.auto_scheduler.DispatchContext": "use auto_scheduler.ApplyHistoryBest to choose the schedules of kernels",
    "tvm.autotvm.database": "records are stored in files; use autotvm.callback.log_to_file and autotvm.record",
    "tvm.autotvm.feature": "cost models learn from the values of knobs, not from features of the lowered loops",
    "tvm.autotvm.task.code_hash": "records are identified by the arguments of their tasks, not by a hash of the code",
    "tvm.autotvm.task.topi_integration.TaskExtractEnv": (
        "extract the tasks of a model with autotvm.task.extract_from_program"
    ),
    "tvm.autotvm.testing": "tune a model with python -m compiler -m tvm.driver.tvmc tune",
    **_each("tvm.autotvm.tuner", "metric sa_model_optimizer xgboost_cost_model", _TUNERS),
    **_each(
        "tvm.meta_schedule",
        "FeatureExtractor feature_extractor logging relax_integration schedule testing trace_apply",
        _ONE_SEARCH,
    ),
    **_each(
        "tvm.meta_schedule",
        "EvolutionarySearchConfig ReplayFuncConfig ReplayTraceConfig",
        "this is of releases before 0.11; give meta_schedule.tune_tir max_trials_global and strategy instead",
    ),
    **_each(
        "tvm.meta_schedule",
        "integration tune.Parse tune.extract_task_from_relay tune.tune_extracted_tasks",
        "this is of releases before 0.11; use extract_tasks and tune_relay of meta_schedule.relay_integration",
    ),
    **_each("tvm.testing", "aot autotvm popen_pool tir", "these helpers of TVM's own tests are not provided"),
    **_each("tvm.relay.testing", "resnet_3d tf", "this model is not provided; import one with tvm.relay.frontend"),
    "tvm.testing.auto_scheduler": "searched schedules are lists of primitives; read them with SearchTask.print_best",
}

_MACHINES = {
    **_each("tvm.exec", "autotvm_log_editor disco_worker gpu_memory_bandwidth measure_peak popen_worker", _NO_COMMAND),
    **_each("tvm.rpc", "PopenSession base minrpc testing with_minrpc", _NO_MINRPC),
    "tvm.runtime.disco": _NO_CLUSTER,
    "tvm.micro": _NO_BOARD,
    **_each("tvm.driver.tvmc", "micro project workspace_pools fmtopt", _NO_BOARD),
    "tvm.driver.tvmc.config_options": "tvmc takes its options from the command line, not from configuration files",
    "tvm.target.detect_target": "use tvm.target.Target.from_device to describe a device of this machine",
}

_LIBRARIES = {
    **_each("tvm.contrib", "coreml_runtime ethosu hexagon mrvl ndk sdaccel xcode", _NO_BOARD),
    **_each("tvm.contrib", "cublas cublaslt cudnn cutlass hipblas miopen mps rocblas tensorrt thrust", _NO_GPU_LIBRARY),
    **_each("tvm.contrib", "rocm spirv", _NO_GPU_TOOL),
    "tvm.contrib.sklearn": "models of scikit-learn are not imported; sklearn-onnx converts them for from_onnx",
    "tvm.contrib.tf_op": "kernels are not registered in TensorFlow; call what tvm.build returns",
    "tvm.runtime.profiling.PAPIMetricCollector": (
        "hardware counters are not read; derive a collector of your own from runtime.profiling.MetricCollector"
    ),
    **_each("tvm.contrib", "relay_viz tedd", _NO_PICTURES),
    "tvm.contrib.cuda_graph": "models are not captured as CUDA graphs; use tvm.contrib.graph_executor",
    "tvm.contrib.peak": "the peak performance of GPUs is not measured",
    **_each("tvm.contrib", "dnnl mkl mxnet nnpack", _NO_CPU_LIBRARY),
    **_each("tvm.contrib", "emcc msc target tflite_runtime", "this external tool or runtime is not called"),
    "tvm.contrib.nvcc": _NO_NVCC,
    "tvm.contrib.stackvm": "there is no bytecode interpreter for functions; tvm.build generates machine code",
    "tvm.contrib.tvmjs": "models run in a browser through WebGPU, from the explorer's page",
    **_each("tvm.topi", "adreno bifrost intel_graphics mali rocm", _NO_GPU_SCHEDULES),
    "tvm.topi.arm_cpu": "there are no schedules for ARM CPUs alone; the CPU schedules of tvm.topi serve AArch64 too",
    **_each("tvm.topi", "hexagon hls", _NO_BOARD),
    **_each(
        "tvm.topi.x86.tensor_intrin",
        "dot_16x1x16_uint8_int8_int16 dot_16x1x16_uint8_int8_int32 dot_16x1x16_uint8_int8_int32_cascadelake"
        " dot_16x1x16_uint8_int8_int32_skylake",
        "LLVM selects x86 dot-product instructions for ordinary sums of products",
    ),
}

UNAVAILABLE = {**_LANGUAGE, **_TIR, **_RELAY, **_IMPORTERS, **_TUNING, **_MACHINES, **_LIBRARIES}
"""Names that can be imported but not called, with the reason."""


PROVIDED = frozenset({"tvm.meta_schedule.testing.te_workload", "tvm.utils.roofline"})
"""Modules that are provided although they are in packages that are not."""


def unavailable(name: str) -> str | None:
    """Return why a name, or the module that contains it, is not provided; None if it is."""
    while name and name not in PROVIDED:
        if name in UNAVAILABLE:
            return UNAVAILABLE[name]
        name = name.rpartition(".")[0]
    return None


def unavailable_module(name: str) -> ModuleType:
    """Return the module that stands in for one that is not provided, the same one each time."""
    from compiler.classic.contrib.unavailable import UnavailableModule

    if name not in sys.modules:
        sys.modules[name] = UnavailableModule(name, unavailable(name) or "")
    return sys.modules[name]
