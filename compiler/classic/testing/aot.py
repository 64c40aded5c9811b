"""``tvm.testing.aot``: models compiled ahead of time, run and compared with what they should compute."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from compiler.classic.testing.data import generate_ref_data as generate_ref_data
from compiler.driver.relay.aot.factory import AOTExecutorFactoryModule
from compiler.driver.relay.build import build
from compiler.driver.relay.options import Executor, Runtime
from compiler.ir.error import ArgumentError, expected
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import ArrayLike
from compiler.runtime.device import cpu
from compiler.runtime.graph.aot_executor import AotModule
from compiler.runtime.modules.library import load_module
from compiler.target.target import Target

__all__ = [
    "AOTCompiledTestModel", "AOTTestModel", "AOTTestRunner", "compile_and_run", "compile_models", "generate_ref_data",
    "run_and_check",
]  # fmt: skip


@dataclass(frozen=True)
class AOTTestModel:
    """A model, and what it should compute.

    ``output_tolerance`` is relative and absolute; when left out, integers must be equal and floats close.
    """

    module: IRModule | Function
    inputs: Mapping[str, ArrayLike]
    outputs: Mapping[str, ArrayLike]
    output_tolerance: float | None = None
    name: str = "default"
    params: Mapping[str, ArrayLike] | None = None
    extra_memory_in_bytes: int = 0


@dataclass(frozen=True)
class AOTTestRunner:
    """How models are compiled for a test.

    What is said of the program that TVM's C runtime runs (makefile, prologue, epilogue, includes, parameters) is not
    read.
    """

    makefile: str = "default"
    prologue: str = ""
    epilogue: str = ""
    includes: Sequence[str] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    pass_config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AOTCompiledTestModel:
    """A model and what it was compiled to."""

    model: AOTTestModel
    executor_factory: AOTExecutorFactoryModule


def compile_models(
    models: AOTTestModel | Sequence[AOTTestModel],
    interface_api: str = "packed",
    use_unpacked_api: bool = False,
    workspace_byte_alignment: int = 8,
    constant_byte_alignment: int = 8,
    enable_op_fusion: bool = True,
    pass_config: Mapping[str, Any] | None = None,
    use_runtime_executor: bool = True,
    target: str | Target = "c",
    workspace_memory_pools: object = None,
    constant_memory_pools: object = None,
    schedule_name: str | None = None,
    runtime: Runtime | None = None,
) -> list[AOTCompiledTestModel]:
    """Compile models ahead of time."""
    options: dict[str, bool | int | str] = {
        "interface-api": interface_api,
        "unpacked-api": use_unpacked_api,
        "workspace-byte-alignment": workspace_byte_alignment,
        "constant-byte-alignment": constant_byte_alignment,
    }
    config = {"tir.disable_vectorize": True, **(pass_config or {})}
    disabled = [] if enable_op_fusion else ["FuseOps"]
    compiled = []
    for model in [models] if isinstance(models, AOTTestModel) else models:
        module = IRModule.from_expr(model.module) if isinstance(model.module, Function) else model.module
        with PassContext(opt_level=3, config=config, disabled_pass=disabled):
            factory = build(
                module,
                target,
                executor=Executor("aot", options),
                runtime=runtime or Runtime("crt"),
                params=model.params,
                mod_name=model.name,
            )
        if not isinstance(factory, AOTExecutorFactoryModule):
            expected("compile_models", "the executor", "aot", factory)
        compiled.append(AOTCompiledTestModel(model, factory))
    return compiled


def run_and_check(
    models: Sequence[AOTCompiledTestModel],
    runner: AOTTestRunner | None = None,
    interface_api: str = "packed",
    debug_calculated_workspaces: bool = False,
    workspace_byte_alignment: int = 8,
    constant_byte_alignment: int = 8,
    data_linkage: object = None,
    test_dir: str | None = None,
    verbose: bool = False,
    use_workspace_io: bool = False,
    debug_last_error: bool = False,
    checker: object = None,
) -> bool:
    """Export models to libraries, run these, and compare what they compute.

    The libraries are in ``test_dir``, or in a folder that is removed. What is said of the program that TVM's C runtime
    runs (verbose, use_workspace_io, debug_last_error, checker) is not read.
    """
    with tempfile.TemporaryDirectory() as folder:
        for compiled in models:
            path = str(Path(test_dir or folder, f"{compiled.model.name}.so"))
            compiled.executor_factory.export_library(path)
            _check(compiled.model, AotModule(load_module(path)[compiled.model.name](cpu(0))))
    return True


def _check(model: AOTTestModel, module: AotModule) -> None:
    for name, given_input in model.inputs.items():
        module.set_input(name, given_input)
    module.run()
    if module.get_num_outputs() != len(model.outputs):
        raise ArgumentError(
            f"run_and_check: {model.name} has {module.get_num_outputs()} outputs, not {len(model.outputs)}"
        )
    for index, (name, value) in enumerate(model.outputs.items()):
        tolerance = 1e-5 if model.output_tolerance is None else float(model.output_tolerance)
        given = np.asarray(value)
        is_integer = given.dtype.kind in "iub" and model.output_tolerance is None
        tolerance = 0 if is_integer else tolerance
        result = module.get_output(index).numpy()
        np.testing.assert_allclose(result, given, rtol=tolerance, atol=tolerance, err_msg=f"{model.name}: {name}")


def compile_and_run(
    models: AOTTestModel | Sequence[AOTTestModel],
    runner: AOTTestRunner | None = None,
    interface_api: str = "packed",
    use_unpacked_api: bool = False,
    debug_calculated_workspaces: bool = False,
    workspace_byte_alignment: int = 8,
    constant_byte_alignment: int = 8,
    enable_op_fusion: bool = True,
    data_linkage: object = None,
    use_runtime_executor: bool = True,
    target: str | Target = "c",
    target_opts: Mapping[str, object] | None = None,
    test_dir: str | None = None,
    verbose: bool = False,
    schedule_name: str | None = None,
    **options: object,
) -> bool:
    """Compile models ahead of time, run them, and compare what they compute.

    ``target_opts`` are added to the target.
    """
    for key, value in (target_opts or {}).items():
        target = f"{target} {key}={value}"
    compiled = compile_models(
        models,
        interface_api,
        use_unpacked_api,
        workspace_byte_alignment,
        constant_byte_alignment,
        enable_op_fusion,
        runner.pass_config if runner else None,
        target=target,
    )
    return run_and_check(compiled, runner, interface_api, test_dir=test_dir)
