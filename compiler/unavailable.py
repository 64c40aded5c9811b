"""Parts of TVM that do not exist here, each with its reason.

A program may import them, so that what it does not call does no harm; a call raises the reason.
"""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["UNAVAILABLE", "unavailable", "unavailable_module"]

_NO_SEARCH = "schedules are not searched for in TensorIR; tvm.auto_scheduler searches those of tensor expressions"
_NO_STEPS = "schedules that are searched are a structure and its numbers here, not lists of steps"
_NO_MACHINES = "other machines are not reached from here"
_NO_GPU = "nothing runs on a GPU here"
_NO_NVCC = (
    "kernels are compiled by NVRTC and ptxas here (pip install -e '.[cuda]'); of what tvm.build returns,"
    " imported_modules[0].get_source('ptx') has the PTX"
)
_NO_BOARD = "there are no boards and accelerators here"
_NO_LIBRARY = "the library is not called from here"
_NO_CPP = "the constructors of expressions are Python here: tvm.relay and tvm.relay.op have them"
_NO_COMPILER = "code for it is not made here; relay.op.contrib.register_pattern_table names a compiler of your own"
_ONE_PLAN = "memory is planned once, by relay.build here; the memory attribute of its result says what is shared"
_NO_COPIES = "copies between memories are scheduled by cache_read and cache_write here, not found by a pass"
_ONE_PARSER = "scripts are read by one parser here, which tvm.script.from_source calls; its parts are not public"
_ONE_HYBRID = "hybrid scripts are read by te.hybrid.script alone here"

UNAVAILABLE = {
    "tvm.arith.PresburgerSet": "sets of integers are intervals here; TVM's packages have no MLIR either",
    **{
        f"tvm.auto_scheduler.{name}": _NO_STEPS
        for name in (
            "ApplyHistoryBestOrSample",
            "EmptyPolicy",
            "LayoutRewriteOption",
            "PreloadCustomSketchRule",
            "_ffi_api",
            "feature",
            "get_shape_from_rewritten_layout",
            "remove_index_check",
            "rewrite_compute_body",
            "rewrite_tensor_shape",
        )
    },
    "tvm.auto_scheduler.DispatchContext": "what kernels are computed by is told by ApplyHistoryBest here",
    **{
        f"tvm.autotvm.tuner.{name}": "tuners search at random, in order, by evolution and by models of speed here"
        for name in ("DropletTuner", "droplet_tuner", "metric", "sa_model_optimizer", "xgboost_cost_model")
    },
    "tvm.autotvm.task.code_hash": "records are told apart by the arguments of their tasks here",
    **{
        f"tvm.relay.frontend.{name}": "importers are tables of converters here, whose parts are not public"
        for name in ("nnvm_common", "pytorch_utils", "qnn_torch", "tensorflow_parser", "tflite_flexbuffer")
    },
    "tvm.autotvm.database": "records are kept in files here",
    "tvm.autotvm.testing": "models are tuned by python -m compiler -m tvm.driver.tvmc tune here",
    "tvm.exec": _NO_MACHINES,
    "tvm.utils": "what limits a loop is told by the page and by target/throughput.py here",
    **{
        f"tvm.relay.op.contrib.{name}": _NO_COMPILER
        for name in (
            "arm_compute_lib",
            "bnns",
            "clml",
            "cmsisnn",
            "coreml",
            "cublas",
            "cudnn",
            "cutlass",
            "ethosn",
            "ethosu",
            "libtorch",
            "mrvl",
            "te_target",
            "tensorrt",
            "verilator",
            "vitis_ai",
        )
    },
    "tvm.autotvm.feature": "models of speed learn from the values of knobs here",
    "tvm.autotvm.task.topi_integration.TaskExtractEnv": "autotvm.task.extract_from_program finds the tasks of a model",
    "tvm.autotvm.graph_tuner": "relay.transform.AlterOpLayout chooses the layouts of a graph here",
    "tvm.contrib.coreml_runtime": _NO_BOARD,
    "tvm.contrib.cublas": _NO_GPU,
    "tvm.contrib.cuda_graph": _NO_GPU,
    "tvm.contrib.cublaslt": _NO_GPU,
    "tvm.contrib.cudnn": _NO_GPU,
    "tvm.contrib.cutlass": _NO_GPU,
    "tvm.contrib.dnnl": _NO_LIBRARY,
    "tvm.contrib.emcc": _NO_LIBRARY,
    "tvm.contrib.ethosu": _NO_BOARD,
    "tvm.contrib.hexagon": _NO_BOARD,
    "tvm.contrib.miopen": _NO_GPU,
    "tvm.contrib.mkl": _NO_LIBRARY,
    "tvm.contrib.mps": _NO_GPU,
    "tvm.contrib.mrvl": _NO_BOARD,
    "tvm.contrib.mxnet": _NO_LIBRARY,
    "tvm.contrib.ndk": _NO_BOARD,
    "tvm.contrib.nnpack": _NO_LIBRARY,
    "tvm.contrib.nvcc": _NO_NVCC,
    "tvm.contrib.peak": _NO_GPU,
    "tvm.contrib.rocblas": _NO_GPU,
    "tvm.contrib.rocm": _NO_GPU,
    "tvm.contrib.sdaccel": _NO_BOARD,
    "tvm.contrib.spirv": _NO_GPU,
    "tvm.contrib.stackvm": "programs are machine code here",
    "tvm.contrib.target": _NO_LIBRARY,
    "tvm.contrib.tensorrt": _NO_GPU,
    "tvm.contrib.tflite_runtime": _NO_LIBRARY,
    "tvm.contrib.thrust": _NO_GPU,
    "tvm.contrib.xcode": _NO_BOARD,
    "tvm.contrib.hipblas": _NO_GPU,
    "tvm.contrib.msc": _NO_LIBRARY,
    "tvm.contrib.tvmjs": "models run in browsers through WebGPU here, from the page",
    **{f"tvm.driver.tvmc.{name}": _NO_BOARD for name in ("micro", "project", "workspace_pools", "fmtopt")},
    "tvm.driver.tvmc.config_options": "options of tvmc are given on the command line here, not in files",
    "tvm.meta_schedule": _NO_SEARCH,
    "tvm.relay.backend.contrib": _NO_BOARD,
    "tvm.relay.collage": "compilers are chosen by relay.transform.AnnotateTarget and MergeCompilerRegions here",
    "tvm.relay.transform.CollagePartition": (
        "compilers are chosen by relay.transform.AnnotateTarget and MergeCompilerRegions here"
    ),
    **{
        f"tvm.relay.frontend.{name}": "such models come by way of ONNX"
        for name in ("caffe", "caffe2", "coreml", "darknet", "mxnet", "mxnet_qnn_op_utils", "oneflow", "paddlepaddle")
    },
    **{
        f"tvm.relay.frontend.from_{name}": f"{way}; relay.frontend.from_onnx reads the file"
        for name, way in (
            ("caffe", "caffe2onnx converts Caffe's models to ONNX"),
            ("caffe2", "caffe2.python.onnx converts Caffe2's models to ONNX"),
            ("coreml", "coremltools and onnxmltools convert Core ML's models to ONNX"),
            ("darknet", "tools such as darknet2onnx convert Darknet's models to ONNX"),
            ("mxnet", "mx.onnx.export_model saves MXNet's models as ONNX"),
            ("oneflow", "oneflow_onnx converts OneFlow's models to ONNX"),
            ("paddle", "paddle2onnx converts Paddle's models to ONNX"),
        )
    },
    "tvm.micro": _NO_BOARD,
    "tvm.relay._ffi_api": _NO_CPP,
    "tvm.relay._make": _NO_CPP,
    "tvm.relay.backend.StorageInfo": _ONE_PLAN,
    "tvm.relay.backend.te_compiler.lower": "relay.build lowers models here, te_compiler.get().lower functions",
    "tvm.relay.qnn.contrib_dense_pack": "relay.qnn.op.dense multiplies here; TVM has this for Hexagon alone",
    "tvm.relay.transform.StaticMemoryPlan": _ONE_PLAN,
    "tvm.relay.transform.memory_plan": _ONE_PLAN,
    "tvm.relax": "graphs are Relay's here",
    **{
        f"tvm.rpc.{name}": _NO_MACHINES
        for name in ("base", "client", "minrpc", "proxy", "server", "testing", "tracker")
    },
    **{
        f"tvm.relay.op.strategy.{name}": "relay.op.strategy.generic has the strategies for all targets here"
        for name in ("adreno", "arm_cpu", "bifrost", "cuda", "hexagon", "intel_graphics", "mali", "rocm", "x86")
    },
    "tvm.relay.testing.tf": "relay.frontend.from_tensorflow reads graphs without TensorFlow; none is downloaded here",
    "tvm.runtime.disco": _NO_MACHINES,
    "tvm.testing.auto_scheduler": "programs of tvm.auto_scheduler are lists of primitives here",
    "tvm.ir.json_compact": "tvm.ir.load_json reads what releases have written",
    "tvm.script.parser.core.dispatch": _ONE_PARSER,
    "tvm.script.parser.core.entry": _ONE_PARSER,
    "tvm.script.parser.core.error": _ONE_PARSER,
    "tvm.script.parser.core.parser": _ONE_PARSER,
    "tvm.script.parser.core.utils": _ONE_PARSER,
    "tvm.script.parser.tir.entry": _ONE_PARSER,
    "tvm.script.parser.tir.operation": _ONE_PARSER,
    "tvm.script.parser.tir.parser": _ONE_PARSER,
    "tvm.target.detect_target": "tvm.target.Target.from_device describes a device of this machine",
    "tvm.te.hybrid.calls": _ONE_HYBRID,
    "tvm.te.hybrid.preprocessor": _ONE_HYBRID,
    "tvm.te.hybrid.utils": _ONE_HYBRID,
    "tvm.testing.object_use_count": "objects are Python's; sys.getrefcount counts their references",
    "tvm.tir.schedule.analysis.get_auto_tensorize_mapping_info": (
        "axes are not mapped onto intrinsics here; get_tensorize_loop_mapping finds the loops that one carries out"
    ),
    "tvm.tir.transform.ApplyLayoutTransforms": "stages of tensor expressions are lowered in their physical layout here",
    "tvm.tir.transform.InstallDebugSpans": "statements have the spans of the program that they came from here",
    "tvm.tir.transform.LowerAutoCopy": _NO_COPIES,
    "tvm.tir.transform.TextureFlatten": _NO_GPU,
    "tvm.tir.usmp": "memory is planned by StorageRewrite and, between kernels, by GraphPlanMemory here",
    "tvm.topi.adreno": _NO_GPU,
    "tvm.topi.arm_cpu": _NO_BOARD,
    "tvm.topi.bifrost": _NO_GPU,
    "tvm.topi.hexagon": _NO_BOARD,
    "tvm.topi.hls": _NO_BOARD,
    "tvm.topi.intel_graphics": _NO_GPU,
    "tvm.topi.mali": _NO_GPU,
    "tvm.topi.rocm": _NO_GPU,
    "tvm.topi.x86.tensor_intrin": "LLVM chooses the dot products of x86 for plain sums of products here",
}
"""Parts of TVM that do not exist here, with the reason: they can be imported, but not called."""


def unavailable(name: str) -> str | None:
    """Return why a public module, or the one that it is in, does not exist here; None for others."""
    while name:
        if name in UNAVAILABLE:
            return UNAVAILABLE[name]
        name = name.rpartition(".")[0]
    return None


def unavailable_module(name: str) -> ModuleType:
    """Return the module that stands for one that does not exist here, the same one each time."""
    from compiler.contrib.unavailable import UnavailableModule

    if name not in sys.modules:
        sys.modules[name] = UnavailableModule(name, unavailable(name) or "")
    return sys.modules[name]
